"""The FTP source, which reads text files of an FTP or SFTP server, and the files of such servers."""

from __future__ import annotations

import fnmatch
import ftplib
import functools
import posixpath
import re
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from localcdap.api import (
    BatchSource,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.files.readers.line_format import (
    LINE,
    OFFSET,
    PATH,
    REPLACED,
    FilePiece,
    LineFormat,
    read_lines,
)
from localcdap.plugin_lib.files.readers.lines import count_replaced
from localcdap.plugin_lib.ssh import SshTarget, open_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


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


_RECORD: Final = Schema.record("text", [("offset", Schema.LONG), ("body", Schema.STRING)])
_LINES: Final = Schema.record(
    "line", [*_RECORD, (PATH, Schema.STRING), (REPLACED, Schema.STRING.as_nullable)]
)
_FORMAT: Final = LineFormat(
    columns=(("offset", OFFSET), ("body", LINE), (PATH, PATH), (REPLACED, REPLACED))
)
_PROPERTIES: Final = "fileSystemProperties"


@plugin(name="FTP", description="Reads the lines of text files of an FTP or SFTP server.")
class FtpSource(BatchSource):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/batch/source/FTPBatchSource.java``).

    The files are copied to this machine one by one, each read when it is complete.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        reference_name: str = field("Name of this source in lineage and metadata.")
        path: str = field(
            "File, folder, or files that match a pattern in the last part, as "
            "sftp://user:password@host:22/logs/*.txt; ftp:// for FTP.",
            secret=True,
        )
        file_regex: str | None = field(
            "Regular expression of Java that the path of a file on the server must match.",
            default=None,
        )
        file_system_properties: str | None = field(
            "Properties of Hadoop, as a JSON object of texts; without effect here.",
            default=None,
            syntax="json",
            group="more",
        )
        ignore_non_existing_folders: bool = field(
            "Whether a path without files gives no records; otherwise it fails the run.",
            default=False,
            macro=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        if config.path is not None and not config.contains_macro("path"):
            try:
                parse_path(config.path)
            except StageError as error:
                stage.failures.add(error.message, error.corrective_action).with_config_property(
                    "path"
                )
        try:
            compile_regex(config.file_regex or "")
        except RegexError as error:
            stage.failures.add(f"Invalid regular expression: {error}").with_config_property(
                "fileRegex"
            )
        if config.file_system_properties and not config.contains_macro(_PROPERTIES):
            try:
                msgspec.json.decode(config.file_system_properties, type=dict[str, str])
            except msgspec.DecodeError:
                stage.failures.add(
                    "File system properties must be a valid json."
                ).with_config_property(_PROPERTIES)
        stage.output_schema = _RECORD

    def read(self, context: SourceContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        try:
            place = parse_path(self.config.path)
            files = list_files(place)
        except StageError as error:
            raise context.fail(error.message, error.corrective_action) from None
        except FileNotFoundError as error:
            if not self.config.ignore_non_existing_folders:
                raise context.fail(
                    f"There are no files at {error}.",
                    "Correct the path, or set 'ignoreNonExistingFolders' to true.",
                ) from None
            context.logger.warning("There are no files at %s", error)
            files = []
        if self.config.file_regex:
            wanted = compile_regex(self.config.file_regex)
            files = [each for each in files if wanted.matches(each)]
        lines = context.generate(_LINES, files, functools.partial(read_remote, place))
        # The copies of the files are gone when their warnings are written.
        remote = F.when(F.col(REPLACED).isNotNull(), F.col(PATH))
        marked = lines.withColumn(REPLACED, remote).drop(PATH)
        return cast("DataFrame", count_replaced(context, marked, _FORMAT))


def read_remote(place: RemotePath, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file of a server.

    :raises StageError: when it cannot be fetched or read.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / Path(path).name
        fetch_file(place, path, target)
        yield from read_lines(FilePiece(str(target), path), format=_FORMAT)
