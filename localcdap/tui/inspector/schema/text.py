"""Record schemas as lines that are quick to type: a field's name, its type, and ``?`` where null is allowed.

>>> tags = Schema.array(Schema.STRING).as_nullable
>>> print(format_schema(Schema.record("r", [("id", Schema.LONG), ("tags", tags)])))
id long
tags array<string>?

=====================  ==================================================================
type                   written
=====================  ==================================================================
simple                 ``boolean int long float double bytes string null``
logical                ``date time timestamp datetime decimal(10, 2) time-millis timestamp-millis``
array, map             ``array<string>``, ``map<string, long>``
enum                   ``enum(NEW, OLD)``
record                 ``record address {street string; zip string?}``; ``@address`` once it is known
union                  ``union<int, string>``; with null last it is ``union<int, string>?``
=====================  ==================================================================

A name that is not made of letters, digits, ``_``, ``.`` and ``-`` stands between backticks.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from localcdap.api.errors import SchemaError
from localcdap.api.schema import Field, LogicalType, Schema, Type

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
"""How lines are written, in one."""
_PLAIN: Final = re.compile(r"[\w.-]+")
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|[\w.-]+|[<>(){},;?@])")
_DEEPEST: Final = 60


class SchemaProblem(NamedTuple):
    """Why a line is none."""

    line: int
    """From 1."""
    message: str


class SchemaSyntaxError(Exception):
    """Lines that are not part of a schema."""

    def __init__(self, problems: list[SchemaProblem]) -> None:
        super().__init__("\n".join(f"line {each.line}: {each.message}" for each in problems))
        self.problems: Final = problems


def format_schema(schema: Schema) -> str:
    """The lines of a record schema."""
    return "\n".join(_field(each) for each in schema)


def parse_schema(text: str, name: str = "etlSchemaBody") -> Schema | None:
    """The record schema that lines mean; None when there is no line.

    :param name: of the record.
    :raises Unreadable: with every line that is wrong.
    """
    fields: list[Field] = []
    problems: list[SchemaProblem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            field = _Reader(line).whole_field()
        except (SchemaError, RecursionError) as error:
            message = (
                error.message if isinstance(error, SchemaError) else "It is nested too deeply."
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
    """The type as it stands behind a field's name."""
    inner = schema.non_nullable
    if schema.is_nullable and inner.type is not Type.NULL and schema == inner.as_nullable:
        return f"{_bare(inner)}?"
    return _bare(schema)


def _bare(schema: Schema) -> str:
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
            return f"enum({', '.join(map(_name, schema.symbols))})"
        case Type.UNION:
            return f"union<{', '.join(map(format_schema_type, schema.members))}>"
        case Type.RECORD if schema.fields is not None:
            inner = "; ".join(map(_field, schema.fields))
            return f"record {_name(schema.name or '')} {{{inner}}}"
    return f"@{_name(schema.name or '')}"


def _field(field: Field) -> str:
    return f"{_name(field.name)} {format_schema_type(field.schema)}"


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


class _Reader:
    """Reads one line."""

    def __init__(self, line: str) -> None:
        self._tokens: list[str] = []
        self._place = 0
        self._depth = 0
        at = 0
        while line[at:].strip():
            found = _TOKEN.match(line, at)
            if found is None:
                raise SchemaError(f"'{line[at:].strip()[:20]}' is not understood.")
            self._tokens.append(found[1])
            at = found.end()

    def whole_field(self) -> Field:
        field = self._field()
        if self._peek():
            raise SchemaError(f"'{self._peek()}' is too much; a line is a name and a type.")
        return field

    def _field(self) -> Field:
        name = self._next_name("the name of a field")
        if not self._peek() or self._peek() in ";}":
            raise SchemaError(f"Field '{name}' has no type.")
        return Field(name, self._type())

    def _type(self) -> Schema:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SchemaError("It is nested too deeply.")
        schema = self._bare()
        self._depth -= 1
        if self._peek() == "?":
            self._place += 1
            return schema.as_nullable
        return schema

    def _bare(self) -> Schema:
        word = self._next("a type")
        lower = word.lower()
        if lower in _SIMPLE:
            return _SIMPLE[lower]
        match lower:
            case "decimal":
                return self._decimal()
            case "array":
                (items,) = self._types("<", 1, word)
                return Schema.array(items)
            case "map":
                keys, values = self._types("<", 2, word)
                return Schema.map(keys, values)
            case "union":
                return Schema.union(self._types("<", None, word))
            case "enum":
                return Schema.enum(self._names())
            case "record":
                return self._record()
            case "@":
                return Schema.reference(self._next_name("the name of a record"))
        known = ", ".join((*_SIMPLE, "decimal", "array", "map", "enum", "record", "union"))
        raise SchemaError(f"There is no type '{word}'; types: {known}.")

    def _decimal(self) -> Schema:
        self._expect("(", "decimal(precision, scale)")
        numbers = [self._number()]
        if self._peek() == ",":
            self._place += 1
            numbers.append(self._number())
        self._expect(")", "decimal(precision, scale)")
        return Schema.decimal(*numbers)

    def _types(self, opening: str, count: int | None, word: str) -> list[Schema]:
        form = {1: "array<string>", 2: "map<string, long>"}.get(count or 0, "union<int, string>")
        self._expect(opening, form)
        found = [self._type()]
        while self._peek() == ",":
            self._place += 1
            found.append(self._type())
        self._expect(">", form)
        if count not in (None, len(found)):
            raise SchemaError(f"It is written {form}.")
        return found

    def _names(self) -> list[str]:
        self._expect("(", "enum(NEW, OLD)")
        found = [self._next_name("a symbol")]
        while self._peek() == ",":
            self._place += 1
            found.append(self._next_name("a symbol"))
        self._expect(")", "enum(NEW, OLD)")
        return found

    def _record(self) -> Schema:
        name = "record" if self._peek() == "{" else self._next_name("the name of a record")
        form = "record address {street string; zip string?}"
        self._expect("{", form)
        fields: list[Field] = []
        while self._peek() not in ("}", ""):
            fields.append(self._field())
            if self._peek() != ";":
                break
            self._place += 1
        self._expect("}", form)
        return Schema.record(name, fields)

    def _number(self) -> int:
        text = self._next("a number")
        if not text.isdecimal():
            raise SchemaError(f"A whole number is needed, not '{text}'.")
        return int(text[:9])

    def _next_name(self, what: str) -> str:
        token = self._next(what)
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not _PLAIN.fullmatch(token):
            raise SchemaError(f"Here is {what} needed, not '{token}'.")
        return token

    def _expect(self, token: str, form: str) -> None:
        if self._peek() != token:
            raise SchemaError(f"It is written {form}.")
        self._place += 1

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _next(self, what: str) -> str:
        token = self._peek()
        if not token:
            raise SchemaError(f"The line ends where {what} is needed.")
        self._place += 1
        return token
