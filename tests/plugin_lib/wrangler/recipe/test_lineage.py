"""What is known of the fields of a recipe, and that it is true of the rows."""

from __future__ import annotations

import datetime
import random
import re
from typing import Any

import pytest

from localcdap.api.directive.rows import Columns
from localcdap.api.lineage import EdgeKind, LineageRecorder
from localcdap.api.schema import Schema
from localcdap.api.stage import StageConfigurer
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import build_directives, load_recipe
from localcdap.plugin_lib.wrangler.recipe.lineage import RecipeLineage
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.plugin_lib.wrangler.recipe.spark_frame import SENT

RECORDS = "*"


def follow(
    recipe: str, inputs: list[str], outputs: list[str], *, drops_failing: bool = False
) -> LineageRecorder:
    stage = StageConfigurer("s", {"in": Schema.record("r", [(n, Schema.STRING) for n in inputs])})
    stage.output_schema = Schema.record("o", [(name, Schema.STRING) for name in outputs])
    recorder = LineageRecorder(stage)
    columns = Columns([(name, None) for name in inputs])
    lineage = RecipeLineage(
        recorder, columns, {name: [name] for name in inputs}, drops_failing=drops_failing
    )
    lineage.follow(load_recipe(recipe).steps)
    lineage.finish(stage.output_schema)
    return recorder


def list_sources(recorder: LineageRecorder) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for edge in recorder.list_edges():
        found.setdefault(edge.field or RECORDS, set()).add(edge.source)
    return found


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("rename :a :x", {"x": "a", "b": "b"}),
        ("swap :a :b", {"a": "b", "b": "a"}),
        ("swap :a :b; uppercase :a; rename :a :x", {"x": "b", "b": "a"}),
        ("copy :a :x; drop :a", {"x": "a", "b": "b"}),
        ("merge :a :b :x ','; drop :b", {"a": "a", "x": "ab"}),
        ("set-column :a exp:{b + 1}", {"a": "b", "b": "b"}),
        ("set-column :x exp:{a + c.d}; keep :x", {"x": "ac"}),
        ("set-variable v exp:{a}; set-column :x exp:{v + b}; keep :x", {"x": "ab"}),
        ("increment-variable v 1 exp:{a > 1}; set-column :b v", {"a": "a", "b": "a"}),
        ("filter-row exp:{a > 1} true", {"a": "a", "b": "b", "*": "a"}),
        ("filter-row exp:{c > 1} true; drop :c", {"a": "a", "b": "b", "*": "c"}),
        ("send-to-error exp:{b == 1}; keep :a", {"a": "a", "*": "b"}),
        ("parse-as-csv :a ','; keep :a_1", {"a_1": "a", "*": "a"}),
        ("parse-as-csv :a ','; set-headers :x,:b,:c,:y; keep :y", {"y": "abc", "*": "a"}),
        (
            "parse-as-json :a 1; set-column :x exp:{a_name}",
            {"x": "a", "b": "b", "a": "a", "*": "a"},
        ),
        ("split-to-rows :a ','", {"a": "a", "b": "b", "*": "a"}),
        ("split-to-columns :a ','; keep :a_1,:b", {"a_1": "a", "b": "b", "*": "a"}),
        ("write-as-json-map :x; keep :x", {"x": "abc"}),
        ("columns-replace s/^/p_/", {"p_a": "a", "p_b": "b"}),
        ("generate-uuid :a; keep :a", {}),
        ("hash :a 'MD5'; copy :a :x; keep :x", {"x": "a"}),
        ("uppercase :a; drop :a; set-column :a exp:{b}", {"a": "b", "b": "b"}),
        ("rename :a :x; set-column :a exp:{'c'}", {"x": "a", "b": "b"}),
    ],
)
def test_sources_of_columns(recipe: str, expected: dict[str, str]) -> None:
    outputs = [name for name in {"a": "", "b": ""} | expected if name != RECORDS]
    found = list_sources(follow(recipe, ["a", "b", "c"], outputs))
    shown = {field: "".join(sorted(sources)) for field, sources in found.items()}
    assert shown == expected


def test_kinds() -> None:
    recorder = follow(
        "copy :a :kept; uppercase :b; hash :c 'MD5'; filter-row exp:{a == 'x'} true",
        ["a", "b", "c"],
        ["kept", "b", "c"],
    )
    found = {(e.source, e.field): (e.kind, e.masking) for e in recorder.list_edges()}
    assert found == {
        ("a", "kept"): (EdgeKind.TRANSFORMATION, False),  # its type is not known here
        ("b", "b"): (EdgeKind.TRANSFORMATION, False),
        ("c", "c"): (EdgeKind.TRANSFORMATION, True),
        ("a", None): (EdgeKind.FILTER, False),
    }


