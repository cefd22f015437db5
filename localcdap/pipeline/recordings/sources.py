"""What a recording of a source reads, with the schema of its stage.

Reference names of recordings: lineage must not say that a system was read that is not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.recordings.conversion import RowConverter, match_schemas, write_records
from localcdap.pipeline.recordings.generation.hints import GenerationHints
from localcdap.pipeline.recordings.generation.people import load_provider
from localcdap.pipeline.recordings.generation.records import RecordGenerator
from localcdap.pipeline.recordings.model import Kind, Recording
from localcdap.pipeline.recordings.rows import (
    SUFFIXES,
    RecordedRows,
    get_suffix,
    open_file,
    open_table,
)
from localcdap.pipeline.rules.plugin_types import SOURCE
from localcdap.pipeline.validation.stage_configuration import guess_schema

if TYPE_CHECKING:
    import pyarrow as pa


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
