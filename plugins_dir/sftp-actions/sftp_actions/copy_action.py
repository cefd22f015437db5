"""The action SFTPCopy, which copies files of an SFTP server to this machine."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from localcdap.api import Action, ActionContext, StageConfigurer, StageError, field, plugin
from localcdap.files.atomic import FileReplacement
from localcdap.java.regex import Regex, compile_regex
from localcdap.plugin_lib.files.local_paths import resolve_local
from localcdap.plugin_lib.ssh import run_session

from .server import ServerConfig, check_regex

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SSHClientConnection


@plugin(name="SFTPCopy", description="Copies files of an SFTP server to a folder of this machine.")
class SftpCopy(Action):
    """Properties and failures are those of CDAP's plugin (sftp-actions,
    ``io/cdap/plugin/SFTPCopyAction.java``).

    A file that is copied has another name until it is complete.
    """

    class Config(ServerConfig, macros=True, rename="camel"):
        src_directory: str = field("Folder on the server that is copied, with its subfolders.")
        dest_directory: str = field(
            "Folder of this machine; it is created if it does not exist.", form="{folder}"
        )
        extract_zip_files: bool = field(
            "Whether files that end with '.zip' become folders with their content.",
            default=True,
            macro=False,
        )
        variable: str = field(
            "The argument that gets the names of the copied files, comma-separated.",
            default="sftp.copied.file.names",
            name="variableNameHoldingFileList",
            macro=False,
        )
        file_name_regex: str | None = field(
            "Regular expression of Java that the names of files and subfolders must match; by default, any.",
            default=None,
        )
        file_system_properties: str | None = field(
            "Properties of the file system to copy to; without effect here.",
            default=None,
            macro=False,
            group="more",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        check_regex(stage, self.config.file_name_regex)

    def run(self, context: ActionContext) -> None:
        config = self.config
        target = resolve_local(context, config.dest_directory)
        wanted = compile_regex(config.file_name_regex) if config.file_name_regex else None
        copied: list[str] = []

        async def copy(connection: SSHClientConnection) -> None:
            async with connection.start_sftp_client() as client:
                copier = _Copier(client, wanted, copied, extracts=config.extract_zip_files)
                await copier.copy_folder(PurePosixPath(config.src_directory), target)

        run_session(context, config.build_target(), copy)
        context.set_argument(config.variable, ",".join(copied))
        context.logger.info("%d files copied from %s", len(copied), config.src_directory)


class _Copier:
    def __init__(
        self, client: SFTPClient, wanted: Regex | None, copied: list[str], *, extracts: bool
    ) -> None:
        self._client, self._wanted = client, wanted
        self._copied, self._extracts = copied, extracts

    async def copy_folder(self, source: PurePosixPath, target: Path) -> None:
        """Copy the files of a folder, and its subfolders."""
        target.mkdir(parents=True, exist_ok=True)
        entries = await self._client.readdir(str(source))
        for entry in sorted(entries, key=lambda each: str(each.filename)):
            name, mode = str(entry.filename), entry.attrs.permissions or 0
            if name in (".", "..") or (self._wanted and not self._wanted.matches(name)):
                continue
            if "/" in name or "\\" in name:
                raise StageError(f"The server names a file '{name}'.", "It has no such name here.")
            if stat.S_ISDIR(mode):
                await self.copy_folder(source / name, target / name)
            elif stat.S_ISREG(mode):
                await self._copy_file(source / name, target / name)

    async def _copy_file(self, source: PurePosixPath, target: Path) -> None:
        if self._extracts and target.name.endswith(".zip"):
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".") as archive:
                await self._client.get(str(source), archive.name)
                _extract(Path(archive.name), target)
        else:
            with FileReplacement(target, is_synced=False) as replacement:
                await self._client.get(str(source), str(replacement.new_file))
        self._copied.append(str(source))


def _extract(archive: Path, folder: Path) -> None:
    """Extract an archive.

    :raises StageError: when it is none, or a file of it would be outside of the folder.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if not (folder / name).resolve().is_relative_to(folder.resolve()):
                    raise StageError(
                        f"The file '{name}' of archive '{folder.name}' would be outside of its folder."
                    )
            opened.extractall(folder)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise StageError(
            f"'{folder.name}' is not a ZIP archive: {error}", "Set 'extractZipFiles' to false."
        ) from None
