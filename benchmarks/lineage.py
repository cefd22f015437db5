"""Lineage of 5,000 pipelines with 100,000 runs, beside the limits that were promised."""

from __future__ import annotations

import random
import shutil
import statistics
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Row, within

if TYPE_CHECKING:
    from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
    from localcdap.metadata.lineage.relations import (
        DatasetId,
        ProgramId,
        ProgramRunId,
        Relation,
    )
    from localcdap.metadata.lineage.time_range import TimeRange
    from localcdap.store.store import Transaction

PIPELINES: Final = 5_000
RUNS: Final = 100_000
DATASETS: Final = 4_000
NEW_RUNS: Final = 50
_FIELDS: Final = [f"field{number}" for number in range(12)]
_FIRST_RUN_MS: Final = 1_700_000_000_000
_MINUTE_MS: Final = 60_000


def lineage(folder: Path, rounds: int) -> Iterator[Row]:
    """Two levels around one dataset, around one that all pipelines read, and fields over all pipelines."""
    place = folder / "lineage"
    shutil.rmtree(place, ignore_errors=True)
    sample = _Sample(place / "x.duckdb")
    sample.fill()
    for name, ask in sample.list_questions().items():
        yield within(name, _measure(ask, rounds), 1.0)
    yield within("lineage of one more run, written", sample.write_new_runs(), 0.05)
    sample.close()


