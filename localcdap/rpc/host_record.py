"""The record of a host: a file in the instance's folder that tells clients how to reach the host.

What a process hands down to the processes that it starts is in it as one digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import HostError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file
from localcdap.processes.limits import read_user_umask
from localcdap.store.database_errors import is_disk_full

RECORD_FILE: Final = "host.json"
_RECORD_BYTES: Final = 1024
"""The size of the file, which is the same for all records."""
_MOST_ADDRESS_BYTES: Final = 100
"""The path of a Unix socket is limited to 104 bytes on macOS and 108 on Linux, with the final zero."""


class HostRecord(msgspec.Struct, frozen=True):
    """The process, address and key of the host. Only the host's user can read the file."""

    pid: int
    version: str
    """The version of localcdap that the host runs."""
    address: str
    """The path of the socket."""
    authkey: str
    """A random key in hexadecimal; each host has a new one."""
    fingerprint: str = ""
    """What a background host took over when it started, see :mod:`localcdap.rpc.host_record`; empty for a
    host that nobody may replace.
    """


def read_host_record(home: Path) -> HostRecord | None:
    """Return the record of the instance in ``home``; None when it is missing or invalid."""
    try:
        return decode_json((home / RECORD_FILE).read_bytes(), type=HostRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_host_record(home: Path, record: HostRecord) -> None:
    """Write the record atomically, so that no client reads a part of it.

    On a full disk the record of the previous host is overwritten, whose space is still there.
    """
    path, data = home / RECORD_FILE, msgspec.json.encode(record).ljust(_RECORD_BYTES)
    try:
        write_internal_file(path, data, mode=0o600, is_synced=False)
    except OSError as error:
        if not is_disk_full(error):
            raise
        with path.open("r+b") as file:
            file.write(data)


def clear_host_record(home: Path) -> None:
    """Empty the record. The file keeps its size, so that the next host can write it on a full disk."""
    with contextlib.suppress(FileNotFoundError), (home / RECORD_FILE).open("r+b") as file:
        file.write(b" " * _RECORD_BYTES)


def get_socket_address(home: Path, distinction: str = "") -> str:
    """Return the path of the socket of the instance in ``home``, which is always the same.

    :param distinction: tells an instance from an earlier one in the same place.

    The socket is in a private folder of the user under the temporary directory, because the path of an
    instance may be longer than the limit for sockets.

    :raises HostError: when that folder belongs to another user.
    """
    name = hashlib.sha256(os.fsencode(f"{home.resolve()}{distinction}")).hexdigest()[:16] + ".sock"
    folder = f"localcdap-{os.getuid()}"
    address = Path(tempfile.gettempdir(), folder, name)
    if len(os.fsencode(address)) > _MOST_ADDRESS_BYTES:
        address = Path("/tmp", folder, name)  # noqa: S108 _ensure_private checks that the folder is private
    _ensure_private(address.parent)
    return str(address)


def _ensure_private(folder: Path) -> None:
    """Create the folder, or check that no other user can create a socket in it."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    status = folder.lstat()
    if not folder.is_dir() or folder.is_symlink() or status.st_uid != os.getuid():
        raise HostError(
            f"The folder {folder} belongs to another user.",
            "Remove it, or set TMPDIR to a private folder.",
        )
    if status.st_mode & 0o077:
        folder.chmod(0o700)


_UNIMPORTANT: Final = {b"_", b"PWD", b"OLDPWD", b"SHLVL", b"COLUMNS", b"LINES"}
"""Variables that a shell changes between two commands."""


def compute_fingerprint(settings: Path) -> str:
    """Return a digest of what a host takes over from the process that starts it, and reads when it starts.

    These are the settings, the environment, the working directory, the umask and the interpreter. A front
    end that finds another fingerprint in a host that nobody else uses replaces that host, so that a changed
    setting or variable takes effect with the next command.

    :param settings: the settings file of the instance; it need not exist.
    """
    digest = hashlib.sha256()
    for name, value in sorted(os.environb.items()):
        if name not in _UNIMPORTANT:
            digest.update(name + b"=" + value + b"\0")
    with contextlib.suppress(OSError):
        digest.update(settings.read_bytes())
    with contextlib.suppress(OSError):
        digest.update(os.fsencode(Path.cwd()))
    digest.update(f"\0{read_user_umask()}\0{sys.executable}".encode())
    return digest.hexdigest()
