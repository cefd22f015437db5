"""Small queries after which a new Spark server is quick: the JVM has loaded and compiled what runs need.

``python -m localcdap.engine.warm_up DIRECTORY`` is started when somebody is likely to run something
soon, with the lowest priority. It reads and writes only files of its own, gives way to every run, and ends
with the process that started it, with the server, or after :data:`ROUNDS`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.server import LEASES, read_server_record
from localcdap.processes.limits import end_with_parent, protect_new_files
from localcdap.processes.single_instance import are_leases_held
from localcdap.processes.spawn import lower_priority, start_process

if TYPE_CHECKING:
    import subprocess

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROUNDS: Final = 10
"""They take about 11 s, 14 s of the processor on two cores. After them the first run of a server took 1.4 s
instead of 5.2 s, and the second 0.7 s instead of 0.9 s; 20 rounds took 14 s for 1.2 s and 0.6 s."""
_RECORDS: Final = 200
_SCHEMA: Final = "id bigint, name string, price double, day date"
_PAUSE_S: Final = 0.2
"""Between two looks whether a run still uses the server."""
_FORMATS: Final = ("parquet", "csv", "json")


def start_warm_up(directory: Path) -> subprocess.Popen[bytes]:
    """Start the process that warms up the server of a directory; it ends with this one."""
    return start_process(
        [sys.executable, "-m", "localcdap.engine.warm_up", str(directory)],
        directory=directory,
        new_session=False,
    )


def warm_up(directory: Path, rounds: int = ROUNDS) -> int:
    """Have the server of a directory compute small queries while no run uses it.

    :returns: the rounds that were completed: fewer when the server ended meanwhile.
    """
    from grpc import RpcError
    from pyspark.errors import PySparkException

    from localcdap.api.errors import EngineError

    folder = directory / "tmp" / "warm-up"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        source = _write_records(folder / "records.csv")
        for number in range(rounds):
            while are_leases_held(directory / LEASES):
                time.sleep(_PAUSE_S)
            try:
                _compute_round(directory, number, source, folder / "out")
            except (EngineError, PySparkException, RpcError, OSError):
                return number  # the run that needs the server says what is wrong with it
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rounds


def _write_records(file: Path) -> Path:
    lines = (f"{n},name {n % 7},{n / 2},2024-01-{n % 28 + 1:02d}\n" for n in range(_RECORDS))
    file.write_text("".join(lines), encoding="utf-8")
    return file


def _compute_round(directory: Path, number: int, source: Path, target: Path) -> None:
    """Do in a session of its own what a run does: stages, their schemas and counts, and a sink or a preview.

    The queries of the rounds differ, so that Spark generates and compiles code in each.
    """
    with _open_session(directory) as spark:
        rows = _count(spark.read.schema(_SCHEMA).csv(str(source)), f"read {number}")
        rows = _count(_transform(rows, number), f"transformed {number}")
        kind = number % len(_FORMATS)
        if kind == 1:
            rows = rows.mapInArrow(_pass_on, rows.schema)
        elif kind == 2:
            rows = rows.unionByName(rows.limit(number))
        rows = _count(rows, f"written {number}")
        if kind == 2:
            rows.toArrow()
        rows.write.format(_FORMATS[kind]).mode("overwrite").save(str(target))


@contextlib.contextmanager
def _open_session(directory: Path) -> Iterator[SparkSession]:
    from localcdap.api.errors import EngineError
    from localcdap.engine.session import open_session

    record = read_server_record(directory)
    if record is None:
        raise EngineError("The server has ended.")
    with open_session(Endpoint(record.url, record.token)) as spark:
        yield spark


def _transform(rows: DataFrame, number: int) -> DataFrame:
    """Return columns and filters that are different in each round, grouped in every other one."""
    from pyspark.sql import functions as f

    rows = rows.withColumn(f"upper{number}", f.upper("name")).filter(f.col("price") > number)
    if number % 2:
        totals = [f.count("*").alias("records"), f.max("day").alias("last")]
        rows = rows.groupBy(f"upper{number}").agg(*totals, f.sum("price").alias("total"))
    return rows


def _count(rows: DataFrame, name: str) -> DataFrame:
    """Have Spark count rows as it does for a stage, and ask for their schema."""
    from pyspark.sql import functions as f

    from localcdap.engine.spark_internals import create_observation

    observed: Any = rows.observe(create_observation(name), f.count(f.lit(1)).alias("records"))
    assert observed.schema
    counted: DataFrame = observed
    return counted


def _pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    end_with_parent(os.getppid())
    lower_priority()
    protect_new_files()
    warm_up(Path(sys.argv[1]))
