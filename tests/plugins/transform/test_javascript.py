"""JavaScript: emitting, types across the border, failures."""

from __future__ import annotations

import datetime
import decimal
import logging
import math
import threading

import pytest
from core_plugins.scripts.javascript import JavaScript, ScriptEngine, ScriptError
from core_plugins.scripts.legacy_javascript import Script, ScriptFilter, Validator
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api import Schema, StageError
from localcdap.testing import StageTester
from tests.plugins.transform.support import (
    Emitted,
    causes,
    configure,
    only_failure,
    record,
    run,
    start,
)

PERSON = record(name=Schema.STRING, age=Schema.INT)
ANN = {"name": "Ann", "age": 30}
EMIT = "function transform(input, emitter, context) { emitter.emit(input); }"


def javascript(body, schema=PERSON, records=(ANN,), output=None, arguments=None):
    script = f"function transform(input, emitter, context) {{ {body} }}"
    properties = {"script": script} | ({"schema": str(output)} if output else {})
    return run(JavaScript, properties, schema, list(records), arguments)


def test_records_may_be_changed_dropped_and_multiplied():
    emitted = javascript(
        "if (input.age > 3) { emitter.emit(input); input.age += 1; emitter.emit(input); }",
        records=[ANN, {"name": "Bo", "age": 3}],
    )

    assert emitted.records == [ANN, {"name": "Ann", "age": 31}]


def test_errors_alerts_metrics_logs_and_arguments(caplog):
    caplog.set_level(logging.INFO)

    emitted = javascript(
        """
        emitter.emitError({errorCode: 31, errorMsg: 'bad ' + input.name, invalidRecord: input});
        emitter.emitAlert({who: input.name, age: input.age});
        context.getMetrics().count('seen', 2);
        context.getMetrics().pipelineCount('all');
        context.getLogger().info('hello {}', input.name);
        emitter.emit({name: context.getArguments().get('greet'), age: 1});
        emitter.emit({name: String(context.getArguments().get('none')), age: 2});
        """,
        arguments={"greet": "hi"},
    )

    assert emitted.errors == [(ANN, 31, "bad Ann")]
    assert emitted.alerts == [{"who": "Ann", "age": "30"}]
    assert emitted.metrics == {"seen": 2, "all": 1}
    assert [r["name"] for r in emitted.records] == ["hi", "null"]
    assert "hello Ann" in caplog.messages


EVERYTHING = record(
    b=Schema.BOOLEAN,
    i=Schema.INT,
    l=Schema.LONG,
    f=Schema.FLOAT,
    d=Schema.DOUBLE,
    x=Schema.BYTES,
    s=Schema.STRING,
    e=Schema.enum(["A", "B"]),
    day=Schema.DATE,
    t=Schema.TIME,
    at=Schema.TIMESTAMP,
    local=Schema.DATETIME,
    m=Schema.decimal(20, 3),
    a=Schema.array(Schema.LONG.as_nullable),
    k=Schema.map(Schema.STRING, Schema.BYTES),
    r=record("inner", at=Schema.TIMESTAMP.as_nullable, l=Schema.LONG),
    u=Schema.union([Schema.INT, Schema.LONG, Schema.STRING, Schema.NULL]),
    n=Schema.INT.as_nullable,
)
longs = st.integers(-(2**53), 2**53)
instants = st.datetimes(
    datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1), timezones=st.just(datetime.UTC)
)
everything = st.fixed_dictionaries(
    {
        "b": st.booleans(),
        "i": st.integers(-(2**31), 2**31 - 1),
        "l": longs,
        "f": st.floats(width=32, allow_nan=False),
        "d": st.floats(allow_nan=False),
        "x": st.binary(),
        "s": st.text(),
        "e": st.sampled_from("AB"),
        "day": st.dates(),
        "t": st.times(),
        "at": instants,
        "local": st.datetimes(),
        "m": st.decimals(-(10**15), 10**15, places=3),
        "a": st.lists(st.none() | longs),
        "k": st.dictionaries(st.text(min_size=1), st.binary()),
        "r": st.fixed_dictionaries({"at": st.none() | instants, "l": longs}),
        "u": st.none() | longs | st.text(),
        "n": st.none(),
    }
)


@pytest.fixture(scope="module")
def everything_plugin():
    """One V8 for all examples; it has a thread, which ends with the plugin."""
    plugin, _ = start(JavaScript, {"script": EMIT}, EVERYTHING)
    yield plugin
    plugin.destroy()


@settings(max_examples=60, deadline=None)
@given(records=st.lists(everything, max_size=4))
def test_every_value_survives_both_borders(everything_plugin, records):
    plugin, emitted = everything_plugin, Emitted()
    if records:
        plugin.transform_records(records, emitted)

    assert emitted.records == records


