"""The studio's own copy of a document, to which edits are applied at once.

It uses the code of the editing service, so that both get the same document from the same edits; see
:mod:`localcdap.tui.document.editor`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edited_document import EditedDocument, EditHistory, apply_edit
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, Redo, RenameStage, Undo

_LISTS: Final = ("stages", "postActions")


class DocumentChange(msgspec.Struct, frozen=True):
    """The changes that an edit made in the document."""

    stages: frozenset[str] = frozenset()
    """Stages whose JSON differs, new stages and removed stages."""
    is_graph: bool = False
    """Whether stages, names, connections or plugins differ."""
    renamed: Mapping[str, str] = {}
    """New names by old names."""
    is_edit: bool = True
    """False when only the namespace differs, or where or whether the document is saved."""
    origin: object = None
    """The widget that made the edit."""


class LocalDocument:
    """A document and its history.

    :param edited: the document at the start.
    """

    def __init__(self, edited: EditedDocument) -> None:
        self._history = EditHistory(edited)
        self._saved = edited
        self._index(edited.to_document())

    @property
    def current(self) -> EditedDocument:
        return self._history.current

    @property
    def can_undo(self) -> bool:
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        return self._history.can_redo

    @property
    def is_changed(self) -> bool:
        """Whether the document differs from what was saved last."""
        return self._history.current is not self._saved

    def mark_saved(self, edited: EditedDocument) -> None:
        """Record which state of the document was saved."""
        self._saved = edited

    def apply(self, edit: Edit, origin: object = None) -> DocumentChange:
        """Apply an edit and return what it changed.

        :raises LocalcdapError: when the edit cannot be made; the document stays as it is.
        """
        before, nodes = self.document, self._nodes
        history = self._history
        if isinstance(edit, Undo | Redo):
            history.undo() if isinstance(edit, Undo) else history.redo()
            self._index(history.current.to_document())
        else:
            edited = apply_edit(history.current, edit)
            read = (
                edited.to_document()
            )  # raises for a document that cannot be read, as in the service
            history.add(edited, edit)
            self._index(read)
        names = nodes.keys() | self._nodes.keys()
        return DocumentChange(
            frozenset(n for n in names if nodes.get(n) is not self._nodes.get(n)),
            _get_shape(before) != _get_shape(self.document),
            dict(_list_renames(edit)),
            origin=origin,
        )

    def get_node(self, stage: str) -> Mapping[str, Any]:
        """Return the decoded JSON of a stage; empty when there is none."""
        return self._nodes.get(stage, {})

    def get_stage(self, stage: str) -> StageUse | None:
        """Return a stage of the typed document."""
        return self._uses.get(stage)

    def _index(self, document: PipelineDocument) -> None:
        """Index the stages of the current document by name."""
        edited = self._history.current
        self.document = document
        self._nodes: dict[str, Mapping[str, Any]] = {}
        for name, node in _iterate_nodes(edited.config):
            self._nodes.setdefault(name, node)
        self._uses: dict[str, StageUse] = {}
        for use in (*self.document.stages, *self.document.post_actions):
            self._uses.setdefault(use.name, use)


def _iterate_nodes(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in _LISTS:
        nodes = config.get(key)
        for node in nodes if isinstance(nodes, list) else ():
            if isinstance(node, Mapping) and (name := as_text(node.get("name"))):
                yield name, node


def _get_shape(document: PipelineDocument) -> tuple[Any, ...]:
    """Return everything that the drawing of the document depends on."""
    uses = [
        [(each.name, each.plugin.type, each.plugin.name) for each in stages]
        for stages in (document.stages, document.post_actions)
    ]
    return (*uses, document.connections, document.type)


def _list_renames(edit: Edit) -> Iterator[tuple[str, str]]:
    if isinstance(edit, RenameStage):
        yield edit.stage, edit.name
    elif isinstance(edit, CompoundEdit):
        for each in edit.edits:
            yield from _list_renames(each)
