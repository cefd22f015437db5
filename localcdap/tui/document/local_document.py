"""The studio's own copy of a document: edits are made on it at once, with the code of the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edit_application import apply_edit
from localcdap.pipeline.editing.edited_document import EditedDocument, EditHistory
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, Redo, RenameStage, Undo

_LISTS: Final = ("stages", "postActions")


class Difference(msgspec.Struct, frozen=True):
    """What an edit changed."""

    stages: frozenset[str]
    """Those whose JSON is another one, or that are new or gone."""
    is_graph: bool
    """Whether stages, names, connections or plugins differ."""
    renamed: Mapping[str, str] = {}
    """New names by old ones."""


class Paper:
    """A document and its history.

    :param draft: what it begins with.
    """

    def __init__(self, draft: EditedDocument) -> None:
        self._history = EditHistory(draft)
        self._saved = draft
        self._take(draft.to_document())

    @property
    def draft(self) -> EditedDocument:
        return self._history.draft

    @property
    def can_undo(self) -> bool:
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        return self._history.can_redo

    @property
    def is_changed(self) -> bool:
        """Whether it differs from what was saved last."""
        return self._history.draft is not self._saved

    def saved(self, draft: EditedDocument) -> None:
        """Note that a draft of the history was saved."""
        self._saved = draft

    def apply(self, edit: Edit) -> Difference:
        """Make an edit.

        :raises LocalcdapError: when it cannot be made; nothing is different then.
        """
        before, nodes = self.document, self._nodes
        history = self._history
        if isinstance(edit, Undo | Redo):
            history.undo() if isinstance(edit, Undo) else history.redo()
            self._take(history.draft.to_document())
        else:
            draft = apply_edit(history.draft, edit)
            read = draft.to_document()  # what cannot be read is refused, as the service does
            history.add(draft, edit)
            self._take(read)
        names = nodes.keys() | self._nodes.keys()
        return Difference(
            frozenset(n for n in names if nodes.get(n) is not self._nodes.get(n)),
            _shape(before) != _shape(self.document),
            dict(_renames(edit)),
        )

    def node(self, stage: str) -> Mapping[str, Any]:
        """The decoded JSON of a stage; empty when there is none."""
        return self._nodes.get(stage, {})

    def use(self, stage: str) -> StageUse | None:
        return self._uses.get(stage)

    def _take(self, document: PipelineDocument) -> None:
        """Note what the present draft says."""
        draft = self._history.draft
        self.document = document
        self._nodes: dict[str, Mapping[str, Any]] = {}
        for name, node in _named(draft.config):
            self._nodes.setdefault(name, node)
        self._uses: dict[str, StageUse] = {}
        for use in (*self.document.stages, *self.document.post_actions):
            self._uses.setdefault(use.name, use)


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in _LISTS:
        nodes = config.get(key)
        for node in nodes if isinstance(nodes, list) else ():
            if isinstance(node, Mapping) and (name := as_text(node.get("name"))):
                yield name, node


def _shape(document: PipelineDocument) -> tuple[Any, ...]:
    """What a drawing of the document depends on."""
    uses = [
        [(each.name, each.plugin.type, each.plugin.name) for each in stages]
        for stages in (document.stages, document.post_actions)
    ]
    return (*uses, document.connections, document.type)


def _renames(edit: Edit) -> Iterator[tuple[str, str]]:
    if isinstance(edit, RenameStage):
        yield edit.stage, edit.name
    elif isinstance(edit, CompoundEdit):
        for each in edit.edits:
            yield from _renames(each)
