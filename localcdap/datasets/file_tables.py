"""The file sets of an instance as tables of queries."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.dataset.partition_fields import PARTITIONING_FIELDS, read_partitioning
from localcdap.api.dataset.properties import PropertyReader
from localcdap.api.dataset.specification import SCHEMA, DatasetSpecification, locate_folder
from localcdap.api.dataset.types.file_sets import FORMAT
from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.sql_names import quote_identifier
from localcdap.api.tables import TableFile
from localcdap.datasets.service import TableService
from localcdap.datasets.specifications import lay_out
from localcdap.datasets.sql import MOST_ROWS, SqlRequest, SqlService
from localcdap.files.arrow_files import note_schema
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.file_tables import FilePart, FileTable
from localcdap.store.query_tables import QueryTable
from localcdap.store.store import Transaction
from localcdap.text import format_available

DELIMITER: Final = "explore.format.property.delimiter"
"""The property with the character between the values of CSV files."""
HEADER: Final = "explore.table.property.skip.header.line.count"
"""The property that is 1 when CSV files begin with a line of names."""


class FileSetTables:
    """Finds the file sets that have a format and columns. Threads may share it.

    :param folder: of the file sets of all namespaces.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list_tables(
        self,
        tx: Transaction,
        tables: Sequence[QueryTable],
        sql: Sequence[str] = (),
        namespace: str | None = None,
    ) -> list[QueryTable]:
        """See :class:`localcdap.store.query_tables.FileTables`. Partitions only of named ones are listed."""
        texts = " ".join([*sql, *(each.query for each in tables if each.query)]).lower()
        taken = {(each.schema.lower(), each.name.lower()) for each in tables}
        return [
            _make_table(tx, owner, name, files, is_named=_may_be_named(name, texts))
            for owner, name, files in self._list_files(tx, namespace)
            if (owner.lower(), name.lower()) not in taken
        ]

    def _list_files(
        self, tx: Transaction, namespace: str | None
    ) -> Iterator[tuple[str, str, FileTable]]:
        """Yield namespace, name and files."""
        for dataset in dataset_catalog.list_datasets(tx, namespace):
            for each in _list_with_embedded(dataset.specification):
                files = describe_files(each, self._folder / dataset.namespace)
                if files is not None and files.has_columns:
                    yield dataset.namespace, each.name, files


def _list_with_embedded(specification: DatasetSpecification) -> Iterator[DatasetSpecification]:
    """Yield a dataset and its embedded datasets."""
    yield specification
    for each in specification.embedded.values():
        yield from _list_with_embedded(each)


def _may_be_named(name: str, texts: str) -> bool:
    """Return whether statements may name a dataset."""
    return '"' in name or name.lower() in texts


def _make_table(
    tx: Transaction, namespace: str, name: str, files: FileTable, *, is_named: bool
) -> QueryTable:
    if is_named and files.key:
        parts = tuple(_list_parts(tx, namespace, name, files))
        files = msgspec.structs.replace(files, parts=parts)
    source = quote_identifier(namespace, name)
    return QueryTable(namespace, name, source, files=files, is_named=is_named)


def describe_files(specification: DatasetSpecification, folder: Path) -> FileTable | None:
    """Return the files of a file set as a table, without its partitions; None for a dataset of another type.

    :param folder: of the file sets of its namespace.
    """
    place = lay_out(specification).folder
    properties = PropertyReader(specification.properties)
    format = properties.get(FORMAT)
    if place is None or format is None:
        return None
    key: tuple[tuple[str, str], ...] = ()
    if properties.get(PARTITIONING_FIELDS) is not None:
        key = tuple(read_partitioning(specification.properties).items())
    return FileTable(
        str(locate_folder(folder, place)),
        format,
        properties.get(SCHEMA),
        key,
        delimiter=properties.get(DELIMITER) or ",",
        has_header=properties.get(HEADER, "0") != "0",
    )


def _list_parts(tx: Transaction, namespace: str, name: str, files: FileTable) -> Iterator[FilePart]:
    table = table_catalog.to_identifier(namespace, f"{name}.partitions")
    fields = ", ".join(quote_identifier(each) for each, _ in files.key)
    for path, *key in tx.execute(f'SELECT "$path", {fields} FROM {table} ORDER BY "$path"'):  # noqa: S608
        yield FilePart(path, tuple(key))


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
