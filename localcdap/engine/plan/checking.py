"""The check that what was propagated is what runs: each DataFrame against its schema."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import StageError
from localcdap.api.schema import Schema
from localcdap.engine.driver.blame import stage_error
from localcdap.engine.plan.flow import Stream
from localcdap.engine.plan.spark_types import differences

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_THREADS: Final = 8


class Check(msgspec.Struct):
    """A DataFrame that a plugin made for a stream."""

    stream: Stream
    schema: Schema
    frame: DataFrame


def check(checks: Sequence[Check]) -> None:
    """Compare all DataFrames with their schemas before anything is read.

    Names, order and types must be equal; either side may allow null where the other does not. An
    analysis is a round trip to Spark, so they are made at the same time.

    :raises StageError: for the first stage, in the order of the pipeline, that is wrong.
    """
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="check") as threads:
        analyses = [threads.submit(_columns, each.frame) for each in checks]
    for each, analysis in zip(checks, analyses, strict=True):
        error = analysis.exception()
        if error is not None:
            raise stage_error(error, each.stream.stage) from error
        _compare(each, analysis.result())


def _columns(frame: DataFrame) -> StructType:
    columns: StructType = frame.schema
    return columns


def _compare(check: Check, columns: StructType) -> None:
    for name, declared, actual in differences(check.schema, columns):
        stage = check.stream.stage
        port = f" on port '{check.stream.port}'" if check.stream.port is not None else ""
        raise StageError(
            f"Stage '{stage}': field '{name}'{port} is {declared} in the output schema, but {actual} in "
            "the data.",
            "Correct the output schema of the stage, or its plugin's 'configure'.",
            stage=stage,
        )
