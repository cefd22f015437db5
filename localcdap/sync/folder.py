"""The files of a folder: which of them hold entities, and changing them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.files.atomic import write_file
from localcdap.processes.single_instance import hold_lock
from localcdap.sync.file_names import SUFFIX
from localcdap.sync.model import FileChange, FolderFile, SyncAction, SyncProblem

_LEFT_OVER: Final = re.compile(r"\..+\.json\.[a-z0-9_]{8}")
"""The names of new files that a process, which was killed, had not given their names yet."""


class FolderContent(NamedTuple):
    """What the folder holds of entities."""

    files: list[FolderFile]
    problems: list[SyncProblem]
    """Files that cannot be read."""


class SyncFolder:
    """The folder of a namespace. Files that hold no entity are foreign: they are neither read nor changed.

    :param path: the folder, which need not exist.
    :param names: the names of the folders in it whose JSON files hold entities; JSON files at its top may.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self.path: Final = path.expanduser().absolute()
        self._names = names

    @property
    def id(self) -> str:
        """The path without links, by which the instance remembers the folder."""
        return os.path.realpath(self.path)

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Let no other process synchronize the folder during a block. The folder is created.

        :raises ConflictError: when another process does already.
        :raises BadRequestError: when the folder cannot be used.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with hold_lock(self.path) as is_held:
                if not is_held:
                    raise ConflictError(
                        f"Another process is synchronizing {self.path}.",
                        "Wait until it has ended; 'localcdap sync DIR --watch' ends with ctrl+c.",
                    )
                self._remove_left_over_files()
                yield
        except OSError as error:
            raise _make_error(self.path, error) from None

    def read(self) -> FolderContent:
        """Return the files that hold entities, or may hold one.

        :raises BadRequestError: when the folder cannot be read.
        """
        content = FolderContent([], [])
        for path in self._list_paths():
            name = path.relative_to(self.path).as_posix()
            if path.is_symlink():
                content.problems.append(
                    SyncProblem(
                        f"'{name}' is a symbolic link.",
                        "Put the file or folder itself here.",
                        file=name,
                    )
                )
                continue
            try:
                content.files.append(FolderFile(name, path.read_bytes().decode("utf-8-sig")))
            except UnicodeDecodeError as error:
                if path.parent == self.path:  # foreign, unless it has the name of a pipeline
                    content.files.append(FolderFile(name, ""))
                    continue
                line = path.read_bytes().count(b"\n", 0, error.start) + 1
                message = f"File '{name}' is not UTF-8 text (line {line})."
                content.problems.append(
                    SyncProblem(message, "Save it as UTF-8.", file=name, line=line)
                )
            except OSError as error:
                message = f"File '{name}' cannot be read: {error.strerror}."
                content.problems.append(SyncProblem(message, file=name))
        return content

    def check(self, changes: Sequence[FileChange]) -> None:
        """Check that files are as a plan has seen them.

        :raises ConflictError: when one has changed since.
        """
        for each in changes:
            path = self.path / each.path
            try:
                found = path.read_bytes().decode("utf-8-sig")
            except (FileNotFoundError, NotADirectoryError):
                found = None
            except (OSError, UnicodeDecodeError):
                found = ""
            if found != each.before:
                raise ConflictError(
                    f"File '{each.path}' was changed while the folder was being synchronized.",
                    "Synchronize again.",
                )

    def change(self, changes: Sequence[FileChange]) -> None:
        """Write and delete files, each atomically.

        :raises BadRequestError: when a file cannot be written.
        """
        for each in changes:
            path = self.path / each.path
            try:
                if each.action is SyncAction.DELETE or each.text is None:
                    path.unlink(missing_ok=True)
                    self._remove_empty_folders(path.parent)
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_file(path, each.text)
            except OSError as error:
                raise _make_error(path, error) from None

    def _list_paths(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        try:
            found = [
                each
                for each in self.path.iterdir()
                if _is_json(each) and each.is_file() and not each.is_symlink()
            ]
            for name in self._names:
                found += self._list_paths_in(self.path / name)
        except OSError as error:
            raise _make_error(self.path, error) from None
        return sorted(found)

    def _list_paths_in(self, folder: Path) -> Iterator[Path]:
        """Yield the JSON files below a folder, and links to folders, which are not followed.

        :raises OSError: when a folder cannot be read: its files must not count as deleted.
        """
        if not folder.is_dir():
            return
        for root, folders, files in os.walk(folder, onerror=_raise):
            folders[:] = [each for each in folders if not each.startswith(".")]
            yield from (path for each in folders if (path := Path(root, each)).is_symlink())
            yield from (path for each in files if _is_json(path := Path(root, each)))

    def _remove_empty_folders(self, folder: Path) -> None:
        """Remove folders that have become empty, up to the folder of the kind, as Git does."""
        while folder not in (self.path, *self.path.parents):
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    def _remove_left_over_files(self) -> None:
        for name in ("", *self._names):
            for root, folders, files in os.walk(self.path / name):
                if not name:
                    folders.clear()
                for each in files:
                    if _LEFT_OVER.fullmatch(each):
                        Path(root, each).unlink(missing_ok=True)


def _is_json(path: Path) -> bool:
    return path.name.endswith(SUFFIX) and not path.name.startswith(".")


def _raise(error: OSError) -> None:
    raise error


def _make_error(path: Path, error: OSError) -> BadRequestError:
    return BadRequestError(
        f"{path} cannot be used: {error.strerror or error}.", "Choose another folder."
    )
