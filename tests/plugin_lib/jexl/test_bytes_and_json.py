"""The functions ``bytes:`` and ``json:`` beside the values of the original.

``gson_values.jsonl`` has a text a line with what Gson and the original's ``JsonFunctions`` make of it:
whether it is valid, ``stringify``, ``Stringify``, ``join`` with ``;`` and ``keysToLower``; ``!`` is a
failure. The rules of ``bytes:`` are those of ``cdap-api-common/…/api/common/Bytes.java``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.expression import parse

TEXTS = [
    json.loads(line)
    for line in Path(__file__).with_name("gson_values.jsonl").read_text().splitlines()
]


def evaluate(expression: str, **row: Any) -> Any:
    """Return the value of an expression; ``!`` for a failure."""
    try:
        return parse(expression).compile()(row)
    except EvaluationError:
        return "!"


@pytest.mark.parametrize(("text", "valid", "plain", "escaped", "joined", "lowered"), TEXTS)
def test_json_is_read_and_written_as_gson_does(text, valid, plain, escaped, joined, lowered):
    assert evaluate("json:IsValid(t)", t=text) is (valid == "true")
    assert evaluate("json:stringify(json:parse(t))", t=text) == plain
    assert evaluate("json:Stringify(json:parse(t))", t=text) == escaped
    if joined:
        assert evaluate("json:join(json:parse(t), ';')", t=text) == joined
    if plain != "!":
        assert evaluate("json:stringify(json:keysToLower(json:parse(t)))", t=text) == lowered
    elif valid == "false":
        assert evaluate("json:Parse(t)", t=text) is None


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("bytes:toString(b)", "abc\\x"),
        ("bytes:toString(b, 1, 2)", "bc"),
        ("bytes:toString(b, 9, 0)", ""),
        ("bytes:toString(b, 3, 9)", "!"),
        ("bytes:toString(b, -1, 2)", "!"),
        ("bytes:toString(n)", None),
        ("bytes:toString(b, '-', b)", "abc\\x-abc\\x"),
        ("bytes:toString(b, null, b)", "abc\\xnullabc\\x"),
        ("bytes:toStringBinary(f)", "\\xFF\\x00A\\x7F"),
        ("bytes:toStringBinary(n)", "null"),
        ("bytes:toStringBinary(f, 1, 2)", "\\x00A"),
        ("bytes:toStringBinary(f, 1, 9)", "!"),
        ("bytes:toHexString(f)", "ff00417f"),
        ("bytes:toHexString(bytes:fromHexString('0aFF'))", "0aff"),
        ("bytes:fromHexString('0aF')", "!"),
        ("bytes:fromHexString('0a F')", "!"),
        ("bytes:fromHexString('zz')", "!"),
        ("bytes:fromHexString(null)", "!"),
        ("bytes:toInt(f)", -16760449),
        ("bytes:toInt(f, -4)", "!"),
        ("bytes:toInt(f, 1)", "!"),
        ("bytes:toInt(f, 0, 3)", "!"),
        ("bytes:toShort(f, 2)", 16767),
        ("bytes:toShort(f, -2)", "!"),
        ("bytes:toLong(f)", "!"),
        ("bytes:toLong(bytes:toBytes(-5))", "!"),
        ("bytes:toFloat(bytes:fromHexString('3fc00000'))", 1.5),
        ("bytes:toFloat(bytes:fromHexString('3fc00000'), -1)", "!"),
        ("bytes:toDouble(bytes:toBytes(1.5))", 1.5),
        ("bytes:toBoolean(bytes:toBytes(true))", True),
        ("bytes:toBoolean(f)", "!"),
        ("bytes:head(f, 2)", b"\xff\x00"),
        ("bytes:head(f, 9)", None),
        ("bytes:head(f, -1)", "!"),
        ("bytes:tail(f, 1)", b"\x7f"),
        ("bytes:tail(f, 0)", b""),
        ("bytes:tail(f, -1)", "!"),
        ("bytes:padHead(f, 1)", b"\x00\xff\x00A\x7f"),
        ("bytes:padTail(f, 0)", b"\xff\x00A\x7f"),
        ("bytes:padTail(f, -1)", "!"),
        ("bytes:compareTo(b, f)", 97 - 255),
        ("bytes:compareTo(b, bytes:head(b, 2))", 3),
        ("bytes:equals(n, n)", True),
        ("bytes:equals(b, n)", False),
        ("bytes:startsWith(b, bytes:head(b, 2))", True),
        ("bytes:startsWith(n, b)", False),
        ("bytes:hashCode(f)", 31 * (31 * (31 * (31 - 1) + 0) + 65) + 127),
        ("bytes:hashBytes(f, 1, 2)", 31 * 31 + 65),
        ("bytes:hashBytes(f, 9)", "!"),
        ("bytes:toBigDecimal(bytes:fromHexString('000000027d'))", Decimal("1.25")),
        ("bytes:toBigDecimal(bytes:head(f, 4))", None),
        ("bytes:incrementBytes(bytes:fromHexString('ff'), 1)", b"\0" * 8),
        ("bytes:incrementBytes(bytes:fromHexString('05'), -6)", b"\xff" * 8),
        ("bytes:incrementBytes(bytes:fromHexString('000000000000000000'), 1)", "!"),
    ],
)
def test_bytes_are_read_as_the_original_does(expression: str, value: Any):
    given = {"b": b"abc\\x", "f": b"\xff\x00A\x7f", "n": None}
    assert evaluate(expression, **given) == value
