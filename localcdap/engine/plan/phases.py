"""The order of a run: phases of stages that Spark computes together, and control stages between them.

As in CDAP 6 ``PipelinePlanner`` for the engine Spark: actions and conditions split the pipeline; all data
stages that are connected without passing one form a phase. Within a phase, stages run together in one pass
through Python, with the fields of their streams that are needed at all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final

import msgspec

from localcdap.api.errors import StageError
from localcdap.api.pipeline import PipelineSpec, StageConnection
from localcdap.api.plugin import BatchJoiner, Plugin
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import (
    ACTIONS,
    AGGREGATOR,
    CONDITION,
    CONTROL,
    DATA_TYPES,
    SOURCE,
    Flow,
    Stage,
    Stream,
    create_configurer,
)
from localcdap.expectations.schema_checks import has_diverting_rule


class Step(msgspec.Struct):
    """A step of a run: a phase of data stages, or one control stage."""

    stages: list[str]
    """In topological order."""
    is_phase: bool
    before: frozenset[int] = frozenset()
    """The steps that this one comes after, directly or not, as indexes into :attr:`Route.steps`."""
    is_ending: bool = False
    """Whether this is a control stage after all data: it sees what the sinks wrote."""


class PhaseRoute:
    """The steps of a pipeline in the order in which they run, and what flows between them.

    :param spec: a valid pipeline.
    :raises StageError: when there is no such order.
    """

    def __init__(self, spec: PipelineSpec) -> None:
        self.types: Final = {s.name: s.plugin.type for s in spec.stages}
        known = (c for c in spec.connections if {c.source, c.target} <= self.types.keys())
        self.connections: Final = list(known)
        order = {stage.name: index for index, stage in enumerate(spec.stages)}
        self.forwarding: Final = _find_forwarding(self.types, self.connections)
        """Conditions that records pass through."""
        groups = self._group_stages()
        firsts = sorted(groups, key=lambda group: order[group[0]])
        self.steps: Final = self._order_groups([sorted(g, key=order.__getitem__) for g in firsts])

    def carries_records(self, connection: StageConnection) -> bool:
        """Whether records flow along a connection; otherwise it only orders two stages."""
        source, target = self.types[connection.source], self.types[connection.target]
        gives = source in DATA_TYPES or connection.source in self.forwarding
        return gives and (target not in CONTROL or target == CONDITION) and target != SOURCE

    def list_entries(self, stages: Iterable[str], live: Container[StageConnection]) -> list[str]:
        """Return the conditions that pass records to a phase along live connections."""
        inside = set(stages)
        found = [
            c.source
            for c in self.connections
            if c in live and c.target in inside and self.carries_records(c)
        ]
        return [name for name in dict.fromkeys(found) if name in self.forwarding]

    def list_exits(self, stages: Iterable[str]) -> list[str]:
        """Return the conditions that a phase passes records to."""
        inside = set(stages)
        found = [c.target for c in self.connections if c.source in inside]
        return [name for name in dict.fromkeys(found) if name in self.forwarding]

    def list_feeders(self, condition: str) -> list[str]:
        """Return the conditions that pass their records to a condition."""
        into = (c.source for c in self.connections if c.target == condition)
        return [name for name in dict.fromkeys(into) if name in self.forwarding]

    def _group_stages(self) -> list[list[str]]:
        """Return each control stage alone, and the data stages of each phase."""
        group_of = {name: [name] for name in self.types}
        first_source: dict[str, str] = {}
        for connection in self.connections:
            source, target = connection.source, connection.target
            if target in self.forwarding and self.types[source] not in CONTROL:
                # All records that flow into one condition come from one phase.
                source, target = first_source.setdefault(target, source), source
            if self.types[source] in CONTROL or self.types[target] in CONTROL:
                continue
            if group_of[source] is not group_of[target]:
                group_of[source] += group_of[target]
                for name in group_of[target]:
                    group_of[name] = group_of[source]
        return list({id(group): group for group in group_of.values()}.values())

    def _order_groups(self, groups: list[list[str]]) -> list[Step]:
        group_of = {name: index for index, group in enumerate(groups) for name in group}
        direct: list[set[int]] = [set() for _ in groups]
        for connection in self.connections:
            direct[group_of[connection.target]].add(group_of[connection.source])
        direct = [before - {index} for index, before in enumerate(direct)]
        phases = {p for p, group in enumerate(groups) if self.types[group[0]] not in CONTROL}
        before = _compute_closure(direct)
        followed = {each for index in phases for each in before[index]}
        ending = {
            p for p in range(len(groups)) if p not in phases | followed and before[p] & phases
        }
        order: list[int] = []
        waiting = sorted(range(len(groups)), key=lambda p: (p in ending, p))
        while waiting:
            ready = next((p for p in waiting if direct[p] <= set(order)), None)
            if ready is None:
                names = ", ".join(name for p in waiting for name in groups[p])
                raise StageError(
                    f"No order is found in which the stages {names} can run: each of their phases comes "
                    "before and after another one.",
                    "Move the stages on both sides of a condition into separate pipelines.",
                )
            waiting.remove(ready)
            order.append(ready)
        number = {group: index for index, group in enumerate(order)}
        return [
            Step(groups[p], p in phases, frozenset(number[b] for b in before[p]), p in ending)
            for p in order
        ]


def _find_forwarding(types: dict[str, str], connections: list[StageConnection]) -> frozenset[str]:
    found: set[str] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for each in connections:
            gives = types[each.source] in DATA_TYPES or each.source in found
            if types[each.target] == CONDITION and gives:
                found.add(each.target)
    return frozenset(found)


def _compute_closure(direct: list[set[int]]) -> list[set[int]]:
    before = [set(each) for each in direct]
    for _ in before:
        before = [each.union(*(before[other] for other in each)) for each in before]
    return before


def list_actions_before(route: PhaseRoute, step: Step) -> set[str]:
    """Return the actions that a step comes after."""
    stages = (name for index in step.before for name in route.steps[index].stages)
    return {name for name in stages if route.types[name] in ACTIONS}


class PassGroup(msgspec.Struct):
    """Stages of record or batch grain that run in one pass."""

    feeds: list[Stream]
    """The streams of other stages whose union is the input of the pass."""
    stages: list[str]
    """In topological order."""
    grouped: bool = False
    """Whether the first stage is an aggregator; no other stage reads the feeds then."""


def fuse_stages(flow: Flow, in_python: set[str]) -> list[PassGroup]:
    """Return the passes of a pipeline.

    A stage joins the pass that all of its inputs come from, or the pass that is fed by the same streams;
    otherwise it starts a new one. A stage with expectations is the last one of its pass: Spark checks them.

    :param in_python: names of the stages of record or batch grain.
    """
    groups: list[PassGroup] = []
    group_of: dict[str, PassGroup] = {}
    for stage in flow.stages:
        if stage.name not in in_python:
            continue
        streams = flow.list_inputs(stage.name)
        unchecked = {k: v for k, v in group_of.items() if not flow.get_stage(k).expectations}
        group = None if stage.type == AGGREGATOR else _find_group(streams, groups, unchecked)
        if group is None:
            group = PassGroup(streams, [], grouped=stage.type == AGGREGATOR)
            groups.append(group)
        group.stages.append(stage.name)
        group_of[stage.name] = group
    return groups


def _find_group(
    streams: list[Stream], groups: list[PassGroup], group_of: dict[str, PassGroup]
) -> PassGroup | None:
    sources = [group_of.get(stream.stage) for stream in streams]
    if sources and sources[0] is not None and all(group is sources[0] for group in sources):
        return sources[0]
    return next((g for g in groups if g.feeds == streams and not g.grouped), None)


def list_inputs_in_pass(group: PassGroup, flow: Flow, stage: Stage) -> list[Stream]:
    """Return the streams that a stage reads within its pass: the feed, or those of other members."""
    streams = flow.list_inputs(stage.name)
    return [group.feeds[0]] if streams == group.feeds else streams


def list_outlets(group: PassGroup, flow: Flow) -> list[Stream]:
    """Return the streams of a pass that stages outside of it read; error records come last.

    Of a stage whose rules may send records to error, the records leave the pass with the errors.
    """
    members = set(group.stages)
    found: dict[Stream, None] = {}
    for stage in flow.stages:
        if stage.name not in members:
            for stream in flow.list_inputs(stage.name):
                if stream.stage in members:
                    found[stream] = None
                    if stream.errors and has_diverting_rule(
                        flow.get_stage(stream.stage).expectations
                    ):
                        found[Stream(stream.stage)] = None
    return sorted(found, key=lambda stream: stream.errors)


def list_read_fields(plugin: Plugin, stage: Stage) -> dict[str, list[str]]:
    """Return the fields that a stage reads of each of its input stages, in schema order."""
    wanted: dict[str, list[str] | None] = {}
    if isinstance(plugin, BatchJoiner):
        wanted = dict(plugin.input_fields_by_stage(create_configurer(stage)) or {})
    else:
        input_fields = getattr(plugin, "input_fields", None)
        names = input_fields(create_configurer(stage)) if input_fields is not None else None
        wanted = dict.fromkeys(stage.input_schemas, names)
    return {
        source: _order_fields(schema, wanted.get(source))
        for source, schema in stage.input_schemas.items()
    }


def _order_fields(schema: Schema, names: list[str] | None) -> list[str]:
    """Return the names in schema order; at least one, since rows without columns cannot be counted."""
    if names is None:
        return schema.field_names
    chosen = [name for name in schema.field_names if name in names]
    return chosen or schema.field_names[:1]


def find_needed_fields(
    flow: Flow, read: Mapping[str, Mapping[str, list[str]]]
) -> dict[Stream, list[str]]:
    """Return the fields of each stream that at least one reader needs, in schema order.

    :param read: by stage, the result of :func:`list_read_fields`.
    """
    needed: dict[Stream, list[str]] = {}
    for stage in flow.stages:
        for stream in flow.list_inputs(stage.name):
            if stream.errors:
                continue
            wanted = read[stage.name].get(stream.stage)
            schema = flow.get_stage(stream.stage).get_schema(stream)
            wanted = schema.field_names if wanted is None else wanted
            known = needed.get(stream, [])
            needed[stream] = [n for n in schema.field_names if n in known or n in wanted]
    return needed
