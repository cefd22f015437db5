"""The decoded JSON of a pipeline while it is edited, and the history of its edits.

Documents are immutable: an edit creates a new one, which shares all unchanged parts with the one before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.errors import ConflictError
from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.legacy import is_legacy, upgrade
from localcdap.pipeline.document.model import Path, PipelineDocument, PipelineType
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.editing.edits import Edit, SetProperty

_LEGACY_PARTS: Final = ("source", "transforms", "sinks", "sink", "actions")


class EditedDocument:
    """A document: its envelope, and the configuration inside.

    :param around: the whole decoded JSON; its own configuration is outdated after the first edit.
    :param path: the keys that lead to the configuration.
    :param config: the configuration as it is now.
    :param original: the text that the document was read from; None after an edit.
    """

    def __init__(
        self, around: Any, path: Path, config: Mapping[str, Any], original: str | None
    ) -> None:
        self._around = around
        self._path = path
        self._original = original
        self.config: Final = config

    @classmethod
    def read(
        cls, document: Any, file: str | None = None
    ) -> tuple[EditedDocument, PipelineDocument]:
        """Read a document. One of CDAP 3 is edited in the form of CDAP 6.

        :param document: JSON text, or decoded JSON.
        :returns: the document to edit, and the typed document.
        :raises DocumentError: when it is not a pipeline at all.
        """
        found = read_document(document, file)
        config = _get_node(found.source, found.config_path)
        if is_legacy(config):
            config = _upgrade_configuration(config, found.type)
        original = found.text if found.text is not None else encode_json(found.source)
        return cls(found.source, found.config_path, config, original), found

    def with_config(self, config: Mapping[str, Any]) -> EditedDocument:
        return EditedDocument(self._around, self._path, config, None)

    def with_label(self, key: str, value: Any) -> EditedDocument:
        """Return the document with another value of a key of its envelope, or of a bare configuration."""
        if not self._path:
            return self.with_config(_set_key(self.config, key, value))
        holder = _get_node(self._around, self._path[:-1])
        around = _set_node(self._around, self._path[:-1], _set_key(holder, key, value))
        return EditedDocument(around, self._path, self.config, None)

    def to_source(self) -> Any:
        """Return the decoded JSON with the configuration as it is now."""
        return _set_node(self._around, self._path, self.config)

    def to_text(self) -> str:
        """Return the document as JSON text: the original text while nothing was edited."""
        if self._original is not None:
            return self._original
        return json.dumps(self.to_source(), indent=2, ensure_ascii=False)

    def to_document(self) -> PipelineDocument:
        """Return the typed document."""
        return read_document(self._around if self._original is not None else self.to_source())


def _get_node(node: Any, path: Path) -> Any:
    for key in path:
        node = _decode(node)[key]
    return _decode(node)


def _set_node(node: Any, path: Path, value: Any) -> Any:
    """Return the node with another value at the path; JSON text on the way stays JSON text."""
    if isinstance(node, str):
        return encode_json(_set_node(json.loads(node), path, value))
    if not path:
        return value
    return {**node, path[0]: _set_node(node[path[0]], path[1:], value)}


def _decode(node: Any) -> Any:
    return json.loads(node) if isinstance(node, str) else node


def _set_key(node: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    changed = {**node, key: value}
    if value is None:
        del changed[key]
    return changed


def _upgrade_configuration(config: Mapping[str, Any], app: PipelineType) -> dict[str, Any]:
    problems: list[ValidationFailure] = []
    changed = upgrade(config, app is PipelineType.STREAMING, problems)
    for part in _LEGACY_PARTS:
        changed.pop(part, None)
    for key in ("stages", "postActions"):
        changed[key] = [dict(node) if isinstance(node, Mapping) else node for node in changed[key]]
    return changed


_MOST_UNDO_STEPS: Final = 1000
"""Edits that can be undone; documents share their unchanged parts."""


class EditHistory:
    """The documents of a session in the order of its edits, and the current position."""

    def __init__(self, edited: EditedDocument) -> None:
        self._versions = [edited]
        self._position = 0
        self._last: Edit | None = None
        """The edit that led to the current document; None after undo or redo."""

    @property
    def current(self) -> EditedDocument:
        return self._versions[self._position]

    @property
    def can_undo(self) -> bool:
        return self._position > 0

    @property
    def can_redo(self) -> bool:
        return self._position + 1 < len(self._versions)

    def add(self, edited: EditedDocument, edit: Edit | None = None) -> None:
        """Add a document after the current one; undone edits are dropped.

        :param edit: the edit that led to it; one that continues the last edit replaces that.
        """
        kept = self._position + (not _is_continued(self._last, edit))
        self._versions = [*self._versions[:kept][-_MOST_UNDO_STEPS:], edited]
        self._position = len(self._versions) - 1
        self._last = edit

    def undo(self) -> None:
        """Go back one edit.

        :raises ConflictError: when there is nothing to undo.
        """
        if not self.can_undo:
            raise ConflictError("There is nothing to undo.")
        self._position -= 1
        self._last = None

    def redo(self) -> None:
        """Go forward one edit.

        :raises ConflictError: when nothing was undone, or another edit came since.
        """
        if not self.can_redo:
            raise ConflictError("There is nothing to redo.")
        self._position += 1
        self._last = None


def _is_continued(last: Edit | None, edit: Edit | None) -> bool:
    return (
        isinstance(edit, SetProperty)
        and edit.continues
        and isinstance(last, SetProperty)
        and (last.stage, last.name) == (edit.stage, edit.name)
    )
