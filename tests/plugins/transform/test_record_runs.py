"""The parsers, splitters and scripts run on Spark, through the real planner."""

from __future__ import annotations

import pytest

from localcdap.api import Schema, StageError
from localcdap.testing import artifact_ref, run_stage
from tests.conftest import REPOSITORY
from tests.plugins.transform.support import record

pytestmark = pytest.mark.spark
CORE = REPOSITORY / "plugins_dir" / "core-plugins"
TRANSFORM = REPOSITORY / "plugins_dir" / "transform-plugins"
BODY = record("text", body=Schema.STRING.as_nullable)
FRUIT = record("fruit", name=Schema.STRING, price=Schema.FLOAT)


def test_csv_parser(spark):
    rows = ["Banana, 1.0\nApple, 2.0", '"broken', "Watermelon, 3.0"]

    made = run_stage(
        spark,
        artifact_ref(TRANSFORM, "transform", "CSVParser"),
        {"field": "body", "schema": str(FRUIT)},
        {"in": (BODY, [{"body": row} for row in rows])},
    )

    assert sorted((r["name"], r["price"]) for r in made.records) == [
        ("Apple", 2.0),
        ("Banana", 1.0),
        ("Watermelon", 3.0),
    ]
    ((error,), counts) = made.errors, made.counts
    assert (error["code"], error["record"]) == (31, {"body": '"broken'})
    assert (counts.in_, counts.out, counts.error) == (3, 3, 1)


def test_json_parser(spark):
    schema = record(a=Schema.LONG, tags=Schema.array(Schema.STRING))

    made = run_stage(
        spark,
        artifact_ref(TRANSFORM, "transform", "JSONParser"),
        {"field": "body", "schema": str(schema), "mapping": "a:$.x.a,tags:$.t"},
        {"in": (BODY, [{"body": '{"x": {"a": 1}, "t": ["q"]}'}, {"body": "{"}])},
    )

    assert made.records == [{"a": 1, "tags": ["q"]}]
    assert [error["code"] for error in made.errors] == [31]


def test_javascript(spark):
    script = """
    function transform(input, emitter, context) {
      if (input.price < 0) {
        emitter.emitError({errorCode: 7, errorMsg: 'negative', invalidRecord: input});
      } else {
        emitter.emit({name: input.name + context.getArguments().get('mark'), price: input.price * 2});
      }
    }
    """
    rows = [{"name": "a", "price": 1.5}, {"name": "b", "price": -1.0}]

    made = run_stage(
        spark,
        artifact_ref(CORE, "transform", "JavaScript"),
        {"script": script},
        {"in": (FRUIT, rows)},
        arguments={"mark": "!"},
    )

    assert made.records == [{"name": "a!", "price": 3.0}]
    assert [(e["code"], e["message"], e["record"]) for e in made.errors] == [
        (7, "negative", {"name": "b", "price": -1.0})
    ]
    assert (made.counts.in_, made.counts.out, made.counts.error) == (2, 1, 1)


@pytest.mark.parametrize(
    ("name", "script", "message"),
    [
        ("JavaScript", "function transform(i, e, c) {\n i.no.no }", r"undefined.*\(line 2\)"),
        ("PythonEvaluator", "def transform(r, e, c):\n    r['no']", r"KeyError: 'no' \(line 2\)"),
    ],
)
def test_a_failing_script_fails_the_run_naming_the_stage(spark, name, script, message):
    rows = [{"name": "a", "price": 1.5}]

    with pytest.raises(StageError, match=message) as error:
        run_stage(
            spark, artifact_ref(CORE, "transform", name), {"script": script}, {"in": (FRUIT, rows)}
        )
    assert error.value.stage == "stage"


def test_python_evaluator(spark):
    script = (
        "def transform(record, emitter, context):\n  record['price'] += 1; emitter.emit(record)"
    )

    made = run_stage(
        spark,
        artifact_ref(CORE, "transform", "PythonEvaluator"),
        {"script": script},
        {"in": (FRUIT, [{"name": "a", "price": 1.5}])},
    )

    assert made.records == [{"name": "a", "price": 2.5}]


def test_error_collector(spark):
    made = run_stage(
        spark,
        artifact_ref(CORE, "errortransform", "ErrorCollector"),
        {"messageField": "msg", "codeField": "code", "stageField": "node"},
        {"bad": (FRUIT, [{"record": {"name": "a", "price": 1.5}, "code": 5, "message": "no"}])},
    )

    assert made.records == [{"name": "a", "price": 1.5, "msg": "no", "code": 5, "node": "bad"}]


def test_null_field_splitter(spark):
    schema = record(a=Schema.INT.as_nullable)

    made = run_stage(
        spark,
        artifact_ref(TRANSFORM, "splittertransform", "NullFieldSplitter"),
        {"field": "a"},
        {"in": (schema, [{"a": 1}, {"a": None}, {"a": 3}])},
    )

    assert made.ports["null"] == [{"a": None}]
    assert sorted(r["a"] for r in made.ports["nonnull"]) == [1, 3]


@pytest.mark.parametrize("modify", ["true", "false"])
def test_union_splitter(spark, modify):
    union = Schema.union(
        [Schema.INT, Schema.STRING, record("Inner", x=Schema.LONG.as_nullable), Schema.NULL]
    )
    values = [5, "five", {"x": 5}, None, 6]

    made = run_stage(
        spark,
        artifact_ref(TRANSFORM, "splittertransform", "UnionSplitter"),
        {"unionField": "v", "modifySchema": modify},
        {"in": (record(v=union, n=Schema.INT), [{"v": v, "n": i} for i, v in enumerate(values)])},
    )

    found = {port: sorted([r["v"] for r in rows], key=str) for port, rows in made.ports.items()}
    assert found["int"] == [5, 6]
    assert found["string"] == ["five"]
    assert found["Inner"] == [{"x": 5}]
    assert found["null"] == [None]


def test_union_splitter_of_a_nullable_field(spark):
    made = run_stage(
        spark,
        artifact_ref(TRANSFORM, "splittertransform", "UnionSplitter"),
        {"unionField": "v"},
        {"in": (record(v=Schema.STRING.as_nullable), [{"v": "a"}, {"v": None}])},
        ports=["string"],
    )

    assert made.ports["string"] == [{"v": "a"}]
