"""Results of queries as files, and as the texts that are copied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import encode_json_record
from localcdap.files.atomic import replace_file

if TYPE_CHECKING:
    import pyarrow as pa


def write_result(table: pa.Table, file: Path) -> None:
    """Write a result as its file's suffix says; the file is whole, or as it was.

    :raises BadRequestError: for another suffix, or when the file cannot be written.
    """
    import pyarrow as pa

    check_suffix(file)
    write = _WRITERS[file.suffix.lower()]
    with replace_file(file) as place:
        try:
            write(table, place)
        except pa.ArrowException as error:
            raise BadRequestError(f"'{file}' cannot be written: {error}") from None


def check_suffix(file: Path) -> None:
    """Check that :func:`write_result` can write a file of this name.

    :raises BadRequestError: when it cannot.
    """
    if file.suffix.lower() not in _WRITERS:
        raise BadRequestError(
            f"'{file.name}' does not end with {', '.join(SUFFIXES)}.", "Choose another name."
        )


def _write_csv(table: pa.Table, file: Path) -> None:
    file.write_text(to_csv(table.column_names, _iterate_rows(table)), encoding="utf-8")


def _write_json(table: pa.Table, file: Path) -> None:
    file.write_text(to_json(table.column_names, _iterate_rows(table)), encoding="utf-8")


def _write_parquet(table: pa.Table, file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file)


def _iterate_rows(table: pa.Table) -> Any:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


_WRITERS: Final[dict[str, Callable[[Any, Path], None]]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}
SUFFIXES: Final = tuple(_WRITERS)
"""Those of the files that :func:`write_result` writes."""


def format_plain(value: Any) -> str:
    """Return a value as it is copied: a null as nothing; arrays, maps and records as JSON."""
    plain = encode_json_record(value)
    if plain is None:
        return ""
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)


def to_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return comma-separated lines. An empty text is quoted; a null is an empty field.

    The null of a row of one field is quoted, too, since readers skip empty lines.
    """
    lines = (",".join(map(_format_csv_field, row)) for row in (names, *rows))
    return "".join((line or '""') + "\n" for line in lines)


def _format_csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = format_plain(value)
    is_plain = text and not any(mark in text for mark in ',"\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def to_json(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a JSON array of objects, one object on each line."""
    return format_json_records(
        dict(zip(names, map(encode_json_record, row), strict=True)) for row in rows
    )


def format_json_records(records: Iterable[Any]) -> str:
    """Return a JSON array, one of the decoded JSON values on each line."""
    listed = ",\n  ".join(json.dumps(record, ensure_ascii=False) for record in records)
    return f"[\n  {listed}\n]\n" if listed else "[]\n"
