"""The file system of a cluster, as its Python workers see it.

One task on the cluster makes, renames and removes directories, so they must lie where all workers see
the same: on the one machine of the cluster, or on a network file system. Of places that only Spark itself
can reach (``gs://…``) it is asked what is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import EngineError
from localcdap.engine.cluster import folder_task
from localcdap.engine.driver.commit import Move, occupied

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class ClusterFolders:
    """See :class:`localcdap.engine.driver.commit.Folders`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Final = spark

    def require_free(self, targets: Sequence[str]) -> None:
        for target in targets:
            if _SCHEME.match(target) and self._holds_files(target):
                raise occupied(target, "directory")
        local = [target for target in targets if not _SCHEME.match(target)]
        if local and (found := self._do(folder_task.taken, [(target, "") for target in local])):
            raise occupied(*found)

    def prepare(self, target: str, place: str) -> None:
        if found := self._do(folder_task.prepare, [(target, place)]):
            raise occupied(*found)

    def move(self, moves: Sequence[Move]) -> None:
        self._do(folder_task.move, [(move.staging, move.final) for move in moves])

    def remove(self, places: Sequence[str]) -> None:
        self._do(folder_task.remove, [(place, "") for place in places])

    def _holds_files(self, url: str) -> bool:
        from pyspark.errors import AnalysisException

        try:
            files = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
            return bool(files.load(url).select("path").head(1))
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return False
            raise

    def _do(self, action: Callable[[Path, Path], Any], places: folder_task.Places) -> Any:
        """Let one task do something to all places, and return the first that it found.

        :raises EngineError: when a place cannot be used.
        """
        if not places:
            return None
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(folder_task)
        task = folder_task.folder_task(action, places)
        rows = self._spark.range(0, 1, 1, 1).mapInArrow(task, "answer string")
        answer = json.loads(rows.collect()[0][0])
        if "problem" in answer:
            raise EngineError(
                f"The cluster's workers cannot use a folder of the pipeline: {answer['problem']}.",
                "Choose a path that they may write to, and that all of them see.",
            )
        return answer["found"]
