"""The decoded JSON of a pipeline while it is edited, the history of its edits, and how each edit is applied.

Documents are immutable: an edit creates a new one, which shares all unchanged parts with the one before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.expectations.rules import KEY as EXPECTATIONS
from localcdap.pipeline.document.model import Path, PipelineDocument, PipelineType
from localcdap.pipeline.document.reader import is_legacy, read_document, upgrade
from localcdap.pipeline.document.values import as_text, describe_kind, encode_json
from localcdap.pipeline.editing.edits import (
    AddStage,
    CompoundEdit,
    Connect,
    Disconnect,
    DuplicateStage,
    Edit,
    Redo,
    RemoveStage,
    RenameStage,
    SetExpectations,
    SetNote,
    SetPlugin,
    SetProperties,
    SetProperty,
    SetSetting,
    Undo,
)

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


_LISTS: Final = ("stages", "postActions")
_PARTS: Final = (*_LISTS, "connections", "source", "transforms", "sinks", "sink", "actions")
_LABELS: Final = ("name", "description")
_Config = Mapping[str, Any]


def apply_edit(edited: EditedDocument, edit: Edit) -> EditedDocument:
    """Return the document after an edit.

    :raises NotFoundError: when a stage or connection that it names does not exist.
    :raises ConflictError: when a name is taken, or a connection exists already.
    :raises BadRequestError: when the edit is invalid.
    """
    match edit:
        case CompoundEdit():
            for each in edit.edits:
                edited = apply_edit(edited, each)
            return edited
        case SetSetting(key=key) if key in _LABELS:
            return edited.with_label(key, edit.value)
        case Undo() | Redo():
            raise BadRequestError("Undo and redo cannot be part of other edits.")
        case _:
            return edited.with_config(_APPLIERS[type(edit)](edited.config, edit))


def _set_properties(config: _Config, edit: SetProperties) -> _Config:
    plugin = {**_get_plugin(config, edit.stage), "properties": edit.properties}
    return _change_stage(config, edit.stage, plugin=plugin)


def _set_plugin(config: _Config, edit: SetPlugin) -> _Config:
    plugin = {**_get_plugin(config, edit.stage), "type": edit.type, "name": edit.name}
    plugin.pop("artifact", None)
    if edit.artifact is not None:
        plugin["artifact"] = edit.artifact
    return _change_stage(config, edit.stage, plugin=plugin)


def _set_property(config: _Config, edit: SetProperty) -> _Config:
    plugin = _get_plugin(config, edit.stage)
    properties = plugin.get("properties")
    changed = dict(properties) if isinstance(properties, Mapping) else {}
    changed[edit.name] = edit.value
    if edit.value is None:
        del changed[edit.name]
    return _change_stage(config, edit.stage, plugin={**plugin, "properties": changed})


def _set_note(config: _Config, edit: SetNote) -> _Config:
    return _set_stage_key(config, edit.stage, "description", edit.text)


def _set_expectations(config: _Config, edit: SetExpectations) -> _Config:
    return _set_stage_key(config, edit.stage, EXPECTATIONS, edit.rules or None)


def _set_stage_key(config: _Config, stage: str, name: str, value: Any) -> _Config:
    """Set a key of a stage; None removes it."""
    key, index = _find(config, stage)
    nodes = list(_require_list(config, key))
    node = {k: v for k, v in nodes[index].items() if k != name}
    nodes[index] = node if value is None else {**nodes[index], name: value}
    return {**config, key: nodes}


def _add_stage(config: _Config, edit: AddStage) -> _Config:
    name = as_text(edit.stage.get("name"))
    if not name:
        raise BadRequestError("A stage needs a name.", "Give it one that no other stage has.")
    _require_free(config, name)
    key = "postActions" if edit.post_action else "stages"
    return {**config, key: [*_require_list(config, key), edit.stage]}


def _remove_stage(config: _Config, edit: RemoveStage) -> _Config:
    stage = edit.stage
    key, index = _find(config, stage)
    nodes = _require_list(config, key)
    changed = {**config, key: [*nodes[:index], *nodes[index + 1 :]]}
    if key == "stages" and not any(_get_name(each) == stage for each in changed[key]):
        changed = _set_connections(
            changed, [c for c in _list_connections(config) if stage not in _get_ends(c)]
        )
    return changed


def _rename_stage(config: _Config, edit: RenameStage) -> _Config:
    if not edit.name:
        raise BadRequestError("A stage needs a name.", "Give it one that no other stage has.")
    key, _ = _find(config, edit.stage)
    if edit.name == edit.stage:
        return config
    _require_free(config, edit.name)
    changed = _change_stage(config, edit.stage, name=edit.name)
    if key != "stages" or any(
        _get_name(each) == edit.stage for each in _require_list(changed, key)
    ):
        return changed  # the connections belong to the other stage of that name

    def rename_ends(node: Any) -> Any:
        if not isinstance(node, Mapping) or edit.stage not in _get_ends(node):
            return node
        ends = {k: edit.name for k in ("from", "to") if as_text(node.get(k)) == edit.stage}
        return {**node, **ends}

    return _set_connections(changed, [rename_ends(node) for node in _list_connections(config)])


def _duplicate_stage(config: _Config, edit: DuplicateStage) -> _Config:
    key, index = _find(config, edit.stage)
    nodes = _require_list(config, key)
    name = edit.name or _find_free_name(config, edit.stage)
    _require_free(config, name)
    copy = {k: v for k, v in nodes[index].items() if k != "id"} | {"name": name}
    return {**config, key: [*nodes[: index + 1], copy, *nodes[index + 1 :]]}


def _connect(config: _Config, edit: Connect) -> _Config:
    for name in (edit.source, edit.target):
        if _find(config, name)[0] != "stages":
            raise BadRequestError(f"Post action '{name}' cannot be connected.")
    if any(
        _is_matched(node, edit) and _get_marks(node) == _get_edit_marks(edit)
        for node in _list_connections(config)
    ):
        raise ConflictError(f"'{edit.source}' and '{edit.target}' are connected already.")
    marks = {k: v for k, v in (("port", edit.port), ("condition", edit.condition)) if v}
    node = {"from": edit.source, "to": edit.target, **marks}
    return _set_connections(config, [*_list_connections(config), node])


def _disconnect(config: _Config, edit: Disconnect) -> _Config:
    links = _list_connections(config)
    kept = [node for node in links if not _is_matched(node, edit)]
    if len(kept) == len(links):
        raise NotFoundError(
            f"There is no such connection from '{edit.source}' to '{edit.target}'.",
            "Look at the connections of the pipeline.",
        )
    return _set_connections(config, kept)


def _set_setting(config: _Config, edit: SetSetting) -> _Config:
    if edit.key in _PARTS:
        raise BadRequestError(
            f"'{edit.key}' is not a setting.", "Add, remove and connect stages one by one."
        )
    changed = {**config, edit.key: edit.value}
    if edit.value is None:
        del changed[edit.key]
    return changed


_APPLIERS: Final[Mapping[type, Callable[[_Config, Any], _Config]]] = {
    SetProperty: _set_property,
    SetProperties: _set_properties,
    SetPlugin: _set_plugin,
    SetNote: _set_note,
    SetExpectations: _set_expectations,
    AddStage: _add_stage,
    RemoveStage: _remove_stage,
    RenameStage: _rename_stage,
    DuplicateStage: _duplicate_stage,
    Connect: _connect,
    Disconnect: _disconnect,
    SetSetting: _set_setting,
}


# -- finding and replacing --------------------------------------------------------------------


def stage_names(config: _Config) -> list[str]:
    """Return names of the stages and post actions, in document order."""
    nodes = [node for key in _LISTS for node in _list_nodes(config, key)]
    return [name for node in nodes if (name := _get_name(node))]


def _find(config: _Config, stage: str) -> tuple[str, int]:
    """Return the key of the list that holds a stage, and its index in the list."""
    for key in _LISTS:
        for index, node in enumerate(_list_nodes(config, key)):
            if _get_name(node) == stage:
                return key, index
    names = ", ".join(stage_names(config)) or "none"
    raise NotFoundError(f"The pipeline has no stage '{stage}'.", f"Its stages: {names}.")


def _change_stage(config: _Config, stage: str, **changes: Any) -> _Config:
    key, index = _find(config, stage)
    nodes = list(_require_list(config, key))
    nodes[index] = {**nodes[index], **changes}
    return {**config, key: nodes}


def _set_connections(config: _Config, connections: list[Any]) -> dict[str, Any]:
    return {**config, "connections": connections}


def _get_plugin(config: _Config, stage: str) -> dict[str, Any]:
    key, index = _find(config, stage)
    plugin = _require_list(config, key)[index].get("plugin")
    return dict(plugin) if isinstance(plugin, Mapping) else {}


def _require_list(config: _Config, key: str) -> Sequence[Any]:
    """Return the list under a key.

    :raises BadRequestError: when the value is not a list: an edit would lose it.
    """
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequestError(
            f"'{key}' must be a list, not {describe_kind(value)}.", "Correct the file."
        )
    return value


def _list_nodes(config: _Config, key: str) -> Sequence[Any]:
    value = config.get(key)
    return value if isinstance(value, list) else []


def _list_connections(config: _Config) -> Sequence[Any]:
    return _require_list(config, "connections")


def _get_name(node: Any) -> str | None:
    return as_text(node.get("name")) if isinstance(node, Mapping) else None


def _get_ends(node: Any) -> tuple[str | None, ...]:
    if not isinstance(node, Mapping):
        return ()
    return as_text(node.get("from")), as_text(node.get("to"))


def _get_marks(node: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return as_text(node.get("port")) or None, as_text(node.get("condition")) or None


def _get_edit_marks(edit: Connect | Disconnect) -> tuple[str | None, str | None]:
    return edit.port or None, edit.condition or None


def _is_matched(node: Any, edit: Connect | Disconnect) -> bool:
    """Return whether a connection has the ends of the edit, and its port and condition where given."""
    if _get_ends(node) != (edit.source, edit.target):
        return False
    return all(
        wanted in (None, found)
        for wanted, found in zip(_get_edit_marks(edit), _get_marks(node), strict=True)
    )


def _require_free(config: _Config, name: str) -> None:
    if name in stage_names(config):
        raise ConflictError(
            f"There is a stage '{name}' already.",
            f"Call it '{_find_free_name(config, name)}', say.",
        )


def _find_free_name(config: _Config, name: str) -> str:
    """Return the name with the lowest number that no other stage has."""
    taken, number = set(stage_names(config)), 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"
