"""The formats of files to which recipes are applied that read the column ``body``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localcdap.files.formats import FileInput
from localcdap.files.rows import RowReader
from localcdap.plugin_lib.wrangler.files.formats import detect_recipe_format


def read(path: Path, content: str, directive: str, **how: Any) -> list[Any]:
    """The rows of a file for a recipe whose first directive reads ``body``."""
    path.write_text(content, newline="")
    given = FileInput(str(path), **how)
    reader = RowReader(given, detect_recipe_format(given, (directive, True)))
    rows = list(reader)
    reader.close()
    return rows


@pytest.mark.parametrize("content", ["id;name\n1;2,5\n", "id,name,on\n1,Ann,2024-01-01\n"])
def test_a_recipe_that_parses_a_table_gets_its_lines(tmp_path: Path, content: str) -> None:
    lines = [{"body": line} for line in content.splitlines()]
    assert read(tmp_path / "a.txt", content, "parse-as-csv") == lines


@pytest.mark.parametrize(
    ("name", "content", "directive", "expected"),
    [
        ("a.csv", "x,y\n1,2\n", "parse-as-csv", ["x,y", "1,2"]),
        ("a.json", '{"a":1}\n{"a":2}', "parse-as-json", ['{"a":1}', '{"a":2}']),
        ("a.json", '[\n{"a":1}\n]', "parse-as-json", ['[\n{"a":1}\n]']),
        ("a.xml", "<a>\n<b/>\n</a>", "parse-as-xml", ["<a>\n<b/>\n</a>"]),
        ("a.xml", "<a>1</a>\n<a>2</a>", "parse-as-xml", ["<a>1</a>", "<a>2</a>"]),
        ("a.log", "one\r\ntwo", "parse-as-log", ["one", "two"]),
        ("a.hl7", "MSH|1\rPID|2\r", "parse-as-hl7", ["MSH|1\rPID|2\r"]),
        ("a.xls", "anything", "parse-as-excel", [b"anything"]),
    ],
)
def test_a_recipe_that_parses_the_body_gets_it(
    tmp_path: Path, name: str, content: str, directive: str, expected: list[Any]
) -> None:
    assert [row["body"] for row in read(tmp_path / name, content, directive)] == expected


def test_a_column_of_values_may_be_called_body(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "id,body\n1,x\n", "uppercase") == [{"id": "1", "body": "x"}]


def test_lines_may_be_left_out_of_those_that_a_recipe_gets(tmp_path: Path) -> None:
    content = '{"made": "by a program"}\n{"a": 1}\n'
    assert read(tmp_path / "a.json", content, "parse-as-json", skip_lines=1) == [
        {"body": '{"a": 1}'}
    ]


@pytest.mark.parametrize("directive", ["uppercase", "parse-as-json", "parse-as-excel"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"id":1}\n{"id":2,"Body":"x"}\n'),
        ("a.json", '[{"id":1},{"id":2,"Body":"x"}]'),
        ("a.tsv", "id\tBody\n1\t\n2\tx\n"),
    ],
)
def test_a_file_that_has_the_column_keeps_its_columns(
    tmp_path: Path, name: str, content: str, directive: str
) -> None:
    rows = read(tmp_path / name, content, directive)
    assert [row.get("Body") for row in rows] == [None, "x"]
    assert [str(row["id"]) for row in rows] == ["1", "2"]
