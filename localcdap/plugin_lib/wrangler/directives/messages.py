"""Directives that read Avro and Protocol Buffers in bytes. The decoded rows replace the row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

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
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row
from localcdap.plugin_lib.wrangler.formats.avro import AvroError, AvroSchema, read_avro_rows
from localcdap.plugin_lib.wrangler.formats.protobuf import MessageType, ProtobufError


class SchemaFileDirective(Directive):
    """A directive that decodes values by a schema. CDAP has it in its registry; here it is a file."""

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
