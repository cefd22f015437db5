"""Datasets of applications, in any namespace."""

from __future__ import annotations

import pytest

from localcdap.api.errors import ConflictError, DatasetPropertiesError, NotFoundError
from tests.apps.catalogue import Catalogue


def test_an_application_checks_creates_and_opens_datasets_in_any_namespace(cdap_app):
    app = cdap_app(Catalogue)
    context = app.context
    app.namespaces.create("team", config={"principal": "ada"})
    assert not context.dataset_exists("team", "notes")
    assert context.create_dataset("team", "notes", "keyValueTable", description="What was said")
    assert not context.create_dataset("team", "notes", "keyValueTable")
    assert context.dataset_exists("team", "notes")
    assert not context.dataset_exists("default", "notes")

    context.transactions.run(lambda tx: tx.dataset("notes", namespace="team").write(b"a", b"1"))
    read = context.transactions.run(lambda tx: tx.dataset("notes", namespace="team").read(b"a"))
    assert read == b"1"
    detail = app.datasets.describe("team", "notes")
    assert (detail.principal, detail.description, detail.rows) == ("ada", "What was said", 1)


def test_a_dataset_of_an_application_goes_with_its_namespace(cdap_app):
    app = cdap_app(Catalogue)
    app.namespaces.create("team")
    app.context.create_dataset("team", "notes", "keyValueTable")
    app.namespaces.delete("team")
    with pytest.raises(NotFoundError):
        app.context.dataset_exists("team", "notes")
    app.namespaces.create("team")
    assert not app.context.dataset_exists("team", "notes")


def test_what_cannot_be_created_is_refused(cdap_app):
    context = cdap_app(Catalogue).context
    with pytest.raises(NotFoundError, match="nowhere"):
        context.create_dataset("nowhere", "notes", "keyValueTable")
    with pytest.raises(NotFoundError, match="Requested dataset type is not available: odd"):
        context.create_dataset("default", "notes", "odd")
    with pytest.raises(DatasetPropertiesError):
        context.create_dataset("default", "notes", "indexedTable")
    assert context.create_dataset("default", "notes", "keyValueTable")
    with pytest.raises(ConflictError, match="of type 'keyValueTable'"):
        context.create_dataset("default", "notes", "table")
