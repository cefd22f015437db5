"""All rows of data as a file to which a recipe can be applied."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import MOST_RECORDS, SampleType, SpecificationRequest
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import decode_json_records
from localcdap.datasets.table_files import copy_table
from localcdap.host.cdap import Cdap
from localcdap.runs.recipe_rows import build_copy_document, run_document
from localcdap.tui.screens.prep.exports import find_reader
from localcdap.tui.screens.prep.source import PrepRequest, build_sample_request, read_view

_HOW: Final = ("format", "delimiter", "header", "encoding", "sheet")


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
    how = {name: getattr(source, name) for name in _HOW}
    file = _find_file(cdap, request) if source.connection else source.path
    if file:
        yield {"path": file, **how}
        return
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        rows = Path(folder) / "rows.parquet"
        if source.connection:
            _copy_records(cdap, request, rows, is_stopped, show)
        else:
            copy_table(cdap.sql, request.namespace, source.table, rows, is_stopped)
        yield {"path": str(rows), "format": "parquet"}


def _find_file(cdap: Cdap, request: PrepRequest) -> str:
    """Return the file of this machine that a connection shows; "" for other data."""
    source = request.source
    wanted = SpecificationRequest(source.place, source.reading, "File", "batchsource")
    related = cdap.connectors.specify(request.namespace, source.connection, wanted).related_plugins
    path = related[0].properties.get("path", "") if related else ""
    return path if source.types is None and path and Path(path).is_file() else ""


def _copy_records(
    cdap: Cdap,
    request: PrepRequest,
    file: Path,
    is_stopped: Callable[[], bool],
    show: Callable[[float | None], None],
) -> None:
    """Have a run store all records behind a connection in a Parquet file.

    :raises BadRequestError: when they cannot be read.
    """
    before = read_view(cdap, replace(request, step=0))
    reader = find_reader(cdap, request, before)
    if reader is None:
        _copy_sample(cdap, request, file)
        return
    made = file.with_name("made")
    name = f"prep-{request.source.connection}"
    document = build_copy_document(reader, name, str(made))
    run = run_document(cdap.runs, document, name, request.namespace, request.arguments)
    with contextlib.closing(run) as shares:
        for share in shares:
            if is_stopped():
                return
            show(share)
    _join_files(made, file)


def _copy_sample(cdap: Cdap, request: PrepRequest, file: Path) -> None:
    """Store all records behind a connection without a source, as far as a sample can have all of them.

    :raises BadRequestError: when there are more.
    """
    import pyarrow.parquet as pq

    everything = request.source.with_changes(limit=MOST_RECORDS, kind=SampleType.FIRST)
    sample = build_sample_request(everything)
    found = cdap.connectors.sample(request.namespace, everything.connection, sample).result
    if found.schema is None or found.total != len(found.records):
        raise BadRequestError(
            f"No source of pipelines reads what the connection '{everything.connection}' shows, so that at "
            f"most {MOST_RECORDS:,} rows of it can be read.",
            "Save the data in a file or a table.",
        )
    records = decode_json_records(found.schema, found.records, "records")
    codec = RecordCodec(found.schema)
    with pq.ParquetWriter(file, codec.arrow) as writer:
        writer.write_batch(codec.encode(records))


def _join_files(folder: Path, file: Path) -> None:
    """Put the rows of the Parquet files of a folder into one file, in the order of the files."""
    import pyarrow.parquet as pq

    parts = sorted(folder.glob("part-*"))
    with pq.ParquetWriter(file, pq.read_schema(parts[0])) as writer:
        for part in parts:
            with pq.ParquetFile(part) as rows:
                for batch in rows.iter_batches():
                    writer.write_batch(batch)
