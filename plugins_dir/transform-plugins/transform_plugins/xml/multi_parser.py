"""The XMLMultiParser transform: emits many records of one XML document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.java.xml import XmlError, evaluate_path, read_document
from localcdap.plugin_lib.text_values import find_text_converter

from .documents import MALFORMED, DocumentConfig, find_path_problem, get_qualified_name, get_text

if TYPE_CHECKING:
    from lxml.etree import _Element


@plugin(
    name="XMLMultiParser",
    description="Emits a record for each element of an XML document that an XPath expression selects.",
)
class XMLMultiParser(Transform):
    """The children of an element are the fields, by name; of several with one name the last one is used.

    A document that cannot be parsed, and an element that does not fit the schema, become error records.
    """

    class Config(DocumentConfig, macros=True):
        source: str = field(
            name="field",
            description="Field with the XML, a string. If it is null, no record is emitted.",
            form="{input-field}",
        )
        encoding: str = field(
            "Without effect, because the field is text, not bytes.", default="UTF-8"
        )
        path: str = field(
            name="xPath",
            description="XPath 1.0 expression that selects the elements: '/rss/channel/item'.",
        )
        schema: Schema = field(
            "The output schema. Its fields have the names of the children, and simple types.",
            macro=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self._check_input(stage)
        path = self.config.path
        problem = (
            find_path_problem(path) if path and not self.config.contains_macro("xPath") else None
        )
        if problem is not None:
            stage.failures.add(f"{problem[0].upper()}{problem[1:]}.").with_config_property("xPath")
        for made in self.config.schema or ():
            if find_text_converter(made.schema) is None:
                stage.failures.add(
                    f"Unsupported schema type {made.schema.display_name} for field '{made.name}'.",
                    "The schema may only contain simple types.",
                ).with_output_field(made.name)
        stage.output_schema = self.config.schema
        stage.error_schema = stage.input_schema
        self.config.warn_of_entities(stage)

    def _check_input(self, stage: StageConfigurer) -> None:
        schema, name = stage.input_schema, self.config.source
        if schema is None or not name or self.config.contains_macro("field"):
            return
        given = schema.field(name)
        if given is None:
            stage.failures.add(
                f"Field '{name}' must exist in the input schema."
            ).with_config_property("field")
        elif given.schema.non_nullable.type is not Type.STRING:
            failure = stage.failures.add(f"Field '{name}' must be of type string.")
            failure.with_config_property("field").with_input_field(name)

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(lineage.outputs, [self.config.source], "Parse")
        lineage.influence(EdgeKind.FILTER, [self.config.source])

    def initialize(self, context: StageContext) -> None:
        from lxml import etree

        self._path = etree.XPath(self.config.path)
        self._fields = {made.name: made.schema for made in self.config.schema}

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        if text is None:
            return
        try:
            found = evaluate_path(
                self._path, read_document(text, allows_doctype=not self.config.disallow_doctype)
            )
        except XmlError as error:
            emit.error(record, MALFORMED, f"Unable to parse the xml document: {error}.")
            return
        for number, node in enumerate(found, start=1):
            try:
                emit(self._record(node))
            except XmlError as error:
                message = f"Unable to create a record from element {number} of the xpath: {error}."
                emit.error(record, MALFORMED, message)

    def _record(self, node: Any) -> Record:
        out: dict[str, Any] = dict.fromkeys(self._fields)
        for child in node if hasattr(node, "tag") else ():
            if isinstance(child.tag, str) and get_qualified_name(child) in out:
                out[get_qualified_name(child)] = self._convert_child(child)
        for name, schema in self._fields.items():
            if out[name] is None and not schema.is_nullable:
                raise XmlError(f"it has no '{name}', which must not be null")
        return out

    def _convert_child(self, child: _Element) -> Any:
        name, text = get_qualified_name(child), get_text(child)
        convert = find_text_converter(self._fields[name])
        assert convert is not None
        try:
            return convert(text)
        except ValueError:
            wanted = self._fields[name].display_name
            raise XmlError(f"'{text}' in field '{name}' is not a value of type {wanted}") from None
