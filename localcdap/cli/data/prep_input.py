"""What a recipe is applied to: a file, a table of the namespace, or data of a connection."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.cli.options import Instance
from localcdap.cli.output import is_terminal
from localcdap.connectors.all_records import SKIP_LINES, ConnectionData, RecordCopier
from localcdap.connectors.entities import find_connection
from localcdap.datasets.file_tables import copy_table
from localcdap.text import format_available

if TYPE_CHECKING:
    from localcdap.host.cdap import Cdap

CLEAR: Final = "\r\x1b[K"
"""Moves the cursor to the beginning of the line, and clears it."""


def find_place(instance: Instance, data: str) -> tuple[str, str]:
    """Return the connection that a text begins with, as in ``files:/2026``, and the path after it.

    :raises NotFoundError: when there is no such connection.
    """
    with instance.connect() as cdap:
        names = [each.name for each in cdap.connections.list_connections(instance.namespace)]
    name = find_connection(data, names)
    if name is None:
        wanted = data.partition(":")[0]
        raise NotFoundError(
            f"There is no file at '{data}', and no connection '{wanted}'.",
            f"The connections are: {format_available(wanted, names)}."
            if names
            else "Create one: localcdap connections put NAME --type TYPE -p K=V",
        )
    return name, data[len(name) + 1 :]


def find_file(name: str, how: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the input of the method ``apply`` of Wrangler for a file, or for stdin; None for a table, or
    data of a connection.

    :param how: the options that say how a file is read.
    :param folder: for what stdin has.
    """
    path = Path(name).absolute()
    if name == "-":
        path = folder / "input"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
    elif not path.exists() and (":" in name or not ("/" in name or path.suffix)):
        return None
    return {"path": str(path), **how}


def copy_rows(
    instance: Instance,
    name: str,
    how: Mapping[str, Any],
    arguments: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    """Return the input of the method ``apply`` for all rows of a table or behind a connection.

    :param arguments: of a run that reads them.
    :param folder: for the file of the rows.
    :raises NotFoundError: when there is no such table or connection.
    :raises BadRequestError: when the rows cannot be read, or options of files are given for a table.
    """
    file = folder / "rows.parquet"
    rows = {"path": str(file), "format": "parquet"}
    given = {key: value for key, value in how.items() if value is not None}
    if ":" not in name:
        if given:
            raise BadRequestError(
                f"'{name}' is a table, which has a schema: how a file is read does not matter.",
                f"Leave out {', '.join(sorted(given))}.",
            )
        with instance.connect() as cdap:
            _copy_table(cdap, instance.namespace, name, file)
        return rows
    connection, path = find_place(instance, name)
    keys = {"skip_lines": SKIP_LINES}
    reading = {keys.get(key, key): _write_option(value) for key, value in given.items()}
    data = ConnectionData(instance.namespace, connection, path, reading)
    with instance.connect() as cdap:
        copier = RecordCopier(cdap.connectors, cdap.runs, lambda: False, _show_share)
        local = copier.find_file(data)
        if local:
            return {"path": local, **how}
        try:
            copier.copy(data, copier.find_source(data), arguments, file)
        finally:
            if is_terminal():
                sys.stderr.write(CLEAR)
    return rows


def _copy_table(cdap: Cdap, namespace: str, name: str, file: Path) -> None:
    names = sorted(each.name for each in cdap.tables.list_tables(namespace))
    if name not in names:
        raise NotFoundError(
            f"There is no file '{name}', and no table '{name}' in the namespace '{namespace}'.",
            f"The tables are: {format_available(name, names)}." if names else None,
        )
    copy_table(cdap.sql, namespace, name, file, lambda: False)


def _show_share(share: float | None) -> None:
    if is_terminal():
        part = "" if share is None else f" {share:.0%}"
        sys.stderr.write(f"{CLEAR}  copying the records{part}")
        sys.stderr.flush()


def _write_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
