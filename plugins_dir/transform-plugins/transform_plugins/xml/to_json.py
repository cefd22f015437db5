"""The XMLToJSON transform: converts an XML document to JSON (org.json ``XML.toJSONObject``)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import (
    EdgeKind,
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
from localcdap.java.xml import XmlError, read_document

from .parser import MALFORMED, get_qualified_name

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTENT: Final = "content"
_WORDS: Final = {"true": True, "false": False, "null": None}
_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_DEFAULT: Final = Schema.record("event", [("json_str", Schema.STRING)])


@plugin(name="XMLToJSON", description="Converts the XML of a field into JSON.")
class XMLToJSON(Transform):
    """Elements and attributes become members, repeated ones arrays; text between them is ``content``.

    Numbers, ``true``, ``false`` and ``null`` become JSON values of these types, as in CDAP. A record whose
    field is null or not XML becomes an error record, where CDAP fails the run.
    """

    class Config(PluginConfig):
        source: str = field(
            name="inputField",
            description="Field with the XML, a string. It is dropped from the output.",
            form="{input-field}",
        )
        target: str = field(
            name="outputField",
            description="Field for the JSON; it is added to the output schema if it is missing.",
            macro=True,
        )
        schema: Schema | None = field(
            "The output schema. Fields that the input also has are copied. If empty, it is the single "
            "field 'json_str'.",
            default=None,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema, name = stage.input_schema, self.config.source
        given = schema.field(name) if schema is not None and name else None
        if schema is not None and name and given is None:
            stage.failures.add(
                f"Field '{name}' must be present in input schema."
            ).with_config_property("inputField")
        if given is not None and given.schema.non_nullable.type is not Type.STRING:
            failure = stage.failures.add(f"Field '{name}' must be of type string.")
            failure.with_config_property("inputField").with_input_field(name)
        stage.error_schema = schema
        if self.config.contains_macro("outputField") or not self.config.target:
            return
        stage.output_schema = self._build_output()
        self._check_output(stage, stage.output_schema)

    def _check_output(self, stage: StageConfigurer, output: Schema) -> None:
        for made in output:
            given = stage.input_schema.field(made.name) if stage.input_schema is not None else None
            if made.name == self.config.target:
                if made.schema.non_nullable.type is not Type.STRING:
                    stage.failures.add(
                        f"Output Schema field: {made.name} type must be a String."
                    ).with_output_field(made.name)
            elif stage.input_schema is not None and not _accepts(
                made.schema, given.schema if given else None
            ):
                stage.failures.add(
                    f"Output field '{made.name}' must have same schema as input schema.",
                    "Remove the field, or use the type of the input field.",
                ).with_output_field(made.name)

    def _build_output(self) -> Schema:
        schema, target = self.config.schema or _DEFAULT, self.config.target
        if schema.field(target) is not None:
            return schema
        fields = [(each.name, each.schema) for each in schema if self.config.schema is not None]
        return Schema.record(schema.name or "event", [*fields, (target, Schema.STRING)])

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(self.config.target, [self.config.source], "Convert")
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def initialize(self, context: StageContext) -> None:
        left_out = (self.config.source, self.config.target)
        names = (each.name for each in self._build_output() if each.name not in left_out)
        self._passed = [name for name in names if context.input_schema.field(name) is not None]

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        try:
            if text is None:
                raise XmlError("it is null")
            root = read_document(text)
        except XmlError as error:
            message = f"Failed to convert field '{self.config.source}' from XML to JSON: {error}."
            emit.error(record, MALFORMED, message)
            return
        out: dict[str, Any] = {name: record[name] for name in self._passed}
        out[self.config.target] = msgspec.json.encode(
            {get_qualified_name(root): _to_json_value(root)}
        ).decode()
        emit(out)


def _accepts(made: Schema, given: Schema | None) -> bool:
    if given is None:
        return made.is_nullable
    return made in (given, given.as_nullable)


def _to_json_value(element: _Element) -> Any:
    """Convert an element's attributes, texts and children, in their order."""
    found: dict[str, Any] = {}
    for name, text in element.attrib.items():
        _add(found, name.rpartition("}")[2], _parse_text(text))
    _add_text(found, element.text)
    for child in element:
        if isinstance(child.tag, str):
            _add(found, get_qualified_name(child), _to_json_value(child))
        _add_text(found, child.tail)
    if not found:
        return ""
    return found[_CONTENT] if list(found) == [_CONTENT] else found


def _add_text(found: dict[str, Any], text: str | None) -> None:
    if text and not text.isspace():
        _add(found, _CONTENT, _parse_text(text.strip()))


def _add(found: dict[str, Any], name: str, value: Any) -> None:
    """Add a member; a second value of a name makes an array of both."""
    if name not in found:
        found[name] = [value] if isinstance(value, list) else value
    elif isinstance(found[name], list):
        found[name].append(value)
    else:
        found[name] = [found[name], value]


def _parse_text(text: str) -> Any:
    lowered = text.lower()
    if lowered in _WORDS:
        return _WORDS[lowered]
    if _WHOLE.fullmatch(text) and text != "-0" and -(2**63) <= int(text) < 2**63:
        return int(text)
    if _FRACTION.fullmatch(text) and re.search(r"[.eE]", text) and math.isfinite(float(text)):
        return float(text)
    return text
