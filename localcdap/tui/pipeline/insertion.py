"""Where stages can stand in a pipeline: their connections, their names, and stages from elsewhere.

Stages are copied as text and put into this or another pipeline. The text is JSON as the studio of CDAP
copies it: ``{"stages": […], "connections": […]}``. A single stage, a list of stages and a whole
pipeline are read too. Another area, such as the prep area with its recipe, puts its stages in as well.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.model import PluginSummary
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.values import artifact_to_json, as_text, decode_json
from localcdap.pipeline.editing.edits import AddStage, CompoundEdit, Connect, Disconnect, Edit
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.rules.graph import (
    CONDITION,
    CONTROL,
    ERROR_EMITTERS,
    ERROR_TRANSFORM,
    POST_ACTION,
    SINKS,
    SOURCES,
    SPLITTER,
)
from localcdap.tui.routes import InsertionTarget
from localcdap.tui.studio import Choice

_CONDITIONS: Final = ("true", "false")


@dataclass(frozen=True)
class OutputBranch:
    """An output of a stage: its normal output, a port, a branch or its errors."""

    port: str | None = None
    condition: str | None = None

    @property
    def label(self) -> str:
        return self.port or self.condition or ""

    def connect_edit(self, source: str, target: str) -> Connect:
        return Connect(source, target, port=self.port, condition=self.condition)


class ConnectionRules:
    """The stages of a document and the lines between them."""

    def __init__(self, document: PipelineDocument) -> None:
        self.types = {stage.name: stage.plugin.type for stage in reversed(document.stages)}
        self.endings = frozenset(s.name for s in document.post_actions) - self.types.keys()
        self.connections = document.connections

    def list_branches(self, stage: str, state: StageState | None = None) -> list[OutputBranch]:
        """Return the outputs of a stage, unconnected ones first.

        :param state: what is known of the stage; it names the ports of a splitter.
        """
        taken = [each for each in self.connections if each.source == stage]
        match self.types.get(stage):
            case type if type == CONDITION:
                used = {each.branch for each in taken}
                return [
                    OutputBranch(condition=c) for c in sorted(_CONDITIONS, key=used.__contains__)
                ]
            case type if type == SPLITTER:
                used = {each.port for each in taken}
                ports = dict.fromkeys(state.port_schemas if state is not None else ())
                ports |= dict.fromkeys(each.port for each in taken if each.port)
                return [OutputBranch(port=port) for port in sorted(ports, key=used.__contains__)]
            case _:
                return [OutputBranch()]

    def rejection_reason(
        self, source: str, target: str, target_type: str | None = None
    ) -> str | None:
        """Return why two stages cannot be connected; None when they can.

        :param target_type: of a stage that is not there yet.
        """
        from_type = self.types.get(source)
        to_type = self.types.get(target) if target_type is None else target_type
        if from_type is None or to_type is None or to_type == POST_ACTION:
            return "post actions are not connected"
        if source == target:
            return "a stage is not connected to itself"
        orders = from_type in CONTROL or to_type in CONTROL
        if from_type in SINKS and not orders:
            return "a sink has no output"
        if to_type in SOURCES and not orders:
            return "a source has no input"
        if to_type == ERROR_TRANSFORM and from_type not in ERROR_EMITTERS:
            return f"{from_type} stages emit no errors"
        if from_type not in (CONDITION, SPLITTER) and self._are_connected(source, target):
            return "they are connected already"
        if target_type is None and self._is_upstream(target, source):
            return "the connection would make a cycle"
        return None

    def list_connections(self, stage: str) -> list[StageConnection]:
        """Return the connections from and to a stage."""
        return [each for each in self.connections if stage in (each.source, each.target)]

    def _are_connected(self, source: str, target: str) -> bool:
        return any(each.source == source and each.target == target for each in self.connections)

    def _is_upstream(self, start: str, end: str) -> bool:
        ahead, seen = [start], {start}
        while ahead:
            stage = ahead.pop()
            if stage == end:
                return True
            for each in self.connections:
                if each.source == stage and each.target not in seen:
                    seen.add(each.target)
                    ahead.append(each.target)
        return False


def disconnect_edit(connection: StageConnection) -> Disconnect:
    """Return the edit that removes this connection."""
    return Disconnect(
        connection.source,
        connection.target,
        port=connection.port,
        condition=None if connection.condition is None else connection.branch,
    )


def find_free_name(name: str, taken: Collection[str]) -> str:
    """Return the name, if necessary with the lowest number that makes it unique."""
    if name not in taken:
        return name
    number = 2
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"


def build_stage(plugin: PluginSummary, taken: Collection[str]) -> dict[str, Any]:
    """Return a stage without properties, as JSON of a pipeline document."""
    name = find_free_name(plugin.name, taken)
    return {"name": name, "plugin": _build_plugin(plugin.name, plugin.type, plugin.artifact, name)}


def _build_plugin(name: str, type: str, artifact: ArtifactId, label: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": type,
        "label": label,
        "artifact": artifact_to_json(artifact),
        "properties": {},
    }


def format_connection(connection: StageConnection) -> str:
    """Return a connection as text."""
    branch = f" ({connection.branch})" if connection.branch else ""
    return f"{connection.source} → {connection.target}{branch}"


def format_stages(
    nodes: Sequence[Mapping[str, Any]], connections: Sequence[StageConnection]
) -> str:
    """Return the text of stages and of the connections among them."""
    names = {as_text(node.get("name")) for node in nodes}
    links = [_link(c) for c in connections if {c.source, c.target} <= names]
    return json.dumps({"stages": list(nodes), "connections": links}, indent=2, ensure_ascii=False)


def parse_stages(text: str, taken: Collection[str]) -> tuple[CompoundEdit, list[str]]:
    """Return the edit that adds copied stages under unused names, and these names.

    :raises BadRequestError: when the text holds no stages.
    """
    try:
        nodes, links = _find_parts(decode_json(text))
    except (LocalcdapError, RecursionError):
        raise _create_empty_error() from None
    if not nodes:
        raise _create_empty_error()
    edits: list[Edit] = []
    names: dict[str, str] = {}
    for node in nodes:
        name = as_text(node.get("name")) or "stage"
        new = find_free_name(name, {*taken, *names.values()})
        names.setdefault(name, new)
        rest = {key: value for key, value in node.items() if key != "id"}
        edits.append(AddStage({**rest, "name": new}))
    for link in links:
        source, target = (as_text(link.get(key)) or "" for key in ("from", "to"))
        if source in names and target in names:
            marks = {key: as_text(link.get(key)) or None for key in ("port", "condition")}
            edits.append(Connect(names[source], names[target], **marks))
    return CompoundEdit(edits), list(names.values())


def _find_parts(value: Any) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Find the stages and connections anywhere in decoded JSON."""
    if isinstance(value, list):
        return [node for node in value if _is_stage(node)], []
    if not isinstance(value, Mapping):
        return [], []
    if "stages" in value:
        nodes, links = value.get("stages"), value.get("connections")
        return list(_list_objects(nodes)), list(_list_objects(links))
    if _is_stage(value):
        return [value], []
    return _find_parts(value.get("config"))


