"""Directives that read Avro and Protocol Buffers in bytes; the decoded rows replace the row.

Dates in Avro are numbers, and decimals bytes, as the original reads them.
"""

from __future__ import annotations

import io
import json
import zlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.files.avro import drop_logical_types, open_stored_records
from localcdap.java.gson import write_json
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_error_row,
    report_missing_column,
)

_MAX_RECORDS: Final = 1_000_000
"""Records of one value; more are an attack rather than data."""


class AvroError(ValueError):
    """Bytes are not Avro of the schema, or the schema is invalid."""


class AvroSchema:
    """Reads records of a schema.

    :param text: the schema as JSON.
    :raises AvroError: for an invalid schema, or one that is not of a record.
    """

    def __init__(self, text: str) -> None:
        import fastavro

        try:
            plain = drop_logical_types(json.loads(text))
            self._schema: Any = fastavro.parse_schema(plain)
        except (
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
            fastavro.schema.SchemaParseException,
        ) as error:
            raise AvroError(f"the schema is not one of Avro: {_describe(error)}") from None
        if not isinstance(self._schema, dict) or self._schema.get("type") != "record":
            raise AvroError("the schema is not of a record")

    def read_binary(self, content: bytes) -> Iterator[Row]:
        """Read consecutive records; a last record that is cut off is ignored.

        :raises AvroError: for records that do not match the schema.
        """
        import fastavro

        stream = io.BytesIO(content)
        while stream.tell() < len(content):
            start = stream.tell()
            try:
                record = fastavro.schemaless_reader(stream, self._schema, None)
            except EOFError:
                return
            except Exception as error:
                raise AvroError(_describe(error)) from None
            yield _to_row(record)
            if stream.tell() == start:
                return

    def read_json(self, content: bytes) -> Iterator[Row]:
        """Read records in Avro's JSON, one a line.

        :raises AvroError: for records that do not match the schema.
        """
        import fastavro

        try:
            for record in fastavro.json_reader(io.StringIO(content.decode("utf-8")), self._schema):
                yield _to_row(record)
        except Exception as error:
            raise AvroError(_describe(error)) from None


def read_avro_rows(content: bytes) -> Iterator[Row]:
    """Read the records of a data file. Nested records become columns ``<name>_<field>``, lists and maps JSON.

    :raises AvroError: for bytes that are not a data file, or hold more than a million records.
    """
    import fastavro

    try:
        document, records = open_stored_records(io.BytesIO(content))
        schema = fastavro.parse_schema(drop_logical_types(document))
        names: dict[str, Any] = {}
        _collect_names(schema, names)
        for count, record in enumerate(records):
            if count >= _MAX_RECORDS:
                raise AvroError(f"there are more than {_MAX_RECORDS} records")
            row = Row()
            _flatten(record, schema, "", row, names)
            yield row
    except AvroError:
        raise
    except (Exception, zlib.error) as error:
        raise AvroError(f"it is not an Avro data file: {_describe(error)}") from None


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _to_row(record: Any) -> Row:
    """Convert a record to a row; lists and objects become JSON."""
    if not isinstance(record, dict):
        raise AvroError(f"a record is needed, not {type(record).__name__}")
    return Row({name: _to_json(value) for name, value in record.items()})


def _to_json(value: Any) -> Any:
    return write_json(value) if isinstance(value, dict | list) else value


def _flatten(record: Any, schema: Any, prefix: str, row: Row, names: dict[str, Any]) -> None:
    for field in schema["fields"]:
        value = record[field["name"]]
        inner = _find_record_schema(field["type"], value, names)
        name = prefix + field["name"]
        if inner is not None:
            _flatten(value, inner, f"{name}_", row, names)
        else:
            row.add(name, _to_json(value))


def _find_record_schema(type_: Any, value: Any, names: dict[str, Any]) -> Any:
    """Return the record schema that a value matches; None if there is none."""
    if not isinstance(value, dict):
        return None
    for each in type_ if isinstance(type_, list) else [type_]:
        schema = names.get(each) if isinstance(each, str) else each
        if not isinstance(schema, dict) or schema.get("type") != "record":
            continue
        if value.keys() == {field["name"] for field in schema["fields"]}:
            return schema
    return None


