"""What a sink writes in place of a system that is not here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.tables import TableShape
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.recordings.model import Kind, Recording
from localcdap.pipeline.recordings.references import REFERENCE, name_reference

_SINK: Final = "batchsink"
_FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".avro": "avro",
    ".orc": "orc",
}
_SUFFIX: Final = "yyyy-MM-dd-HH-mm-ss"
"""The folder of each run inside the path: nothing is overwritten."""


def replace_sink(
    stage: StageUse, recording: Recording, tables: Callable[[], Mapping[str, TableShape]]
) -> PluginUse:
    """Return the plugin that writes in place of the stage's own.

    :param tables: returns the tables of the namespace, by name.
    :raises BadRequestError: when a sink cannot write there.
    """
    match recording.kind:
        case Kind.DISCARD:
            return discard_records(stage)
        case Kind.TABLE if recording.key:
            properties = {"name": recording.target, "schema.row.field": recording.key}
            return PluginUse(_SINK, "Table", properties)
        case Kind.TABLE:
            raise _create_key_error(recording.target)
        case Kind.NAMED if recording.target in tables():
            raise _create_key_error(recording.target)
        case Kind.FILE | Kind.NAMED:
            return PluginUse(_SINK, "File", _build_file(stage, recording.target))
    raise BadRequestError(
        f"A sink cannot write to '{recording.kind}'.",
        "Name a folder with the suffix of a format such as out.csv, table:NAME,KEY, or discard.",
    )


def discard_records(stage: StageUse) -> PluginUse:
    """Return the plugin that counts the records of a sink, and writes nothing."""
    return PluginUse(_SINK, "Trash", {REFERENCE: name_reference(stage)})


def _create_key_error(table: str) -> BadRequestError:
    return BadRequestError(
        f"The table '{table}' needs a key: of records with the same key the last is kept.",
        f"Name the field: table:{table},FIELD",
    )


def _build_file(stage: StageUse, path: str) -> dict[str, str]:
    format = _FORMATS.get(Path(path).suffix.lower())
    if format is None:
        raise BadRequestError(
            f"The name '{path}' says no format.",
            f"Name a folder that ends with {', '.join(_FORMATS)}.",
        )
    properties = {
        REFERENCE: name_reference(stage),
        "path": path,
        "suffix": _SUFFIX,
        "format": format,
    }
    if format in ("csv", "tsv"):
        properties |= {"writeHeader": "true", "enableQuotedValues": "true"}
    return properties
