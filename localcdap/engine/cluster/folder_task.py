"""The task that changes directories of a cluster.

The functions of this module are pickled with their code (:mod:`localcdap.engine.cluster.folders`): they use
nothing of localcdap except texts, since the session may not have been sent more.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcdap.engine.commit import JOB_DIRECTORY

if TYPE_CHECKING:
    import pyarrow as pa

PathPairs = list[tuple[str, str]]
"""The second path of a pair is empty when the action needs only one."""


def create_folder_task(
    action: Callable[[Path, Path], Any], paths: PathPairs
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Create a function that answers each row with JSON.

    The JSON is ``{"found": …}``, the first result of the action that is not None, or ``{"problem": text}``.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            answers = [json.dumps(_run_action(action, paths)) for _ in range(batch.num_rows)]
            yield pa.RecordBatch.from_pydict({"answer": answers})

    return run


def _run_action(action: Callable[[Path, Path], Any], paths: PathPairs) -> dict[str, Any]:
    try:
        found = [action(Path(path), Path(other)) for path, other in paths]
    except OSError as error:
        return {"problem": str(error)}
    return {"found": next((each for each in found if each is not None), None)}


def find_files(path: Path, _: Path) -> list[str] | None:
    """Return the path and its kind when it is not free for a sink; None when it is."""
    if path.is_dir():
        return [str(path), "directory"] if any(path.iterdir()) else None
    return [str(path), "file"] if path.exists() else None


def prepare(target: Path, staging: Path) -> list[str] | None:
    """Create ``staging`` if ``target`` is free; otherwise return :func:`find_files`."""
    found = find_files(target, staging)
    if found is None:
        # Spark may run a task again.
        staging.mkdir(parents=True, exist_ok=True)
    return found


def prepare_for_spark(target: Path, staging: Path) -> list[str] | None:
    """:func:`prepare`, and create the directory of Spark's job."""
    found = prepare(target, staging)
    if found is None:
        (staging / JOB_DIRECTORY).mkdir(parents=True, exist_ok=True)
    return found


def move(staging: Path, final: Path) -> None:
    """Rename a staging directory, without the files that Spark and Hadoop add to the data."""
    if not staging.exists():  # renamed already
        return
    for entry in staging.iterdir():
        if entry.name.startswith(("_", ".")) and entry.is_file():
            entry.unlink()
    staging.rename(final)


def remove(path: Path, _: Path) -> None:
    """Remove a directory with its contents."""
    shutil.rmtree(path, ignore_errors=True)
