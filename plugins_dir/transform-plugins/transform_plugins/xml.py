"""The transforms XMLParser, XMLMultiParser and XMLToJSON (org.json ``XML.toJSONObject``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    PluginConfig,
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
from localcdap.java import xml
from localcdap.java.org_json import XmlFormatError, format_object, parse_xml_object
from localcdap.java.xml import XmlError, format_nested, read_document, select_nodes
from localcdap.plugin_lib.text_values import find_text_converter

if TYPE_CHECKING:
    from lxml.etree import _Element


MALFORMED: Final = 31
"""The error code of a text that is not XML, or does not fit the schema."""


class DocumentConfig(PluginConfig):
    """The properties that say what the XML parser of CDAP may read besides the document."""

    enable_general_entities: bool = field(
        "Whether external entities are read. They are not read here, for safety.",
        default=False,
        name="enableExternalGeneralEntities",
        group="more",
    )
    enable_parameter_entities: bool = field(
        "Whether external parameter entities are read. They are not read here, for safety.",
        default=False,
        name="enableExternalParameterEntities",
        group="more",
    )
    load_external_dtd: bool = field(
        "Whether an external DTD is loaded. It is not loaded here, for safety.",
        default=False,
        name="loadExternalDTD",
        group="more",
    )
    disallow_doctype: bool = field(
        "Whether a document with a document type declaration (DOCTYPE) is an error.",
        default=False,
        name="disallowDocTypeDTD",
        group="more",
    )

    def warn_of_entities(self, stage: StageConfigurer) -> None:
        """Add a warning for each property that has no effect here."""
        for name, value in (
            ("enableExternalGeneralEntities", self.enable_general_entities),
            ("enableExternalParameterEntities", self.enable_parameter_entities),
            ("loadExternalDTD", self.load_external_dtd),
        ):
            if value:
                stage.warnings.add(
                    f"'{name}' has no effect: external entities and DTDs are never read here.",
                    "Set it to false; a document that declares entities is an error.",
                ).with_config_property(name)


def find_path_problem(path: str) -> str | None:
    """Return why an XPath 1.0 expression is invalid; None if it is valid."""
    why = xml.find_path_problem(path)
    return None if why is None else f"failed to compile xpath '{path}': {why}"


def get_qualified_name(element: _Element) -> str:
    """Return the name of an element as written: ``prefix:name``."""
    from lxml import etree

    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def get_text(node: Any) -> str:
    """Return all text in an element, or the text of an attribute, text, comment or instruction."""
    if not hasattr(node, "tag"):
        return str(node)
    return "".join(node.itertext()) if isinstance(node.tag, str) else node.text or ""


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
                    name: self._read_value(name, path, schema, root, text)
                    for name, path, schema in self._fields
                }
            )
        except XmlError as error:
            message = f"Field '{self.config.source}' cannot be parsed: {error}"
            if self.config.on_error == _EXIT:
                raise StageError(f"Terminating process on error: {message}.") from None
            if self.config.on_error == _TO_ERRORS:
                emit.error(record, MALFORMED, f"{message}.")

    def _read_value(
        self, name: str, path: Any, schema: Schema, root: _Element, document: str
    ) -> Any:
        found = select_nodes(path, root)
        if len(found) > 1 and self.config.fail_on_array:
            raise XmlError(f"field '{name}' is an array of {len(found)} nodes")
        if not found:
            return None
        node = found[0]
        nested = _format_nested(node, root, document)
        if nested is not None:
            if schema.type is Type.STRING:
                return nested
            raise XmlError(
                f"field '{name}' is an element with child elements, not a value of type "
                f"{schema.display_name}"
            )
        text = get_text(node)
        convert = find_text_converter(schema)
        assert convert is not None
        try:
            return convert(text)
        except ValueError:
            raise XmlError(
                f"'{text}' in field '{name}' is not a value of type {schema.display_name}"
            ) from None


def _format_nested(node: Any, root: _Element, document: str) -> str | None:
    """Return the XML of an element that begins with an element or one node before it, else None."""
    from lxml import etree

    if not hasattr(node, "tag") or next(node.iterchildren(etree.Element), None) is None:
        return None
    place = next(at for at, each in enumerate(root.iter(etree.Element)) if each is node)
    return format_nested(document, place)


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

        self._context = context
        self._path = etree.XPath(self.config.path)
        self._fields = {made.name: made.schema for made in self.config.schema}

    def transform(self, record: Record, emit: Emitter) -> None:
        text = record[self.config.source]
        if text is None:
            self._context.count_altered(
                "a record without a document was left out, as in CDAP", "null"
            )
            return
        try:
            found = select_nodes(
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


_DEFAULT: Final = Schema.record("event", [("json_str", Schema.STRING)])


@plugin(name="XMLToJSON", description="Converts the XML of a field into JSON.")
class XMLToJSON(Transform):
    """The text is read as in CDAP, see :mod:`localcdap.java.org_json`; texts outside of elements are ignored.

    A record whose field is null or has an element that is not closed becomes an error record, where CDAP
    fails the run.
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
            found = parse_xml_object(text, keeps_texts=False)
        except (XmlError, XmlFormatError) as error:
            message = f"Failed to convert field '{self.config.source}' from XML to JSON: {error}."
            emit.error(record, MALFORMED, message)
            return
        out: dict[str, Any] = {name: record[name] for name in self._passed}
        out[self.config.target] = format_object(found)
        emit(out)


def _accepts(made: Schema, given: Schema | None) -> bool:
    if given is None:
        return made.is_nullable
    return made in (given, given.as_nullable)
