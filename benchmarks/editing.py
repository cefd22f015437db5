"""Edits of a pipeline of 200 stages: the time until the answer, the plugin worker's included."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row, within
from benchmarks.pipelines import pipeline, schema, stage

STAGES: Final = 200
BRANCHES: Final = 9
FRAME_S: Final = 0.016
"""One frame at 60 Hz."""
EDITS: Final = 300
_FIELDS: Final = {f"field{number}": "string" for number in range(30)}
_BEHIND: Final = 10
_LONG_S: Final = 10.0


def editing(folder: Path, rounds: int) -> Iterator[Row]:
    """One property edited in an open session, as somebody types; each value is new to the plugins."""
    from localcdap.home import Home
    from localcdap.host import open_in_process
    from localcdap.pipeline.editing.edits import SetProperty
    from localcdap.pipeline.editing.service import OpenRequest
    from localcdap.pipeline.service import StageRequest

    home = folder / "editing-home"
    shutil.rmtree(home, ignore_errors=True)
    document, ends = wide_pipeline(folder / "unused")
    count = EDITS * max(1, rounds // 2)
    with open_in_process(Home(home)) as cdap:
        opened = cdap.editing.open(OpenRequest(document), 60.0)
        if not opened.change.valid:
            raise RuntimeError(f"the pipeline is not valid: {opened.change}")

        def of_one(number: int) -> Any:
            script = f"{_SCRIPT}# {number}\n"
            return SetProperty(f"Script {number % BRANCHES}", "script", script)

        def of_many(number: int) -> Any:
            name = ends[number % BRANCHES]
            return SetProperty(name, "rename", f"field1:renamed{number}")

        def settled(edit: Any) -> None:
            if cdap.editing.apply(opened.id, edit, _LONG_S).checking:
                raise RuntimeError("a plugin did not answer")

        def answered(edit: Any) -> None:
            cdap.editing.apply(opened.id, edit)

        def wait() -> None:
            cdap.editing.wait_until_checked(opened.id)

        alone: list[float] = []

        def validate_alone() -> None:
            node = stage("Alone", "transform", "PythonEvaluator", script=f"{_SCRIPT}# {len(alone)}")
            start = time.perf_counter()
            cdap.studio.validate_stage(StageRequest(node))
            alone.append(time.perf_counter() - start)

        times = _timed(lambda number: settled(of_one(number)), count, validate_alone)
        alone.sort()
        for part, name in ((0.5, f"edit of one in {STAGES} stages, p50"), (0.99, "the same, p99")):
            yield within(name, _at(times, part), FRAME_S, "that stage alone", _at(alone, part))
        times = _timed(lambda number: answered(of_many(number)), count // 3, wait)
        yield within(f"edit that changes {_BEHIND} more, p99", _at(times, 0.99), FRAME_S)
        times = _timed(lambda number: settled(of_many(count + number)), count // 3)
        yield within("… until all have answered, p50", _at(times, 0.5), 0.1)
        cdap.editing.close(opened.id)


def wide_pipeline(target: Path) -> tuple[Any, list[str]]:
    """A source, branches of projections with one script each, a sink behind each branch.

    :returns: the document, and of each branch the stage with ten others behind it.
    """
    source = stage(
        "Source",
        "batchsource",
        "File",
        referenceName="in",
        path="/in",
        format="csv",
        schema=schema("row", **_FIELDS),
    )
    stages, connections, ends = [source], list[tuple[str, str]](), []
    for branch in range(BRANCHES):
        length = (STAGES - 1) // BRANCHES + (branch < (STAGES - 1) % BRANCHES)
        names = [f"Branch {branch} {number}" for number in range(length - 2)]
        listed = [stage(name, "transform", "Projection") for name in names]
        fields = schema("row", **_FIELDS)
        script = stage(
            f"Script {branch}", "transform", "PythonEvaluator", script=_SCRIPT, schema=fields
        )
        sink = stage(
            f"Out {branch}",
            "batchsink",
            "File",
            referenceName=f"out{branch}",
            path=f"{target}/{branch}",
            format="parquet",
        )
        line = [script, *listed, sink]
        stages += line
        chain = ["Source", *(each["name"] for each in line)]
        connections += itertools.pairwise(chain)
        ends.append(chain[-_BEHIND - 1])
    return pipeline("wide", stages, connections), ends


def _timed(
    work: Callable[[int], object], count: int, between: Callable[[], object] = lambda: None
) -> list[float]:
    """Seconds of each call, in rising order."""
    times = []
    for number in range(count):
        start = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - start)
        between()
    return sorted(times)


def _at(times: list[float], part: float) -> float:
    return times[min(len(times) - 1, int(part * len(times)))]


_SCRIPT: Final = "def transform(record, emitter, context):\n    emitter.emit(record)\n"
