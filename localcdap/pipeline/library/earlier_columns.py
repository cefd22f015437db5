"""Pipelines and drafts of versions that numbered the columns of delimited files from 1."""

from __future__ import annotations

import json
import logging
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.pipeline.document.changes import change_stages, get_plugin_node
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.draft_model import hash_draft
from localcdap.pipeline.rules.column_numbers import FIRST, keep_numbers
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)


def keep_column_numbers(store: Store) -> None:
    """Note in the sources of earlier pipelines and drafts that their columns are numbered from 1."""
    if store.read(
        "SELECT 1 FROM unnumbered_applications UNION ALL SELECT 1 FROM unnumbered_drafts LIMIT 1"
    ):
        with store.transaction() as tx:
            _change_applications(tx)
            _change_drafts(tx)


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


def _change_text(text: str) -> str | None:
    """Return the text of a document with the numbers noted; None when it stays as it is."""
    try:
        document = read_document(text)
    except LocalcdapError as error:
        _LOG.warning("A document cannot be read, and stays as it is: %s", error.message)
        return None
    stages = keep_numbers(document)
    return (
        json.dumps(_number_stages(document, stages), indent=1, ensure_ascii=False)
        if stages
        else None
    )


def _number_stages(document: PipelineDocument, stages: list[str]) -> Any:
    def number(node: dict[str, Any]) -> None:
        properties = get_plugin_node(node).setdefault("properties", {})
        properties[FIRST] = "1"

    return change_stages(document, dict.fromkeys(stages, number))
