"""What dataset classes extend: an opened dataset, and what it gets from the framework.

Threads that a method of a dataset starts continue its stack of calls, as in the original.

Python passes context variables on to tasks of asyncio but, before version 3.14, not to threads.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Final, Protocol

from localcdap.api.dataset.access import AccessGuard, insert_checks, is_in_method
from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.specification import DatasetSpecification, FolderLayout
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
