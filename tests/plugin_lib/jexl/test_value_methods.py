"""Methods of values, compared with what Java 17 itself gave, and the list of the original's methods."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.jexl import EvaluationError, parse
from localcdap.plugin_lib.jexl.functions import FUNCTIONS
from localcdap.plugin_lib.jexl.interpreter import call_method
from localcdap.plugin_lib.jexl.value_methods import METHODS

FOLDER = Path(__file__).parent


def read_value(text: str) -> Any:
    kind, value = text.split(":", 1)
    if kind == "m":
        return Decimal(value)
    if "[" in value:
        moment, zone = value[:-1].split("[")
        return datetime.datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))
    if "T" in value:
        return datetime.datetime.fromisoformat(value)
    return (datetime.time if ":" in value else datetime.date).fromisoformat(value)


def read_argument(text: str) -> Any:
    if text[:2] in ("d:", "m:"):
        return read_value(text)
    return int(text) if text.lstrip("-").isdigit() else text


def write(value: Any) -> str:
    """Java's text of a value, without the name of a zone."""
    if isinstance(value, list):
        return f"[{', '.join(map(to_java_string, value))}]"
    return to_java_string(value).split("[")[0].removesuffix("Z")


def call(line: str) -> tuple[str, str]:
    """What Java gave and what is given here; ! for an error."""
    asked, _, expected = line.partition("=")
    value, name, *arguments = asked.split("|")
    try:
        found = write(call_method(read_value(value), name, *map(read_argument, arguments)))
    except EvaluationError:
        found = "!"
    plain = expected if expected.startswith("[") else expected.split("[")[0].removesuffix("Z")
    return plain, found


def test_dates_and_decimals_have_the_methods_of_java() -> None:
    lines = (FOLDER / "java_methods.txt").read_text("utf-8").splitlines()

    wrong = [(line, found) for line in lines for plain, found in [call(line)] if found != plain]

    assert len(lines) > 2000
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "expected", "left"),
    [
        ("v.add(4)", True, [3, 1, 2, 4]),
        ("v.add(0, 9)", None, [9, 3, 1, 2]),
        ("v.addAll([7, 8])", True, [3, 1, 2, 7, 8]),
        ("v.addAll(1, [7])", True, [3, 7, 1, 2]),
        ("v.set(1, 5)", 1, [3, 5, 2]),
        ("v.remove(0)", 3, [1, 2]),
        ("v.removeAll([3, 2])", True, [1]),
        ("v.retainAll([3])", True, [3]),
        ("v.clear()", None, []),
        ("v.lastIndexOf(2)", 2, [3, 1, 2]),
        ("v.sort(null)", None, [1, 2, 3]),
        ("v.subList(1, 3)", [1, 2], [3, 1, 2]),
    ],
)
def test_lists_are_changed_as_in_java(text: str, expected: Any, left: list[int]) -> None:
    row = {"v": [3, 1, 2]}

    assert parse(text).compile()(row) == expected
    assert row["v"] == left


@pytest.mark.parametrize(
    ("text", "expected", "left"),
    [
        ("v.put('b', 2)", None, {"a": 1, "b": 2}),
        ("v.put('a', 2)", 1, {"a": 2}),
        ("v.putIfAbsent('a', 2)", 1, {"a": 1}),
        ("v.putAll(w)", None, {"a": 1, "c": 3}),
        ("v.remove('a')", 1, {}),
        ("v.remove('x')", None, {"a": 1}),
        ("v.remove('a', 2)", False, {"a": 1}),
        ("v.replace('a', 5)", 1, {"a": 5}),
        ("v.replace('a', 1, 6)", True, {"a": 6}),
        ("v.clear()", None, {}),
        ("v.entrySet()[0].key", "a", {"a": 1}),
    ],
)
def test_maps_are_changed_as_in_java(text: str, expected: Any, left: dict[str, int]) -> None:
    row = {"v": {"a": 1}, "w": {"c": 3}}

    assert parse(text).compile()(row) == expected
    assert row["v"] == left


