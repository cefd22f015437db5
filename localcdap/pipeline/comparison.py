"""Compares two pipelines by stage, property and connection.

Layout, comments and other keys of user interfaces do not count, nor does the order of stages,
connections and properties. Schemas are compared field by field, not as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api.errors import SchemaError
from localcdap.api.pipeline import StageConnection
from localcdap.api.schema import Schema
from localcdap.pipeline.document.model import PipelineDocument, StageUse

_LEAST_SIMILARITY: Final = 0.5
"""The least share of equal properties with which a stage counts as renamed."""
_CONTEXT: Final = 2
"""The most equal lines on each side of lines that differ."""
_SETTINGS: Final = {
    "name": "name",
    "description": "description",
    "engine": "engine",
    "schedule": "schedule",
    "resources": "resources",
    "driver_resources": "driverResources",
    "client_resources": "clientResources",
    "stage_logging_enabled": "stageLoggingEnabled",
    "process_timing_enabled": "processTimingEnabled",
    "num_of_records_preview": "numOfRecordsPreview",
    "max_concurrent_runs": "maxConcurrentRuns",
}
"""The keys of settings in a document, by attribute of :class:`PipelineDocument`."""


class Difference(msgspec.Struct):
    """A value that differs; None on the side that lacks it."""

    what: str
    """A property, a part of the plugin (``artifact``), or a field of a schema (``schema.price``)."""
    before: Any
    after: Any


class StageDifference(msgspec.Struct):
    """A stage that differs."""

    name: str
    """The stage in the second pipeline; for a removed stage, the one in the first pipeline."""
    kind: str
    """``added``, ``removed``, ``renamed`` (and perhaps changed) or ``changed``."""
    before: str | None
    """The name in the first pipeline; None for an added stage."""
    plugin: str
    """Type and name of the plugin, as ``transform Projection``."""
    changes: list[Difference]
    """Empty for an added or removed stage."""


class PipelineComparison(msgspec.Struct):
    """The differences of a second pipeline from a first one."""

    settings: list[Difference]
    stages: list[StageDifference]
    """Stages of the first pipeline in its order, then added stages."""
    added_connections: list[StageConnection]
    removed_connections: list[StageConnection]
    """With the names of the stages in the second pipeline."""

    @property
    def is_equal(self) -> bool:
        return not (
            self.settings or self.stages or self.added_connections or self.removed_connections
        )


def compare_pipelines(first: PipelineDocument, second: PipelineDocument) -> PipelineComparison:
    """Return the differences of ``second`` from ``first``.

    A stage with another name, the same plugin and at least half of its properties equal counts as renamed.
    """
    before, after = _index_stages(first), _index_stages(second)
    renamed = _find_renamed(before, after)
    kept = {**{name: name for name in before if name in after}, **renamed}
    return PipelineComparison(
        settings=list(_compare_settings(first, second)),
        stages=[
            *(change for name in before for change in _compare_stage(before[name], after, kept)),
            *(
                _create_addition(stage)
                for name, stage in after.items()
                if name not in kept.values()
            ),
        ],
        added_connections=_find_missing(second.connections, first.connections, {}, kept),
        removed_connections=_find_missing(first.connections, second.connections, kept, {}),
    )


class ComparedLine(NamedTuple):
    """A line of one of two texts."""

    kind: str
    """``removed``, ``added`` or ``equal``."""
    number: int
    """Counted from 1, in the first text for a removed line and in the second text for the others."""
    text: str


def compare_lines(before: str, after: str) -> Iterator[ComparedLine | None]:
    """Yield the lines in which two texts differ, with the equal lines next to them; None between lines that
    are not next to each other.
    """
    old, new = before.splitlines(), after.splitlines()
    groups = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT)
    for index, group in enumerate(groups):
        if index:
            yield None
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from _number_lines("equal", new, new_start, new_end)
            else:
                yield from _number_lines("removed", old, start, end)
                yield from _number_lines("added", new, new_start, new_end)


def _number_lines(kind: str, lines: list[str], start: int, end: int) -> Iterator[ComparedLine]:
    for number in range(start, end):
        yield ComparedLine(kind, number + 1, lines[number])


def _index_stages(document: PipelineDocument) -> dict[str, StageUse]:
    """Return the stages by name; of stages with the same name the first one counts."""
    stages: dict[str, StageUse] = {}
    for stage in (*document.stages, *document.post_actions):
        stages.setdefault(stage.name, stage)
    return stages


def _find_renamed(before: Mapping[str, StageUse], after: Mapping[str, StageUse]) -> dict[str, str]:
    """Return new names by old names; the most similar stages are paired first."""
    gone = [stage for name, stage in before.items() if name not in after]
    new = [stage for name, stage in after.items() if name not in before]
    pairs = sorted(
        ((_compute_similarity(old, other), old.name, other.name) for old in gone for other in new),
        key=lambda pair: -pair[0],
    )
    renamed: dict[str, str] = {}
    for similarity, old, other in pairs:
        if similarity >= _LEAST_SIMILARITY and old not in renamed and other not in renamed.values():
            renamed[old] = other
    return renamed


def _compute_similarity(one: StageUse, other: StageUse) -> float:
    """Return the share of properties that are equal; -1 for different plugins."""
    if (one.plugin.type, one.plugin.name) != (other.plugin.type, other.plugin.name):
        return -1.0
    before, after = one.plugin.properties, other.plugin.properties
    names = before.keys() | after.keys()
    equal = [name for name in names if _are_equal(before.get(name), after.get(name))]
    return len(equal) / len(names) if names else 1.0


def _are_equal(one: str | None, other: str | None) -> bool:
    if one == other:
        return True
    schema = _parse_schema(one)
    return schema is not None and schema == _parse_schema(other)


def _compare_stage(
    stage: StageUse, after: Mapping[str, StageUse], kept: Mapping[str, str]
) -> Iterator[StageDifference]:
    plugin = _describe_plugin(stage)
    if stage.name not in kept:
        yield StageDifference(stage.name, "removed", stage.name, plugin, [])
        return
    other = after[kept[stage.name]]
    changes = [*_compare_plugins(stage, other), *_compare_properties(stage, other)]
    if stage.name != other.name:
        yield StageDifference(other.name, "renamed", stage.name, _describe_plugin(other), changes)
    elif changes:
        yield StageDifference(other.name, "changed", stage.name, _describe_plugin(other), changes)


def _create_addition(stage: StageUse) -> StageDifference:
    return StageDifference(stage.name, "added", None, _describe_plugin(stage), [])


def _describe_plugin(stage: StageUse) -> str:
    return f"{stage.plugin.type} {stage.plugin.name}".strip()


def _compare_plugins(stage: StageUse, other: StageUse) -> Iterator[Difference]:
    if _describe_plugin(stage) != _describe_plugin(other):
        yield Difference("plugin", _describe_plugin(stage), _describe_plugin(other))
    if stage.plugin.artifact != other.plugin.artifact:
        yield Difference("artifact", stage.plugin.artifact, other.plugin.artifact)


def _compare_properties(stage: StageUse, other: StageUse) -> Iterator[Difference]:
    before, after = stage.plugin.properties, other.plugin.properties
    for name in dict.fromkeys((*before, *after)):
        one, two = before.get(name), after.get(name)
        if one == two:
            continue
        schemas = _parse_schema(one), _parse_schema(two)
        if schemas[0] is not None and schemas[1] is not None:
            yield from _compare_fields(name, schemas[0], schemas[1])
        else:
            yield Difference(name, one, two)


def _parse_schema(text: str | None) -> Schema | None:
    """Return the schema in a property; None when it holds none."""
    if text is None or not text.lstrip().startswith("{") or '"fields"' not in text:
        return None
    try:
        return Schema.parse_record(text)
    except SchemaError:
        return None


def _compare_fields(path: str, before: Schema, after: Schema) -> Iterator[Difference]:
    """Yield the fields that differ; the order of fields when nothing else does."""
    changes = []
    for name in dict.fromkeys((*before.field_names, *after.field_names)):
        one, two = before.field(name), after.field(name)
        schemas = (one.schema if one else None), (two.schema if two else None)
        if schemas[0] != schemas[1]:
            shown = [schema.display_name if schema else None for schema in schemas]
            if shown[0] == shown[1]:  # the difference is further inside
                shown = [str(schema) for schema in schemas]
            changes.append(Difference(f"{path}.{name}", *shown))
    if not changes and before.field_names != after.field_names:
        changes.append(
            Difference(path, ", ".join(before.field_names), ", ".join(after.field_names))
        )
    yield from changes


def _compare_settings(first: PipelineDocument, second: PipelineDocument) -> Iterator[Difference]:
    for attribute, key in _SETTINGS.items():
        one, two = getattr(first, attribute), getattr(second, attribute)
        if one != two:
            yield Difference(key, one, two)
    for name in dict.fromkeys((*first.properties, *second.properties)):
        values = first.properties.get(name), second.properties.get(name)
        if values[0] != values[1]:
            yield Difference(f"properties.{name}", *values)


def _find_missing(
    connections: Sequence[StageConnection],
    others: Sequence[StageConnection],
    names: Mapping[str, str],
    other_names: Mapping[str, str],
) -> list[StageConnection]:
    """Return the connections that are not among the others, after renaming the ends of both."""
    known = {_rename_ends(connection, other_names) for connection in others}
    return [
        named
        for named in (_rename_ends(connection, names) for connection in connections)
        if named not in known
    ]


def _rename_ends(connection: StageConnection, names: Mapping[str, str]) -> StageConnection:
    return msgspec.structs.replace(
        connection,
        source=names.get(connection.source, connection.source),
        target=names.get(connection.target, connection.target),
    )
