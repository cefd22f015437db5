"""Record schemas as lines that are quick to type: a field's name, its type, and ``?`` where null is allowed.

>>> tags = Schema.array(Schema.STRING).as_nullable
>>> print(format_schema(Schema.record("r", [("id", Schema.LONG), ("tags", tags)])))
id long
tags array<string>?

=====================  ==================================================================
type                   form
=====================  ==================================================================
simple                 ``boolean int long float double bytes string null``
logical                ``date time timestamp datetime decimal(10, 2) time-millis timestamp-millis``
array, map             ``array<string>``, ``map<string, long>``
enum                   ``enum(NEW, OLD)``
record                 ``record address {street string; zip string?}``; ``@address`` once it is known
union                  ``union<int, string>``; with null last it is ``union<int, string>?``
=====================  ==================================================================

A name that is not made of letters, digits, ``_``, ``.`` and ``-`` is written between backticks.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from localcdap.api.errors import SchemaError
from localcdap.api.schema import Field, LogicalType, Schema, Type
from localcdap.api.sql_names import quote_column

_SIMPLE: Final = {each.value: Schema.of(each) for each in Type if each.is_simple} | {
    "date": Schema.DATE,
    "time": Schema.TIME,
    "time-millis": Schema.of(LogicalType.TIME_MILLIS),
    "timestamp": Schema.TIMESTAMP,
    "timestamp-millis": Schema.of(LogicalType.TIMESTAMP_MILLIS),
    "datetime": Schema.DATETIME,
}
_WRITTEN: Final = {schema: name for name, schema in _SIMPLE.items()}
EXAMPLE: Final = "a field a line: id long, name string?, price decimal(10, 2), tags array<string>"
"""An example of the form of lines."""
_PLAIN: Final = re.compile(r"[\w.-]+")
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|[\w.-]+|[<>(){},;?@])")
_DEEPEST: Final = 60


class SchemaProblem(NamedTuple):
    """A mistake in a line."""

    line: int
    """1-based."""
    message: str


class SchemaSyntaxError(Exception):
    """The text is not a schema."""

    def __init__(self, problems: list[SchemaProblem]) -> None:
        super().__init__("\n".join(f"line {each.line}: {each.message}" for each in problems))
        self.problems: Final = problems


def format_schema(schema: Schema) -> str:
    """Return the lines of a record schema."""
    return "\n".join(_format_field(each) for each in schema)


def parse_schema(text: str, name: str = "etlSchemaBody") -> Schema | None:
    """Parse the lines of a record schema; return None when there is no line.

    :param name: the name of the record.
    :raises SchemaSyntaxError: with the mistake of every wrong line.
    """
    fields: list[Field] = []
    problems: list[SchemaProblem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            field = _Reader(line).read_field()
        except (SchemaError, RecursionError) as error:
            message = (
                error.message
                if isinstance(error, SchemaError)
                else "The type is nested too deeply."
            )
            problems.append(SchemaProblem(number, message))
            continue
        if any(each.name == field.name for each in fields):
            problems.append(SchemaProblem(number, f"There is a field '{field.name}' already."))
        fields.append(field)
    if problems:
        raise SchemaSyntaxError(problems)
    return Schema.record(name, fields) if fields else None


def format_schema_type(schema: Schema) -> str:
    """Return the text of a type, which follows the name of a field."""
    inner = schema.non_nullable
    if schema.is_nullable and inner.type is not Type.NULL and schema == inner.as_nullable:
        return f"{_format_not_null_type(inner)}?"
    return _format_not_null_type(schema)


def _format_not_null_type(schema: Schema) -> str:
    if schema in _WRITTEN:
        return _WRITTEN[schema]
    if schema.logical_type is LogicalType.DECIMAL:
        return f"decimal({schema.precision}, {schema.scale})"
    match schema.type:
        case Type.ARRAY if schema.items is not None:
            return f"array<{format_schema_type(schema.items)}>"
        case Type.MAP if schema.keys is not None and schema.values is not None:
            return f"map<{format_schema_type(schema.keys)}, {format_schema_type(schema.values)}>"
        case Type.ENUM:
            return f"enum({', '.join(map(_format_name, schema.symbols))})"
        case Type.UNION:
            return f"union<{', '.join(map(format_schema_type, schema.members))}>"
        case Type.RECORD if schema.fields is not None:
            inner = "; ".join(map(_format_field, schema.fields))
            return f"record {_format_name(schema.name or '')} {{{inner}}}"
    return f"@{_format_name(schema.name or '')}"


def _format_field(field: Field) -> str:
    return f"{_format_name(field.name)} {format_schema_type(field.schema)}"


def _format_name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_column(name)


class _Reader:
    """Reads one line."""

    def __init__(self, line: str) -> None:
        self._tokens: list[str] = []
        self._position = 0
        self._depth = 0
        at = 0
        while line[at:].strip():
            found = _TOKEN.match(line, at)
            if found is None:
                raise SchemaError(f"'{line[at:].strip()[:20]}' is not part of a name or a type.")
            self._tokens.append(found[1])
            at = found.end()

    def read_field(self) -> Field:
        field = self._read_field()
        if self._peek():
            raise SchemaError(
                f"'{self._peek()}' is not expected here; a line has a name and a type."
            )
        return field

    def _read_field(self) -> Field:
        name = self._read_name("the name of a field")
        if not self._peek() or self._peek() in ";}":
            raise SchemaError(f"Field '{name}' has no type.")
        return Field(name, self._read_type())

    def _read_type(self) -> Schema:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SchemaError("The type is nested too deeply.")
        schema = self._read_base_type()
        self._depth -= 1
        if self._peek() == "?":
            self._position += 1
            return schema.as_nullable
        return schema

    def _read_base_type(self) -> Schema:
        word = self._read_token("a type")
        lower = word.lower()
        if lower in _SIMPLE:
            return _SIMPLE[lower]
        match lower:
            case "decimal":
                return self._read_decimal()
            case "array":
                (items,) = self._read_types("<", 1, word)
                return Schema.array(items)
            case "map":
                keys, values = self._read_types("<", 2, word)
                return Schema.map(keys, values)
            case "union":
                return Schema.union(self._read_types("<", None, word))
            case "enum":
                return Schema.enum(self._read_symbols())
            case "record":
                return self._read_record()
            case "@":
                return Schema.reference(self._read_name("the name of a record"))
        known = ", ".join((*_SIMPLE, "decimal", "array", "map", "enum", "record", "union"))
        raise SchemaError(f"There is no type '{word}'; types: {known}.")

    def _read_decimal(self) -> Schema:
        self._expect("(", "decimal(precision, scale)")
        numbers = [self._read_number()]
        if self._peek() == ",":
            self._position += 1
            numbers.append(self._read_number())
        self._expect(")", "decimal(precision, scale)")
        return Schema.decimal(*numbers)

    def _read_types(self, opening: str, count: int | None, word: str) -> list[Schema]:
        form = {1: "array<string>", 2: "map<string, long>"}.get(count or 0, "union<int, string>")
        self._expect(opening, form)
        found = [self._read_type()]
        while self._peek() == ",":
            self._position += 1
            found.append(self._read_type())
        self._expect(">", form)
        if count not in (None, len(found)):
            raise SchemaError(f"The form of this type is {form}.")
        return found

    def _read_symbols(self) -> list[str]:
        self._expect("(", "enum(NEW, OLD)")
        found = [self._read_name("a symbol")]
        while self._peek() == ",":
            self._position += 1
            found.append(self._read_name("a symbol"))
        self._expect(")", "enum(NEW, OLD)")
        return found

    def _read_record(self) -> Schema:
        name = "record" if self._peek() == "{" else self._read_name("the name of a record")
        form = "record address {street string; zip string?}"
        self._expect("{", form)
        fields: list[Field] = []
        while self._peek() not in ("}", ""):
            fields.append(self._read_field())
            if self._peek() != ";":
                break
            self._position += 1
        self._expect("}", form)
        return Schema.record(name, fields)

    def _read_number(self) -> int:
        text = self._read_token("a number")
        if not text.isdecimal():
            raise SchemaError(f"Expected a whole number, not '{text}'.")
        return int(text[:9])

    def _read_name(self, what: str) -> str:
        token = self._read_token(what)
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not _PLAIN.fullmatch(token):
            raise SchemaError(f"Expected {what}, not '{token}'.")
        return token

    def _expect(self, token: str, form: str) -> None:
        if self._peek() != token:
            raise SchemaError(f"The form of this type is {form}.")
        self._position += 1

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _read_token(self, what: str) -> str:
        token = self._peek()
        if not token:
            raise SchemaError(f"The line ends where {what} is expected.")
        self._position += 1
        return token
