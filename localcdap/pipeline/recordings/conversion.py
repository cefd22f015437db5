"""Comparison of a recording with the schema of its stage, and the conversion of its rows, with a report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.pipeline.recordings.rows import RecordedRows

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH: Final = 10_000
_MOST_NAMES: Final = 8
_TEXT: Final = (Type.STRING, Type.ENUM)
_TEXT_PARSED: Final = (Type.BOOLEAN, Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)


class SchemaMatch(msgspec.Struct):
    """How the rows of a recording become records of a schema."""

    names: dict[str, str]
    """By field of the recording that is used, the field of the schema."""
    notes: list[str]
    problems: list[str]
    """Why the rows cannot become such records."""


def match_schemas(recorded: Schema, wanted: Schema) -> SchemaMatch:
    """Compare the schema of a recording with that of its stage.

    Fields are found by name, and by a name of other case where that is clear. A field that the recording
    lacks is null if the schema allows that; fields that only the recording has are left out.
    """
    names = _match_names(recorded, wanted)
    match = SchemaMatch(names, [], [])
    taken = {field: name for name, field in names.items()}
    if wanted.field_names and not names:
        match.problems.append(
            f"The recording has none of the fields {_list(wanted.field_names)}; it has "
            f"{_list(recorded.field_names)}."
        )
        return match
    absent = [field for field in wanted if field.name not in taken]
    for field in absent:
        if not field.schema.is_nullable:
            match.problems.append(
                f"The recording has no field '{field.name}', which must not be null; it has "
                f"{_list(recorded.field_names)}."
            )
    nulls = [field.name for field in absent if field.schema.is_nullable]
    if nulls:
        match.notes.append(f"Null, because the recording lacks them: {_list(nulls)}.")
    others = [name for name in recorded.field_names if name not in names]
    if others:
        match.notes.append(f"Left out, because the schema lacks them: {_list(others)}.")
    _add_renamed(match)
    _add_converted(match, recorded, wanted)
    return match


def _match_names(recorded: Schema, wanted: Schema) -> dict[str, str]:
    names = {name: name for name in recorded.field_names if wanted.field(name) is not None}
    free = [name for name in wanted.field_names if name not in names]
    for name in recorded.field_names:
        if name in names:
            continue
        similar = [each for each in free if each.lower() == name.lower()]
        if len(similar) == 1:
            names[name] = similar[0]
            free.remove(similar[0])
    return names


def _add_renamed(match: SchemaMatch) -> None:
    renamed = [f"{old} as {new}" for old, new in match.names.items() if old != new]
    if renamed:
        match.notes.append(f"Taken under another case: {_list(renamed)}.")


def _add_converted(match: SchemaMatch, recorded: Schema, wanted: Schema) -> None:
    converted = []
    for old, new in match.names.items():
        given, target = recorded.field(old), wanted.field(new)
        assert given is not None
        assert target is not None
        have, need = given.schema.non_nullable, target.schema.non_nullable
        if not have.same_shape(need):
            converted.append(f"{new} from {have.display_name} to {need.display_name}")
    if converted:
        match.notes.append(f"Converted: {_list(converted)}.")


def _list(names: list[str]) -> str:
    shown = names[:_MOST_NAMES]
    more = len(names) - len(shown)
    return (", ".join(shown) or "none") + (f" and {more} more" if more else "")


class RowConverter:
    """Converts the rows of a recording into records of a schema.

    :param match: of the recording's schema with the wanted one.
    """

    def __init__(self, rows: RecordedRows, wanted: Schema, match: SchemaMatch) -> None:
        self._rows = rows
        self._wanted = wanted
        self._match = match

    def check(self, limit: int) -> None:
        """Convert the first rows.

        :raises BadRequestError: with every row and field that does not fit.
        """
        self._convert(list(islice(self._rows.open(), limit)), 0)

    def write(self, file: Path) -> int:
        """Write all records into a Parquet file; return their number.

        :raises BadRequestError: with every row and field of the first rows that do not fit.
        """
        return write_records(file, self._wanted, self.read_batches())

    def read_batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all records.

        :raises BadRequestError: as :meth:`write`.
        """
        rows, done = self._rows.open(), 0
        while chunk := list(islice(rows, _BATCH)):
            yield self._convert(chunk, done)
            done += len(chunk)

    def _convert(self, rows: list[Any], done: int) -> list[dict[str, Any]]:
        try:
            return decode_json_records(self._wanted, map(self._prepare, rows))
        except BadRequestError as error:
            after = f" after record {done:,}" if done else ""
            listed = error.message.partition("\n")[2]
            raise BadRequestError(
                f"The recording does not fit the schema of the stage{after}:\n{listed}",
                "Correct the recording, or the schema of the stage.",
            ) from None

    def _prepare(self, row: Any) -> Any:
        """Return a row with the names and, as far as texts stand for values, the types of the schema."""
        if not isinstance(row, Mapping):
            return row
        named = {new: row[old] for old, new in self._match.names.items() if old in row}
        texts = {name: value for name, value in named.items() if self._is_parsed(name, value)}
        return {
            name: self._write_text(name, value) for name, value in named.items()
        } | decode_text_record(self._wanted, texts)

    def _is_parsed(self, name: str, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        field = self._wanted.field(name)
        assert field is not None
        return self._rows.is_text or field.schema.non_nullable.type in _TEXT_PARSED

    def _write_text(self, name: str, value: Any) -> Any:
        """Return a value, and one that is not a text as text where the schema says so."""
        field = self._wanted.field(name)
        assert field is not None
        need = field.schema.non_nullable
        is_text = need.type in _TEXT and not isinstance(need.logical_type, LogicalType)
        if is_text and value is not None and not isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        return value


def write_records(file: Path, schema: Schema, batches: Iterator[list[dict[str, Any]]]) -> int:
    """Write records into a Parquet file; return their number.

    :raises LocalcdapError: when a record does not fit, or the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    codec, count = RecordCodec(schema), 0
    stored = pa.schema([_to_stored(field) for field in codec.arrow])
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with pq.ParquetWriter(file, stored) as writer:
            for records in batches:
                batch = codec.encode(records)
                writer.write_table(pa.Table.from_batches([batch]).cast(stored))
                count += len(records)
    except (OSError, pa.ArrowException) as error:
        raise LocalcdapError(f"A recording cannot be written to {file}: {error}") from error
    return count


def _to_stored(field: pa.Field) -> pa.Field:
    """Return a column as Spark reads it from Parquet: it knows no times of nanoseconds."""
    import pyarrow as pa

    return field.with_type(pa.time64("us")) if pa.types.is_time64(field.type) else field
