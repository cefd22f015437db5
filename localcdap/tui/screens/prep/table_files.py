"""Rows of tables as files that the process of a sample reads."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.datasets.sql import MOST_ROWS, SqlRequest
from localcdap.decoders import decode_json
from localcdap.host.cdap import Cdap
from localcdap.store.columns import quote_identifier
from localcdap.text import format_available


@contextlib.contextmanager
def open_tables(cdap: Cdap, namespace: str, names: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    """Give tables for lookups as the method ``workspace`` of Wrangler takes them.

    The files are deleted afterwards. A table that cannot be read has its reason instead.
    """
    shapes = cdap.tables.read_shapes(namespace)
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        found: list[dict[str, Any]] = []
        for number, name in enumerate(names):
            file = Path(folder) / f"{number}.parquet"
            shape = shapes.get(name)
            if shape is None:
                shown = format_available(name, sorted(shapes))
                reason = f"there is no table '{name}'; available: {shown}"
                found.append({"name": name, "problem": reason})
                continue
            try:
                copy_table(cdap, namespace, name, file, lambda: False)
            except LocalcdapError as error:
                found.append({"name": name, "problem": error.message})
                continue
            schema = decode_json(str(shape.schema))
            found.append({"name": name, "schema": schema, "key": shape.key, "path": str(file)})
        yield found


def copy_table(
    cdap: Cdap, namespace: str, table: str, file: Path, is_stopped: Callable[[], bool]
) -> None:
    """Write the rows of a table into a Parquet file.

    :raises BadRequestError: when the table changes meanwhile.
    """
    import pyarrow.parquet as pq

    name, rows = quote_identifier(table), 0
    counted = cdap.sql.query(SqlRequest(f"SELECT count(*) FROM {name}", namespace))  # noqa: S608
    total = counted.to_table().column(0)[0].as_py()
    with contextlib.ExitStack() as stack:
        writer = None
        while (rows < total or writer is None) and not is_stopped():
            query = f"SELECT * FROM {name} LIMIT {MOST_ROWS} OFFSET {rows}"  # noqa: S608
            part = cdap.sql.query(SqlRequest(query, namespace, limit=MOST_ROWS)).to_table()
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(file, part.schema))
            writer.write_table(part)
            rows += part.num_rows
            if not part.num_rows:
                break
    if rows != total and not is_stopped():
        raise BadRequestError(f"The table '{table}' changed while it was read.", "Try it again.")
