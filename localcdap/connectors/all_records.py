"""All records behind a connection, as a file of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import (
    MOST_RECORDS,
    PageRequest,
    RecordPage,
    SampleRequest,
    SampleType,
    SpecificationRequest,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records
from localcdap.api.schema import LogicalType, Schema
from localcdap.files.arrow_files import note_schema
from localcdap.runs.recipe_rows import build_copy_document, run_document
from localcdap.sandbox.record_samples import SchemaMerger, cast_table

if TYPE_CHECKING:
    import pyarrow as pa

    from localcdap.connectors.service import ConnectorService
    from localcdap.runs.service import RunService

SKIP_LINES: Final = "skipLines"
"""The property of how lines at the beginning of a file are left out."""

Source = tuple[str, str, Mapping[str, str]]
"""Name, type and properties of the plugin that reads all records in a pipeline."""


class ConnectionData(msgspec.Struct, frozen=True):
    """What is at a path of a connection.

    :param reading: how it is read, as the properties of a sample.
    """

    namespace: str
    connection: str
    path: str
    reading: dict[str, str] = {}


class RecordCopier:
    """Copies all records behind connections into Parquet files.

    :param is_stopped: whether nobody waits for them any more; no more is read then.
    :param show: takes the share that is copied.
    """

    def __init__(
        self,
        connectors: ConnectorService,
        runs: RunService,
        is_stopped: Callable[[], bool],
        show: Callable[[float | None], None],
    ) -> None:
        self._connectors = connectors
        self._runs = runs
        self._is_stopped = is_stopped
        self._show = show

    def find_file(self, data: ConnectionData) -> str:
        """Return the file of this machine that a connection shows; "" for other data."""
        # A connector names no source for a file in which lines are left out, whose path is wanted here too.
        how = {**data.reading, SKIP_LINES: "0"}
        wanted = SpecificationRequest(data.path, how, "File", "batchsource")
        found = self._connectors.specify(data.namespace, data.connection, wanted).related_plugins
        path = found[0].properties.get("path", "") if found else ""
        return path if path and Path(path).is_file() else ""

    def find_source(self, data: ConnectionData) -> Source | None:
        """Return the source that reads the records, with the schema of a sample; None if there is none."""
        request = SampleRequest(data.path, properties=data.reading)
        found = self._connectors.sample(data.namespace, data.connection, request)
        for each in found.detail.related_plugins:
            if each.type == "batchsource":
                schema = {} if found.result.schema is None else {"schema": str(found.result.schema)}
                return each.name, each.type, schema | each.properties
        return None

    def copy(
        self, data: ConnectionData, source: Source | None, arguments: Mapping[str, str], file: Path
    ) -> None:
        """Store all records in a file: by a run of the source, or else in parts that the connector gives.

        :param arguments: of the run.
        :raises BadRequestError: when they cannot be read.
        """
        parts = file.with_name("parts")
        if source is not None:
            schema = self._run(data, source, arguments, parts)
        else:
            parts.mkdir()
            schema = self._copy_pages(data, parts) or self._copy_sample(data, parts)
        if not self._is_stopped():
            _join_files(parts, schema, file)

    def _run(
        self, data: ConnectionData, source: Source, arguments: Mapping[str, str], folder: Path
    ) -> pa.Schema | None:
        """Have a run store the records as files; None when it was stopped."""
        import pyarrow.parquet as pq

        name = f"prep-{data.connection}"
        document = build_copy_document(source, name, str(folder))
        run = run_document(self._runs, document, name, data.namespace, arguments)
        with contextlib.closing(run) as shares:
            for share in shares:
                if self._is_stopped():
                    return None
                self._show(share)
        _, _, properties = source
        return _restore_local_times(
            pq.read_schema(_list_parts(folder)[0]), properties.get("schema")
        )

    def _copy_pages(self, data: ConnectionData, folder: Path) -> pa.Schema | None:
        """Store the pages of the records as files; None when the connector gives no pages."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        merger = SchemaMerger()
        first: RecordPage | None = None
        after: int | str | None = None
        rows = number = 0
        while not self._is_stopped():
            request = PageRequest(data.path, data.reading, after)
            page = self._connectors.read_page(data.namespace, data.connection, request)
            if page is None:
                return None
            first = first or page
            if page.version != first.version:
                raise BadRequestError(f"'{data.path}' changed while it was read.", "Try it again.")
            if page.arrow:
                with pa.ipc.open_stream(page.arrow) as stream:
                    table = stream.read_all()
                merger.add(table)
                pq.write_table(table, folder / f"part-{number:06}.parquet")
            rows, number, after = rows + page.rows, number + 1, page.after
            self._show(min(1.0, rows / first.total) if first.total else None)
            if page.is_last:
                break
        if not merger.schema.names and not self._is_stopped():
            raise BadRequestError(f"'{data.path}' has no records.", "Choose other data.")
        return merger.schema

    def _copy_sample(self, data: ConnectionData, folder: Path) -> pa.Schema:
        """Store the records of a connector without pages, as far as a sample can have all of them.

        :raises BadRequestError: when there are more.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        request = SampleRequest(
            data.path, MOST_RECORDS, data.reading, sampling_type=SampleType.FIRST
        )
        found = self._connectors.sample(data.namespace, data.connection, request).result
        if found.schema is None or found.total != len(found.records):
            raise BadRequestError(
                f"No source of pipelines reads what the connection '{data.connection}' shows, and its "
                f"connector gives samples only, so that at most {MOST_RECORDS:,} rows of it can be read.",
                "Save the data in a file or a table.",
            )
        records = decode_json_records(found.schema, found.records, "records")
        batch = RecordCodec(found.schema).encode(records)
        pq.write_table(pa.Table.from_batches([batch]), folder / "part-0.parquet")
        return batch.schema


def _restore_local_times(columns: pa.Schema, declared: str | None) -> pa.Schema:
    """Return the columns of Parquet files of a run, where datetimes are texts, with datetimes again."""
    import pyarrow as pa

    for field in Schema.parse(declared) if declared else ():
        is_local = field.schema.non_nullable.logical_type is LogicalType.DATETIME
        index = columns.get_field_index(field.name)
        if is_local and index >= 0:
            columns = columns.set(index, columns.field(index).with_type(pa.timestamp("us")))
    return columns


def _list_parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*"))


def _join_files(folder: Path, schema: pa.Schema, file: Path) -> None:
    """Put the rows of the Parquet files of a folder into one file, in the order of the files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, note_schema(schema)) as writer:
        for part in _list_parts(folder):
            with pq.ParquetFile(part) as rows:
                for batch in rows.iter_batches():
                    writer.write_table(cast_table(pa.Table.from_batches([batch]), schema))
            part.unlink()
