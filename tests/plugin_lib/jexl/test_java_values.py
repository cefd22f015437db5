"""Expressions beside their values in Java: each operator with operands of every type, functions and methods.

Java computed the values in ``java_values.json``: JEXL 3.0, which the original uses, with the original's
functions, Apache Commons Lang 2.6, Guava and Java 17. A value is written as its type and its text. Java's int
and long are ``whole``.
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from localcdap.java.strings import format_double, to_java_string
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.expression import parse

TABLE = json.loads(Path(__file__).with_name("java_values.json").read_text("ascii"))

READERS: dict[str, Any] = {
    **dict.fromkeys(("int", "long", "short"), int),
    "double": lambda text: float(text.replace("Infinity", "inf")),
    "decimal": Decimal,
    "bool": lambda text: text == "true",
    "text": str,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "timestamp": lambda text: datetime.datetime.fromisoformat(text.removesuffix("[UTC]")),
}
NAMES = {int: "whole", Decimal: "decimal", str: "text", bool: "bool"}


def read(written: str) -> Any:
    kind, _, text = written.partition(" ")
    return None if kind == "null" else READERS[kind](text)


def write(value: Any) -> Any:
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return [write(each) for each in value]
    if isinstance(value, float):
        return f"double {format_double(value)}"
    if isinstance(value, bytes):
        return f"bytes {value.hex()}"
    if isinstance(value, datetime.datetime):
        return f"{'timestamp' if value.tzinfo else 'datetime'} {to_java_string(value)}"
    name = NAMES.get(type(value)) or type(value).__name__
    return f"{name} {to_java_string(value)}"


def evaluate(text: str, names: Any, values: Any) -> Any:
    """Return the written value, or ``error``."""
    row = {name: read(value) for name, value in zip(names, values, strict=True)}
    try:
        return write(parse(text).compile()(row))
    except EvaluationError:
        return "error"


@pytest.mark.parametrize(("text", "results"), TABLE["operators"], ids=lambda each: str(each)[:20])
def test_operators(text: str, results: list[Any]) -> None:
    operands = TABLE["operands"]
    is_unary = len(results) == 1
    found = (
        [[evaluate(text, "a", [a]) for a in operands]]
        if is_unary
        else [[evaluate(text, "ab", [a, b]) for b in operands] for a in operands]
    )
    assert found == results


def test_functions_and_methods() -> None:
    different = []
    for text, values, result in TABLE["calls"]:
        names = ["s"] if text.startswith("s.") else [f"v{at}" for at in range(len(values))]
        found = evaluate(text, names, values)
        if found != result:
            different.append((text, values, found, result))
    assert different == []