def test_large_numbers_stand_beside_any_text():
    schema = record(l=Schema.LONG, k=Schema.map(Schema.STRING, Schema.STRING))
    records = [{"l": 2**62, "k": {}}, {"l": 1, "k": {"é": "ł"}}, {"l": -(2**62), "k": {"ł": "é"}}]
    records += [{"l": 1, "k": {key: "é"}} for key in ('"', "\\", "\n", "/", "a")]
    assert run(JavaScript, {"script": EMIT}, schema, records).records == records


ROUNDED = record(
    l=Schema.LONG.as_nullable, s=Schema.STRING.as_nullable, d=Schema.DOUBLE.as_nullable
)


@pytest.mark.parametrize(
    ("number", "expression", "found", "altered"),
    [
        (2**53 + 1, "{l: input.l}", {"l": 2**53}, 1),
        (2**53 + 1, "{s: JSON.stringify(input)}", {"s": '{"l":9007199254740992}'}, 0),
        (2**53 + 1, "{l: input.l + 1}", {"l": 2**53}, 1),
        (2**53 + 1, "{d: input.l / 2}", {"d": 4503599627370496.0}, 0),
        (2**53 + 1, "{l: Math.floor(input.l)}", {"l": 2**53}, 1),
        (2**53 + 1, "{l: input.l === 9007199254740992 ? 1 : 2}", {"l": 1}, 0),
        (2**53 + 1, "{s: typeof input.l}", {"s": "number"}, 0),
        (-(2**53) - 1, "{l: input.l}", {"l": -(2**53)}, 1),
        (2**53 + 2, "{l: input.l}", {"l": 2**53 + 2}, 0),
        (2**62, "{l: input.l}", {"l": 2**62}, 0),
        (2**63 - 1, "{l: input.l}", {"l": 2**63 - 1}, 0),
        (2**63 - 1, "{d: input.l}", {"d": 2.0**63}, 0),
        (-(2**63), "{l: input.l}", {"l": -(2**63)}, 0),
        (7, "{l: Math.pow(2, 62)}", {"l": 2**62}, 0),
        (7, "{l: BigInt(2) ** 62n + 1n}", {"l": 2**62 + 1}, 0),
    ],
)
def test_numbers_beyond_2_to_53_are_doubles(number, expression, found, altered):
    """The results of longs are those of ``Double.parseDouble`` and ``Double.longValue``, run with Java."""
    properties = {
        "script": f"function transform(input, emitter) {{ emitter.emit({expression}); }}",
        "schema": str(ROUNDED),
    }

    output = StageTester(JavaScript, properties, record(l=Schema.LONG)).run([{"l": number}])

    assert output.records == [{"l": None, "s": None, "d": None} | found]
    assert sum(each.count for each in output.altered) == altered


@pytest.mark.parametrize("plugin", [ScriptFilter, Validator])
def test_records_that_are_only_tested_keep_their_digits(plugin):
    properties = {
        "script": "function shouldFilter(input) { input.l = 1; return false; }",
        "validationScript": "function isValid(input) { input.l = 1; return {isValid: true}; }",
        "validators": "core",
    }
    wanted = ["script"] if plugin is ScriptFilter else ["validationScript", "validators"]

    output = StageTester(
        plugin, {name: properties[name] for name in wanted}, record(l=Schema.LONG)
    ).run([{"l": 2**53 + 1}])

    assert output.records == [{"l": 2**53 + 1}]
    assert output.altered == []


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("input.s.length", "3"),
        ("input.s.indexOf('b')", "2"),
        ("input.s.charCodeAt(0)", "55357"),
        ("input.s.substring(2)", "b"),
        ("input.s.substr(-1)", "b"),
        ("input.s.split('').length", "3"),
        ("input.s.slice(0, 2)", "😀"),
        ("JSON.stringify(input.s)", '"😀b"'),
        ("input.s.toUpperCase()", "😀B"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("1 / 0", "Infinity"),
        ("-7 % 3", "-1"),
        ("7 / 2", "3.5"),
        ("'3' * '4'", "12"),
        ("'3' + 4", "34"),
        ("Math.round(-2.5)", "-2"),
        ("Math.round(2.5)", "3"),
        ("parseInt('08')", "8"),
        ("(25).toString(16)", "19"),
        ("(1.005).toFixed(2)", "1.00"),
        ("new Date(0).toISOString()", "1970-01-01T00:00:00.000Z"),
        ("Date.UTC(2020, 1, 29)", "1582934400000"),
        ("[10, 9, 1].sort()", "1,10,9"),
        ("null == undefined", "true"),
        ("NaN === NaN", "false"),
        ("typeof null", "object"),
    ],
)
def test_expressions_as_the_language_defines_them(expression, found):
    emitted = javascript(
        f"emitter.emit({{v: String({expression})}});",
        record(s=Schema.STRING),
        [{"s": "\U0001f600b"}],
        record(v=Schema.STRING),
    )

    assert emitted.records == [{"v": found}]


