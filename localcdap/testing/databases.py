"""New databases and instances for tests: each is made once in a process, and copied then."""

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


def copy_known_instance(folder: Path) -> None:
    """Make a folder that of an instance that has indexed the shipped plugins, unless it has a database.

    Indexing takes a second of the processor. The instances of a process share the contents of these plugins,
    and what Python has compiled of them.
    """
    home, known = Home(folder), _make_known_instance()
    if home.database.exists():
        return
    home.artifact_cache.mkdir(parents=True, exist_ok=True)
    for content in known.artifact_cache.iterdir():
        (home.artifact_cache / content.name).symlink_to(content)
    shutil.copy(known.database, home.database)


@functools.cache
def _make_known_instance() -> Home:
    from localcdap.host import open_in_process

    home = Home(_make_folder())
    with open_in_process(home) as cdap:
        cdap.artifacts.list_plugins("default")
    return home


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