def _collect_names(schema: Any, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _collect_names(each, names)
    elif isinstance(schema, dict):
        if "name" in schema and "fields" in schema:
            names[schema["name"]] = schema
        for field in schema.get("fields", ()):
            _collect_names(field["type"], names)
        for key in ("type", "items", "values"):
            if isinstance(schema.get(key), dict | list):
                _collect_names(schema[key], names)


class ProtobufError(ValueError):
    """Bytes are not a message of the type, or the type does not exist."""


class MessageType:
    """Reads messages of a type.

    :param descriptors: a ``FileDescriptorSet``, as ``protoc --include_imports -o file.desc`` writes it.
    :param name: the name of the type, with or without its package.
    :raises ProtobufError: for an unknown type, or invalid descriptors.
    """

    def __init__(self, descriptors: bytes, name: str) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
            pool = descriptor_pool.DescriptorPool()
            for file in files:
                pool.Add(file)
            names = [
                _join_name(file.package, each.name) for file in files for each in file.message_type
            ]
            full = next((each for each in names if name in (each, each.rpartition(".")[2])), None)
            if full is None:
                raise ProtobufError(f"there is no message '{name}'; there are {', '.join(names)}")
            self._class: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName(full))
        except ProtobufError:
            raise
        except Exception as error:
            reason = str(error)[:300]
            raise ProtobufError(f"the descriptors are not a FileDescriptorSet: {reason}") from None

    def read(self, content: bytes) -> Row:
        """Read the fields of a message in the order of their numbers. Nested messages become columns
        ``<field>_<field>``, and enumerations the names of their values.

        :raises ProtobufError: for bytes that are not a message of the type.
        """
        from google.protobuf.message import DecodeError

        try:
            message = self._class.FromString(content)
        except (DecodeError, ValueError, RecursionError) as error:
            raise ProtobufError(str(error)) from None
        row = Row()
        _fill(message, "", row)
        return row