def _is_stage(node: Any) -> bool:
    return isinstance(node, Mapping) and "plugin" in node


def _list_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping):
            yield each


def _link(connection: StageConnection) -> dict[str, str]:
    link = {"from": connection.source, "to": connection.target}
    if connection.branch is None:
        return link
    return link | {"port" if connection.port else "condition": connection.branch}


def _create_empty_error() -> BadRequestError:
    return BadRequestError(
        "There are no stages in the clipboard.", "Copy stages with y, here or in another studio."
    )


_NEW = "a stage of a name that is not taken"


class InsertionPlace(NamedTuple):
    """Where stages can stand: in a connection, after a stage, with their own source before one, or alone."""

    connection: StageConnection | None = None
    after: str | None = None
    before: str | None = None


def list_places(document: PipelineDocument, *, has_source: bool) -> list[Choice[InsertionPlace]]:
    """Return where a transform can stand, the connections first.

    :param has_source: whether it may come with a source of its own.
    """
    rules = ConnectionRules(document)
    rules.types[_NEW] = "transform"
    choices = [
        Choice(
            f"In the connection {format_connection(each)}",
            InsertionPlace(each),
            detail=f"{each.target} gets the rows after the recipe.",
        )
        for each in document.connections
        if rules.rejection_reason(each.source, _NEW) is None
        and rules.rejection_reason(_NEW, each.target) is None
    ]
    stages = [each.name for each in document.stages]
    choices += [
        Choice(f"After {name}, beside what follows it", InsertionPlace(after=name))
        for name in stages
        if rules.rejection_reason(name, _NEW) is None
    ]
    if has_source:
        choices += [
            Choice(f"With its source, into {name}", InsertionPlace(before=name))
            for name in stages
            if rules.rejection_reason(_NEW, name) is None
        ]
    choices.append(Choice("Connected to nothing yet", InsertionPlace()))
    return choices


def build_insertion(
    target: InsertionTarget,
    place: InsertionPlace,
    document: PipelineDocument,
    taken: Collection[str],
) -> tuple[CompoundEdit, str]:
    """Return the edit that puts stages at a place, and the name of the stage with the recipe.

    :param taken: the names that stages have.
    """
    text = target.stage if place.before is None else target.branch
    added, names = parse_stages(text or target.stage, taken)
    name = names[-1]
    edits: list[Edit] = list(added.edits)
    rules = ConnectionRules(document)
    if place.connection is not None:
        gone = disconnect_edit(place.connection)
        into = OutputBranch(gone.port, gone.condition)
        edits += [gone, into.connect_edit(gone.source, name), Connect(name, gone.target)]
    if place.after is not None:
        branches = rules.list_branches(place.after) or [OutputBranch()]
        edits.append(branches[0].connect_edit(place.after, name))
    if place.before is not None:
        edits.append(Connect(name, place.before))
    return CompoundEdit(edits), name
