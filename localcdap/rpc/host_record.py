"""What the host of an instance leaves in its folder for those who want to call it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import HostError

RECORD_FILE: Final = "host.json"
_MOST_ADDRESS_BYTES: Final = 100
"""A Unix socket's path has room for 104 bytes on macOS, 108 on Linux, with the final zero."""


class HostRecord(msgspec.Struct, frozen=True):
    """How to reach the host. Only its user can read it."""

    pid: int
    version: str
    """Version of localcdap that the host runs."""
    address: str
    """Path of the socket."""
    authkey: str
    """Random for each host, in hexadecimal."""


def read_host_record(home: Path) -> HostRecord | None:
    """Return the record of the instance in ``home``; None when there is none, or none that makes sense."""
    try:
        return msgspec.json.decode((home / RECORD_FILE).read_bytes(), type=HostRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_host_record(home: Path, record: HostRecord) -> None:
    """Put the record in place at once, so that nobody reads half of it."""
    draft = home / f".{RECORD_FILE}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(record))
    draft.replace(home / RECORD_FILE)


def remove_host_record(home: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        (home / RECORD_FILE).unlink()


def get_socket_address(home: Path) -> str:
    """Return the path of the socket of the instance in ``home``, always the same one.

    It lies in a folder of the user's own under the temporary directory, because the path of an
    instance may be longer than a socket's may.

    :raises HostError: when that folder belongs to somebody else.
    """
    name = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16] + ".sock"
    folder = f"localcdap-{os.getuid()}"
    address = Path(tempfile.gettempdir(), folder, name)
    if len(os.fsencode(address)) > _MOST_ADDRESS_BYTES:
        address = Path("/tmp", folder, name)  # noqa: S108 the folder is checked to be ours alone
    _own(address.parent)
    return str(address)


def _own(folder: Path) -> None:
    """Create the folder, or make sure that nobody else can put a socket of theirs there."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or status.st_uid != os.getuid():
        raise HostError(
            f"{folder} is not a folder of yours.",
            "Remove it, or set TMPDIR to a directory of your own.",
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)
