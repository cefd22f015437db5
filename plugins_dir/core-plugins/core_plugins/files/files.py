"""The File source and sink, and the actions FileMove and FileDelete."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from localcdap.api import Action, ActionContext, PluginConfig, StageConfigurer, field, plugin
from localcdap.plugin_lib.files.inputs import resolve_local
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.source import FilesSource


@plugin(
    name="File",
    description="Reads files: delimited text, JSON, Avro, Parquet, ORC, lines of text, or whole files.",
)
class FileSource(FilesSource):
    pass


@plugin(
    name="File",
    description="Writes files of delimited text, JSON, Avro, Parquet or ORC into a new folder.",
)
class FileSink(FilesSink):
    pass


_REGEX: Final = "fileRegex"
_WHICH: Final = (
    "Regular expression that matches the names of the files, if the path is a folder. By default, all files "
    "match."
)
_CONTINUE: Final = "Whether the pipeline continues if a file cannot be {}. The log names the file."


@plugin(name="FileMove", description="Moves a file, or the files of a folder, to another path.")
class FileMove(Action):
    class Config(PluginConfig, macros=True):
        source: str = field("File or folder to move from.", name="sourcePath", form="{path}")
        target: str = field(
            "New path of the file; or a folder, if the path ends with '/' or a folder's files are moved. "
            "Missing folders are created. Existing files are not replaced.",
            name="destPath",
            form="{path}",
        )
        file_regex: str | None = field(_WHICH, default=None, name=_REGEX)
        continue_on_error: bool = field(
            _CONTINUE.format("moved"), default=False, name="continueOnError"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        _check_regex(stage, self.config.file_regex)

    def run(self, context: ActionContext) -> None:
        config = self.config
        source = resolve_local(context, config.source)
        target = resolve_local(context, config.target)
        into_folder = source.is_dir() or config.target.endswith("/")

        def move(file: Path) -> None:
            destination = target / file.name if into_folder else target
            if destination.exists():
                raise FileExistsError(f"'{destination}' exists already")
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, destination)

        files = _find_files(context, source, config.file_regex, config.continue_on_error)
        _apply_to_each(context, files, move, "moved", config.continue_on_error)


@plugin(name="FileDelete", description="Deletes a file, or the contents of a folder.")
class FileDelete(Action):
    class Config(PluginConfig, macros=True):
        path: str = field(
            "File to delete, or folder whose files and subfolders are deleted.", form="{path}"
        )
        file_regex: str | None = field(_WHICH, default=None, name=_REGEX)
        continue_on_error: bool = field(
            _CONTINUE.format("deleted"), default=False, name="continueOnError"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        _check_regex(stage, self.config.file_regex)

    def run(self, context: ActionContext) -> None:
        config = self.config
        path = resolve_local(context, config.path)
        files = _find_files(context, path, config.file_regex, config.continue_on_error)
        _apply_to_each(context, files, _delete, "deleted", config.continue_on_error)


def _check_regex(stage: StageConfigurer, regex: str | None) -> None:
    try:
        re.compile(regex or "")
    except re.error as error:
        stage.failures.add(
            f"Invalid regular expression '{regex}': {error}.",
            "Write a valid regular expression that matches the names of files.",
        ).with_config_property(_REGEX)


def _find_files(
    context: ActionContext, path: Path, regex: str | None, continue_on_error: bool
) -> list[Path]:
    """Return a file itself, or the matching entries of a folder.

    :raises StageError: when the path does not exist.
    """
    if not path.is_dir():
        if path.exists() or path.is_symlink():
            return [path]
        message = f"path '{path}' does not exist."
        if continue_on_error:
            context.logger.warning("%s", message)
            return []
        raise context.fail(message, "Check the path, or set 'continueOnError' to true.")
    wanted = re.compile(regex) if regex else None
    inside = sorted(path.iterdir())
    if wanted is None:
        return inside
    return [entry for entry in inside if entry.is_file() and wanted.fullmatch(entry.name)]


def _apply_to_each(
    context: ActionContext,
    files: Iterable[Path],
    act: Callable[[Path], None],
    done: str,
    continue_on_error: bool,
) -> None:
    count = 0
    for file in files:
        try:
            act(file)
            count += 1
        except OSError as error:
            message = f"'{file}' cannot be {done}: {error}."
            if not continue_on_error:
                raise context.fail(message, "Set 'continueOnError' to true to continue.") from None
            context.logger.warning("%s", message)
    context.logger.info("%d files %s", count, done)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
