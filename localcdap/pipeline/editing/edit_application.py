"""Edits carried out on the decoded JSON of a configuration; every other key of it stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
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


def apply_edit(draft: EditedDocument, edit: Edit) -> EditedDocument:
    """The draft after an edit.

    :raises NotFoundError: when a stage or connection that it names is not there.
    :raises ConflictError: when a name is taken, or a connection is there already.
    :raises BadRequestError: when the edit makes no sense.
    """
    match edit:
        case CompoundEdit():
            for each in edit.edits:
                draft = apply_edit(draft, each)
            return draft
        case SetSetting(key=key) if key in _LABELS:
            return draft.with_label(key, edit.value)
        case Undo() | Redo():
            raise BadRequestError("Undo and redo cannot be part of other edits.")
        case _:
            return draft.with_config(_WRITERS[type(edit)](draft.config, edit))


def _with_properties(config: _Config, edit: SetProperties) -> _Config:
    plugin = {**_plugin(config, edit.stage), "properties": edit.properties}
    return _with_stage(config, edit.stage, plugin=plugin)


def _with_plugin(config: _Config, edit: SetPlugin) -> _Config:
    plugin = {**_plugin(config, edit.stage), "type": edit.type, "name": edit.name}
    plugin.pop("artifact", None)
    if edit.artifact is not None:
        plugin["artifact"] = edit.artifact
    return _with_stage(config, edit.stage, plugin=plugin)


def _with_property(config: _Config, edit: SetProperty) -> _Config:
    plugin = _plugin(config, edit.stage)
    properties = plugin.get("properties")
    changed = dict(properties) if isinstance(properties, Mapping) else {}
    changed[edit.name] = edit.value
    if edit.value is None:
        del changed[edit.name]
    return _with_stage(config, edit.stage, plugin={**plugin, "properties": changed})


def _with_note(config: _Config, edit: SetNote) -> _Config:
    key, index = _find(config, edit.stage)
    nodes = list(_list(config, key))
    node = {k: v for k, v in nodes[index].items() if k != "description"}
    nodes[index] = node if edit.text is None else {**nodes[index], "description": edit.text}
    return {**config, key: nodes}


def _with_new(config: _Config, edit: AddStage) -> _Config:
    name = as_text(edit.stage.get("name"))
    if not name:
        raise BadRequestError("A stage needs a name.", "Give it one that no other stage has.")
    _require_free(config, name)
    key = "postActions" if edit.post_action else "stages"
    return {**config, key: [*_list(config, key), edit.stage]}


def _without(config: _Config, edit: RemoveStage) -> _Config:
    stage = edit.stage
    key, index = _find(config, stage)
    nodes = _list(config, key)
    changed = {**config, key: [*nodes[:index], *nodes[index + 1 :]]}
    if key == "stages" and not any(_name(each) == stage for each in changed[key]):
        changed = _with_connections(changed, [c for c in _links(config) if stage not in _ends(c)])
    return changed


def _renamed(config: _Config, edit: RenameStage) -> _Config:
    if not edit.name:
        raise BadRequestError("A stage needs a name.", "Give it one that no other stage has.")
    key, _ = _find(config, edit.stage)
    if edit.name == edit.stage:
        return config
    _require_free(config, edit.name)
    changed = _with_stage(config, edit.stage, name=edit.name)
    if key != "stages" or any(_name(each) == edit.stage for each in _list(changed, key)):
        return changed  # the connections are those of the other one

    def renamed(node: Any) -> Any:
        if not isinstance(node, Mapping) or edit.stage not in _ends(node):
            return node
        ends = {k: edit.name for k in ("from", "to") if as_text(node.get(k)) == edit.stage}
        return {**node, **ends}

    return _with_connections(changed, [renamed(node) for node in _links(config)])


def _duplicated(config: _Config, edit: DuplicateStage) -> _Config:
    key, index = _find(config, edit.stage)
    nodes = _list(config, key)
    name = edit.name or _free_name(config, edit.stage)
    _require_free(config, name)
    copy = {k: v for k, v in nodes[index].items() if k != "id"} | {"name": name}
    return {**config, key: [*nodes[: index + 1], copy, *nodes[index + 1 :]]}


def _connected(config: _Config, edit: Connect) -> _Config:
    for name in (edit.source, edit.target):
        if _find(config, name)[0] != "stages":
            raise BadRequestError(f"Post action '{name}' cannot be connected.")
    if any(_is_meant(node, edit) and _marks(node) == _marks_of(edit) for node in _links(config)):
        raise ConflictError(f"'{edit.source}' and '{edit.target}' are connected already.")
    marks = {k: v for k, v in (("port", edit.port), ("condition", edit.condition)) if v}
    node = {"from": edit.source, "to": edit.target, **marks}
    return _with_connections(config, [*_links(config), node])


def _disconnected(config: _Config, edit: Disconnect) -> _Config:
    links = _links(config)
    kept = [node for node in links if not _is_meant(node, edit)]
    if len(kept) == len(links):
        raise NotFoundError(
            f"There is no such connection from '{edit.source}' to '{edit.target}'.",
            "Look at the connections of the pipeline.",
        )
    return _with_connections(config, kept)


def _with_setting(config: _Config, edit: SetSetting) -> _Config:
    if edit.key in _PARTS:
        raise BadRequestError(
            f"'{edit.key}' is no setting.", "Add, remove and connect stages one by one."
        )
    changed = {**config, edit.key: edit.value}
    if edit.value is None:
        del changed[edit.key]
    return changed


_WRITERS: Final[Mapping[type, Callable[[_Config, Any], _Config]]] = {
    SetProperty: _with_property,
    SetProperties: _with_properties,
    SetPlugin: _with_plugin,
    SetNote: _with_note,
    AddStage: _with_new,
    RemoveStage: _without,
    RenameStage: _renamed,
    DuplicateStage: _duplicated,
    Connect: _connected,
    Disconnect: _disconnected,
    SetSetting: _with_setting,
}


# -- finding and exchanging -------------------------------------------------------------------


def stage_names(config: _Config) -> list[str]:
    """Names of the stages and post actions, in document order."""
    nodes = [node for key in _LISTS for node in _nodes(config, key)]
    return [name for node in nodes if (name := _name(node))]


def _find(config: _Config, stage: str) -> tuple[str, int]:
    """Under which key and where in its list a stage is."""
    for key in _LISTS:
        for index, node in enumerate(_nodes(config, key)):
            if _name(node) == stage:
                return key, index
    names = ", ".join(stage_names(config)) or "none"
    raise NotFoundError(f"The pipeline has no stage '{stage}'.", f"Its stages: {names}.")


def _with_stage(config: _Config, stage: str, **changes: Any) -> _Config:
    key, index = _find(config, stage)
    nodes = list(_list(config, key))
    nodes[index] = {**nodes[index], **changes}
    return {**config, key: nodes}


def _with_connections(config: _Config, connections: list[Any]) -> dict[str, Any]:
    return {**config, "connections": connections}


def _plugin(config: _Config, stage: str) -> dict[str, Any]:
    key, index = _find(config, stage)
    plugin = _list(config, key)[index].get("plugin")
    return dict(plugin) if isinstance(plugin, Mapping) else {}


def _list(config: _Config, key: str) -> Sequence[Any]:
    """:raises BadRequestError: when there is something else, which an edit would lose."""
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequestError(
            f"'{key}' must be a list, not {describe_kind(value)}.", "Correct the file."
        )
    return value


def _nodes(config: _Config, key: str) -> Sequence[Any]:
    value = config.get(key)
    return value if isinstance(value, list) else []


def _links(config: _Config) -> Sequence[Any]:
    return _list(config, "connections")


def _name(node: Any) -> str | None:
    return as_text(node.get("name")) if isinstance(node, Mapping) else None


def _ends(node: Any) -> tuple[str | None, ...]:
    if not isinstance(node, Mapping):
        return ()
    return as_text(node.get("from")), as_text(node.get("to"))


def _marks(node: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return as_text(node.get("port")) or None, as_text(node.get("condition")) or None


def _marks_of(edit: Connect | Disconnect) -> tuple[str | None, str | None]:
    return edit.port or None, edit.condition or None


def _is_meant(node: Any, edit: Connect | Disconnect) -> bool:
    """Whether a connection has the ends of the edit, and the port and condition that it gives."""
    if _ends(node) != (edit.source, edit.target):
        return False
    return all(
        wanted in (None, found) for wanted, found in zip(_marks_of(edit), _marks(node), strict=True)
    )


def _require_free(config: _Config, name: str) -> None:
    if name in stage_names(config):
        raise ConflictError(
            f"There is a stage '{name}' already.", f"Call it '{_free_name(config, name)}', say."
        )


def _free_name(config: _Config, name: str) -> str:
    """The name with the lowest number that makes it no other stage's."""
    taken, number = set(stage_names(config)), 2
    while f"{name} {number}" in taken:
        number += 1
    return f"{name} {number}"
