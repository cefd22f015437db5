"""What one task on a cluster does to folders there.

Its functions cross by value, see :mod:`localcdap.engine.cluster.folders`: they use nothing of localcdap,
which the session may not have been sent.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Places = list[tuple[str, str]]
"""Each with another one where the action needs two."""


def folder_task(
    action: Callable[[Path, Path], Any], places: Places
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that answers each row with JSON.

    That is ``{"found": …}``, the first thing that an action returned, or ``{"problem": text}``.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            answers = [json.dumps(_done(action, places)) for _ in range(batch.num_rows)]
            yield pa.RecordBatch.from_pydict({"answer": answers})

    return run


def _done(action: Callable[[Path, Path], Any], places: Places) -> dict[str, Any]:
    try:
        found = [action(Path(place), Path(other)) for place, other in places]
    except OSError as error:
        return {"problem": str(error)}
    return {"found": next((each for each in found if each is not None), None)}


def taken(place: Path, _: Path) -> list[str] | None:
    """The place and what is there, unless it is free for a sink."""
    if place.is_dir():
        return [str(place), "directory"] if any(place.iterdir()) else None
    return [str(place), "file"] if place.exists() else None


def prepare(target: Path, place: Path) -> list[str] | None:
    """Make ``place`` if ``target`` is free; else what is there."""
    found = taken(target, place)
    if found is None:
        # A task may be tried again.
        place.mkdir(parents=True, exist_ok=True)
    return found


def move(staging: Path, final: Path) -> None:
    """Rename a staging directory, without what Spark and Hadoop put beside the data."""
    if not staging.exists():  # renamed already
        return
    for entry in staging.iterdir():
        if entry.name.startswith(("_", ".")) and entry.is_file():
            entry.unlink()
    staging.rename(final)


def remove(place: Path, _: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
