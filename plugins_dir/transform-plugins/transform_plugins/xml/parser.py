"""The XMLParser transform: emits one record of each XML document, with fields selected by XPath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    StageError,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.java.xml import XmlError, evaluate_path, read_document
from localcdap.plugin_lib.text_values import find_text_converter

from .documents import MALFORMED, DocumentConfig, find_path_problem, get_text

if TYPE_CHECKING:
    from lxml.etree import _Element

_EXIT: Final = "Exit on error"
_TO_ERRORS: Final = "Write to error dataset"
_IGNORE: Final = "Ignore error and continue"
_TYPES: Final = {
    each.value: Schema.of(each) for each in Type if each.is_simple and each is not Type.NULL
}


@plugin(
    name="XMLParser",
    description="Parses XML documents into records; an XPath expression selects each field.",
)
class XMLParser(Transform):
    """A path that selects nothing gives null; an element with child elements is a string of its XML."""

    class Config(DocumentConfig):
        source: str = field(
            name="input",
            description="Field with the XML, a string.",
            macro=True,
            form="{input-field}",
        )
        encoding: str = field(
            "Without effect, because the field is text, not bytes.", default="UTF-8", macro=True
        )
        paths: str = field(
            name="xPathMappings",
            description="Fields and their XPath 1.0 expressions, a comma-separated list of 'field:path', "
            "such as 'title:/book/title'. Write a comma or colon in a path as %2C or %3A.",
            form="{field}:{path}",
        )
        types_of_fields: str = field(
            name="fieldTypeMapping",
            description="Fields and their types, a comma-separated list of 'field:type', in the order of "
            f"the output. Types: {', '.join(_TYPES)}.",
            form="{field}:{type:boolean|int|long|float|double|bytes|string}",
        )
        on_error: str = field(
            name="processOnError",
            description="What happens to a record whose XML cannot be parsed.",
            choices=[_IGNORE, _EXIT, _TO_ERRORS],
            default=_IGNORE,
        )
        fail_on_array: bool = field(
            name="failOnArray",
            description="Whether several nodes at a path are an error; otherwise the first one is used.",
            default=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        name = self.config.source
        is_known = (
            stage.input_schema is not None and name and not self.config.contains_macro("input")
        )
        given = (
            stage.input_schema.field(name) if stage.input_schema is not None and is_known else None
        )
        if is_known and given is None:
            stage.failures.add(
                f"Input field '{name}' must exist in the input schema."
            ).with_config_property("input")
        if given is not None and given.schema.non_nullable.type is not Type.STRING:
            failure = stage.failures.add(f"Input field '{name}' must be of type string.")
            failure.with_config_property("input").with_input_field(name)
        stage.error_schema = stage.input_schema
        self.config.warn_of_entities(stage)
        paths = self._parse_paths(stage)
        stage.output_schema = self._build_output(stage, paths)

    def _parse_paths(self, stage: StageConfigurer | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        for element in filter(None, map(str.strip, (self.config.paths or "").split(","))):
            name, _, path = (unquote_plus(part.strip()) for part in element.partition(":"))
            problem = find_path_problem(path) if name and path else "it must be '<field>:<path>'"
            if problem is None:
                found[name] = path
            elif stage is not None:
                stage.failures.add(
                    f"Invalid XPath mapping: '{element}': {problem}.",
                    "Write field:path; a comma or colon in the path as %2C or %3A.",
                ).with_config_property("xPathMappings", element=element)
        return found

    def _build_output(self, stage: StageConfigurer, paths: dict[str, str]) -> Schema | None:
        fields: dict[str, Schema] = {}
        for element in filter(None, map(str.strip, (self.config.types_of_fields or "").split(","))):
            name, _, type_name = (part.strip() for part in element.partition(":"))
            problem = None
            if not name or type_name.lower() not in _TYPES:
                problem = f"A type must be provided for field '{name or element}'."
            elif name in fields:
                problem = f"Field '{name}' already has a type specified."
            elif name not in paths:
                problem = f"Field '{name}' must be present in XPath Mapping."
            if problem is None:
                fields[name] = _TYPES[type_name.lower()].as_nullable
            else:
                stage.failures.add(
                    problem, f"Write field:type; types are {', '.join(_TYPES)}."
                ).with_config_property("fieldTypeMapping", element=element)
        return Schema.record("record", fields.items()) if fields else None

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(lineage.outputs, [self.config.source], "Parse")
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def initialize(self, context: StageContext) -> None:
        from lxml import etree

        paths = self._parse_paths()
        assert context.output_schema is not None
        self._fields = [
            (made.name, etree.XPath(paths[made.name]), made.schema.non_nullable)
            for made in context.output_schema
        ]

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        try:
            if text is None:
                raise XmlError("it is null")
            root = read_document(text, allows_doctype=not self.config.disallow_doctype)
            emit(
                {
                    name: self._read_value(name, path, schema, root)
                    for name, path, schema in self._fields
                }
            )
        except XmlError as error:
            message = f"Field '{self.config.source}' cannot be parsed: {error}"
            if self.config.on_error == _EXIT:
                raise StageError(f"Terminating process on error: {message}.") from None
            if self.config.on_error == _TO_ERRORS:
                emit.error(record, MALFORMED, f"{message}.")

    def _read_value(self, name: str, path: Any, schema: Schema, root: _Element) -> Any:
        found = evaluate_path(path, root)
        if len(found) > 1 and self.config.fail_on_array:
            raise XmlError(f"field '{name}' is an array of {len(found)} nodes")
        if not found:
            return None
        node = found[0]
        if hasattr(node, "tag") and len(node):
            return _format_xml(name, node, schema)
        text = get_text(node)
        convert = find_text_converter(schema)
        assert convert is not None
        try:
            return convert(text)
        except ValueError:
            raise XmlError(
                f"'{text}' in field '{name}' is not a value of type {schema.display_name}"
            ) from None


def _format_xml(name: str, node: Any, schema: Schema) -> str:
    from lxml import etree

    if schema.type is not Type.STRING:
        raise XmlError(
            f"field '{name}' is an element with child elements, not a value of type {schema.display_name}"
        )
    return str(etree.tostring(node, encoding="unicode", with_tail=False))
