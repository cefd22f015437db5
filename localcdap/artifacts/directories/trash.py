"""The trash: deleted artifacts and the plugin folders of deleted namespaces are moved, never deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError


def move_folders_to_trash(directories: Iterable[Path], namespace: str, trash: Path) -> list[str]:
    """Move the namespace's sub-folder of each plugin directory into ``trash``; return the new paths.

    The result includes folders that an interrupted call has moved already.

    :raises OSError: when a folder cannot be moved; it then stays where it is.
    """
    for directory in dict.fromkeys(directories):
        folder = directory / namespace
        if folder.is_dir():
            trash.mkdir(parents=True, exist_ok=True)
            shutil.move(folder, _find_free_path(trash, directory.name))
    return sorted(str(place) for place in trash.iterdir()) if trash.is_dir() else []


def move_to_trash(path: Path, trash: Path) -> Path:
    """Move an artifact into ``trash``; return its new path.

    :raises BadRequestError: when it cannot be moved; it then stays where it is.
    """
    try:
        trash.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(path, _find_free_path(trash, path.name)))
    except OSError as error:
        raise _make_move_error(path, error) from error


def put_back(kept: Path, path: Path) -> None:
    """Move an artifact from the trash back to its path; see :func:`move_to_trash`.

    :raises NotFoundError: when it is not in the trash any more.
    :raises ConflictError: when the path is in use.
    """
    if not kept.exists():
        raise NotFoundError(f"{kept} does not exist any more.")
    if path.exists():
        raise ConflictError(f"{path} exists already.", "Move that away first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(kept, path)
    except OSError as error:
        raise _make_move_error(kept, error) from error


def _make_move_error(path: Path, error: OSError) -> BadRequestError:
    return BadRequestError(
        f"{path} cannot be moved: {error.strerror or error}.",
        "Check the permissions of its folder.",
    )


def _find_free_path(trash: Path, name: str) -> Path:
    """Return an unused path in ``trash``; several plugin directories may have the same name."""
    number = 1
    while (place := trash / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return place
