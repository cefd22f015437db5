"""The process from which Spark forks its Python workers, with the modules that they need already imported.

Each session has one, started as ``python -m localcdap.engine.local.worker_daemon WORKER_MODULE`` or forked,
see :mod:`localcdap.engine.local.worker_launcher`. A worker that is forked from it processes its first batch
within milliseconds.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from typing import Final

from localcdap.engine.local.worker_slots import register_daemon
from localcdap.engine.spark_internals import get_daemon_manager

WORKER_MODULE: Final = "pyspark.worker"
_PRELOADED: Final = (
    "pyarrow",
    WORKER_MODULE,
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "localcdap.engine.tasks.runners",
    "localcdap.engine.tasks.fused_pass",
    "localcdap.engine.tasks.batch_functions",
)
_COLLECT_AFTER: Final = 100_000
"""New objects after which Python collects cycles: about ten batches of records, which contain none."""


def preload() -> None:
    """Import what workers use; a module that this Spark version does not have is skipped."""
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def reduce_collections() -> None:
    """Make workers collect cycles seldom, and never among the objects from before the fork."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)


def detach_standard_input() -> None:
    """Detach workers from standard input, on which Spark sends the daemon its commands."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.register_at_fork(after_in_child=lambda: os.dup2(nothing, 0))


def serve() -> None:
    """Fork workers until Spark closes the standard input."""
    detach_standard_input()
    register_daemon()
    get_daemon_manager()()


if __name__ == "__main__":
    preload()
    reduce_collections()
    serve()
