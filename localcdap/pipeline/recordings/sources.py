"""What a recording of a source reads, converted to the schema of its stage, with a report.

Reference names of recordings are their own: lineage must not say that a system was read that is not here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.locations import Locations
from localcdap.api.record_json import decode_json_records, decode_text_record
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.tables import TableShape
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.recordings.generation.field_values import load_provider
from localcdap.pipeline.recordings.generation.records import GenerationHints, RecordGenerator
from localcdap.pipeline.recordings.model import Kind, Recording
from localcdap.pipeline.recordings.rows import (
    SUFFIXES,
    RecordedRows,
    get_suffix,
    open_file,
    open_table,
)
from localcdap.pipeline.rules.graph import SOURCE
from localcdap.pipeline.validation.stage_configuration import guess_schema

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


REFERENCE = "referenceName"
"""The property in which CDAP's sources and sinks have their name in lineage."""


def name_reference(stage: StageUse) -> str:
    """Return the name of a stage's recording in lineage."""
    name = stage.plugin.properties.get(REFERENCE) or stage.name
    return "recorded." + re.sub(r"[^A-Za-z0-9_.$-]+", "_", name)


ReadDataset = Callable[[str, int], "pa.Table"]
"""Returns the first rows of a table or dataset of the namespace, by its name and the most rows."""
MOST_ROWS: Final = 100_000
"""The rows of a table or dataset that are read where they must be converted."""
_CHECKED: Final = 1000
"""The first rows that are converted to check a recording."""


class RecordingInputs(msgspec.Struct):
    """Where recordings are found."""

    locations: Locations | None
    """Resolves the paths of files; None: there are none."""
    tables: Callable[[], Mapping[str, TableShape]]
    """Returns the tables of the namespace, by name."""
    read_dataset: ReadDataset
    find_schema: Callable[[StageUse], Schema | None]
    """Returns the output schema that the stage's own plugin sets without looking at data."""
    expand: Callable[[str], str]
    """Expands the macros of a text; "" when one has no value."""


class SourceReplacement(msgspec.Struct):
    """The plugin that reads a recording."""

    plugin: PluginUse
    records: int | None = None
    notes: list[str] = []


class RecordedSources:
    """Replaces sources by recordings.

    :param folder: gets the converted records; None: recordings are only checked.
    """

    def __init__(self, inputs: RecordingInputs, folder: Path | None) -> None:
        self._inputs = inputs
        self._folder = folder
        self._written = 0

    def replace(
        self, stage: StageUse, given: Recording, hints: GenerationHints
    ) -> SourceReplacement:
        """Return the plugin that reads the recording in place of the stage's own.

        :raises LocalcdapError: when the recording does not exist, or does not fit the schema.
        """
        # What the document notes may be of another version of the plugin.
        schema = self._inputs.find_schema(stage) or guess_schema(stage)
        if given.kind is Kind.GENERATE:
            return self._generate(stage, schema, given, hints)
        recording = self._find(given)
        if recording.kind is Kind.TABLE:
            shape = self._inputs.tables()[recording.target]
            if schema is None or _has_all(shape.schema, schema):
                wanted = str(schema or shape.schema)
                properties = {"name": recording.target, "schema": wanted}
                return SourceReplacement(PluginUse(SOURCE, "Table", properties))
        if recording.kind is Kind.FILE:
            rows = open_file(self._resolve(recording.target))
            return self._convert(stage, rows, schema)
        return self._convert_dataset(stage, recording.target, schema)

    def _find(self, recording: Recording) -> Recording:
        """Return the recording with its kind: file, table or dataset.

        :raises BadRequestError: when there is no table or dataset of that name.
        """
        kind, name = recording.kind, recording.target
        if kind is Kind.NAMED:
            is_file = get_suffix(Path(name)) in SUFFIXES or "/" in name
            if is_file or self._resolve(name).exists():
                return Recording(Kind.FILE, name)
            kind = Kind.TABLE if name in self._inputs.tables() else Kind.DATASET
        elif kind is Kind.TABLE and name not in self._inputs.tables():
            listed = ", ".join(self._inputs.tables()) or "none"
            raise BadRequestError(f"There is no table '{name}'.", f"Tables: {listed}.")
        return Recording(kind, name)

    def _resolve(self, path: str) -> Path:
        locations = self._inputs.locations
        return Path(locations.resolve(path) if locations is not None else path)

    def _generate(
        self, stage: StageUse, schema: Schema | None, given: Recording, hints: GenerationHints
    ) -> SourceReplacement:
        if schema is None:
            raise BadRequestError(
                "Records cannot be generated, because the schema of the stage is not known.",
                "Set its property 'schema', or name a file, whose schema is taken.",
            )
        file = self._next_file()
        if file is None:
            load_provider(0)
        else:
            generator = RecordGenerator(
                schema, stage.name, count=given.count, seed=given.seed, hints=hints
            )
            write_records(file, schema, generator.generate())
        return SourceReplacement(read_parquet(stage, file, schema), given.count)

    def _convert_dataset(
        self, stage: StageUse, name: str, schema: Schema | None
    ) -> SourceReplacement:
        most = MOST_ROWS if self._folder is not None else _CHECKED
        try:
            table = self._inputs.read_dataset(name, most)
        except LocalcdapError as error:
            raise BadRequestError(
                f"The recording '{name}' is not a file, and as a table or dataset it cannot be read: "
                f"{error.message}",
                "Correct the name; 'localcdap tables' lists tables and datasets.",
            ) from None
        replaced = self._convert(stage, open_table(table), schema)
        if table.num_rows == MOST_ROWS:
            replaced.notes.append(f"Only the first {MOST_ROWS:,} rows are read.")
        return replaced

    def _convert(
        self, stage: StageUse, rows: RecordedRows, schema: Schema | None
    ) -> SourceReplacement:
        wanted = schema or rows.schema
        if not wanted.field_names:
            raise BadRequestError(
                "The recording has no records, and no schema is known for the stage.",
                "Record it again, or set the property 'schema' of the stage.",
            )
        match = match_schemas(rows.schema, wanted)
        # JSON without records says no fields, and does not differ.
        if match.problems and rows.schema.field_names:
            raise BadRequestError(
                " ".join(match.problems), "Record it again, or change the schema."
            )
        converter, file, count = RowConverter(rows, wanted, match), self._next_file(), None
        if file is None:
            converter.check(_CHECKED)
        else:
            count = converter.write(file)
        notes = match.notes if rows.schema.field_names else ["The recording has no records."]
        if schema is None:
            notes.append("The stage has the schema of the recording.")
        return SourceReplacement(read_parquet(stage, file, wanted), count, notes)

    def _next_file(self) -> Path | None:
        if self._folder is None:
            return None
        self._written += 1
        return self._folder / f"{self._written}.parquet"


def _has_all(table: Schema, wanted: Schema) -> bool:
    """Return whether a table has every field of a schema with the same type."""
    return all(
        (found := table.field(field.name)) is not None
        and found.schema.non_nullable.same_shape(field.schema.non_nullable)
        and (field.schema.is_nullable or not found.schema.is_nullable)
        for field in wanted
    )


def read_parquet(stage: StageUse, file: Path | None, schema: Schema) -> PluginUse:
    """Return the plugin that reads the records of a recording; None for a file that is not there yet."""
    properties = {
        "referenceName": name_reference(stage),
        "path": str(file or "recording.parquet"),
        "format": "parquet",
        "schema": str(schema),
    }
    return PluginUse(SOURCE, "File", properties)
