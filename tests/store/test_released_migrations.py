"""Migrations that databases already have: one changed letter, and no older instance opens any more."""

from __future__ import annotations

import hashlib
from importlib import resources

RELEASED = "56b13da53795bbbd9a17b293b8c75cda37c7400e87ba13946241cf8f9941d073"
"""SHA-256 of the names and contents of the migrations of version 0.1.0."""
NAMES = {
    "0001_dataset_tables.sql",
    "0002_table_partitions.sql",
    "0100_artifacts.sql",
    "0110_artifact_parents.sql",
    "0200_runs.sql",
    "0210_run_documents.sql",
    "0300_spool_offsets.sql",
    "0400_structured_tables.sql",
    "0420_applications.sql",
    "0500_messaging.sql",
    "0510_namespaces.sql",
    "0520_preferences_and_secure_keys.sql",
    "0530_listeners.sql",
    "0540_connections.sql",
    "0620_applications.sql",
    "0621_drafts.sql",
    "0622_plugin_templates.sql",
}


def test_released_migrations_are_unchanged():
    folder = resources.files("localcdap.store") / "migrations"
    released = {file.name: file.read_bytes() for file in folder.iterdir() if file.name in NAMES}

    assert sorted(released) == sorted(NAMES)
    digest = hashlib.sha256()
    for name in sorted(released):
        digest.update(name.encode() + b"\0" + released[name])
    assert digest.hexdigest() == RELEASED
