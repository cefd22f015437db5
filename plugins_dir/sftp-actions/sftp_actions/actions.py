"""The actions SFTPCopy, SFTPPut and SFTPDelete, which copy and change files of an SFTP server."""

from __future__ import annotations

import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    Action,
    ActionContext,
    PluginConfig,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.files.atomic import FileReplacement
from localcdap.java.regex import Regex, RegexError, compile_regex
from localcdap.plugin_lib.files.inputs import resolve_local
from localcdap.plugin_lib.ssh import SshTarget, run_session

if TYPE_CHECKING:
    from asyncssh import SFTPClient, SSHClientConnection


_BY_KEY, _BY_PASSWORD = "privatekey-select", "password-select"
_CHECKING: Final = "StrictHostKeyChecking"


class ServerConfig(PluginConfig, macros=True, rename="camel"):
    """An SFTP server (sftp-actions, ``io/cdap/plugin/common/SFTPActionConfig.java``)."""

    host: str = field("Host name of the SFTP server.")
    port: int = field("Port of the server.", default=22)
    user_name: str = field("Name of the user.")
    authentication: str = field(
        f"How the user logs in: '{_BY_PASSWORD}' or '{_BY_KEY}'.",
        default=_BY_PASSWORD,
        choices=(_BY_PASSWORD, _BY_KEY),
        name="Authentication",
        group="account",
    )
    password: str | None = field(
        "Password of the user.", default=None, secret=True, group="account"
    )
    private_key: str | None = field(
        "Private key of the user, in PEM.",
        default=None,
        secret=True,
        syntax="text",
        group="account",
    )
    passphrase: str | None = field(
        "Passphrase of the private key.", default=None, secret=True, group="account"
    )
    ssh_properties: str | None = field(
        f"Properties of SSH, as name:value, comma-separated. '{_CHECKING}:yes' makes it require that the "
        "server is in known_hosts; others have no effect here.",
        default=None,
        name="sshProperties",
        macro=False,
        group="more",
    )

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        if not self.contains_macro("port") and not 0 < self.port < 65_536:
            stage.failures.add(
                f"There is no port {self.port}.", "Use a number from 1 to 65535."
            ).with_config_property("port")
        if self.contains_macro("Authentication"):
            return
        name = "privateKey" if self.authentication == _BY_KEY else "password"
        value = self.private_key if self.authentication == _BY_KEY else self.password
        if not value and not self.contains_macro(name):
            stage.failures.add(
                f"'{self.authentication}' needs '{name}'.", "Set it, or another authentication."
            ).with_config_property(name)

    def build_target(self) -> SshTarget:
        """Return the server and the account."""
        by_key = self.authentication == _BY_KEY
        pairs = (each.partition(":") for each in (self.ssh_properties or "").split(","))
        given = {name.strip(): value.strip().lower() for name, _, value in pairs}
        return SshTarget(
            self.host.strip(),
            self.port,
            self.user_name,
            None if by_key else self.password,
            self.private_key if by_key else None,
            self.passphrase,
            given.get(_CHECKING) in ("yes", "true", "ask"),
        )


def check_regex(stage: StageConfigurer, text: str | None) -> None:
    """Add a failure for a wrong regular expression of file names."""
    try:
        compile_regex(text or "")
    except RegexError as error:
        stage.failures.add(
            f"Invalid regular expression: {error}", "Correct it, in the syntax of Java."
        ).with_config_property("fileNameRegex")


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


@plugin(name="SFTPPut", description="Copies files of this machine to an SFTP server.")
class SftpPut(Action):
    """Properties and failures are those of CDAP's plugin (sftp-actions,
    ``io/cdap/plugin/SFTPPutAction.java``).
    """

    class Config(ServerConfig, macros=True, rename="camel"):
        src_path: str = field("File, or folder whose files are copied.", form="{path}")
        dest_directory: str = field("Folder on the server; it is created if it does not exist.")
        file_name_regex: str = field(
            "Regular expression of Java that the names of the files must match.", default=".*"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        check_regex(stage, self.config.file_name_regex)

    def run(self, context: ActionContext) -> None:
        config = self.config
        source = resolve_local(context, config.src_path)
        if not source.exists():
            raise context.fail(f"Source Path doesn't exist at {source}", "Correct 'srcPath'.")
        wanted = compile_regex(config.file_name_regex)
        inside = sorted(source.iterdir()) if source.is_dir() else [source]
        files = [each for each in inside if each.is_file() and wanted.matches(each.name)]

        async def put(connection: SSHClientConnection) -> None:
            await _put_files(connection, files, config.dest_directory)

        run_session(context, config.build_target(), put)
        context.logger.info("%d files copied to %s", len(files), config.dest_directory)


async def _put_files(connection: SSHClientConnection, files: list[Path], folder: str) -> None:
    async with connection.start_sftp_client() as client:
        if not await client.exists(folder):
            await client.mkdir(folder)
        for file in files:
            await client.put(str(file), f"{folder.rstrip('/')}/{file.name}")


@plugin(name="SFTPDelete", description="Deletes files of an SFTP server.")
class SftpDelete(Action):
    """Properties and failures are those of CDAP's plugin (sftp-actions,
    ``io/cdap/plugin/SFTPDeleteAction.java``).
    """

    class Config(ServerConfig, macros=True, rename="camel"):
        files_to_delete: list[str] = field(
            "The files to delete, comma-separated: '${sftp.copied.file.names}' for those that SFTPCopy "
            "has copied.",
            default=[],
        )
        continue_on_error: bool = field(
            "Whether the pipeline continues if a file cannot be deleted. The log names the file.",
            default=False,
            macro=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def run(self, context: ActionContext) -> None:
        if not self.config.files_to_delete:
            return

        async def delete(connection: SSHClientConnection) -> None:
            import asyncssh

            async with connection.start_sftp_client() as client:
                for file in self.config.files_to_delete:
                    try:
                        await client.remove(file)
                    except asyncssh.SFTPError as error:
                        if not self.config.continue_on_error:
                            raise context.fail(
                                f"'{file}' cannot be deleted: {error.reason}"
                            ) from None
                        context.logger.warning("'%s' cannot be deleted: %s", file, error.reason)

        run_session(context, self.config.build_target(), delete)
