"""The folder of files that directives read: catalogs of codes, schemas of messages.

They take the place of what CDAP has on its servers: the schema registry, catalogs that come with it. The
runtime argument (or preference) :data:`ARGUMENT` names the folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

ARGUMENT: Final = "wrangler.files"
"""The runtime argument that names the folder."""
_MAX_BYTES: Final = 256 * 2**20


class FolderError(Exception):
    """A file is missing; the message says which one, and what to do."""


def read_file(arguments: Mapping[str, str], names: list[str], purpose: str) -> bytes:
    """Return the content of the first existing file of these names.

    :param arguments: those of the run.
    :param purpose: what the file is, for messages.
    :raises FolderError: when there is none, or no folder is given.
    """
    folder = arguments.get(ARGUMENT, "").strip()
    wanted = " or ".join(f"'{name}'" for name in names)
    if not folder:
        raise FolderError(
            f"{purpose} is read from a file: put {wanted} into a folder and give its path as the runtime "
            f"argument '{ARGUMENT}'"
        )
    for name in names:
        path = Path(folder, name)
        if path.is_file():
            return _read(path)
    raise FolderError(f"{purpose} is not there: no {wanted} in the folder '{folder}'")


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise FolderError(f"'{path}' is larger than {_MAX_BYTES >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise FolderError(f"'{path}' cannot be read: {error.strerror}") from None
