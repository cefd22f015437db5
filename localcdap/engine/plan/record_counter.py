"""Counts of the records of each stage, and of the values that it alters.

Each stream is counted exactly once, where that is cheapest: by the workers of a pass that it leaves or
feeds, or by an observation in Spark's plan; a one-to-one stage shares the count of its input. The input of
a stage is the sum of the streams that it reads.

Altered values are counted by kind of change, and each kind is reported once. Spark delivers what the tasks
that succeeded have counted, so that a repeated task counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.stage import NoticeKind
from localcdap.engine.messages.flow import SPLITTER, Flow, Stage, Stream
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.spark_internals import create_observation
from localcdap.engine.tasks.context import AlteredCounts
from localcdap.engine.tasks.pass_plan import (
    FED,
    REPORT,
    CountKey,
    StageAlert,
    TaskReport,
    decode_report,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_REPORTS: Final = "reports"
ROWS: Final = "rows"
"""The number of rows in an observation."""


class RecordCounter:
    """Counts the records of each stream of a plan; the counts are complete when the actions have ended."""

    def __init__(self, run_id: str) -> None:
        # Names of observations become part of the SQL text of Spark's plans.
        self._prefix: Final = "localcdap_" + re.sub(r"\W", "_", run_id)
        self._observations: Final[list[tuple[Any, list[CountKey]]]] = []
        self.stage_times: Final[Counter[str]] = Counter()
        """By stage, the microseconds that its code took in Python workers; known with the totals."""
        self.alerts: Final[list[StageAlert]] = []
        """The alerts that stages have emitted on a cluster; known with the totals."""
        self.alert_files: Final[Counter[str]] = Counter()
        """By file, how many of its alerts count, see :mod:`localcdap.engine.tasks.task_messages`."""
        self.altered: Final[list[tuple[str, str, int, str, NoticeKind]]] = []
        """The altered values that Python workers have reported, see :class:`TaskReport`."""
        self._same_as: Final[dict[Stream, Stream]] = {}
        self._counted_in_pass: Final[set[Stream]] = set()

    def observe(self, df: DataFrame, stream: Stream) -> DataFrame:
        """Count the rows of a DataFrame as records of a stream."""
        from pyspark.sql import functions as f

        observation = self._add_observation(
            [CountKey(stream.stage, _count_name(stream), stream.port)]
        )
        counted: DataFrame = df.observe(observation, f.count(f.lit(1)).alias(ROWS))
        return counted

    def take_from(self, observation: Any, stream: Stream) -> None:
        """Declare that the observation of others counts the records of a stream, as :data:`ROWS`."""
        self._observations.append(
            (observation, [CountKey(stream.stage, _count_name(stream), stream.port)])
        )

    def observe_errors(self, df: DataFrame, stage: str, is_error: Column) -> DataFrame:
        """Count the rows of a DataFrame that are error records of a stage."""
        observation = self._add_observation([CountKey(stage, "error")])
        counted: DataFrame = df.observe(observation, count_rows(is_error).alias(ROWS))
        return counted

    def observe_pass(self, df: DataFrame, keys: list[CountKey]) -> DataFrame:
        """Collect the reports of the tasks of a pass."""
        from pyspark.sql import functions as f

        reports = f.collect_list(REPORT).alias(_REPORTS)
        counted: DataFrame = df.observe(self._add_observation(keys), reports)
        return counted

    def share(self, stream: Stream, other: Stream) -> None:
        """Declare that a stream has as many records as another."""
        self._same_as[stream] = other

    def count_in_pass(self, stream: Stream) -> None:
        """Declare that a stream is counted by the pass that it feeds."""
        self._counted_in_pass.add(stream)

    def get_totals(
        self, flow: Flow, diverted: Mapping[str, int] = MappingProxyType({})
    ) -> dict[str, RecordCounts]:
        """Return the counts of all stages, in the order of the pipeline; waits for the observations.

        :param diverted: by stage, the records that its rules have sent to error.
        """
        counted, metrics = self._collect()
        for name, number in diverted.items():
            key = CountKey(name, "error")
            counted[key] = counted.get(key, 0) + number
        totals = {stage.name: self._count_stage(stage, flow, counted) for stage in flow.stages}
        for (stage, name), number in metrics.items():
            totals[stage].metrics[name] = number
        return totals

    def _add_observation(self, keys: list[CountKey]) -> Any:
        observation = create_observation(f"{self._prefix}_{len(self._observations)}")
        self._observations.append((observation, keys))
        return observation

    def _collect(self) -> tuple[dict[CountKey, int], Counter[tuple[str, str]]]:
        """Return the counts of streams, and the user metrics by stage and name."""
        counted: dict[CountKey, int] = {}
        metrics: Counter[tuple[str, str]] = Counter()
        for observation, keys in self._observations:
            found = observation.get
            rows = found.get(ROWS)
            if rows is not None:
                counted[keys[0]] = int(rows)
                continue
            reports: list[TaskReport] = [decode_report(data) for data in found.get(_REPORTS) or ()]
            for i, key in enumerate(keys):
                counted[key] = sum(report.counts[i] for report in reports)
            for report in reports:
                self.stage_times.update(dict(report.times))
                self.alerts.extend(report.alerts)
                self.altered.extend(report.altered)
                if report.alert_file:
                    self.alert_files[report.alert_file] += report.alert_lines
                for stage, name, number in report.metrics:
                    metrics[stage, name] += number
        return counted, metrics

    def _count_stage(self, stage: Stage, flow: Flow, counted: dict[CountKey, int]) -> RecordCounts:
        counts = RecordCounts(
            in_=sum(self._count_stream(s, counted) for s in flow.list_inputs(stage.name)),
            error=counted.get(CountKey(stage.name, "error"), 0),
            alert=counted.get(CountKey(stage.name, "alert"), 0),
            groups=counted.get(CountKey(stage.name, "groups"), 0),
        )
        if stage.type == SPLITTER:
            counts.ports = {
                port: self._count_stream(Stream(stage.name, port), counted)
                for port in _list_connected_ports(flow, stage.name)
            }
            counts.out = sum(counts.ports.values())
        else:
            counts.out = self._count_stream(Stream(stage.name), counted)
        return counts

    def _count_stream(self, stream: Stream, counted: dict[CountKey, int]) -> int:
        while stream in self._same_as:
            stream = self._same_as[stream]
        what = FED if stream in self._counted_in_pass else _count_name(stream)
        return counted.get(CountKey(stream.stage, what, stream.port), 0)


def count_rows(condition: Column) -> Column:
    """Return the number of rows for which a condition is true, for an observation.

    Spark puts the condition of ``count_if`` into a column of its own, for which an observation copies each
    row twice.
    """
    from pyspark.sql import functions as f

    return f.count(f.when(condition, f.lit(1)))


def _count_name(stream: Stream) -> str:
    return "error" if stream.errors else "out"


def _list_connected_ports(flow: Flow, stage: str) -> Iterable[str]:
    ports = (c.port for c in flow.connections if c.source == stage)
    return dict.fromkeys(port for port in ports if port is not None)


def list_pass_counts(
    feed: Stream, stages: list[Stage], *, grouped: bool, counts_feed: bool
) -> list[CountKey]:
    """Return what the tasks of a pass count.

    :param counts_feed: whether they also count the records that come in.
    """
    keys = [CountKey(feed.stage, FED, feed.port)] if counts_feed else []
    for stage in stages:
        if stage.type == SPLITTER:
            keys += [CountKey(stage.name, "out", port) for port in stage.port_schemas]
        else:
            keys.append(CountKey(stage.name, "out"))
        keys += [CountKey(stage.name, what) for what in ("error", "alert")]
    if grouped:
        keys.append(CountKey(stages[0].name, "groups"))
    return keys


_FIRST: Final = "first"


class StageAlteredValues(AlteredCounts):
    """What one stage alters, counted in this process and by Spark."""

    def __init__(self) -> None:
        super().__init__()
        self._observed: Final[list[tuple[str, Any, Callable[[str], str], NoticeKind]]] = []

    @property
    def is_observed(self) -> bool:
        """Whether Spark counts altered rows."""
        return bool(self._observed)

    def observe(
        self,
        df: DataFrame,
        name: str,
        change: str,
        is_altered: Column,
        first: Column,
        locate: Callable[[str], str],
        kind: NoticeKind = NoticeKind.VALUES,
    ) -> DataFrame:
        """Have Spark count the altered rows of a DataFrame.

        :param name: the name of the observation, unique in the session.
        """
        from pyspark.sql import functions as f

        observation = create_observation(name)
        self._observed.append((change, observation, locate, kind))
        # Of the values that several actions report the largest number and the longest list are kept.
        smallest = f.array_compact(f.array(f.min(f.when(is_altered, first)))).alias(_FIRST)
        observed: DataFrame = df.observe(observation, count_rows(is_altered).alias(ROWS), smallest)
        return observed

    def take(self) -> list[tuple[str, int, str, NoticeKind]]:
        """See :meth:`AlteredCounts.take`; the actions of the observed DataFrames must have ended."""
        while self._observed:
            change, observation, locate, kind = self._observed.pop(0)
            values = observation.get
            if values.get(ROWS):
                for first in values[_FIRST]:
                    self.add(change, locate(first), values[ROWS], kind)
        return super().take()


class RunAlteredValues:
    """What all stages of a run alter."""

    def __init__(self) -> None:
        self._stages: Final[dict[str, StageAlteredValues]] = {}

    @property
    def is_observed(self) -> bool:
        """Whether Spark counts altered rows."""
        return any(stage.is_observed for stage in self._stages.values())

    def get(self, stage: str) -> StageAlteredValues:
        """Return the counts of a stage."""
        return self._stages.setdefault(stage, StageAlteredValues())

    def take(
        self, stages: Iterable[str], counted: Iterable[tuple[str, str, int, str, NoticeKind]] = ()
    ) -> list[AlteredValues]:
        """Return what stages have altered since the last call.

        :param counted: what Python workers have reported: stage, change, number, first value and kind.
        """
        for stage, change, number, first, kind in counted:
            self.get(stage).add(change, first, number, kind)
        return [AlteredValues(stage, *each) for stage in stages for each in self.get(stage).take()]
