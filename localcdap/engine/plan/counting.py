"""Records counted per stage, each exactly once.

A stream is counted where it is cheapest: by the workers of a pass that it leaves or feeds, or by an
observation in Spark's plan; a one-to-one stage shares the count of its input. How many records a stage
takes in is the sum of the streams that it reads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.engine.plan.flow import SPLITTER, Flow, Stage, Stream
from localcdap.engine.tasks.layout import REPORT
from localcdap.engine.tasks.plan import FED, CountKey
from localcdap.engine.tasks.reports import TaskReport, decode_report

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_REPORTS: Final = "reports"


class _Largest(dict[str, Any]):
    """Keeps the largest count and the longest list of reports."""

    def update(self, values: Any) -> None:  # type: ignore[override]
        for key, value in values.items():
            if isinstance(value, list):
                self[key] = max(self.get(key) or [], value, key=len)
            else:
                self[key] = max(self.get(key) or 0, value or 0)


def _tally(name: str) -> Any:
    """An observation of rows that several actions may pass by, which all report the count so far."""
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.observation import Observation
    from pyspark.sql.connect.plan import CollectMetrics

    class Tally(Observation):  # type: ignore[misc]
        def _on(self, df: Any, *exprs: Any) -> Any:
            # The inherited method asks Spark whether the data is streaming: a round trip each time.
            self._result = _Largest()
            return ConnectFrame(CollectMetrics(df._plan, self, list(exprs)), df._session)

    return Tally(name)


class StageCounts(msgspec.Struct, rename={"in_": "in"}):
    """How many records went through a stage."""

    in_: int = 0
    out: int = 0
    error: int = 0
    alert: int = 0
    groups: int = 0
    """Groups of an aggregator of record grain."""
    ports: dict[str, int] = {}
    """Of a splitter; ``out`` is their sum."""
    metrics: dict[str, int] = {}
    """What the plugin's own code counted."""


class Counting:
    """Where each stream of a plan is counted, and what was counted once the actions have ended."""

    def __init__(self, run_id: str) -> None:
        # Names of observations end up in SQL text of Spark's plans.
        self._prefix: Final = "localcdap_" + re.sub(r"\W", "_", run_id)
        self._observations: Final[list[tuple[Any, list[CountKey]]]] = []
        self._same_as: Final[dict[Stream, Stream]] = {}
        self._fed: Final[set[Stream]] = set()

    def observe(self, df: DataFrame, stream: Stream) -> DataFrame:
        """Count the rows of a DataFrame as those of a stream."""
        from pyspark.sql import functions as f

        observation = self._new([CountKey(stream.stage, _what(stream), stream.port)])
        counted: DataFrame = df.observe(observation, f.count(f.lit(1)).alias("0"))
        return counted

    def observe_errors(self, df: DataFrame, stage: str, is_error: Column) -> DataFrame:
        """Count the rows of a DataFrame that are error records of a stage."""
        from pyspark.sql import functions as f

        observation = self._new([CountKey(stage, "error")])
        counted: DataFrame = df.observe(observation, f.count_if(is_error).alias("0"))
        return counted

    def observe_pass(self, df: DataFrame, keys: list[CountKey]) -> DataFrame:
        """Collect the reports of the tasks of a pass."""
        from pyspark.sql import functions as f

        counted: DataFrame = df.observe(self._new(keys), f.collect_list(REPORT).alias(_REPORTS))
        return counted

    def share(self, stream: Stream, other: Stream) -> None:
        """Say that a stream has as many records as another."""
        self._same_as[stream] = other

    def feeds(self, stream: Stream) -> None:
        """Say that a stream is counted by the pass that it feeds."""
        self._fed.add(stream)

    def totals(self, flow: Flow) -> dict[str, StageCounts]:
        """The counts of all stages, in the order of the pipeline."""
        counted, metrics = self._counted()
        made = {stage.name: self._of(stage, flow, counted) for stage in flow.stages}
        for (stage, name), number in metrics.items():
            made[stage].metrics[name] = number
        return made

    def _new(self, keys: list[CountKey]) -> Any:
        observation = _tally(f"{self._prefix}_{len(self._observations)}")
        self._observations.append((observation, keys))
        return observation

    def _counted(self) -> tuple[dict[CountKey, int], Counter[tuple[str, str]]]:
        """What was counted of streams, and what of (stage, user metric)."""
        counted: dict[CountKey, int] = {}
        metrics: Counter[tuple[str, str]] = Counter()
        for observation, keys in self._observations:
            found = observation.get
            if "0" in found:
                counted[keys[0]] = int(found["0"] or 0)
                continue
            reports: list[TaskReport] = [decode_report(data) for data in found.get(_REPORTS) or ()]
            for i, key in enumerate(keys):
                counted[key] = sum(report.counts[i] for report in reports)
            for report in reports:
                for stage, name, number in report.metrics:
                    metrics[stage, name] += number
        return counted, metrics

    def _of(self, stage: Stage, flow: Flow, counted: dict[CountKey, int]) -> StageCounts:
        counts = StageCounts(
            in_=sum(self._records(s, counted) for s in flow.inputs(stage.name)),
            error=counted.get(CountKey(stage.name, "error"), 0),
            alert=counted.get(CountKey(stage.name, "alert"), 0),
            groups=counted.get(CountKey(stage.name, "groups"), 0),
        )
        if stage.type == SPLITTER:
            counts.ports = {
                port: self._records(Stream(stage.name, port), counted)
                for port in _connected_ports(flow, stage.name)
            }
            counts.out = sum(counts.ports.values())
        else:
            counts.out = self._records(Stream(stage.name), counted)
        return counts

    def _records(self, stream: Stream, counted: dict[CountKey, int]) -> int:
        while stream in self._same_as:
            stream = self._same_as[stream]
        what = FED if stream in self._fed else _what(stream)
        return counted.get(CountKey(stream.stage, what, stream.port), 0)


def _what(stream: Stream) -> str:
    return "error" if stream.errors else "out"


def _connected_ports(flow: Flow, stage: str) -> Iterable[str]:
    ports = (c.port for c in flow.connections if c.source == stage)
    return dict.fromkeys(port for port in ports if port is not None)


def pass_counts(feed: Stream, stages: list[Stage], *, grouped: bool, fed: bool) -> list[CountKey]:
    """What a pass counts.

    :param fed: whether it also counts the records that come in.
    """
    keys = [CountKey(feed.stage, FED, feed.port)] if fed else []
    for stage in stages:
        if stage.type == SPLITTER:
            keys += [CountKey(stage.name, "out", port) for port in stage.port_schemas]
        else:
            keys += [CountKey(stage.name, what) for what in ("out", "error", "alert")]
    if grouped:
        keys.append(CountKey(stages[0].name, "groups"))
    return keys