@pytest.mark.parametrize("text", ["v.set(3, 1)", "v.remove(-1)", "v.subList(2, 1)", "v.add(9, 1)"])
def test_an_index_beyond_a_list_is_an_error_of_the_row(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse(text).compile()({"v": [3, 1, 2]})


def test_a_schema_is_read_from_sql() -> None:
    text = "Id long NOT NULL, tags array<string not null>, r record<x:int, m:map<string,double>> not null"
    call_sql = FUNCTIONS["ddl", "parsesql"].build_caller(1)

    schema = call_sql(text)

    assert schema.field_names == ["id", "tags", "r"]
    assert [str(field.schema.is_nullable) for field in schema] == ["False", "True", "False"]
    for wrong in ("a", "a intt", "a array<int", "a int b int", "a map<int>", "a record<x int>"):
        with pytest.raises(EvaluationError):
            call_sql(wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes:toStringBinary(b)", "a\\\\x00\\xFF"),
        ("bytes:toBytesBinary(bytes:toStringBinary(c)) == c", True),
        ("bytes:toBigDecimal(bytes:toBytes(m))", Decimal("-12345.678")),
        ("bytes:toHexString(bytes:toBytes(m))", "00000003ff439eb2"),
        ("bytes:toHexString(bytes:incrementBytes(c, 3))", "0000000000006104"),
        ("bytes:toHexString(bytes:incrementBytes(f, 2))", "0000000000000001"),
        ("bytes:toHexString(bytes:stopKeyForPrefix(b))", "615c01"),
        ("bytes:stopKeyForPrefix(f)", None),
        ("bytes:toHexString(bytes:concat(f, c, f))", "ff6101ff"),
        ("bytes:toShort(c, 0, 2)", 24833),
        ("bytes:toString(a, '-', a)", "a-a"),
        ("bytes:hashCode(f)", 30),
    ],
)
def test_bytes_are_read_and_written_as_by_cdap(text: str, expected: Any) -> None:
    row = {"a": b"a", "b": b"a\\\x00\xff", "c": b"a\x01", "f": b"\xff", "m": Decimal("-12345.678")}

    assert parse(text).compile()(row) == expected


NEWER = "is newer than Java 8, with which Wrangler runs"
JAVA_FUNCTION = (
    "takes or returns a function, stream or iterator of Java, which expressions cannot build"
)
JAVA_OBJECT = "takes an object of Java, which expressions cannot build"
INTERNAL = "returns an object of java.time that no record holds, or serves java.time itself"
NO_EFFECT = "concerns the memory of the list"

REFUSED = {
    "text": {
        "describeConstable indent lines resolveConstantDesc stripIndent transform translateEscapes": NEWER,
        "chars codePoints": JAVA_FUNCTION,
        "getChars offsetByCodePoints": "writes into an array or counts surrogates",
    },
    "number": {
        "sqrt describeConstable resolveConstantDesc": NEWER,
        "round": JAVA_OBJECT,
    },
    "boolean": {"describeConstable": NEWER},
    "date": {
        "datesUntil": NEWER,
        "format query with": JAVA_OBJECT,
        "adjustInto get getChronology getEra getLong isSupported range": INTERNAL,
    },
    "list": {
        "forEach iterator listIterator parallelStream removeIf replaceAll spliterator stream": JAVA_FUNCTION,
        "ensureCapacity trimToSize": NO_EFFECT,
    },
    "map": {"compute computeIfAbsent computeIfPresent forEach merge replaceAll": JAVA_FUNCTION},
    "arrays:": {
        "compare compareUnsigned mismatch": NEWER,
        "parallelPrefix parallelSetAll setAll spliterator stream": JAVA_FUNCTION,
    },
    "bytes:": {
        "putBigDecimal putByte putBytes putDouble putFloat putInt putLong putShort": "writes into an array",
        "getBytes toUUID writeStringFixedSize": JAVA_OBJECT,
        "iterateOnSplits split toByteArrays toBinaryFromHex": "concerns HBase's splits and single bytes",
    },
    "math:": {"absExact fma multiplyFull multiplyHigh": NEWER},
}
"""The methods of the original that are refused, with the reason."""


def list_original_methods() -> list[tuple[str, str, str]]:
    found = []
    for line in (FOLDER / "original_methods.txt").read_text("utf-8").splitlines():
        owner, kind, *names = line.split()
        found += [(owner, kind, name) for name in names]
    return found


def is_present(kind: str, name: str) -> bool:
    if kind.endswith(":"):
        return (kind[:-1], name) in FUNCTIONS
    return (kind, name) in METHODS or ("any", name) in METHODS


def find_reason(kind: str, name: str) -> str | None:
    reasons = (reason for names, reason in REFUSED.get(kind, {}).items() if name in names.split())
    return next(reasons, None)


def test_every_method_of_the_original_is_present_or_refused_with_a_reason() -> None:
    methods = list_original_methods()

    assert len(methods) > 500
    assert [
        (owner, name)
        for owner, kind, name in methods
        if is_present(kind, name) == (find_reason(kind, name) is not None)
    ] == []
