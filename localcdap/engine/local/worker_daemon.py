"""The process from which Spark forks its Python workers, with what they need imported already.

Spark starts it as ``python -m localcdap.engine.local.worker_daemon WORKER_MODULE``, once for each session
(``spark.python.daemon.module``). A worker forked from it serves its first batch in milliseconds.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os

from pyspark.daemon import manager

_PRELOADED = (
    "pyarrow",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "localcdap.engine.tasks.runners",
    "localcdap.engine.tasks.fused",
    "localcdap.engine.tasks.generating",
)
_COLLECT_AFTER = 100_000
"""New objects after which Python looks for cycles: some ten batches of records, which hold none."""


def preload() -> None:
    """Import what workers use; what a Spark version has elsewhere is imported by the workers."""
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def spare_collections() -> None:
    """Have the workers look for cycles seldom, and never in what was imported before they were forked."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 20)


def keep_commands() -> None:
    """Take standard input from the workers: Spark tells the daemon there what to do."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.register_at_fork(after_in_child=lambda: os.dup2(nothing, 0))


if __name__ == "__main__":
    preload()
    keep_commands()
    spare_collections()
    manager()
