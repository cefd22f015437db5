from __future__ import annotations

from localcdap.pipeline.comparison import compare_pipelines
from localcdap.pipeline.document.reader import read_document
from localcdap.tui.screens.library.comparison import (
    format_differences,
    summarize_comparison,
)
from tests.e2e.pipelines import pipeline, stage


def compare(first: list, second: list, *connections: tuple[str, str]) -> tuple[str, list[str]]:
    one = read_document(pipeline(first, *connections[:1]))
    other = read_document(pipeline(second, *connections[1:]))
    comparison = compare_pipelines(one, other)
    return summarize_comparison(comparison), [
        block.plain for block in format_differences(comparison)
    ]


def test_equal_pipelines_have_no_differences():
    assert compare(
        [stage("A", "transform", "P", a="1")], [stage("A", "transform", "P", a="1")]
    ) == (
        "No differences.",
        [],
    )


def test_values_stand_below_each_other():
    summary, (block,) = compare(
        [stage("A", "transform", "P", a="one two", b="x")],
        [stage("A", "transform", "P", a="one three", c="y")],
    )
    assert summary == "1 stage changed"
    assert block.splitlines() == [
        "~ A  transform P",
        "  ~ a:",
        "      - one two",
        "      + one three",
        "  - b: x",
        "  + c: y",
    ]


def test_texts_of_many_lines_show_the_lines_that_differ():
    lines = [f"line {i}" for i in range(20)]
    changed = [*lines[:10], "another", *lines[11:]]
    _, (block,) = compare(
        [stage("A", "transform", "P", script="\n".join(lines))],
        [stage("A", "transform", "P", script="\n".join(changed))],
    )
    shown = [line.strip() for line in block.splitlines()]
    assert "- line 10" in shown
    assert "+ another" in shown
    assert "line 9" in shown
    assert "line 3" not in shown


def test_stages_and_connections_that_come_and_go():
    a, b, c = (stage(name, "transform", f"P{name}") for name in "ABC")
    summary, blocks = compare([a, b], [a, c], ("A", "B"), ("A", "C"))
    assert summary == "1 stage added · 1 stage removed · 2 connections changed"
    assert blocks[:2] == ["- B  transform PB", "+ C  transform PC"]
    assert blocks[2].splitlines() == ["connections", "  - A → B", "  + A → C"]