def _measure(ask: Callable[[], object], rounds: int) -> float:
    """Median seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


class _Runs:
    """Runs that begin one a minute and take a minute."""

    def __init__(self) -> None:
        self.ids = [_make_run(number) for number in range(RUNS + NEW_RUNS)]

    def find_running(self, times: TimeRange) -> set[str]:
        first = (times.start - _FIRST_RUN_MS - 1) // _MINUTE_MS
        last = (times.end - _FIRST_RUN_MS) // _MINUTE_MS
        return set(self.ids[max(first, 0) : max(last + 1, 0)])

    def find_workflows(self, runs: Collection[ProgramRunId]) -> Mapping[ProgramRunId, ProgramRunId]:
        return {}

    def list_inner_runs(self, workflow: ProgramRunId) -> list[ProgramRunId]:
        return []


def _make_run(number: int) -> str:
    ticks = (_FIRST_RUN_MS + number * _MINUTE_MS) * 10_000 + 0x01B21DD213814000
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 | 0x1000
    return str(uuid.UUID(fields=(low, middle, high, 0x80, 0, number)))


class _Sample:
    """Pipelines that read one dataset of all and another one, and write one of a higher number.

    So chains are long, and there are no cycles. All runs of a pipeline have the same operations.
    """

    def __init__(self, path: Path) -> None:
        from localcdap.metadata.lineage.store import LineageStore
        from localcdap.store.store import Store

        self._runs = _Runs()
        self._store = Store(path)
        self._lineage = LineageStore(self._store, self._runs, lambda _: ())
        chosen = random.Random(16)
        self._sources = [chosen.randrange(DATASETS - 1) for _ in range(PIPELINES)]
        self._targets = [chosen.randrange(source + 1, DATASETS) for source in self._sources]

    def list_questions(self) -> dict[str, Callable[[], object]]:
        from localcdap.metadata.lineage.column_edges import DatasetField
        from localcdap.metadata.lineage.dataset_lineage import CollapseType
        from localcdap.metadata.lineage.field_lineage import Direction
        from localcdap.metadata.lineage.time_range import TimeRange

        ask, always, by_run = self._lineage, TimeRange(0, 2**62), [CollapseType.RUN]
        week = TimeRange(_FIRST_RUN_MS, _FIRST_RUN_MS + 7 * 24 * 60 * _MINUTE_MS)
        one, last, hub = self._name(DATASETS // 2), self._name(DATASETS - 1), self._name(-1)
        field = DatasetField(last, _FIELDS[0])
        return {
            "lineage, a week": lambda: ask.get_lineage_record(one, week, 2),
            "lineage, all runs": lambda: ask.get_lineage_record(one, always, 2, by_run),
            "lineage of all fields": lambda: ask.get_dataset_field_lineage(last, Direction.BOTH),
            "operations on a field": lambda: ask.get_field_operations(
                last, _FIELDS[0], Direction.BOTH
            ),
            "fields, 10 hops back": lambda: ask.trace_fields(field, upstream=True, hops=10),
            "datasets, 10 hops back": lambda: ask.trace_datasets(last, upstream=True, hops=10),
            "lineage, read by all pipelines": lambda: ask.get_lineage_record(hub, week, 2, by_run),
        }

    def fill(self) -> None:
        """Write all but the new runs, many in a transaction."""
        with self._store.transaction() as tx:
            for number in range(PIPELINES):
                self._write_edges(tx, number)
                run = self._to_run(number)
                self._lineage.add_operations(tx, run, self._build_info(number))
        for start in range(0, RUNS, 20_000):
            with self._store.transaction() as tx:
                batch = range(start, start + 20_000)
                self._lineage.add_relations(
                    tx, [each for number in batch for each in self._list_relations(number)]
                )
                # What add_operations does for the later runs of a pipeline, one after another in minutes.
                tx.execute(
                    "INSERT INTO lineage_end_points SELECT ends.* REPLACE (relations.run AS run, "
                    "relations.start AS start) FROM lineage_end_points ends "
                    "JOIN lineage_relations relations USING (application) "
                    "WHERE relations.access = 'write' AND ends.start < ? AND relations.start >= ?",
                    [
                        _FIRST_RUN_MS + PIPELINES * _MINUTE_MS,
                        _FIRST_RUN_MS + max(start, PIPELINES) * _MINUTE_MS,
                    ],
                )

    def write_new_runs(self) -> float:
        """Write what each new run did in one transaction; returns the median seconds."""
        times = []
        for number in range(RUNS, RUNS + NEW_RUNS):
            start = time.perf_counter()
            info = self._build_info(number)
            with self._store.transaction() as tx:
                self._lineage.add_relations(tx, self._list_relations(number))
                self._lineage.add_operations(tx, self._to_run(number), info)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def close(self) -> None:
        self._store.close()

    def _name(self, number: int) -> DatasetId:
        """The dataset of a number; that of -1 is read by all pipelines."""
        from localcdap.metadata.lineage.relations import DatasetId

        return DatasetId("default", f"dataset{number}")

    def _to_program(self, number: int) -> ProgramId:
        from localcdap.metadata.lineage.relations import ProgramId

        pipeline = f"pipeline{number % PIPELINES}"
        return ProgramId("default", pipeline, "Workflow", "DataPipelineWorkflow")

    def _to_run(self, number: int) -> ProgramRunId:
        from localcdap.metadata.lineage.relations import ProgramRunId

        return ProgramRunId(self._to_program(number), self._runs.ids[number])

    def _find_datasets(self, number: int) -> tuple[DatasetId, DatasetId]:
        pipeline = number % PIPELINES
        return self._name(self._sources[pipeline]), self._name(self._targets[pipeline])

    def _list_relations(self, number: int) -> list[Relation]:
        from localcdap.metadata.lineage.relations import AccessType, Relation

        source, target = self._find_datasets(number)
        program, run = self._to_program(number), self._runs.ids[number]
        read = [Relation(data, program, AccessType.READ, run) for data in (self._name(-1), source)]
        return [*read, Relation(target, program, AccessType.WRITE, run)]

    def _build_info(self, number: int) -> FieldLineageInfo:
        from localcdap.api.lineage import EndPoint
        from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
        from localcdap.metadata.lineage.pipeline_operations import (
            InputField,
            PlatformRead,
            PlatformTransform,
            PlatformWrite,
        )

        source, target = (EndPoint(each.dataset) for each in self._find_datasets(number))
        made = [
            PlatformTransform(f"t.{name}", "", (InputField("in.Read", name),), (name,))
            for name in _FIELDS
        ]
        taken = tuple(InputField(f"t.{name}", name) for name in _FIELDS)
        read = PlatformRead("in.Read", "", source, tuple(_FIELDS))
        write = PlatformWrite("out.Write", "", target, taken)
        return FieldLineageInfo([read, *made, write], "default")

    def _write_edges(self, tx: Transaction, number: int) -> None:
        from localcdap.engine.messages.dataset_names import format_table_place
        from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
        from localcdap.metadata.lineage.relations import DatasetPlace

        source, target = self._find_datasets(number)
        edges = [ColumnEdge(DatasetField(source, f), DatasetField(target, f)) for f in _FIELDS]
        places = [
            DatasetPlace(each, format_table_place(each.namespace, f"shop.{each.dataset}"))
            for each in (source, target)
        ]
        self._lineage.replace_edges(tx, "default", f"pipeline{number}", edges, places)
