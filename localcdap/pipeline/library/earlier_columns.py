"""Pipelines and drafts of versions that numbered the columns of delimited files from 1."""

from __future__ import annotations

import logging
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.decoders import decode_json
from localcdap.pipeline.document.changes import change_stages, get_plugin_node
from localcdap.pipeline.document.model import PipelineDocument, PluginUse, StageUse
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.library.draft_model import hash_draft
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
