"""The Python workers of a run on the local server: started while it is planned, and ended after it.

The first task that needs Python waits for the start of its worker, and in a new slot for that of the daemon:
0.5 s of one core, while planning uses the other.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.engine.local.worker_slots import FOLDER, end_workers, take_slot
from localcdap.engine.session import NUMBER_PROPERTY, get_workers_number
from localcdap.engine.spark_internals import set_properties
from localcdap.engine.tasks.batch_functions import pass_through

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from localcdap.engine.local.worker_slots import WorkerSlot


class RunWorkers:
    """The workers of a run.

    :param engine: the directory of the local engine; None for a cluster, which has workers of its own.
    """

    def __init__(self, engine: Path | None) -> None:
        self._engine: Final = engine
        self._slot: WorkerSlot | None = None

    def start(self, spark: SparkSession) -> None:
        """Give a session the workers of a slot, and have Spark start them; return at once.

        A failure is one of the run's own tasks as well.
        """
        if self._engine is not None:
            self._slot = take_slot(self._engine)
            set_properties(spark, {NUMBER_PROPERTY: str(self._slot.number)})
            threading.Thread(target=_run_task, args=(spark,), name="workers", daemon=True).start()

    def end(self, session_id: str, *, has_ended: bool) -> None:
        """End the workers after the run.

        :param has_ended: whether Spark does nothing more for the run.
        """
        if self._slot is not None:
            self._slot.release(has_ended=has_ended)
            self._slot = None
        if self._engine is not None:  # code of plugins may have used Python before there was a slot
            end_workers(self._engine / FOLDER, get_workers_number(session_id))


def _run_task(spark: SparkSession) -> None:
    """Run a task in Python. It has no tag: when the run is stopped, nobody waits for it."""
    with contextlib.suppress(Exception):  # also when the run ends meanwhile
        row = spark.range(1).mapInArrow(pass_through, "id long")
        row.write.format("noop").mode("overwrite").save()
