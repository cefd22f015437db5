"""A pipeline's decoded JSON while it is edited; an edit makes a new one, which shares what stays the same."""

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
    """A document: what lies around the configuration, and the configuration itself.

    :param around: the whole decoded JSON; its configuration counts only as long as it was not edited.
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
        """Return a document as it is given; one of CDAP 3 is edited in the form of CDAP 6.

        :param document: JSON text, or decoded JSON.
        :returns: the draft, and the typed document.
        :raises DocumentError: when it is no pipeline at all.
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
        """With another value of a key beside the configuration, or in it when nothing is around it."""
        if not self._path:
            return self.with_config(_set_key(self.config, key, value))
        holder = _get_node(self._around, self._path[:-1])
        around = _set_node(self._around, self._path[:-1], _set_key(holder, key, value))
        return EditedDocument(around, self._path, self.config, None)

    def to_source(self) -> Any:
        """Return the decoded JSON with the configuration as it is now, all else as it was."""
        return _set_node(self._around, self._path, self.config)

    def to_text(self) -> str:
        """Return the document as JSON text; the very text that it was read from while nothing is changed."""
        if self._original is not None:
            return self._original
        return json.dumps(self.to_source(), indent=2, ensure_ascii=False)

    def to_document(self) -> PipelineDocument:
        """Return the typed document, of what :meth:`text` gives."""
        return read_document(self._around if self._original is not None else self.to_source())


def _get_node(node: Any, path: Path) -> Any:
    for key in path:
        node = _decode(node)[key]
    return _decode(node)


def _set_node(node: Any, path: Path, value: Any) -> Any:
    """Return the node with another value at the path; JSON text on the way stays text."""
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
"""Edits that can be taken back; drafts share what they have in common."""


class EditHistory:
    """A line of drafts, and where in it the session is."""

    def __init__(self, draft: EditedDocument) -> None:
        self._drafts = [draft]
        self._position = 0
        self._last: Edit | None = None
        """The edit that led here; None after going back or forth."""

    @property
    def draft(self) -> EditedDocument:
        return self._drafts[self._position]

    @property
    def can_undo(self) -> bool:
        return self._position > 0

    @property
    def can_redo(self) -> bool:
        return self._position + 1 < len(self._drafts)

    def add(self, draft: EditedDocument, edit: Edit | None = None) -> None:
        """Go on to another draft; what was taken back is forgotten.

        :param edit: what led to it; one that continues the last edit takes its place.
        """
        kept = self._position + (not _is_continued(self._last, edit))
        self._drafts = [*self._drafts[:kept][-_MOST_UNDO_STEPS:], draft]
        self._position = len(self._drafts) - 1
        self._last = edit

    def undo(self) -> None:
        """:raises ConflictError: when there is nothing to take back."""
        if not self.can_undo:
            raise ConflictError("There is nothing to undo.")
        self._position -= 1
        self._last = None

    def redo(self) -> None:
        """:raises ConflictError: when nothing was taken back, or another edit came since."""
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
