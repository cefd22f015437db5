"""The transform CreateRecord."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api import (
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)

_MAPPING: Final = "fieldMapping"
_INCLUDE: Final = "includeNonMappedFields"
_Path: TypeAlias = tuple[str, ...]
Mapping: TypeAlias = "dict[str, _Path | Mapping]"
"""By output field, the path of an input field, or the mapping of a record."""


@plugin(
    name="CreateRecord", description="Makes records within records of the fields of flat records."
)
class CreateRecord(Transform):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/transform/CreateRecordTransform.java``).

    The original carries only the first field of a record that is not mapped; here all of them. A field
    below a record that may be null may be null, too.
    """

    one_to_one = True

    class Config(PluginConfig):
        mapping: str = field(
            "JSON: by output field, the path of an input field as a list, or an object for a record with "
            'fields of its own: {"id": ["film_id"], "actor": {"name": ["last_name"]}}.',
            macro=True,
            name=_MAPPING,
            syntax="json",
        )
        include: str = field(
            "Whether the fields that are not in the mapping are carried over.",
            choices=("on", "off"),
            macro=True,
            name=_INCLUDE,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if self.config.contains_macro(_MAPPING) or self.config.contains_macro(_INCLUDE):
            return
        try:
            mapping = parse_mapping(self.config.mapping)
        except ValueError:
            stage.failures.add(
                "Invalid field mapping provided.", "Please provide valid field mapping."
            ).with_config_property(_MAPPING)
            return
        if stage.input_schema is None:
            return
        mapping = self._complete(mapping, stage.input_schema)
        missing = [
            path for _, path in _list_paths(mapping) if _find(stage.input_schema, path) is None
        ]
        for path in missing:
            stage.failures.add(
                f"Field with name {msgspec.json.encode(path).decode()} not found in input schema.",
                "Please make sure mapped fields are available in input schema.",
            ).with_config_property(_MAPPING)
        if not missing:
            stage.output_schema = _build_schema("record", mapping, stage.input_schema)

    def _complete(self, mapping: Mapping, schema: Schema) -> Mapping:
        """Return the mapping with the fields that it does not name, if these are carried over."""
        if self.config.include != "on":
            return mapping
        mapped = {path for _, path in _list_paths(mapping)}
        rest: Mapping = {}
        for path in _list_leaves(schema):
            if path not in mapped and path[0] not in mapping:
                _put(rest, path)
        return mapping | rest

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if self.config.contains_macro(_MAPPING) or self.config.contains_macro(_INCLUDE):
            return
        mapping = parse_mapping(self.config.mapping)
        if self.config.include == "on":
            named = {path for _, path in _list_paths(mapping)}
            rest = [each for each in lineage.input_fields if each not in mapping]
            mapping |= {name: (name,) for name in rest if (name,) not in named}
        for output in mapping:
            sources = dict.fromkeys(p[0] for to, p in _list_paths(mapping) if to[0] == output)
            lineage.derive(output, list(sources), f"Create {output}")

    def initialize(self, context: StageContext) -> None:
        mapping = parse_mapping(self.config.mapping)
        self._mapping = self._complete(mapping, context.input_schema)

    def transform(self, record: Record, emit: Emitter) -> None:
        emit(_build_record(self._mapping, record))


def parse_mapping(text: str) -> Mapping:
    """Return a mapping.

    :raises ValueError: when it is none.
    """
    try:
        node = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
    return _read(node)


def _read(node: Any) -> Mapping:
    if not isinstance(node, dict) or not node:
        raise ValueError("a mapping is an object with fields")
    made: Mapping = {}
    for name, value in node.items():
        if isinstance(value, dict):
            made[name] = _read(value)
        elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            made[name] = tuple(value)
        else:
            raise ValueError(f"'{name}' has neither a path nor fields")
    return made


def _list_paths(mapping: Mapping, above: _Path = ()) -> Iterator[tuple[_Path, _Path]]:
    """Yield the path of each output field with that of its input field."""
    for name, value in mapping.items():
        if isinstance(value, dict):
            yield from _list_paths(value, (*above, name))
        else:
            yield (*above, name), value


def _list_leaves(schema: Schema, above: _Path = ()) -> Iterator[_Path]:
    """Yield the paths of all fields; those of a record that may be null are one."""
    for each in schema:
        path = (*above, each.name)
        if each.schema.type is Type.RECORD:
            yield from _list_leaves(each.schema, path)
        else:
            yield path


def _put(mapping: Mapping, path: _Path) -> None:
    place = mapping
    for name in path[:-1]:
        inner = place.setdefault(name, {})
        assert isinstance(inner, dict)  # leaves and records have different names
        place = inner
    place[path[-1]] = path


def _find(schema: Schema, path: _Path) -> Schema | None:
    """Return the schema of an input field; None when there is none."""
    found, may_be_null = schema, False
    for name in path:
        inner = found.non_nullable
        part = inner.field(name) if inner.type is Type.RECORD else None
        if part is None:
            return None
        found = part.schema
        may_be_null |= found.is_nullable
    return found.non_nullable.as_nullable if may_be_null else found


def _build_schema(name: str, mapping: Mapping, schema: Schema) -> Schema:
    fields = []
    for each, value in mapping.items():
        made = (
            _build_schema(each, value, schema) if isinstance(value, dict) else _find(schema, value)
        )
        assert made is not None  # missing fields are failures
        fields.append((each, made))
    return Schema.record(name, fields)


def _build_record(mapping: Mapping, record: Record) -> Record:
    return {
        name: _build_record(value, record) if isinstance(value, dict) else _get(record, value)
        for name, value in mapping.items()
    }


def _get(record: Record, path: _Path) -> Any:
    value: Any = record
    for name in path:
        if value is None:
            return None
        value = value[name]
    return value
