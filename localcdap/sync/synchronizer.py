"""Synchronizes a folder from the process of a front end: it has the files, the host has the rest.

The files of a folder: which of them hold entities, and changing them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.files.atomic import write_file
from localcdap.processes.single_instance import hold_lock
from localcdap.sync.file_names import SUFFIX
from localcdap.sync.merge import Side
from localcdap.sync.model import (
    BaseRecord,
    FileChange,
    FolderFile,
    InstanceOrder,
    SyncAction,
    SyncDirection,
    SyncOutcome,
    SyncPlan,
    SyncProblem,
    SyncRequest,
    complete_records,
    make_address,
)

_LEFT_OVER: Final = re.compile(r"\..+\.json\.([0-9a-f]{8}\.part|[a-z0-9_]{8})")
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


class SyncCalls(Protocol):
    """The service :class:`~localcdap.sync.service.SyncService`, in the host or here."""

    def list_folders(self) -> list[str]: ...
    def plan(self, request: SyncRequest) -> SyncPlan: ...
    def apply(self, order: InstanceOrder) -> SyncOutcome: ...
    def record(self, namespace: str, folder: str, records: list[BaseRecord]) -> None: ...
    def forget(self, namespace: str, folder: str) -> None: ...


class Synchronizer:
    """Plans and makes the synchronizations of one namespace and one folder.

    A process that is killed at any point leaves files and entities of which each is old or new: what was
    agreed on is recorded last, and the next plan finds that both sides have a change already.
    """

    def __init__(self, service: SyncCalls, namespace: str, folder: Path) -> None:
        self._service = service
        self._namespace = namespace
        self.folder: Final = SyncFolder(folder, service.list_folders())

    @contextlib.contextmanager
    def hold(self, direction: SyncDirection = SyncDirection.BOTH) -> Iterator[None]:
        """Let no other process synchronize the folder during a block; see :meth:`.SyncFolder.hold`.

        :raises NotFoundError: when there is no such folder to pull from.
        """
        self._require_folder(direction)
        with self.folder.hold():
            yield

    def plan(
        self,
        direction: SyncDirection = SyncDirection.BOTH,
        choices: Mapping[str, Side] | None = None,
        *,
        formats: bool = False,
    ) -> SyncPlan:
        """Return what a synchronization will do; nothing is changed.

        :param choices: the sides to take in conflicts, see :class:`.SyncRequest`; so is ``formats``.
        :raises NotFoundError: when there is no such namespace; or no such folder to pull from.
        :raises BadRequestError: when the folder cannot be read.
        """
        self._require_folder(direction)
        content = self.folder.read()
        plan = self._service.plan(
            SyncRequest(
                self._namespace,
                self.folder.id,
                content.files,
                direction,
                dict(choices or {}),
                formats,
            )
        )
        plan.problems = [*content.problems, *plan.problems]
        return plan

    def apply(self, plan: SyncPlan, *, fix: bool = False) -> SyncOutcome:
        """Make the changes of a plan that has no problems and no conflicts: first those of the instance.

        :param fix: whether to deploy pipelines with installed versions of plugins.
        :returns: what the instance made of it; with problems, nothing was changed.
        :raises ConflictError: when a file or an entity has changed since the plan was made.
        :raises BadRequestError: when a file cannot be written.
        """
        self.folder.check(plan.files)
        awaited = {each.entity for each in plan.files}
        later = [each for each in plan.records if make_address(each.kind, each.key) in awaited]
        order = InstanceOrder(
            self._namespace,
            self.folder.id,
            plan.instance,
            [each for each in plan.records if each not in later],
            fix,
        )
        outcome = SyncOutcome([], [], {})
        if order.changes or order.records:
            outcome = self._service.apply(order)
        if outcome.problems:
            return outcome
        held = {each.entity for each in outcome.held}
        files = [each for each in plan.files if each.entity not in held]
        self.folder.check(files)
        self.folder.change(files)
        later = [each for each in later if make_address(each.kind, each.key) not in held]
        if later:
            completed = complete_records(later, plan.instance, outcome.stored)
            self._service.record(self._namespace, self.folder.id, completed)
        return outcome

    def _require_folder(self, direction: SyncDirection) -> None:
        if direction is SyncDirection.PULL and not self.folder.path.is_dir():
            raise NotFoundError(
                f"There is no folder {self.folder.path}.", "Name the folder that holds the files."
            )

    def forget(self) -> None:
        """Forget what was agreed on: the next plan compares everything."""
        self._service.forget(self._namespace, self.folder.id)
