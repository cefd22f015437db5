"""Test files as people write them, and everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline_tests.model import Expectation, ExpectedFailure, Records
from localcdap.pipeline_tests.reader import check_stages, find_tests, read_test

DEMO = Path(__file__).parents[2] / "data" / "demo"


def read(folder: Path, text: str, suffix: str = ".test.toml"):
    (folder / "p.json").write_text("{}")
    file = folder / f"one{suffix}"
    file.write_text(text)
    golden, mistakes = read_test(file)
    return golden, [(each.line, each.key, each.message) for each in mistakes]


def test_everything_that_can_be_said(tmp_path: Path):
    (tmp_path / "c.csv").write_text('id,name\n1,"a, b"\n2,\n')
    (tmp_path / "e.jsonl").write_text('{"id": 1}\n\n{"id": 2}\n')
    golden, mistakes = read(
        tmp_path,
        """
pipeline = "p.json"
description = "d"
start = 2026-01-02T03:04:05Z
skip = ["Move"]
records = 5
timeout = 1.5
[arguments]
day = "x"
limit = 3
[decisions]
"Is it" = false
[given]
A = "c.csv"
"B.errors" = [{ record = { on = 2026-01-02 }, code = 1 }]
[expect]
C = 2
D = []
[expect."E x"]
records = "e.jsonl"
ordered = true
tolerance = 0.1
fields = "named"
key = ["id"]
[fails]
when = "run"
stage = "C"
message = "m"
""",
    )

    assert mistakes == []
    assert golden is not None
    assert golden.name == "one"
    assert golden.pipeline == tmp_path / "p.json"
    assert golden.start_ms == 1767323045000
    assert golden.arguments == {"day": "x", "limit": "3"}
    assert golden.given["A"].records == [{"id": "1", "name": "a, b"}, {"id": "2", "name": ""}]
    assert golden.given["A"].are_text
    assert golden.given["B.errors"].records == [{"record": {"on": "2026-01-02"}, "code": 1}]
    assert golden.expect["C"] == Expectation(count=2)
    assert golden.expect["D"] == Expectation(records=Records([]))
    assert golden.expect["E x"].records == Records(
        [{"id": 1}, {"id": 2}], file=tmp_path / "e.jsonl"
    )
    assert golden.expect["E x"].named_only
    assert golden.fails == ExpectedFailure("m", "C", "run")
    assert (golden.skip, golden.decisions) == (["Move"], {"Is it": False})
    assert (golden.records, golden.timeout_s) == (5, 1.5)


def test_every_mistake_has_its_line_and_key(tmp_path: Path):
    (tmp_path / "bad.csv").write_text("a,b\n1\n")
    _, mistakes = read(
        tmp_path,
        """pipeline = "q.json"
timeout = -1
[argument]
x = "1"
[given]
In = "bad.csv"
More = [1, { a = 1 }]
Lost = "lost.json"
[expect]
Parse.errors = 1
Out = true
[expect.Sum]
ordered = "yes"
tolerance = -1
[fails]
when = "never"
""",
    )

    assert mistakes == [
        (3, "argument", "there is no such key. Did you mean 'arguments'?"),
        (1, "pipeline", f"there is no file {tmp_path / 'q.json'}."),
        (6, "given.In", f"{tmp_path / 'bad.csv'}:2: 1 values, but 2 columns."),
        (7, "given.More", "a record must be an object; this is not the case for number 1."),
        (8, "given.Lost", f"there is no file {tmp_path / 'lost.json'}."),
        (
            10,
            "expect.Parse.errors",
            'there is no such key. For an output of a stage write "Parse.errors".',
        ),
        (10, "expect.Parse", "'records' or 'count' is missing."),
        (11, "expect.Out", "expected an array of records or the name of a file, not true."),
        (12, "expect.Sum", "'records' or 'count' is missing."),
        (13, "expect.Sum.ordered", 'expected true or false, not "yes".'),
        (14, "expect.Sum.tolerance", "expected a number that is not negative, not -1."),
        (16, "fails.when", 'expected "validation" or "run", not "never".'),
        (2, "timeout", "expected a number of seconds above 0, not -1."),
    ]


@pytest.mark.parametrize(
    ("text", "suffix", "line", "part"),
    [
        ("a = ", ".test.toml", 1, "not valid TOML"),
        ("{\n  x}", ".test.json", 2, "not valid JSON"),
        ("[]", ".test.json", 1, "expected an object"),
        ("", ".test.toml", 1, "the pipeline is missing"),
        ('pipeline = "p.json"', ".test.toml", 1, "expects nothing"),
    ],
)
def test_files_that_are_no_tests(tmp_path: Path, text: str, suffix: str, line: int, part: str):
    _, mistakes = read(tmp_path, text, suffix)

    assert (mistakes[0][0], part in mistakes[0][2]) == (line, True)


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    max_leaves=8,
)
KEYS = [
    "pipeline",
    "arguments",
    "given",
    "skip",
    "decisions",
    "expect",
    "fails",
    "start",
    "records",
    "x",
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_content_is_a_test_or_has_mistakes(tmp_path: Path, content: dict):
    import json

    golden, mistakes = read(tmp_path, json.dumps(content), ".test.json")

    assert golden is not None
    assert mistakes or golden.pipeline or golden.application


def test_stages_are_looked_up_in_the_pipeline(tmp_path: Path):
    file = tmp_path / "t.test.toml"
    file.write_text(
        f"""pipeline = "{DEMO / "pipeline.json"}"
skip = ["Parse"]
[decisions]
Amount = true
[given]
Purchase = []
Customers = []
[expect]
Customers = 1
"Parse.errors" = 1
Nowhere = 1
"""
    )
    golden, none = read_test(file)
    assert golden is not None
    assert none == []

    mistakes = check_stages(golden, read_document((DEMO / "pipeline.json").read_text()))

    assert [(each.line, each.key) for each in mistakes] == [
        (6, "given.Purchase"),
        (9, "expect.Customers"),
        (11, "expect.Nowhere"),
        (2, "skip"),
        (4, "decisions.Amount"),
    ]
    assert "Did you mean 'Purchases'?" in mistakes[0].message


def test_tests_are_found_in_folders(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/x.test.toml", "a/b/y.test.json", "a/pipeline.json"):
        (tmp_path / name).write_text("")

    found = find_tests([tmp_path, tmp_path / "a" / "x.test.toml"])

    assert [each.name for each in found] == ["y.test.json", "x.test.toml"]
    with pytest.raises(BadRequestError, match="not a test file"):
        find_tests([tmp_path / "a" / "pipeline.json"])
