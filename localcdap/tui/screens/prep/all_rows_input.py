"""All rows of data as a file to which a recipe can be applied."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from localcdap.connectors.all_records import ConnectionData, RecordCopier
from localcdap.datasets.table_files import copy_table
from localcdap.host.cdap import Cdap
from localcdap.tui.screens.prep.exports import find_reader
from localcdap.tui.screens.prep.source import FILE_OPTIONS, PrepRequest, read_view


@contextlib.contextmanager
def open_all_rows(
    cdap: Cdap,
    request: PrepRequest,
    is_stopped: Callable[[], bool],
    show: Callable[[float | None], None],
) -> Iterator[dict[str, Any]]:
    """Give the input of the method ``apply`` of Wrangler. Other data than files become a file that is
    deleted afterwards.

    :param is_stopped: whether nobody waits for it any more; no more is read then.
    :param show: takes the share that is copied.
    :raises BadRequestError: when the data cannot be read.
    """
    source = request.source
    copier = RecordCopier(cdap.connectors, cdap.runs, is_stopped, show)
    data = ConnectionData(request.namespace, source.connection, source.place, source.reading)
    path = source.path
    if source.connection and source.types is None:
        path = copier.find_file(data)
    if path:
        yield {"path": path, **{name: getattr(source, name) for name in FILE_OPTIONS}}
        return
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        rows = Path(folder) / "rows.parquet"
        if source.connection:
            before = read_view(cdap, replace(request, step=0))
            reader = find_reader(cdap, request, before)
            copier.copy(data, reader, request.arguments, rows)
        else:
            copy_table(cdap.sql, request.namespace, source.table, rows, is_stopped)
        yield {"path": str(rows), "format": "parquet"}
