"""Rows of tables as files, which processes without access to the database read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.sql_names import quote_identifier
from localcdap.api.tables import TableFile
from localcdap.datasets.service import TableService
from localcdap.datasets.sql import MOST_ROWS, SqlRequest, SqlService
from localcdap.files.arrow_files import note_schema
from localcdap.text import format_available


@contextlib.contextmanager
def open_tables(
    tables: TableService, sql: SqlService, namespace: str, names: Sequence[str]
) -> Iterator[list[TableFile]]:
    """Write tables for lookups into files, which are deleted afterwards.

    A table that cannot be read has its reason instead.
    """
    shapes = tables.read_shapes(namespace)
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        found: list[TableFile] = []
        for number, name in enumerate(names):
            file = Path(folder) / f"{number}.parquet"
            shape = shapes.get(name)
            if shape is None:
                shown = format_available(name, sorted(shapes))
                reason = f"there is no table '{name}'; available: {shown}"
                found.append(TableFile(name, problem=reason))
                continue
            try:
                copy_table(sql, namespace, name, file, lambda: False)
            except LocalcdapError as error:
                found.append(TableFile(name, problem=error.message))
                continue
            found.append(TableFile(name, shape.schema, shape.key, str(file)))
        yield found


def copy_table(
    sql: SqlService, namespace: str, table: str, file: Path, is_stopped: Callable[[], bool]
) -> None:
    """Write the rows of a table into a Parquet file.

    :raises BadRequestError: when the table changes meanwhile.
    """
    import pyarrow.parquet as pq

    name, rows = quote_identifier(table), 0
    counted = sql.query(SqlRequest(f"SELECT count(*) FROM {name}", namespace))  # noqa: S608
    total = counted.to_table().column(0)[0].as_py()
    with contextlib.ExitStack() as stack:
        writer = None
        while (rows < total or writer is None) and not is_stopped():
            query = f"SELECT * FROM {name} LIMIT {MOST_ROWS} OFFSET {rows}"  # noqa: S608
            part = sql.query(SqlRequest(query, namespace, limit=MOST_ROWS)).to_table()
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(file, note_schema(part.schema)))
            writer.write_table(part)
            rows += part.num_rows
            if not part.num_rows:
                break
    if rows != total and not is_stopped():
        raise BadRequestError(f"The table '{table}' changed while it was read.", "Try it again.")
