"""PythonEvaluator: emitting, types, failures with their line."""

from __future__ import annotations

import datetime
import decimal
import os
import sys

import pytest
from core_plugins.scripts.python_evaluator import PythonEvaluator

from localcdap.api import Schema, StageError
from tests.plugins.transform.support import causes, configure, only_failure, record, run

SALE = record(user=Schema.STRING.as_nullable, subtotal=Schema.DOUBLE)
TOTALS = record("expanded", subtotal=Schema.DOUBLE, tax=Schema.DOUBLE, total=Schema.DOUBLE)
SCRIPT = """
def transform(record, emitter, context):
    if record['subtotal'] < 0:
        emitter.emitError({
            'errorCode': 10, 'errorMsg': 'subtotal is less than 0', 'invalidRecord': record,
        })
    else:
        rate = float(context.getArguments().get('taxrate'))
        tax = record['subtotal'] * rate
        if tax > 1000.0:
            context.getMetrics().count('tax.above.1000', 1)
            emitter.emitAlert({'tax': tax})
        emitter.emit({'subtotal': record['subtotal'], 'tax': tax, 'total': record['subtotal'] + tax})
"""


def python(body, schema=SALE, output=None):
    script = "def transform(record, emitter, context):\n    " + body
    properties = {"script": script} | ({"schema": str(output)} if output else {})
    return run(PythonEvaluator, properties, schema, [{"user": "a", "subtotal": 4.0}])


def test_the_example_of_the_documentation():
    rows = [{"user": "a", "subtotal": s} for s in (100.0, -1.0, 10000.0)]

    properties = {"script": SCRIPT, "schema": str(TOTALS)}
    emitted = run(PythonEvaluator, properties, SALE, rows, {"taxrate": "0.125"})

    assert emitted.records == [
        {"subtotal": 100.0, "tax": 12.5, "total": 112.5},
        {"subtotal": 10000.0, "tax": 1250.0, "total": 11250.0},
    ]
    assert emitted.errors == [({"user": "a", "subtotal": -1.0}, 10, "subtotal is less than 0")]
    assert emitted.metrics == {"tax.above.1000": 1}
    assert emitted.alerts == [{"tax": "1250.0"}]


def test_an_emitted_record_may_be_changed_afterwards():
    emitted = python("emitter.emit(record); record['subtotal'] = 5; emitter.emit(record)")

    assert [r["subtotal"] for r in emitted.records] == [4.0, 5.0]


@pytest.mark.parametrize(
    ("type", "expression", "value"),
    [
        (Schema.INT, "3.9", 3),
        (Schema.FLOAT, "1", 1.0),
        (Schema.BYTES, "b'x'", b"x"),
        (Schema.DATE, "__import__('datetime').date(2020, 1, 2)", datetime.date(2020, 1, 2)),
        (Schema.decimal(5, 1), "__import__('decimal').Decimal('2.5')", decimal.Decimal("2.5")),
        (Schema.array(Schema.INT), "(1, 2)", [1, 2]),
        (Schema.LONG.as_nullable, "None", None),
    ],
)
def test_coercion_to_declared_types(type, expression, value):
    emitted = python(f"emitter.emit({{'v': {expression}}})", output=record(v=type))

    assert emitted.records == [{"v": value}]


UTC = datetime.UTC


@pytest.mark.parametrize(
    ("type", "value", "seen"),
    [
        (Schema.INT, 7, "int 7"),
        (Schema.LONG, 2**53 + 1, "int 9007199254740993"),
        (Schema.LONG, -(2**63), "int -9223372036854775808"),
        (Schema.DOUBLE, 0.1, "float 0.1"),
        (Schema.DOUBLE, float("inf"), "float inf"),
        (Schema.BOOLEAN, True, "bool True"),
        (Schema.STRING, "\U0001f600b", "str '\U0001f600b'"),
        (Schema.BYTES, b"\xff", "bytes b'\\xff'"),
        (Schema.decimal(5, 2), decimal.Decimal("1.50"), "Decimal Decimal('1.50')"),
        (Schema.DATE, datetime.date(2020, 2, 29), "date datetime.date(2020, 2, 29)"),
        (Schema.TIME, datetime.time(1, 2), "time datetime.time(1, 2)"),
        (
            Schema.TIMESTAMP,
            datetime.datetime(2020, 1, 1, tzinfo=UTC),
            "datetime datetime.datetime(2020, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)",
        ),
        (
            Schema.DATETIME,
            datetime.datetime(2020, 1, 1),
            "datetime datetime.datetime(2020, 1, 1, 0, 0)",
        ),
        (Schema.array(Schema.INT), [1, 2], "list [1, 2]"),
        (Schema.map(Schema.STRING, Schema.INT), {"a": 1}, "dict {'a': 1}"),
        (record("inner", a=Schema.INT), {"a": 1}, "dict {'a': 1}"),
    ],
)
def test_values_go_in_and_out_as_they_are(type, value, seen):
    script = (
        "def transform(record, emitter, context):\n"
        "    v = record['v']\n"
        "    emitter.emit({'v': v, 'seen': type(v).__name__ + ' ' + repr(v)})"
    )
    properties = {"script": script, "schema": str(record(v=type, seen=Schema.STRING))}

    emitted = run(PythonEvaluator, properties, record(v=type), [{"v": value}])

    assert emitted.records == [{"v": value, "seen": seen}]


