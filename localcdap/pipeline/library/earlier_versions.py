"""Pipelines, drafts and templates of earlier versions: stages read and write as before, by properties."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from localcdap.api.errors import LocalcdapError
from localcdap.decoders import decode_json
from localcdap.files.formats import FORMER_JSON, FORMER_TEXTS
from localcdap.pipeline.document.model import PluginUse, change_stages, get_plugin_node
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.library.application_model import hash_draft
from localcdap.pipeline.rules.column_numbers import FIRST, takes_names
from localcdap.store.store import Store, Transaction

_LOG: Final = logging.getLogger(__name__)
_Formats = Mapping[tuple[str, str], tuple[str, tuple[str, ...], str]]

_JSON: Final[_Formats] = {
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
_TEXTS: Final[_Formats] = {
    ("batchsink", "Kafka"): ("format", ("csv",), ""),
    ("transform", "CSVFormatter"): ("", ("",), ""),
    ("transform", "Normalize"): ("", ("",), ""),
}
"""The same of the plugins that write values as texts."""


class _Keeping(NamedTuple):
    """A property by which a stage of an earlier version stays as it is."""

    name: str
    value: str
    is_needed: Callable[[PluginUse], bool]
    applications: str
    """A query for the rowids of applications of the earlier version."""
    drafts: str
    noted: tuple[str, ...]
    """The tables with which a migration notes that there are such pipelines."""


def _keep_format(name: str, formats: _Formats, noted: str) -> _Keeping:
    return _Keeping(
        name,
        "true",
        lambda plugin: _has_format(plugin, formats),
        "SELECT rowid FROM applications",
        "SELECT rowid FROM draft_revisions",
        (noted,),
    )


_KEPT: Final = (
    _keep_format(FORMER_JSON, _JSON, "former_json"),
    _Keeping(
        FIRST,
        "1",
        takes_names,
        "SELECT a.rowid FROM applications a JOIN unnumbered_applications USING (namespace, name, number)",
        "SELECT d.rowid FROM draft_revisions d "
        "JOIN unnumbered_drafts USING (namespace, generation, owner, id, revision)",
        ("unnumbered_applications", "unnumbered_drafts"),
    ),
    _keep_format(FORMER_TEXTS, _TEXTS, "former_texts"),
)


def keep_earlier_versions(store: Store) -> None:
    """Set the properties in the pipelines, drafts and templates of earlier versions, once for an instance."""
    kept = [each for each in _KEPT if _is_noted(store, each)]
    if not kept:
        return
    with store.transaction() as tx:
        _change_documents(tx, kept)
        _change_templates(tx, kept)
        for table in (table for each in kept for table in each.noted):
            tx.execute(f"DELETE FROM {table}")  # noqa: S608 (a constant)


def _is_noted(store: Store, keeping: _Keeping) -> bool:
    return any(store.read(f"SELECT 1 FROM {table} LIMIT 1") for table in keeping.noted)  # noqa: S608 (a constant)


def _change_documents(tx: Transaction, kept: Iterable[_Keeping]) -> None:
    for row, keepings in _group(tx, kept, lambda each: each.applications).items():
        ((text,),) = tx.execute("SELECT document FROM applications WHERE rowid = ?", (row,))
        changed = _mark_stages(text, keepings)
        if changed is not None:
            tx.execute("UPDATE applications SET document = ? WHERE rowid = ?", (changed, row))
    drafts = "SELECT pipeline, name, description FROM draft_revisions WHERE rowid = ?"
    for row, keepings in _group(tx, kept, lambda each: each.drafts).items():
        ((text, name, description),) = tx.execute(drafts, (row,))
        changed = _mark_stages(text, keepings)
        if changed is not None:
            digest = hash_draft(name, description, read_document(changed))
            sql = "UPDATE draft_revisions SET pipeline = ?, hash = ? WHERE rowid = ?"
            tx.execute(sql, (changed, digest, row))


def _group(
    tx: Transaction, kept: Iterable[_Keeping], query: Callable[[_Keeping], str]
) -> dict[int, list[_Keeping]]:
    """Return what may apply to a row, by rowid."""
    found: dict[int, list[_Keeping]] = {}
    for keeping in kept:
        for (row,) in tx.execute(query(keeping)):
            found.setdefault(row, []).append(keeping)
    return found


def _change_templates(tx: Transaction, kept: Iterable[_Keeping]) -> None:
    """Change the templates from which earlier pipelines may have their format."""
    sql = "SELECT rowid, type, plugin, properties FROM plugin_templates"
    for row, type, plugin, text in list(tx.execute(sql)):
        properties = decode_json(text, dict[str, str])
        added = _list_properties(PluginUse(type, plugin, properties), kept)
        if added:
            changed = encode_json(properties | added)
            tx.execute("UPDATE plugin_templates SET properties = ? WHERE rowid = ?", (changed, row))


def _mark_stages(text: str, kept: Iterable[_Keeping]) -> str | None:
    """Return the text of a document whose stages have the properties; None when it stays as it is."""
    try:
        document = read_document(text)
    except LocalcdapError as error:  # it cannot run either
        _LOG.warning("A document cannot be read, and stays as it is: %s", error.message)
        return None
    found = {stage.name: _list_properties(stage.plugin, kept) for stage in document.stages}
    changes = {name: _make_change(added) for name, added in found.items() if added}
    return encode_json(change_stages(document, changes)) if changes else None


def _make_change(added: Mapping[str, str]) -> Callable[[dict[str, Any]], None]:
    def change(stage: dict[str, Any]) -> None:
        node = get_plugin_node(stage)
        properties = node.get("properties")
        node["properties"] = {**(properties if isinstance(properties, dict) else {}), **added}

    return change


def _list_properties(plugin: PluginUse, kept: Iterable[_Keeping]) -> dict[str, str]:
    return {each.name: each.value for each in kept if each.is_needed(plugin)}


def _has_format(plugin: PluginUse, formats: _Formats) -> bool:
    """Return whether a stage has one of some formats, or may have it by a macro."""
    if (plugin.type, plugin.name) not in formats:
        return False
    key, wanted, default = formats[plugin.type, plugin.name]
    format = (plugin.properties.get(key) or default).strip().lower()
    return format in wanted or "${" in format