def test_numbers_that_json_cannot_hold():
    schema = record(d=Schema.DOUBLE, l=Schema.LONG)

    emitted = javascript(
        "if (input.d !== input.d) input.l = BigInt(2) ** 62n + 1n; emitter.emit(input);",
        schema,
        [{"d": math.nan, "l": 1}, {"d": -math.inf, "l": 2}],
    )

    assert math.isnan(emitted.records[0]["d"])
    assert emitted.records[0]["l"] == 2**62 + 1
    assert emitted.records[1] == {"d": -math.inf, "l": 2}


def test_what_a_script_sees_of_special_types():
    schema = record(day=Schema.DATE, x=Schema.BYTES, m=Schema.decimal(5, 2), l=Schema.LONG)
    given = {
        "day": datetime.date(1969, 12, 31),
        "x": b"\xff\x01",
        "m": decimal.Decimal("-0.01"),
        "l": 2**60 + 1,
    }

    emitted = javascript(
        "emitter.emit({seen: [input.day, '' + input.x, '' + input.m, typeof input.l].join(' ')});",
        schema,
        [given],
        output=record(seen=Schema.STRING),
    )

    assert emitted.records == [{"seen": "-1 -1,1 -1 number"}]


@pytest.mark.parametrize(
    ("type", "expression", "value"),
    [
        (Schema.INT, "3.0", 3),
        (Schema.INT, "3.9", 3),
        (Schema.INT, "-3.9", -3),
        (Schema.LONG, "'5' * 1", 5),
        (Schema.DOUBLE, "7", 7.0),
        (Schema.INT.as_nullable, "undefined", None),
        (Schema.STRING.as_nullable, "null", None),
        (Schema.BYTES, "[255, -1, 0]", b"\xff\xff\x00"),
        (Schema.BYTES, "new Uint8Array([1, 2])", b"\x01\x02"),
        (Schema.DATE, "18262", datetime.date(2020, 1, 1)),
        (Schema.DATE, "'2020-01-01'", datetime.date(2020, 1, 1)),
        (Schema.decimal(5, 2), "1.25", decimal.Decimal("1.25")),
        (Schema.union([Schema.INT, Schema.DOUBLE]), "3.5", 3.5),
        (Schema.union([Schema.INT, Schema.STRING]), "'3'", "3"),
        (Schema.STRING, "new String('boxed')", "boxed"),
        (Schema.TIMESTAMP, "new Date(1000)", datetime.datetime.fromtimestamp(1, datetime.UTC)),
    ],
)
def test_coercion_to_declared_types(type, expression, value):
    emitted = javascript(f"emitter.emit({{v: {expression}}});", output=record(v=type))

    assert emitted.records == [{"v": value}]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("emitter.emit({v: 5});", "field 'v' must be of type string, not 5"),
        ("emitter.emit({});", "field 'v' is null, but its schema does not allow null"),
        ("emitter.emit(5);", "TypeError: emit needs an object, not 5 (line 1)"),
        ("\n input.no.where;", "TypeError: Cannot read properties of undefined"),
        ("throw 'plain';", "plain"),
        (
            "emitter.emitError({errorMsg: 'x'});",
            "emitError needs an object with a number errorCode",
        ),
        ("context.getLookup('t').lookup('k');", "table 't' is not declared"),
        ("2 * 9007199254740993n;", "Cannot mix BigInt and other types"),
    ],
)
def test_failures_say_what_and_where(body, message):
    with pytest.raises(StageError) as error:
        javascript(body, output=record(v=Schema.STRING))
    assert error.value.message.startswith("Could not transform input: ")
    assert message in error.value.message


@pytest.mark.parametrize(
    ("type", "expression"),
    [
        (Schema.INT, "2147483648"),
        (Schema.INT, "NaN"),
        (Schema.LONG, "1e30"),
        (Schema.INT, "'3'"),
        (Schema.decimal(10, 2), "1 / 3"),
        (Schema.decimal(10, 2), "123456789"),
        (Schema.decimal(10, 2), "NaN"),
    ],
)
def test_numbers_that_do_not_fit_are_errors(type, expression):
    with pytest.raises(StageError, match="field 'v' must be of type"):
        javascript(f"emitter.emit({{v: {expression}}});", output=record(v=type))


