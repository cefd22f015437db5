"""Applies edits to the decoded JSON of a configuration; all other keys stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.expectations.rules import KEY as EXPECTATIONS
from localcdap.pipeline.document.values import as_text, describe_kind
from localcdap.pipeline.editing.edited_document import EditedDocument
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
    return _set_key(config, edit.stage, "description", edit.text)


def _set_expectations(config: _Config, edit: SetExpectations) -> _Config:
    return _set_key(config, edit.stage, EXPECTATIONS, edit.rules or None)


def _set_key(config: _Config, stage: str, name: str, value: Any) -> _Config:
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
