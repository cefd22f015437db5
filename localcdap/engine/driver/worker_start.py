"""Starts Spark's Python workers of a session while the run makes its plan.

The first task of a session that needs Python waits for it: 0.5 s of one core, while planning uses the
other.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from localcdap.engine.tasks.batch_functions import pass_through

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_workers(spark: SparkSession) -> None:
    """Have a session start its workers; return at once. A failure is one of the run's own tasks as well.

    The operation has no tag: when the run is stopped, nobody waits for it.
    """
    threading.Thread(target=_run_task, args=(spark,), name="workers", daemon=True).start()


def _run_task(spark: SparkSession) -> None:
    with contextlib.suppress(Exception):  # also when the run ends meanwhile
        row = spark.range(1).mapInArrow(pass_through, "id long")
        row.write.format("noop").mode("overwrite").save()
