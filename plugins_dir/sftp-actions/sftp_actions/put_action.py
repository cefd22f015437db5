"""The actions SFTPPut and SFTPDelete, which change files of an SFTP server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from localcdap.api import Action, ActionContext, StageConfigurer, field, plugin
from localcdap.java.regex import compile_regex
from localcdap.plugin_lib.files.local_paths import resolve_local
from localcdap.plugin_lib.ssh import run_session

from .server import ServerConfig, check_regex

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection


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
