"""Pipelines and drafts of earlier versions, which keep by a property what these versions did.

They numbered the columns of delimited files from 1, and wrote another form of JSON than CDAP.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.decoders import decode_json
from localcdap.files.formats import FORMER_JSON
from localcdap.pipeline.document.model import (
    PipelineDocument,
    PluginUse,
    StageUse,
    change_stages,
    get_plugin_node,
)
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.library.application_model import hash_draft
from localcdap.pipeline.rules.column_numbers import FIRST, keep_numbers, takes_names
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)


def keep_column_numbers(store: Store) -> None:
    """Note in earlier pipelines, drafts and templates that columns are numbered from 1."""
    if store.read(
        "SELECT 1 FROM unnumbered_applications UNION ALL SELECT 1 FROM unnumbered_drafts LIMIT 1"
    ):
        with store.transaction() as tx:
            _change_applications(tx)
            _change_drafts(tx)
            _change_templates(tx)


def _change_applications(tx: Transaction) -> None:
    rows = tx.execute(
        "SELECT namespace, name, number, document FROM applications "
        "JOIN unnumbered_applications USING (namespace, name, number)"
    )
    for namespace, name, number, text in rows:
        changed = _change_text(text)
        if changed is not None:
            tx.execute(
                "UPDATE applications SET document = ? WHERE namespace = ? AND name = ? AND number = ?",
                (changed, namespace, name, number),
            )
    tx.execute("DELETE FROM unnumbered_applications")


def _change_drafts(tx: Transaction) -> None:
    rows = tx.execute(
        "SELECT namespace, generation, owner, id, revision, name, description, pipeline FROM draft_revisions "
        "JOIN unnumbered_drafts USING (namespace, generation, owner, id, revision)"
    )
    for *key, name, description, text in rows:
        changed = _change_text(text)
        if changed is not None:
            digest = hash_draft(name, description, read_document(changed))
            tx.execute(
                "UPDATE draft_revisions SET pipeline = ?, hash = ? WHERE namespace = ? AND generation = ? "
                "AND owner = ? AND id = ? AND revision = ?",
                (changed, digest, *key),
            )
    tx.execute("DELETE FROM unnumbered_drafts")


def _change_templates(tx: Transaction) -> None:
    """Change the templates from which earlier pipelines may have their format."""
    sql = "SELECT rowid, type, plugin, properties FROM plugin_templates"
    for row, type, plugin, text in tx.execute(sql):
        properties = decode_json(text, dict[str, str])
        if takes_names(StageUse(plugin, PluginUse(type, plugin, properties))):
            changed = encode_json(properties | {FIRST: "1"})
            tx.execute("UPDATE plugin_templates SET properties = ? WHERE rowid = ?", (changed, row))


def _change_text(text: str) -> str | None:
    """Return the text of a document with the numbers noted; None when it stays as it is."""
    try:
        document = read_document(text)
    except LocalcdapError as error:
        _LOG.warning("A document cannot be read, and stays as it is: %s", error.message)
        return None
    stages = keep_numbers(document)
    return encode_json(_number_stages(document, stages)) if stages else None


def _number_stages(document: PipelineDocument, stages: list[str]) -> Any:
    def number(node: dict[str, Any]) -> None:
        properties = get_plugin_node(node).setdefault("properties", {})
        properties[FIRST] = "1"

    return change_stages(document, dict.fromkeys(stages, number))


_WRITERS: Final = {
    ("batchsink", "File"): ("format", ("json",), ""),
    ("batchsink", "GCS"): ("format", ("json",), ""),
    ("batchsink", "GCSMultiFiles"): ("format", ("json",), ""),
    ("batchsink", "GCSText"): ("type", ("json",), "json"),
    ("batchsink", "GooglePublisher"): ("format", ("text", "blob", "json"), "text"),
    ("batchsink", "Kafka"): ("format", ("json",), ""),
    ("batchsink", "S3"): ("format", ("json",), ""),
    ("transform", "JSONFormatter"): ("", ("",), ""),
}
"""By type and name of a plugin: the property with its format, the formats that are JSON, and the default."""


def keep_former_json(store: Store) -> None:
    """Set the property in the pipelines, drafts and templates of an earlier version, once for an instance."""
    if not store.read("SELECT 1 FROM former_json"):
        return
    with store.transaction() as tx:
        for row, text in tx.execute("SELECT rowid, document FROM applications"):
            changed = _mark_writers(text)
            if changed is not None:
                tx.execute("UPDATE applications SET document = ? WHERE rowid = ?", (changed, row))
        drafts = "SELECT rowid, pipeline, name, description FROM draft_revisions"
        for row, text, name, description in tx.execute(drafts):
            changed = _mark_writers(text)
            if changed is not None:
                hash = hash_draft(name, description, read_document(changed))
                sql = "UPDATE draft_revisions SET pipeline = ?, hash = ? WHERE rowid = ?"
                tx.execute(sql, (changed, hash, row))
        templates = "SELECT rowid, type, plugin, properties FROM plugin_templates"
        for row, type, plugin, text in tx.execute(templates):
            properties = decode_json(text, dict[str, str])
            if _writes_json(type, plugin, properties):
                changed = encode_json(properties | {FORMER_JSON: "true"})
                tx.execute(
                    "UPDATE plugin_templates SET properties = ? WHERE rowid = ?", (changed, row)
                )
        tx.execute("DELETE FROM former_json")


def _mark_writers(text: str) -> str | None:
    """Return the text of a document whose stages have the property; None if none of them write JSON."""
    try:
        document = read_document(text)
    except LocalcdapError:  # it cannot run either
        return None

    def mark(stage: dict[str, Any]) -> None:
        node = get_plugin_node(stage)
        properties = node.get("properties")
        others = properties if isinstance(properties, dict) else {}
        node["properties"] = {**others, FORMER_JSON: "true"}

    writers = [
        stage.name
        for stage in document.stages
        if _writes_json(stage.plugin.type, stage.plugin.name, stage.plugin.properties)
    ]
    return encode_json(change_stages(document, dict.fromkeys(writers, mark))) if writers else None


def _writes_json(type: str, name: str, properties: Mapping[str, str]) -> bool:
    """Return whether a stage writes JSON, or may write it by a macro."""
    if (type, name) not in _WRITERS:
        return False
    key, formats, default = _WRITERS[type, name]
    format = (properties.get(key) or default).strip().lower()
    return format in formats or "${" in format