@pytest.mark.parametrize(
    ("type", "expression"),
    [
        (Schema.INT, "2**31"),
        (Schema.LONG, "2**63"),
        (Schema.INT, "'3'"),
        (Schema.INT, "True"),
        (Schema.STRING, "3"),
        (Schema.BOOLEAN, "1"),
        (Schema.decimal(10, 2), "1 / 3"),
        (Schema.decimal(10, 2), "__import__('decimal').Decimal('0.005')"),
        (Schema.DATE, "'2020-02-30'"),
    ],
)
def test_values_that_do_not_fit_are_errors(type, expression):
    with pytest.raises(StageError, match="field 'v' must be of type"):
        python(f"emitter.emit({{'v': {expression}}})", output=record(v=type))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x = 1\n    record['no']", "Could not transform input: KeyError: 'no' (line 3)."),
        (
            "emitter.emit({'user': 1, 'subtotal': 2})",
            "Could not transform input: field 'user' must be of type string, not 1 (line 2).",
        ),
        (
            "emitter.emitError({'errorCode': 'x', 'invalidRecord': record})",
            "Could not transform input: errorCode must be a number, not 'x' (line 2).",
        ),
        ("context.getLookup('t')", "Could not transform input: table 't' is not declared"),
    ],
)
def test_failures_say_what_and_where(body, message):
    with pytest.raises(StageError) as error:
        python(body)
    assert error.value.message.startswith(message)


def test_a_script_that_fails_before_the_first_record():
    script = "import no_such_module\ndef transform(r, e, c): pass"

    with pytest.raises(StageError, match=r"Invalid script: ModuleNotFoundError: .*\(line 1\)"):
        run(PythonEvaluator, {"script": script}, SALE, [{"user": "a", "subtotal": 1.0}])


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "def transform(r, e, c):\n    e.emit(r\n",
            "Invalid script: '(' was never closed (line 2).",
        ),
        (
            "def main(): pass",
            "Invalid script: it does not define a function 'transform(record, emitter, context)'.",
        ),
        ("a\0b", "Invalid script: source code string cannot contain null bytes"),
    ],
)
def test_invalid_scripts_are_found_when_configuring(script, message):
    failure = only_failure(configure(PythonEvaluator, {"script": script}, SALE))

    assert failure.message.startswith(message)
    assert causes(failure) == [{"stageConfig": "script"}]


def test_python_2_is_named_as_the_cause():
    stage = configure(PythonEvaluator, {"script": "def transform(r, e, c):\n    print 'x'\n"}, SALE)

    assert "Python 3" in (only_failure(stage).corrective_action or "")


def test_properties_of_other_interpreters_are_accepted():
    stage = configure(
        PythonEvaluator, {"script": SCRIPT, "mode": "Native", "interpreterPath": "/x"}, SALE
    )

    assert len(stage.failures) == 0
    assert stage.output_schema == SALE


def test_the_path_of_modules_counts_in_native_mode(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "only_for_this_script.py").write_text("FACTOR = 3")
    script = (
        "import only_for_this_script\n"
        "def transform(record, emitter, context):\n"
        "    record['subtotal'] *= only_for_this_script.FACTOR\n"
        "    emitter.emit(record)\n"
    )
    properties = {"script": script, "pythonPath": f"/none{os.pathsep}{tmp_path}"}
    rows = [{"user": "a", "subtotal": 2.0}]
    with pytest.raises(StageError, match="ModuleNotFoundError"):
        run(PythonEvaluator, properties, SALE, rows)
    native = {"executionMode": "native", "pythonBinary": "/usr/bin/python3"}
    assert run(PythonEvaluator, properties | native, SALE, rows).records[0]["subtotal"] == 6.0
    (failure,) = configure(PythonEvaluator, properties | {"executionMode": "fast"}, SALE).failures
    assert "must be one of Interpreted, Native" in failure.message
