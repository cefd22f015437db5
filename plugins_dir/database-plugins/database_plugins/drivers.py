"""JDBC drivers that the user supplies: jars in the folder ``jdbc`` of the instance's folder.

The driver ``mysql`` is the jar ``jdbc/mysql.jar``, the jars in the folder ``jdbc/mysql``, or a jar with a
JSON file of the same name, as CDAP deploys it: ``{"plugins": [{"name": "mysql", "type": "jdbc", "className":
"com.mysql.jdbc.Driver"}]}``. The line ``"jdbc://mysql" = "path"`` of ``[locations]`` names another jar or
folder.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from localcdap.api import StageError
from localcdap.files.atomic import write_internal_file

_SERVICES: Final = "META-INF/services/java.sql.Driver"
_FOLDER: Final = "jdbc"


class Driver(NamedTuple):
    """The jars and the class of a JDBC driver."""

    jars: list[str]
    class_name: str | None
    """None if the jars do not declare it; Java then searches for it by the connection string."""


class DriverNotFoundError(Exception):
    """A driver was not found. The message lists the existing ones; ``action`` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.action = action


def find_driver(name: str, resolve: Callable[[str], str]) -> Driver:
    """Return the driver with a name.

    :param resolve: returns the local path of a path in a pipeline document.
    :raises DriverNotFoundError: when there is no such driver.
    """
    try:
        named = Path(resolve(f"jdbc://{name}"))
    except StageError:
        return _find_in_folder(name, Path(resolve(_FOLDER)))
    jars = _list_jars(named)
    if not jars:
        raise DriverNotFoundError(
            f"'{named}', which [locations] names for JDBC driver '{name}', is neither a jar nor a folder "
            "with jars.",
            f'Change the line "jdbc://{name}" under [locations] in localcdap.toml.',
        )
    return Driver(jars, _find_class_name(jars))


def copy_for_spark(jar: Path, folder: Path) -> Path:
    """Copy a jar into a folder of the Spark server, named after its content, and return the copy.

    Spark does not load a second jar with the same file name. The server is shared by instances with different
    jars ``postgresql.jar``, and a jar may be replaced while the server runs.
    """
    content = jar.read_bytes()
    path = folder / f"{hashlib.sha256(content).hexdigest()}.jar"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_internal_file(path, content, is_synced=False)
    return path


def _find_in_folder(name: str, folder: Path) -> Driver:
    for path in (folder / f"{name}.jar", folder / name):
        if jars := _list_jars(path):
            return Driver(jars, _find_class_name(jars))
    declared = dict(_read_declared(folder))
    if name in declared:
        return declared[name]
    there = sorted({*declared, *(each.stem for each in folder.glob("*.jar"))})
    raise DriverNotFoundError(
        f"There is no JDBC driver '{name}'; available: {', '.join(there) or 'none'}.",
        f"Put its jar into '{folder / name}.jar', or name it under [locations] in localcdap.toml: "
        f'"jdbc://{name}" = "path/of/the/driver.jar"',
    )


def _list_jars(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(str(each) for each in path.glob("*.jar"))
    return [str(path)] if path.is_file() else []


def _read_declared(folder: Path) -> Iterator[tuple[str, Driver]]:
    """Yield the drivers that JSON files next to jars declare."""
    for jar in sorted(folder.glob("*.jar")):
        try:
            document: Any = json.loads(jar.with_suffix(".json").read_bytes())
            for plugin in document["plugins"]:
                if plugin["type"] == "jdbc":
                    yield plugin["name"], Driver([str(jar)], plugin["className"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _find_class_name(jars: list[str]) -> str | None:
    """Return the driver class that the jars register; None if there is none."""
    for jar in jars:
        try:
            with zipfile.ZipFile(jar) as archive:
                lines = archive.read(_SERVICES).decode().splitlines()
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            continue
        names = [line.partition("#")[0].strip() for line in lines]
        if any(names):
            return next(filter(None, names))
    return None
