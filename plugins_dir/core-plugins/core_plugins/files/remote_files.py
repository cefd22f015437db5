"""Files of FTP and SFTP servers: listing those that a path means, and fetching one."""

from __future__ import annotations

import fnmatch
import ftplib
import posixpath
import re
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api import StageError
from localcdap.plugin_lib.ssh import SshTarget, open_session

_PORTS: Final = {"ftp": 21, "sftp": 22}
_FORM: Final = "Path is expected to be of the form prefix://username:password@hostname:port/path"
_TIMEOUT_S: Final = 30.0
_WILDCARD: Final = re.compile(r"[*?\[]")


class RemotePath(msgspec.Struct, frozen=True):
    """A path on a server."""

    scheme: str
    """``ftp`` or ``sftp``."""
    user: str
    password: str
    host: str
    port: int
    path: str
    """It may have ``*``, ``?`` and ``[a-z]`` in its last part."""

    @property
    def shown(self) -> str:
        """The path without the password, for messages."""
        return f"{self.scheme}://{self.user}@{self.host}:{self.port}{self.path}"


def parse_path(text: str) -> RemotePath:
    """Parse ``prefix://username:password@hostname:port/path``; the password may have any characters.

    :raises StageError: (without a stage) when it has another form; the message does not have the password.
    """
    scheme, mark, rest = text.strip().partition("://")
    account, at, place = rest.rpartition("@")
    user, colon, password = account.partition(":")
    if not mark or scheme.lower() not in _PORTS:
        raise StageError("The path begins with neither ftp:// nor sftp://.", _FORM)
    if not at or not user or not colon:
        raise StageError("Missing authentication in url.", _FORM)
    authority, slash, path = place.partition("/")
    host, _, port = authority.partition(":")
    if not host or (port and not port.isdecimal()):
        raise StageError(f"'{authority}' is not a host with a port.", _FORM)
    number = int(port) if port else _PORTS[scheme.lower()]
    decode = urllib.parse.unquote
    return RemotePath(scheme.lower(), decode(user), decode(password), host, number, slash + path)


def list_files(place: RemotePath) -> list[str]:
    """Return the paths of the files that a path means: itself, those of a folder, or those that match.

    Names that start with ``_`` or ``.`` are skipped.

    :raises FileNotFoundError: when there are none.
    :raises StageError: (without a stage) when the server refuses, or cannot be reached.
    """
    folder, pattern = posixpath.split(place.path)
    with _open(place) as server:
        if _WILDCARD.search(pattern):
            names = [n for n in server.list_folder(folder) if fnmatch.fnmatchcase(n, pattern)]
        elif server.is_folder(place.path):
            folder, names = place.path.rstrip("/"), server.list_folder(place.path)
        else:
            names = [n for n in server.list_folder(folder) if n == pattern]
    files = [f"{folder}/{name}" for name in sorted(names) if not name.startswith(("_", "."))]
    if not files:
        raise FileNotFoundError(place.shown)
    return files


def fetch_file(place: RemotePath, path: str, target: Path) -> None:
    """Copy a file to this machine.

    :raises StageError: (without a stage) when the server refuses, or goes away.
    """
    with _open(place) as server:
        server.fetch(path, target)


@contextmanager
def _open(place: RemotePath) -> Iterator[_FtpServer | _SftpServer]:
    try:
        if place.scheme == "sftp":
            target = SshTarget(place.host, place.port, place.user, place.password)
            yield _SftpServer(target)
            return
        with ftplib.FTP(timeout=_TIMEOUT_S) as client:  # noqa: S321 - the protocol is the user's choice
            client.connect(place.host, place.port)
            client.login(place.user, place.password)
            yield _FtpServer(client)
    except ftplib.all_errors as error:
        raise StageError(
            f"{place.shown} cannot be read: {error}",
            "Correct the host, the user, the password or the path.",
        ) from None


class _FtpServer:
    def __init__(self, client: ftplib.FTP) -> None:
        self._client = client

    def is_folder(self, path: str) -> bool:
        try:
            self._client.cwd(path)
        except ftplib.error_perm:
            return False
        return True

    def list_folder(self, path: str) -> list[str]:
        """Return the names of the files of a folder."""
        entries = self._client.mlsd(path or "/", facts=["type"])
        return [name for name, facts in entries if facts.get("type") == "file"]

    def fetch(self, path: str, target: Path) -> None:
        with target.open("wb") as file:
            self._client.retrbinary(f"RETR {path}", file.write)


class _SftpServer:
    def __init__(self, target: SshTarget) -> None:
        self._target = target

    def is_folder(self, path: str) -> bool:
        return bool(self._ask(lambda client: client.isdir(path)))

    def list_folder(self, path: str) -> list[str]:
        """Return the names of the files of a folder."""

        async def find(client: Any) -> list[str]:
            entries = await client.readdir(path or "/")
            return [str(e.filename) for e in entries if not _is_folder_mode(e.attrs.permissions)]

        return list(self._ask(find))

    def fetch(self, path: str, target: Path) -> None:
        self._ask(lambda client: client.get(path, str(target)))

    def _ask(self, work: Any) -> Any:
        async def run(connection: Any) -> Any:
            async with connection.start_sftp_client() as client:
                return await work(client)

        return open_session(self._target, run)


def _is_folder_mode(mode: int | None) -> bool:
    return (mode or 0) & 0o170000 == 0o040000
