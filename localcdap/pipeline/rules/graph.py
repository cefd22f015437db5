"""The graph of a pipeline: stages by name, their plugin types with their roles, and the connections.

``graphlib`` of the standard library stops at the first cycle; this graph finds every cycle at once, orders
stages in document order where connections leave a choice, and still orders a pipeline with cycles, so that
validation reports all failures of a pipeline together. The plugin types are those of CDAP 6.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from localcdap.api.pipeline import StageConnection


class Graph:
    """Stages and the connections among them, both in document order.

    Connections from or to a stage that does not exist are ignored.
    """

    def __init__(self, stages: Iterable[str], connections: Iterable[StageConnection]) -> None:
        self.stages: list[str] = list(dict.fromkeys(stages))
        self.incoming: dict[str, list[StageConnection]] = {stage: [] for stage in self.stages}
        """Connections into each stage, by its name."""
        self.outgoing: dict[str, list[StageConnection]] = {stage: [] for stage in self.stages}
        self.inputs: dict[str, list[str]] = {stage: [] for stage in self.stages}
        """Input stages of each stage, each once, in connection order."""
        self.outputs: dict[str, list[str]] = {stage: [] for stage in self.stages}
        for connection in connections:
            if connection.source in self.outgoing and connection.target in self.incoming:
                self._add(connection)

    def _add(self, connection: StageConnection) -> None:
        source, target = connection.source, connection.target
        self.outgoing[source].append(connection)
        self.incoming[target].append(connection)
        if target not in self.outputs[source]:
            self.outputs[source].append(target)
            self.inputs[target].append(source)

    def find_descendants(self, stage: str) -> set[str]:
        """Return every stage downstream of this one; the stage itself only on a cycle."""
        return _find_reachable(self.outputs[stage], self.outputs.__getitem__)

    def are_alternatives(self, first: str, second: str) -> bool:
        """Return whether two stages are on different branches of a condition: a run has only one of them."""
        for connections in self.outgoing.values():
            branches: dict[bool, set[str]] = {True: set(), False: set()}
            for each in connections:
                if each.condition is not None:
                    branches[each.condition] |= {each.target, *self.find_descendants(each.target)}
            yes, no = branches[True] - branches[False], branches[False] - branches[True]
            if (first in yes and second in no) or (first in no and second in yes):
                return True
        return False

    def find_ancestors(self, stage: str) -> set[str]:
        """Return every stage upstream of this one; the stage itself only on a cycle."""
        return _find_reachable(self.inputs[stage], self.inputs.__getitem__)

    def find_origins(self, stage: str, until: str) -> list[str]:
        """Return the stages without inputs that lead to this one on paths that avoid ``until``."""
        seen = {stage, until}
        ahead = deque(self.inputs[stage])
        found: list[str] = []
        while ahead:
            each = ahead.popleft()
            if each in seen:
                continue
            seen.add(each)
            if not self.inputs[each]:
                found.append(each)
            ahead.extend(self.inputs[each])
        return found

    def find_reachable_without(self, stage: str) -> set[str]:
        """Return the stages that stages without inputs reach on paths that avoid this stage."""
        starts = [each for each in self.stages if not self.inputs[each] and each != stage]
        return _find_reachable(starts, lambda each: [t for t in self.outputs[each] if t != stage])

    def find_components(self) -> list[list[str]]:
        """Return the connected components, each in document order."""
        number: dict[str, int] = {}
        parts: list[list[str]] = []
        for stage in self.stages:
            if stage not in number:
                for each in _find_reachable([stage], lambda s: self.inputs[s] + self.outputs[s]):
                    number[each] = len(parts)
                parts.append([])
            parts[number[stage]].append(stage)
        return parts

    def sort(self) -> list[str]:
        """Return all stages in topological order, in document order where that leaves a choice.

        Stages of a cycle come in document order, after the stages that lead to the cycle.
        """
        cyclic = {stage: group for group in self.find_cyclic_groups() for stage in group}
        groups = [cyclic.get(s, [s]) for s in self.stages if cyclic.get(s, [s])[0] == s]
        head = {stage: group[0] for group in groups for stage in group}
        members = {group[0]: group for group in groups}
        waiting = {
            first: sum(head[each] != first for stage in group for each in self.inputs[stage])
            for first, group in members.items()
        }
        ready = deque(first for first in members if not waiting[first])
        done: list[str] = []
        while ready:
            first = ready.popleft()
            done += members[first]
            for target in (head[each] for stage in members[first] for each in self.outputs[stage]):
                if target != first:
                    waiting[target] -= 1
                    if not waiting[target]:
                        ready.append(target)
        return done

    def find_cycles(self) -> list[list[str]]:
        """Return one cycle of each cyclic group: its stages in the order of the connections, each once."""
        return [self._find_cycle(group) for group in self.find_cyclic_groups()]

    def _find_cycle(self, group: Sequence[str]) -> list[str]:
        """Return the shortest cycle through the first stage of a cyclic group."""
        start, inside = group[0], set(group)
        came_from: dict[str, str] = {}
        ahead = deque([start])
        while ahead:
            stage = ahead.popleft()
            for target in self.outputs[stage]:
                if target == start:
                    path = [stage]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return path[::-1]
                if target in inside and target not in came_from:
                    came_from[target] = stage
                    ahead.append(target)
        return list(group)

    def find_cyclic_groups(self) -> list[list[str]]:
        """Return the strongly connected components with a cycle, each in document order.

        Tarjan's algorithm without recursion: a pipeline may be longer than Python's stack.
        """
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        on_stack: set[str] = set()
        groups: list[set[str]] = []
        for root in self.stages:
            if root in index:
                continue
            work = [(root, iter(self.outputs[root]))]
            while work:
                stage, targets = work[-1]
                if stage not in index:
                    index[stage] = low[stage] = len(index)
                    stack.append(stage)
                    on_stack.add(stage)
                for target in targets:
                    if target not in index:
                        work.append((target, iter(self.outputs[target])))
                        break
                    if target in on_stack:
                        low[stage] = min(low[stage], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[stage])
                    if low[stage] == index[stage]:
                        groups.append(_pop_group(stack, on_stack, stage))
        position = {stage: i for i, stage in enumerate(self.stages)}
        cyclic_groups = [
            sorted(group, key=position.__getitem__)
            for group in groups
            if len(group) > 1 or any(stage in self.outputs[stage] for stage in group)
        ]
        return sorted(cyclic_groups, key=lambda group: position[group[0]])


def _pop_group(stack: list[str], on_stack: set[str], until: str) -> set[str]:
    group: set[str] = set()
    while until not in group:
        stage = stack.pop()
        on_stack.discard(stage)
        group.add(stage)
    return group


def _find_reachable(start: Iterable[str], step: Callable[[str], list[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(start)
    while ahead:
        stage = ahead.pop()
        if stage not in seen:
            seen.add(stage)
            ahead.extend(step(stage))
    return seen


SOURCE: Final = "batchsource"
ERROR_TRANSFORM: Final = "errortransform"
SPLITTER: Final = "splittertransform"
JOINER: Final = "batchjoiner"
CONDITION: Final = "condition"
ALERT_PUBLISHER: Final = "alertpublisher"
POST_ACTION: Final = "postaction"

SOURCES: Final = frozenset((SOURCE, "streamingsource", "realtimesource"))
SINKS: Final = frozenset(
    ("batchsink", "sparksink", ALERT_PUBLISHER, "streamingsink", "realtimesink")
)
ACTIONS: Final = frozenset(("action", "sparkprogram"))
CONTROL: Final = ACTIONS | {CONDITION}
"""Types of stages that control the order of others and handle no records."""
ERROR_EMITTERS: Final = (SOURCE, "transform", "batchaggregator", ERROR_TRANSFORM)
"""Types that may be the input of an error transform."""

STREAMING: Final = frozenset(
    ("streamingsource", "streamingsink", "windower", "realtimesource", "realtimesink")
)
"""Types of stages of streaming pipelines only."""
BATCH: Final = frozenset(
    (
        SOURCE,
        "batchsink",
        "transform",
        "batchaggregator",
        JOINER,
        SPLITTER,
        ERROR_TRANSFORM,
        *ACTIONS,
        CONDITION,
        ALERT_PUBLISHER,
        "sparkcompute",
        "sparksink",
    )
)
"""Types of the stages of a batch pipeline."""
HELPERS: Final = frozenset(
    (POST_ACTION, "batchsqlengine", "connector", "validatingInputFormat", "validatingOutputFormat")
)
"""Types of plugins that cannot be stages."""
