"""The file system of a cluster, as its Python workers see it.

One task on the cluster creates, renames and removes directories, so all workers must see the same file
system: that of the only machine of the cluster, or a network file system. For URLs that only Spark can
reach (``gs://…``) Spark is asked whether there are files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import EngineError
from localcdap.engine.cluster import folder_task
from localcdap.engine.commit import create_occupied_error
from localcdap.engine.messages.spool import Move
from localcdap.engine.spark_internals import send_module_by_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class ClusterFolders:
    """The file system of a cluster, see :class:`localcdap.engine.commit.Folders`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Final = spark

    def require_free(self, targets: Sequence[str]) -> None:
        """See :meth:`Folders.require_free`."""
        for target in targets:
            if _SCHEME.match(target) and self._has_files(target):
                raise create_occupied_error(target, "directory")
        local = [target for target in targets if not _SCHEME.match(target)]
        if local and (
            found := self._run_task(folder_task.find_files, [(target, "") for target in local])
        ):
            raise create_occupied_error(*found)

    def resolve(self, target: str) -> str:
        """See :meth:`Folders.resolve`; only the cluster knows its links."""
        return os.path.abspath(target)  # noqa: PTH100 - keeps links

    def identify(self, moves: Sequence[Move]) -> list[Move]:
        """See :meth:`Folders.identify`; that staging directories are there is not checked."""
        self.require_free([move.final for move in moves])
        return list(moves)

    def prepare(self, target: str, staging: str, *, written_by_spark: bool = False) -> None:
        """See :meth:`Folders.prepare`."""
        action = folder_task.prepare_for_spark if written_by_spark else folder_task.prepare
        if found := self._run_task(action, [(target, staging)]):
            raise create_occupied_error(*found)

    def move(self, moves: Sequence[Move]) -> None:
        """See :meth:`Folders.move`."""
        self._run_task(folder_task.move, [(move.staging, move.final) for move in moves])

    def remove(self, directories: Sequence[str]) -> None:
        """See :meth:`Folders.remove`."""
        self._run_task(folder_task.remove, [(directory, "") for directory in directories])

    def block(self, directories: Sequence[str]) -> None:
        """Do nothing: a task that replaces the directories would wait behind those that write."""

    def _has_files(self, url: str) -> bool:
        from pyspark.errors import AnalysisException

        try:
            files = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
            return bool(files.load(url).select("path").head(1))
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return False
            raise

    def _run_task(self, action: Callable[[Path, Path], Any], paths: folder_task.PathPairs) -> Any:
        """Have one task call a function for each pair of paths, and return the first result that is not None.

        :raises EngineError: when a path cannot be used.
        """
        if not paths:
            return None
        send_module_by_value(folder_task)
        task = folder_task.create_folder_task(action, paths)
        rows = self._spark.range(0, 1, 1, 1).mapInArrow(task, "answer string")
        answer = json.loads(rows.collect()[0][0])
        if "problem" in answer:
            raise EngineError(
                f"The cluster's workers cannot use a folder of the pipeline: {answer['problem']}.",
                "Choose a path that they may write to, and that all of them see.",
            )
        return answer["found"]
