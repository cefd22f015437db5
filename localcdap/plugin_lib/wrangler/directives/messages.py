"""Avro and Protocol Buffers within bytes. The rows that they hold take the place of the row."""

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
from localcdap.plugin_lib.wrangler.directives.columns import no_column
from localcdap.plugin_lib.wrangler.directives.error_messages import refused
from localcdap.plugin_lib.wrangler.formats.avro import AvroError, AvroSchema, file_rows
from localcdap.plugin_lib.wrangler.formats.protobuf import MessageType, ProtobufError


class Registered(Directive):
    """A directive that reads values by a schema that CDAP's registry has; here it is a file."""

    column: str
    schema_id: str
    version: int | None
    ending = ""

    @abstractmethod
    def opened(self, content: bytes) -> Any:
        """What reads values by the schema.

        :raises ValueError: when it is no schema.
        """

    def problem(self) -> str | None:
        if self.version is not None and self.version != int(self.version):
            return f"the version {self.version} is no whole number"
        return None

    def files(self) -> list[str]:
        """The names that the schema may have."""
        if self.version is None:
            return [f"{self.schema_id}.{self.ending}"]
        return [f"{self.schema_id}-{int(self.version)}.{self.ending}"]

    def propagate(self, columns: Columns) -> None:
        if no_column(columns, self.column, "parse", fails=False):
            return
        columns.replace(())
        columns.open = True
        columns.warn(
            f"There is no schema registry here: the schema is the file '{self.files()[0]}'.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._reader: Any = None
        self._problem = ""
        try:
            content = read_file(context.arguments, self.files(), f"The schema {self.schema_id}")
            self._reader = self.opened(content)
        except (FolderError, ValueError) as error:
            self._problem = str(error)

    def reader(self) -> Any:
        """:raises DirectiveError: when there is no schema."""
        if self._reader is None:
            raise DirectiveError(self._problem)
        return self._reader

    def undecoded(self, told: object, kind: str) -> ErrorRow:
        """The error record of a value that is not of the schema."""
        version = "latest" if self.version is None else int(self.version)
        message = f"Issue decoding {kind} record. Check schema version '{version}'. {told}"
        return refused(message, 2, self.directive_name())

    def untyped(self, wanted: str) -> ErrorRow:
        """The error record of a value of another type."""
        message = f"Column {self.column} should be of type {wanted}."
        return refused(message, 1, self.directive_name())


@plugin(
    type="directive",
    name="parse-as-avro",
    description="Makes rows of Avro records in binary form or JSON. The schema is a file <schema-id>.avsc, "
    f"or <schema-id>-<version>.avsc, in the folder that the runtime argument '{ARGUMENT}' names.",
)
class ParseAsAvro(Registered):
    categories = ("parser", "avro")
    examples = ("parse-as-avro :body customers binary", "parse-as-avro :body customers json 2")
    ending = "avsc"
    column: str = argument.column("The column with records, bytes or text.")
    schema_id: str = argument.identifier("The name of the schema.", name="schema-id")
    encode_type: str = argument.identifier(
        "json or binary.", name="encode-type", choices=("json", "binary")
    )
    version: int | None = argument.number("The version of the schema.", default=None)

    def opened(self, content: bytes) -> AvroSchema:
        return AvroSchema(content.decode("utf-8"))

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        schema: AvroSchema = self.reader()
        found = row.find(self.column)
        if found is None:
            return ()
        value = row[found]
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if not isinstance(value, bytes):
            raise self.untyped("'String' or 'byte array'")
        read = schema.from_json if self.encode_type == "json" else schema.binary
        try:
            return list(read(value))
        except AvroError as error:
            raise self.undecoded(error, "Avro") from None


@plugin(
    type="directive",
    name="parse-as-avro-file",
    description="Makes a row of each record of an Avro data file; records within become columns "
    "<name>_<field>.",
)
class ParseAsAvroFile(Directive):
    categories = ("parser", "avro")
    examples = ("parse-as-avro-file :body",)
    column: str = argument.column("The column with files, bytes.")

    def propagate(self, columns: Columns) -> None:
        if not no_column(columns, self.column, "parse", fails=False):
            columns.replace(())
            columns.open = True

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        found = row.find(self.column)
        if found is None:
            return ()
        if not isinstance(row[found], bytes):
            raise DirectiveError(f"column '{self.column}' holds no bytes")
        try:
            return list(file_rows(row[found]))
        except AvroError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None


@plugin(
    type="directive",
    name="parse-as-protobuf",
    description="Makes a row of a message of Protocol Buffers. Its descriptors are a file <schema-id>.desc, "
    f"or <schema-id>-<version>.desc, in the folder that the runtime argument '{ARGUMENT}' names; protoc "
    "writes it with --include_imports -o.",
)
class ParseAsProtobuf(Registered):
    categories = ("parser", "protobuf")
    examples = ("parse-as-protobuf :body customers 'Customer'",)
    ending = "desc"
    column: str = argument.column("The column with messages, bytes.")
    schema_id: str = argument.identifier("The name of the descriptors.", name="schema-id")
    record_name: str = argument.text("The type of the messages.", name="record-name")
    version: int | None = argument.number("The version of the descriptors.", default=None)

    def opened(self, content: bytes) -> MessageType:
        return MessageType(content, self.record_name)

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        messages: MessageType = self.reader()
        found = row.find(self.column)
        if found is None:
            return ()
        if not isinstance(row[found], bytes):
            raise self.untyped("'byte array'")
        try:
            return [messages.read(row[found])]
        except ProtobufError as error:
            raise self.undecoded(error, "Protobuf") from None