def _join_name(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name


def _fill(message: Any, prefix: str, row: Row) -> None:
    for field, value in message.ListFields():
        name = prefix + field.name
        several = _is_repeated(value)
        if field.message_type is None:
            scalars = (
                [_convert_scalar(field, each) for each in value]
                if several
                else _convert_scalar(field, value)
            )
            row.add(name, scalars)
        elif field.message_type.GetOptions().map_entry:
            row.add(name, {str(key): _convert_value(each) for key, each in value.items()})
        else:
            for each in value if several else [value]:
                _fill(each, f"{name}_", row)


def _is_repeated(value: Any) -> bool:
    return not isinstance(value, str | bytes) and hasattr(value, "__len__")


def _convert_scalar(field: Any, value: Any) -> Any:
    if field.enum_type is None:
        return value
    known = field.enum_type.values_by_number.get(value)
    return known.name if known is not None else str(value)


def _convert_value(value: Any) -> Any:
    if not hasattr(value, "ListFields"):
        return value
    row = Row()
    _fill(value, "", row)
    return dict(row)


class SchemaFileDirective(Directive):
    """A directive that decodes values by a schema. CDAP has it in its registry; here it is a file."""

    drops_rows = True
    column: str
    schema_id: str
    version: int | None
    extension = ""

    @abstractmethod
    def parse_schema(self, content: bytes) -> Any:
        """Return the reader of values of the schema.

        :raises ValueError: for content that is not a schema.
        """

    def problem(self) -> str | None:
        if self.version is not None and self.version != int(self.version):
            return f"the version {self.version} is not a whole number"
        return None

    def list_files(self) -> list[str]:
        """Return the names that the schema file may have."""
        if self.version is None:
            return [f"{self.schema_id}.{self.extension}"]
        return [f"{self.schema_id}-{int(self.version)}.{self.extension}"]

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "parse", fails=False):
            return
        columns.replace(())
        columns.open = True
        columns.warn(
            f"There is no schema registry here: the schema is the file '{self.list_files()[0]}'.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._reader: Any = None
        self._problem = ""
        try:
            content = read_file(
                context.arguments, self.list_files(), f"The schema {self.schema_id}"
            )
            self._reader = self.parse_schema(content)
        except (FolderError, ValueError) as error:
            self._problem = str(error)

    def require_reader(self) -> Any:
        """Return the reader.

        :raises DirectiveError: if the schema could not be read.
        """
        if self._reader is None:
            raise DirectiveError(self._problem)
        return self._reader

    def make_decode_error(self, reason: object, kind: str) -> ErrorRow:
        """Return the error record for a value that does not match the schema."""
        version = "latest" if self.version is None else int(self.version)
        message = f"Issue decoding {kind} record. Check schema version '{version}'. {reason}"
        return make_error_row(message, 2, self.directive_name())

    def make_column_error(self, wanted: str) -> ErrorRow:
        """Return the error record for a value of another type."""
        message = f"Column {self.column} should be of type {wanted}."
        return make_error_row(message, 1, self.directive_name())


@plugin(
    name="parse-as-avro",
    description="Makes rows of Avro records in binary form or JSON. The schema is a file <schema-id>.avsc, "
    f"or <schema-id>-<version>.avsc, in the folder that the runtime argument '{ARGUMENT}' names.",
)
class ParseAsAvro(SchemaFileDirective):
    categories = ("parser", "avro")
    examples = ("parse-as-avro :body customers binary", "parse-as-avro :body customers json 2")
    extension = "avsc"
    column: str = argument.column("The column with Avro records, as bytes or text.")
    schema_id: str = argument.identifier("The name of the schema.", name="schema-id")
    encode_type: str = argument.identifier(
        "json or binary.", name="encode-type", choices=("json", "binary")
    )
    version: int | None = argument.number("The version of the schema.", default=None)

    def parse_schema(self, content: bytes) -> AvroSchema:
        return AvroSchema(content.decode("utf-8"))

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        schema: AvroSchema = self.require_reader()
        found = row.find(self.column)
        if found is None:
            return ()
        value = row[found]
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if not isinstance(value, bytes):
            raise self.make_column_error("'String' or 'byte array'")
        read = schema.read_json if self.encode_type == "json" else schema.read_binary
        try:
            return list(read(value))
        except AvroError as error:
            raise self.make_decode_error(error, "Avro") from None


@plugin(
    name="parse-as-avro-file",
    description="Makes a row of each record of an Avro data file; nested records become columns "
    "<name>_<field>.",
)
class ParseAsAvroFile(Directive):
    categories = ("parser", "avro")
    examples = ("parse-as-avro-file :body",)
    column: str = argument.column("The column with Avro data files, as bytes.")

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "parse", fails=False):
            columns.replace(())
            columns.open = True

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        if not isinstance(row[found], bytes):
            raise DirectiveError(f"column '{self.column}' holds no bytes")
        try:
            return list(read_avro_rows(row[found]))
        except AvroError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None


@plugin(
    name="parse-as-protobuf",
    description="Makes a row of a message of Protocol Buffers. Its descriptors are a file <schema-id>.desc, "
    f"or <schema-id>-<version>.desc, in the folder that the runtime argument '{ARGUMENT}' names; protoc "
    "writes it with --include_imports -o.",
)
class ParseAsProtobuf(SchemaFileDirective):
    categories = ("parser", "protobuf")
    examples = ("parse-as-protobuf :body customers 'Customer'",)
    extension = "desc"
    column: str = argument.column("The column with messages, as bytes.")
    schema_id: str = argument.identifier("The name of the descriptors.", name="schema-id")
    record_name: str = argument.text("The type of the messages.", name="record-name")
    version: int | None = argument.number("The version of the descriptors.", default=None)

    def parse_schema(self, content: bytes) -> MessageType:
        return MessageType(content, self.record_name)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        messages: MessageType = self.require_reader()
        found = row.find(self.column)
        if found is None:
            return ()
        if not isinstance(row[found], bytes):
            raise self.make_column_error("'byte array'")
        try:
            return [messages.read(row[found])]
        except ProtobufError as error:
            raise self.make_decode_error(error, "Protobuf") from None
