"""What docs/types.md says of natural dates, expressions, scripts and XML, as checks of its rows."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pytest
from core_plugins.scripts.javascript import JavaScript
from transform_plugins.xml import XMLParser

from localcdap.api import Schema, StageError
from localcdap.plugin_lib.jexl.expression import parse
from tests.plugin_lib.wrangler.directives.recipes import run, run_failing
from tests.plugins.transform.support import record
from tests.plugins.transform.support import run as run_stage
from tests.plugins.transform.test_xml import BODY, parser, texts

HALF = decimal.Decimal("-0.01")
SEEN: dict[str, tuple[Schema, Any, str]] = {
    "int": (Schema.INT, 5, "number 5"),
    "long": (Schema.LONG, 2**53 + 1, "number 9007199254740992"),
    "float": (Schema.FLOAT, 0.5, "number 0.5"),
    "double": (Schema.DOUBLE, 0.5, "number 0.5"),
    "string": (Schema.STRING, "x", "string x"),
    "enum": (Schema.enum(["x"]), "x", "string x"),
    "boolean": (Schema.BOOLEAN, True, "boolean true"),
    "bytes": (Schema.BYTES, b"\xff\x01", "object -1,1"),
    "decimal": (Schema.decimal(5, 2), HALF, "object -1"),
    "date": (Schema.DATE, datetime.date(1970, 1, 3), "number 2"),
    "time": (Schema.TIME, datetime.time(0, 0, 1), "number 1000000"),
    "timestamp": (
        Schema.TIMESTAMP,
        datetime.datetime.fromtimestamp(1, datetime.UTC),
        "number 1000000",
    ),
    "datetime": (
        Schema.DATETIME,
        datetime.datetime(2020, 1, 2, 3, 4, 5),
        "string 2020-01-02T03:04:05",
    ),
    "array": (Schema.array(Schema.INT), [1, 2], "object 1,2"),
    "map": (Schema.map(Schema.STRING, Schema.INT), {"k": 1}, "object [object Object]"),
    "record": (Schema.record("r", [("k", Schema.INT)]), {"k": 1}, "object [object Object]"),
}
"""By type, a value and what a script in JavaScript sees of it."""


def transform(body: str, schema: Schema, value: Any, output: Schema) -> list[dict[str, Any]]:
    script = f"function transform(input, emitter, context) {{ {body} }}"
    properties = {"script": script, "schema": str(output)}
    return run_stage(JavaScript, properties, schema, [{"v": value}]).records


def see(type: str) -> str:
    schema, value, _ = SEEN[type]
    body = "emitter.emit({s: typeof input.v + ' ' + input.v});"
    ((seen,),) = [
        each.values() for each in transform(body, record(v=schema), value, record(s=Schema.STRING))
    ]
    return seen


def evaluate(text: str, **row: Any) -> Any:
    return parse(text).compile()(row)


def check_dates_without_times() -> None:
    (row,) = run("parse-as-date :d UTC", {"d": "2020-01-02"})
    assert row["d_1"] == datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)


def check_dates_that_are_not_understood() -> None:
    for text in ("no date", "jan 5", "10:30"):
        assert run_failing("parse-as-date :d", {"d": text})


def check_large_numbers() -> None:
    assert evaluate("arithmetic:add(a, b)", a=2**63 - 1, b=1) == 2**63
    assert evaluate("arithmetic:minus(a, b)", a=-(2**63), b=1) == -(2**63) - 1
    assert evaluate("arithmetic:multiply(a, b)", a=2**62, b=4) == 2**64
    assert evaluate("arithmetic:lcm(a, b)", a=2**62 - 1, b=2**61) == (2**62 - 1) * 2**61


def check_multiples_of_decimals() -> None:
    found = evaluate("arithmetic:lcm(a, b)", a=decimal.Decimal("1.5E+3"), b=decimal.Decimal(40))
    assert found == 3000


def check_floats_of_functions() -> None:
    assert evaluate("math:max(f, d)", f=0.1, d=0.05) == 0.1


def check_joined_values() -> None:
    assert evaluate("'' + a", a=[1, 2]) == "[1,2]"
    assert evaluate("'' + a", a={"k": 1}) == '{"k":1}'
    assert evaluate("'' + a", a="é".encode()) == "é"


def check_operators() -> None:
    assert evaluate("+a", a=3) == 3
    assert evaluate("a ?? 4", a=None) == 4
    assert evaluate("1 << 3") == 8
    assert evaluate("16 >> 3") == 2
    assert evaluate("padAtStart('7', 3, '0')") == "007"


def check_numbers_of_scripts() -> None:
    for type, value in ((Schema.INT, "2147483648"), (Schema.LONG, "1e30"), (Schema.INT, "NaN")):
        with pytest.raises(StageError, match="must be of type"):
            transform(f"emitter.emit({{v: {value}}});", record(v=Schema.INT), 1, record(v=type))


def check_infinite_numbers() -> None:
    schema = record(v=Schema.DOUBLE)
    ((found,),) = [
        each.values() for each in transform("emitter.emit(input);", schema, math.inf, schema)
    ]
    assert found == math.inf


def check_classes_of_java() -> None:
    schema = record(v=Schema.INT)
    with pytest.raises(StageError, match=r"Java|line 1"):
        transform("new java.util.Date();", schema, 1, schema)


def check_entities() -> None:
    properties = parser(xPathMappings="x:/a", fieldTypeMapping="x:string")
    declared = "<!DOCTYPE a [<!ENTITY e 'text'>]><a>&e;</a>"
    for document in (declared, "<p:a/>"):
        assert run_stage(XMLParser, properties, BODY, texts(document)).records == []
