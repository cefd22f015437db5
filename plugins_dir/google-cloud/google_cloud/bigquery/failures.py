"""Why a statement failed: DuckDB's messages in the words of BigQuery, with the place in the user's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from .sql import format_position

_MESSAGE: Final = re.compile(
    r"^(?:Stage '[^']*': )?(?:Statement (?P<number>\d+): )?(?:Line \d+(?:, column \d+)?: )?(?P<text>.*)",
    re.DOTALL,
)
_NEAR: Final = re.compile(r'"([^"]+)"')
_HELPERS: Final = re.compile(r"googlesql_(?:safe_)?(\w+)", re.IGNORECASE)
_SIGNATURE: Final = re.compile(r"'(?P<name>[^'(]+)\((?P<types>.*)\)'")
_TYPES: Final = {
    "BIGINT": "INT64",
    "BLOB": "BYTES",
    "BOOLEAN": "BOOL",
    "DOUBLE": "FLOAT64",
    "HUGEINT": "INT64",
    "INTEGER": "INT64",
    "INTEGER_LITERAL": "INT64",
    "STRING_LITERAL": "STRING",
    "TIMESTAMP": "DATETIME",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "VARCHAR": "STRING",
}
_FUNCTIONS: Final = {
    "||": "CONCAT",
    "~~": "operator LIKE",
    "like_escape": "operator LIKE",
    "substring": "SUBSTR",
}


class Explanation(msgspec.Struct, frozen=True):
    """What is wrong with a statement."""

    message: str
    action: str | None


class _Rule(msgspec.Struct, frozen=True):
    """A message of DuckDB, and that of BigQuery with the groups of the pattern."""

    pattern: str
    message: str
    action: str | None = None
    """By default the names that are near, if DuckDB knows some."""


_NO_NAME: Final = "Unrecognized name: {name}"
_NO_MEMBER: Final = "Name {name} not found inside {table}"
_RULES: Final = (
    _Rule(
        r"(?P<whole>Value (?:has|of) type .* (?:column|assigned to) (?P<name>.*), which has type .*)",
        "{whole}",
        "Convert the value with CAST.",
    ),
    _Rule(
        r"(?P<whole>Could not cast literal to type \w+, that of column (?P<name>.*))",
        "{whole}",
        "Correct the literal, or convert it, for example with PARSE_DATE.",
    ),
    _Rule(
        r"'(?P<name>\S+)' of (?P<whole>.*) is not translated",
        "'{name}' of {whole} is not translated",
        "Convert the value with CAST, or write it in another way.",
    ),
    _Rule(
        r"Overflow in \w+ of DECIMAL.*? \((?P<values>.*)\)",
        "numeric overflow: {values}",
        "Calculate with FLOAT64.",
    ),
    _Rule(
        r"Overflow in \w+ of \w+ \((?P<values>.*)\)",
        "int64 overflow: {values}",
        "Calculate with NUMERIC, or use a function such as SAFE_ADD.",
    ),
    _Rule(
        r"Overflow in negation|Overflow on abs",
        "int64 overflow",
        "Calculate with NUMERIC, or use SAFE_NEGATE.",
    ),
    _Rule(r"Type INT128 with value \S+ can't be cast", "int64 overflow", "Sum NUMERICs instead."),
    _Rule(
        r"(?:Type \w+ with value|Failed to cast decimal value) (?P<value>\S+) .*INT64",
        "int64 out of range: {value}",
        "Use SAFE_CAST to get NULL instead.",
    ),
    _Rule(
        r"Division by zero in expression \((?P<name>.*)\)\.|division by zero(?P<values>: .*)?",
        "division by zero",
        "Use SAFE_DIVIDE, or NULLIF(divisor, 0).",
    ),
    _Rule(
        r"Could not convert string ['\"](?P<value>.*)['\"] to (?P<type>INT64|DOUBLE|BOOL)",
        "Bad {type} value: {value}",
        "Use SAFE_CAST to get NULL instead.",
    ),
    _Rule(
        r"Could not convert string \"(?P<value>.*)\" to DECIMAL",
        "Invalid NUMERIC value: {value}",
        "Use SAFE_CAST to get NULL instead.",
    ),
    _Rule(
        r"Could not cast value (?P<value>\S+) to DECIMAL",
        "numeric out of range: {value}",
        "A NUMERIC has 29 digits before the point and 9 after it.",
    ),
    _Rule(
        r"(?P<kind>date|timestamp|time) field value out of range: \"(?P<value>.*)\"",
        "Invalid {kind}: '{value}'",
        "Use SAFE_CAST to get NULL instead.",
    ),
    _Rule(
        r"Failed to parse input string \"(?P<value>.*)\"",
        'Failed to parse input string "{value}"',
        "Correct the format, or use SAFE. before the function to get NULL instead.",
    ),
    _Rule(r'Table with name "(?P<name>.*)" already exists', "Already Exists: Table {name}"),
    _Rule(
        r"(?:Table|View) with name (?P<name>.*) does not exist",
        "Not found: Table {name} was not found",
    ),
    _Rule(r'Referenced column "(?P<name>.*)" not found', _NO_NAME),
    _Rule(r'Referenced table "(?P<name>.*)" not found', _NO_NAME),
    _Rule(r"Referenced update column (?P<name>.*) not found", _NO_NAME),
    _Rule(r'"(?P<table>.*)" does not have a column (?:named|with name) "(?P<name>.*)"', _NO_MEMBER),
    _Rule(
        r'Could not find key "(?P<name>.*)" in struct',
        "Field name {name} does not exist in the STRUCT",
    ),
    _Rule(
        r'column "(?P<name>.*)" must appear in the GROUP BY',
        "SELECT list expression references column {name} which is neither grouped nor aggregated",
        "Group by it, or use an aggregate function such as ANY_VALUE.",
    ),
    _Rule(
        r'Ambiguous reference to column name "(?P<name>.*?)"',
        "Column name {name} is ambiguous",
        "Write the table or its alias before the column.",
    ),
    _Rule(
        r"NOT NULL constraint failed: .*\.\"?(?P<name>\w+)\"?",
        "Required field {name} cannot be null",
        "Give the column a value.",
    ),
    _Rule(
        r"table \"(?P<name>.*)\" has (?P<columns>\d+) columns but (?P<values>\d+) values",
        "Inserted row has wrong column count; Has {values}, expected {columns}",
        "Name the columns after the table.",
    ),
    _Rule(
        r"More than one row returned by a subquery",
        "Scalar subquery produced more than one element",
        "Use LIMIT 1, or an aggregate function.",
    ),
    _Rule(
        r"Unimplemented type for cast \((?P<held>.*) -> (?P<wanted>.*)\)",
        "Invalid cast from {held} to {wanted}",
        "Convert the value with another function.",
    ),
    _Rule(
        r"Set operations can only apply",
        "Queries in a set operation have mismatched column count",
        "Select as many columns in each of them.",
    ),
    _Rule(
        r"(?:Scalar|Aggregate|Table)? ?Function with name (?P<name>\w+) does not exist",
        "there is no function '{name}' here",
        "Write it in another way.",
    ),
)


def explain_failure(
    message: str, action: str | None, text: str, starts: Sequence[int]
) -> Explanation:
    """Return what is wrong with a statement of BigQuery.

    :param message: of the failed statement in DuckDB.
    :param text: the statements of the user.
    :param starts: where each statement begins in the text.
    """
    found = _MESSAGE.match(message)
    assert found is not None  # the pattern takes every text
    number = min(int(found["number"] or 1), len(starts)) - 1
    body = found["text"].removeprefix("Out of Range Error: ")
    body = re.sub(r"^Python exception occurred while executing the UDF: \w+: ", "", body)
    for rule in _RULES:
        match = re.search(rule.pattern, body)
        if match is not None:
            groups = {key: _TYPES.get(value, value) for key, value in match.groupdict("").items()}
            groups["type"] = match.groupdict("").get("type", "").lower()
            place = _find_place(text, starts[number], groups.get("name"))
            groups["name"] = _find_spelling(text, starts[number], groups.get("name", ""))
            shown = rule.message.format(**groups)
            return Explanation(f"{shown}{place}.", rule.action or _name_near(action))
    place = _find_place(text, starts[number], None)
    signature = _SIGNATURE.search(body)
    if "No function matches" in body and signature is not None:
        return _explain_signature(signature, text, starts[number])
    shown = _HELPERS.sub(lambda helper: helper[1].upper(), body).rstrip(".!")
    return Explanation(f"{shown}{place}.", None)


def _explain_signature(signature: re.Match[str], text: str, start: int) -> Explanation:
    name = _HELPERS.sub(lambda helper: helper[1], signature["name"])
    shown = _FUNCTIONS.get(name, name.upper() if name.isidentifier() else f"operator {name}")
    types = [_TYPES.get(each, each) for each in signature["types"].split(", ")]
    place = _find_place(text, start, shown.removeprefix("operator "))
    kind = shown if shown.startswith("operator") else f"function {shown}"
    if kind != shown and _find_name(text, start, shown) is None:
        kind = "a function"  # one that the translation of another uses
    return Explanation(
        f"No matching signature for {kind} for argument types: {', '.join(types)}{place}.",
        "Convert the arguments, for example with CAST.",
    )


def _name_near(hint: str | None) -> str | None:
    """Return DuckDB's hint of names that are near as an action."""
    names = _NEAR.findall(hint or "")
    return f"Did you mean {' or '.join(names)}?" if names else None


def _find_place(text: str, start: int, name: str | None) -> str:
    """Return the place of a name in a statement, or where the statement begins."""
    found = _find_name(text, start, name) if name else None
    return format_position(text, start if found is None else found.start())


def _find_spelling(text: str, start: int, name: str) -> str:
    """Return a name as the statement spells it; DuckDB writes the names of functions in lower case."""
    found = _find_name(text, start, name) if name.isidentifier() else None
    return name if found is None else found[0]


def _find_name(text: str, start: int, name: str) -> re.Match[str] | None:
    parts = r"`?\s*\.\s*`?".join(map(re.escape, name.split(".")))
    return re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE).search(text, start)
