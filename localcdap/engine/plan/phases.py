"""The order of a run: phases of stages that Spark computes together, and the control stages between them.

As in CDAP 6 ``PipelinePlanner`` for the engine Spark: actions and conditions split the pipeline; all data
stages that are connected without passing one form a phase.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

import msgspec

from localcdap.api.errors import StageError
from localcdap.api.pipeline import PipelineSpec, StageConnection
from localcdap.engine.plan.flow import ACTIONS, CONDITION, CONTROL, DATA_TYPES, SOURCE


class Step(msgspec.Struct):
    """What runs at one time: a phase of data stages, or one control stage."""

    stages: list[str]
    """In topological order."""
    is_phase: bool
    before: frozenset[int] = frozenset()
    """The steps that this one comes after, directly or not, by their place in :attr:`Route.steps`."""
    is_ending: bool = False
    """Whether this is a control stage behind all data: it sees what the sinks wrote."""


class Route:
    """The steps of a pipeline in the order in which they run, and what flows between them.

    :param spec: a valid pipeline.
    :raises StageError: when there is no such order.
    """

    def __init__(self, spec: PipelineSpec) -> None:
        self.types: Final = {s.name: s.plugin.type for s in spec.stages}
        known = (c for c in spec.connections if {c.source, c.target} <= self.types.keys())
        self.connections: Final = list(known)
        order = {stage.name: place for place, stage in enumerate(spec.stages)}
        self.forwarding: Final = _forwarding(self.types, self.connections)
        """Conditions that records pass through."""
        groups = self._groups()
        firsts = sorted(groups, key=lambda group: order[group[0]])
        self.steps: Final = self._ordered([sorted(g, key=order.__getitem__) for g in firsts])

    def carries_records(self, connection: StageConnection) -> bool:
        """Whether records flow along a connection, and it does not only say what comes first."""
        source, target = self.types[connection.source], self.types[connection.target]
        gives = source in DATA_TYPES or connection.source in self.forwarding
        return gives and (target not in CONTROL or target == CONDITION) and target != SOURCE

    def entries(self, stages: Iterable[str], live: Container[StageConnection]) -> list[str]:
        """The conditions that give records to a phase along live connections."""
        inside = set(stages)
        found = [
            c.source
            for c in self.connections
            if c in live and c.target in inside and self.carries_records(c)
        ]
        return [name for name in dict.fromkeys(found) if name in self.forwarding]

    def exits(self, stages: Iterable[str]) -> list[str]:
        """The conditions that a phase gives records to."""
        inside = set(stages)
        found = [c.target for c in self.connections if c.source in inside]
        return [name for name in dict.fromkeys(found) if name in self.forwarding]

    def feeders(self, condition: str) -> list[str]:
        """The conditions that give a condition their records."""
        into = (c.source for c in self.connections if c.target == condition)
        return [name for name in dict.fromkeys(into) if name in self.forwarding]

    def _groups(self) -> list[list[str]]:
        """The control stages, each alone, and the data stages that belong together."""
        home = {name: [name] for name in self.types}
        joined: dict[str, str] = {}
        for connection in self.connections:
            source, target = connection.source, connection.target
            if target in self.forwarding and self.types[source] not in CONTROL:
                # What flows into one condition is gathered by one phase.
                source, target = joined.setdefault(target, source), source
            if self.types[source] in CONTROL or self.types[target] in CONTROL:
                continue
            if home[source] is not home[target]:
                home[source] += home[target]
                for name in home[target]:
                    home[name] = home[source]
        return list({id(group): group for group in home.values()}.values())

    def _ordered(self, groups: list[list[str]]) -> list[Step]:
        home = {name: place for place, group in enumerate(groups) for name in group}
        direct: list[set[int]] = [set() for _ in groups]
        for connection in self.connections:
            direct[home[connection.target]].add(home[connection.source])
        direct = [before - {place} for place, before in enumerate(direct)]
        phases = {p for p, group in enumerate(groups) if self.types[group[0]] not in CONTROL}
        before = _closure(direct)
        followed = {each for place in phases for each in before[place]}
        ending = {
            p for p in range(len(groups)) if p not in phases | followed and before[p] & phases
        }
        order: list[int] = []
        waiting = sorted(range(len(groups)), key=lambda p: (p in ending, p))
        while waiting:
            place = next((p for p in waiting if direct[p] <= set(order)), None)
            if place is None:
                names = ", ".join(name for p in waiting for name in groups[p])
                raise StageError(
                    f"No order is found in which the stages {names} can run: each phase of them comes "
                    "before and behind another one.",
                    "Put what stands on both sides of a condition into pipelines of their own.",
                )
            waiting.remove(place)
            order.append(place)
        number = {place: index for index, place in enumerate(order)}
        return [
            Step(groups[p], p in phases, frozenset(number[b] for b in before[p]), p in ending)
            for p in order
        ]


def _forwarding(types: dict[str, str], connections: list[StageConnection]) -> frozenset[str]:
    found: set[str] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for each in connections:
            gives = types[each.source] in DATA_TYPES or each.source in found
            if types[each.target] == CONDITION and gives:
                found.add(each.target)
    return frozenset(found)


def _closure(direct: list[set[int]]) -> list[set[int]]:
    before = [set(each) for each in direct]
    for _ in before:
        before = [each.union(*(before[other] for other in each)) for each in before]
    return before


def actions_of(route: Route, step: Step) -> set[str]:
    """The actions that a step comes after."""
    stages = (name for place in step.before for name in route.steps[place].stages)
    return {name for name in stages if route.types[name] in ACTIONS}