def test_operations_are_those_of_the_directives() -> None:
    recorder = follow(
        "rename :a :x; drop :b; merge :x :c :y ','", ["a", "b", "c", "d"], list("xyd")
    )
    assert [
        (each.name, each.description, each.input_fields, each.output_fields)
        for each in recorder.operations
    ] == [
        ("operation_0", "rename :a :x", ["a"], ["x"]),
        ("operation_1", "drop :b", ["b"], []),
        ("operation_2", "merge :x :c :y ','", ["c", "x"], ["y"]),
        ("operation_3", "Mapping column 'd' to column 'd'", ["d"], ["d"]),
    ]


def test_after_a_macro_everything_is_assumed() -> None:
    recorder = follow("rename :a ${name}; uppercase :b", ["a", "b"], ["a", "b"])
    assert {(e.source, e.field, e.assumed) for e in recorder.list_edges()} == {
        (source, field, True) for source in "ab" for field in ("a", "b", None)
    }


EXAMPLES = [
    example
    for name in load_shipped_directives().names
    for example in load_shipped_directives()[name].examples
]
MORE = [
    "set-variable v exp:{a}; set-column :b exp:{v + c}",
    "increment-variable v 2 exp:{a == '12'}; set-column :b v",
    "parse-as-csv :a ','; drop :a; fill-null-or-empty :a_2 'none'; merge :a_1 :b :c '-'",
    "parse-as-json :a 1; rename :a_a :b",
    "send-to-error-and-continue exp:{a == '12'} 'x'; set-column :b dq_failure",
    "split-to-rows :a ','; find-and-replace :a s/x/y/; copy :a :c true; drop :a",
]
VALUES: list[Any] = [
    None,
    "",
    "a",
    "abc def",
    "12",
    "-3.5",
    "true",
    "2020-01-02",
    "03/04/2021",
    "x,y,z",
    "x\ty\nz",
    "a@b.com",
    "http://e.com/a?q=1",
    "$1,234.50",
    '{"a":1,"b":[1,2]}',
    '[{"a":1},{"a":2}]',
    "<a><b>1</b><b>2</b></a>",
    "MSH|^~\\&|A|B|C|D|2020||ADT^A01|1|P|2.3\rPID|1||5",
    '127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 23',
    5,
    2**40,
    1.5,
    True,
    b"abc",
    datetime.datetime(2021, 5, 6, 7, 8, tzinfo=datetime.UTC),
    datetime.datetime(2021, 5, 6, 7, 8),
    datetime.date(2022, 2, 3),
    {"a": 1, "x": "y"},
    [1, 2],
]


def run(recipe: str, row: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The rows that a row becomes, none of those that are sent to the error port; None for a failing one."""
    executor = RecipeExecutor(
        build_directives(load_recipe(recipe).recipe.calls, [], lambda *_: None), {}
    )
    executor.start()
    made = executor.run(dict(row))
    executor.end()
    if isinstance(made, RowFailure):
        return [] if made.kind == SENT else None
    return [dict(each) for each in made]


def find_changes(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> set[str]:
    if len(before) != len(after):
        return {RECORDS}
    pairs = list(zip(before, after, strict=True))
    names = {name for row in (*before, *after) for name in row}
    return {name for name in names if any(repr(a.get(name)) != repr(b.get(name)) for a, b in pairs)}


@pytest.mark.parametrize("recipe", [*EXAMPLES, *MORE])
@pytest.mark.parametrize("drops_failing", [False, True])
def test_what_a_column_does_not_influence_stays_when_it_changes(
    recipe: str, drops_failing: bool
) -> None:
    if load_recipe(recipe).errors:
        pytest.skip("the recipe needs files that are not here")
    chance = random.Random(recipe)
    inputs = list(dict.fromkeys([*re.findall(r"[:{ (](\w+)", recipe), "unrelated"]))[-8:]
    for _ in range(25):
        row = {name: chance.choice(VALUES) for name in inputs}
        changed = chance.choice(inputs)
        before = run(recipe, row)
        after = run(recipe, row | {changed: chance.choice(VALUES)})
        again = run(recipe, row)  # last: a clock that ticked before `after` has ticked here too
        if repr(before) != repr(again) or (not drops_failing and None in (before, after)):
            continue  # random or of the time by nature, or the whole run fails
        changes = find_changes(before or [], after or [])
        outputs = sorted({n for each in (*(before or []), *(after or [])) for n in each})
        recorder = follow(recipe, inputs, outputs or ["none"], drops_failing=drops_failing)
        sources = list_sources(recorder)
        for name in changes - {RECORDS}:
            named = sources.get(name, set()) | sources.get(RECORDS, set())
            assert changed in named, (recipe, row, changed, name)
        assert RECORDS not in changes or changed in sources.get(RECORDS, set()), (
            recipe,
            row,
            changed,
        )