def test_the_line_of_a_failure():
    script = "function transform(i, e, c) {\n  var a = null;\n  a.b;\n}"

    with pytest.raises(StageError, match=r"\(line 3\)"):
        run(JavaScript, {"script": script}, PERSON, [ANN])


@pytest.fixture
def engine():
    """Makes engines of scripts, which are closed after the test: each has a thread."""
    made = []

    def make(script, **limits):
        made.append(ScriptEngine(script, PERSON, PERSON, {}, **limits))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_an_endless_loop_is_stopped(engine):
    stuck = engine("function transform() { while (true) {} }", time_limit_s=0.2)

    with pytest.raises(ScriptError, match=r"worked on one record for more than 0\.2 seconds"):
        stuck.run('[{"name": "x"}]')


def test_memory_is_limited(engine):
    greedy = engine(
        "var kept = []; function transform() { while (true) kept.push(new Array(1e5).fill(1.5)); }",
        memory_bytes=64 * 2**20,
    )

    with pytest.raises(ScriptError, match="exceeded its memory limit"):
        greedy.run('[{"name": "x"}]')


def test_slow_scripts_hand_back_what_they_have(engine):
    slow = engine(
        "function transform(i, e) { var end = Date.now() + 300; while (Date.now() < end) {} e.emit(i); }",
        time_limit_s=60,
    )

    events, done = slow.run('[{"name": "a"}, {"name": "b"}, {"name": "c"}]')

    assert 1 <= done <= 2
    assert [event[1]["name"] for event in events] == ["a", "b"][:done]


def test_scripts_keep_their_variables_between_records():
    script = (
        "var n = 0; function transform(input, emitter) { input.age = ++n; emitter.emit(input); }"
    )

    emitted = run(JavaScript, {"script": script}, PERSON, [dict(ANN), dict(ANN)])

    assert [r["age"] for r in emitted.records] == [1, 2]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "function transform(i, e, c) {\n  e.emit(i;\n}",
            "Invalid script: SyntaxError: missing ) after argument list (line 2).",
        ),
        (
            "function main() {}",
            "Invalid script: it does not define a function 'transform(input, emitter, context)'.",
        ),
    ],
)
def test_invalid_scripts_are_found_when_configuring(script, message):
    failure = only_failure(configure(JavaScript, {"script": script}, PERSON))

    assert failure.message == message
    assert causes(failure) == [{"stageConfig": "script"}]


def test_configuring_runs_nothing_of_the_script():
    looping = "while (true) {} function transform() {}"

    stage = configure(JavaScript, {"script": looping}, PERSON)

    assert len(stage.failures) == 0


def test_schemas():
    same = configure(JavaScript, {"script": EMIT}, PERSON)
    other = configure(JavaScript, {"script": EMIT, "schema": str(EVERYTHING)}, PERSON)

    assert (same.output_schema, same.error_schema) == (PERSON, PERSON)
    assert (other.output_schema, other.error_schema) == (EVERYTHING, PERSON)


def test_lookup_must_be_json():
    failure = only_failure(configure(JavaScript, {"script": EMIT, "lookup": "x"}, PERSON))

    assert failure.message == "Invalid lookup config."
    assert "Expected a JSON object such as" in (failure.corrective_action or "")


def test_a_script_with_top_level_failure_names_it():
    with pytest.raises(StageError, match=r"Invalid script: Error: no \(line 1\)"):
        run(JavaScript, {"script": f"throw new Error('no'); {EMIT}"}, PERSON, [ANN])


def test_a_script_returns_its_record():
    script = """function transform(input, context) {
  return {name: input.name + context.getArguments().get('mark'), age: input.age + 1, more: 1};
}"""
    emitted = run(Script, {"script": script}, PERSON, [ANN, ANN], {"mark": "!"})

    assert emitted.records == [{"name": "Ann!", "age": 31}] * 2
    for body, problem in (("", "emit needs an object"), ("\n\nreturn input.a.b", "line 3")):
        with pytest.raises(ScriptError, match=problem):
            run(Script, {"script": f"function transform(input) {{{body}}}"}, PERSON, [ANN])
    wrong = configure(Script, {"script": "function transfer(input) {}"}, PERSON)
    assert only_failure(wrong).message.startswith("Invalid script: it does not define")


def test_a_script_that_cannot_be_loaded_leaves_no_thread():
    before = threading.active_count()

    with pytest.raises(ScriptError, match="Invalid script"):
        ScriptEngine("throw new Error('at once');", PERSON, PERSON, {})

    assert threading.active_count() == before
