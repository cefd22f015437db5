"""What dataset classes extend: an opened dataset, and what it gets from the framework.

Threads that a method of a dataset starts continue its stack of calls, as in the original.

Python passes context variables on to tasks of asyncio but, before version 3.14, not to threads.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.dataset.access import AccessGuard, insert_checks, is_in_method
from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.specification import DatasetSpecification, FolderLayout
from localcdap.api.errors import ConflictError
from localcdap.api.schema import Schema


class DatasetContext(Protocol):
    """The tables and folders of a dataset that a program has opened."""

    namespace: str
    arguments: Mapping[str, str]
    """The arguments that the program has opened the dataset with."""
    guard: AccessGuard

    def table(self, name: str) -> RowTable:
        """Return a table of the dataset, as :meth:`DatasetDefinition.lay_out` names it.

        :raises TransactionError: outside of a transaction.
        :raises NotFoundError: when there is no such table.
        """

    def locate(self, folder: FolderLayout) -> Path:
        """Return the path of the dataset's folder."""

    def on_commit(self, action: Callable[[], None]) -> None:
        """Register a function to be called when the transaction has been committed.

        What it raises cannot undo the commit; it is logged. It is not called after a rollback.
        """


class Dataset:
    """A dataset that a program has opened. Each dataset type has a class that extends this one.

    Public methods are what programs call. Each says with an annotation of
    :mod:`localcdap.api.dataset.access` what it does with the data.
    """

    guard: AccessGuard

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        insert_checks(cls, Dataset)

    def __new__(cls, context: DatasetContext, *_: Any, **__: Any) -> Dataset:
        # The check of a constructor needs the guard.
        made = super().__new__(cls)
        made.guard = context.guard
        return made

    def __init__(
        self,
        context: DatasetContext,
        specification: DatasetSpecification,
        embedded: Mapping[str, Dataset] | None = None,
    ) -> None:
        """Create it; :meth:`DatasetDefinition.get_dataset` does so.

        :param embedded: the embedded datasets by the names that the definition gave them.
        """
        self.context: Final = context
        self.specification: Final = specification
        self.embedded: Final = dict(embedded or {})

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.specification.name

    @property
    def schema(self) -> Schema | None:
        """The schema of its rows or records, as far as the type has one."""
        return self.specification.get_schema()

    def _open_table(self, suffix: str = "") -> RowTable:
        """Return the dataset's own table, or the one called ``<name>.<suffix>``."""
        return self.context.table(f"{self.name}.{suffix}" if suffix else self.name)


insert_checks(Dataset)


_installed = threading.Lock()


def pass_calls_to_threads() -> None:
    """Let threads and thread pools take the stack of calls from where they are started or used.

    Only threads that are started inside a method of a dataset are affected. Later calls do nothing.
    """
    if not _installed.acquire(blocking=False):
        return
    setattr(threading.Thread, "start", _wrap_start(threading.Thread.start))  # noqa: B010
    setattr(ThreadPoolExecutor, "submit", _wrap_submit(ThreadPoolExecutor.submit))  # noqa: B010


def _wrap_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_context(self: threading.Thread) -> None:
        if is_in_method():
            self.run = functools.partial(copy_context().run, self.run)  # type: ignore[method-assign]
        start(self)

    return start_in_context


def _wrap_submit(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @functools.wraps(submit)
    def submit_in_context(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        # Outside of methods too: a worker that a method has started keeps the context of that method.
        return submit(self, copy_context().run, fn, *args, **kwargs)

    return submit_in_context


_SUFFIX: Final = ".staged"
_RUN: Final = ".localcdap-"
"""In the names of the folders that the sinks of runs write until the commit."""
_MOST_ATTEMPTS: Final = 5
"""How often a folder is copied when others replace it meanwhile."""


class StagedFolder(msgspec.Struct, frozen=True):
    """A copy of a folder, which takes its place with a transaction."""

    path: str
    source: str
    """The folder that was copied; it may not exist."""
    fingerprint: str
    """Of the source, before it was copied."""

    def is_current(self) -> bool:
        """Return whether nobody has changed the source since it was copied."""
        return fingerprint_folder(Path(self.source)) == self.fingerprint

    def is_beside_source(self) -> bool:
        """Return whether the copy has a path that :func:`copy_folder` chooses."""
        path, source = Path(self.path), Path(self.source)
        has_name = path.name.startswith(f".{source.name}.") and path.name.endswith(_SUFFIX)
        return has_name and path.parent == source.parent

    def remove(self) -> None:
        """Remove the copy, if it is still there."""
        shutil.rmtree(self.path, ignore_errors=True)


def name_copy(source: Path, id: str) -> Path:
    """Return a path beside a folder that :func:`remove_stray_copies` knows.

    :param id: with a ``-``.
    """
    return source.with_name(f".{source.name}.{id}{_SUFFIX}")


def copy_folder(source: Path, id: str = "") -> StagedFolder:
    """Copy a folder with its files to a path beside it; that of a missing folder is empty.

    :param id: is part of the new name.
    """
    path = name_copy(source, f"{id}-{uuid.uuid4().hex}")
    path.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        fingerprint = fingerprint_folder(source)
        try:
            _copy_to(source, path)
            break
        except OSError:
            # Another update may have replaced the folder meanwhile: then its new files are copied.
            if attempt == _MOST_ATTEMPTS or fingerprint_folder(source) == fingerprint:
                raise
    return StagedFolder(str(path), str(source), fingerprint)


def _copy_to(source: Path, path: Path) -> None:
    """Copy a folder whole, or leave nothing behind."""
    try:
        if source.is_dir():
            shutil.copytree(source, path, symlinks=True)
        else:
            path.mkdir()
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def refuse_writing_runs(folder: Path) -> None:
    """Refuse to replace a folder into which a run writes.

    :raises ConflictError: when there is such a run.
    """
    for place, folders, _ in os.walk(folder):
        for each in folders:
            if _RUN in each and each.startswith("."):
                raise ConflictError(
                    f"A run writes into {Path(place) / each}, so its dataset's files cannot be replaced.",
                    "Try again when the run has ended.",
                )


def fingerprint_folder(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files and folders; of a missing folder, too."""
    digest = hashlib.sha256()
    for line in sorted(_describe_entries(folder)):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _describe_entries(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        yield from (f"{place}/{each}" for each in folders)
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                found = (Path(place) / file).lstat()
                yield f"{place}/{file} {found.st_size} {found.st_mtime_ns}"


def remove_stray_copies(parent: Path, name: str = "*", id: str = "*") -> None:
    """Remove the copies that a killed process has left in a folder.

    :param name: of the folders that were copied; by default, all.
    :param id: see :func:`copy_folder`.
    """
    for each in parent.glob(f".{name}.{id}-*{_SUFFIX}"):
        shutil.rmtree(each, ignore_errors=True)
