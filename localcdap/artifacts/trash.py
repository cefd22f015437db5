"""The plugin folders of a namespace that is being deleted: put away, since they are their user's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path


def put_away(directories: Iterable[Path], namespace: str, trash: Path) -> list[str]:
    """Move the namespace's sub-folder of each plugin directory into ``trash``; where they are then.

    What an interrupted call has moved already stays, and is told again.

    :raises OSError: when a folder cannot be moved; it is then still where it was.
    """
    for directory in dict.fromkeys(directories):
        folder = directory / namespace
        if folder.is_dir():
            trash.mkdir(parents=True, exist_ok=True)
            shutil.move(folder, _free(trash, directory.name))
    return sorted(str(place) for place in trash.iterdir()) if trash.is_dir() else []


def _free(trash: Path, name: str) -> Path:
    """A place in ``trash`` that nothing has; directories of one name may lie in several folders."""
    number = 1
    while (place := trash / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return place
