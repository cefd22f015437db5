"""New databases for tests: each kind is made once in a process, and copied then."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Final

from localcdap.home import Home
from localcdap.store.store import Store

_NAME: Final = "new.duckdb"


def open_new_store(path: Path) -> Store:
    """Open a store in a file that does not exist yet, with the tables of a new instance."""
    put_new_database(path)
    return Store(path)


def put_new_database(path: Path) -> None:
    """Put a database with the tables of a new instance at a path, unless there is a file.

    To make the tables takes more than half of the time in which a store is opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        shutil.copy(_make_new_database(), path)


@functools.cache
def make_known_database() -> Path:
    """Return a database of an instance that has indexed the shipped plugins, to be copied.

    The file is removed with this process. Indexing takes a second of the processor.
    """
    from localcdap.host import open_in_process

    home = Home(_make_folder())
    with open_in_process(home) as cdap:
        cdap.artifacts.list_plugins("default")
    return home.database


@functools.cache
def _make_new_database() -> Path:
    path = _make_folder() / _NAME
    Store(path).close()
    return path


def _make_folder() -> Path:
    """Return a new folder, which is removed with this process."""
    folder = tempfile.mkdtemp(prefix="localcdap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
