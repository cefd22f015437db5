"""JDBC drivers that the user supplies: jars in the folder ``jdbc`` of the instance's folder.

A driver called ``mysql`` is the jar ``jdbc/mysql.jar``, the jars in the folder ``jdbc/mysql``, or the jar
beside a JSON file of its name, as it is deployed in CDAP: ``{"plugins": [{"name": "mysql", "type": "jdbc",
"className": "com.mysql.jdbc.Driver"}]}``. The line ``"jdbc://mysql" = "path"`` of ``[locations]`` names
another jar or folder.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from localcdap.api import StageError

_SERVICES: Final = "META-INF/services/java.sql.Driver"
_FOLDER: Final = "jdbc"


class Driver(NamedTuple):
    """A JDBC driver."""

    jars: list[str]
    class_name: str | None
    """None where its jars do not say it; Java finds it by the connection string then, if it can."""


class DriverNotFoundError(Exception):
    """There is no such driver. The message says what there is; ``action`` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.action = action


def find_driver(name: str, resolve: Callable[[str], str]) -> Driver:
    """The driver of a name.

    :param resolve: says where a path of a pipeline document lies on this machine.
    :raises DriverNotFoundError: when there is none.
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
    """A copy of a jar in a folder of the Spark server, named after its content. Made when it is not there.

    Spark takes no second jar of a file name, and the server outlives instances, which may each have a
    ``postgresql.jar`` of their own, and a jar that is replaced.
    """
    content = jar.read_bytes()
    path = folder / f"{hashlib.sha256(content).hexdigest()}.jar"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
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
        f"There is no JDBC driver '{name}'; there are: {', '.join(there) or 'none'}.",
        f"Put its jar into '{folder / name}.jar', or name it under [locations] in localcdap.toml: "
        f'"jdbc://{name}" = "path/of/the/driver.jar"',
    )


def _list_jars(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(str(each) for each in path.glob("*.jar"))
    return [str(path)] if path.is_file() else []


def _read_declared(folder: Path) -> Iterator[tuple[str, Driver]]:
    """The drivers of jars with a JSON file of their name."""
    for jar in sorted(folder.glob("*.jar")):
        try:
            document: Any = json.loads(jar.with_suffix(".json").read_bytes())
            for plugin in document["plugins"]:
                if plugin["type"] == "jdbc":
                    yield plugin["name"], Driver([str(jar)], plugin["className"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _find_class_name(jars: list[str]) -> str | None:
    """The class that the jars register as a driver."""
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
