"""Whatever a column holds, a directive gives rows or says what is wrong."""

from __future__ import annotations

import contextlib
import datetime
import math
from decimal import Decimal
from typing import Any

import pytest

from localcdap.api.directive import DirectiveError, ErrorRow
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.directive.rows import Row, RowContext
from localcdap.plugin_lib.jexl import EvaluationError
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from tests.plugin_lib.wrangler.directives.recipes import build_valid_directives

VALUES: list[Any] = [
    *(
        None,
        "",
        " ",
        "abc",
        "12",
        "a,b",
        '"x',
        "$5",
        "\ud800",
        "😀",
        "\x00",
        "x" * 100_000,
        "{",
        "<a>",
    ),
    *(0, -1, 2**70, True, 1.5, math.nan, math.inf, -math.inf, Decimal("1.5"), Decimal("NaN")),
    *(b"", b"\xff\x00", datetime.date(2020, 1, 1), datetime.time(1, 2)),
    datetime.datetime(2020, 1, 1),  # noqa: DTZ001
    datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
    datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
    *([], [1, None], [[1]], {}, {"a": 1}),
]
ELSEWHERE = ("invoke-http", "table-lookup", "data-model-map-column", "validate-standard")
"""Directives that ask other services, or none at all."""
NAMES = [name for name in load_shipped_directives().names if name not in ELSEWHERE]


class _NoMetrics:
    def count(self, name: str, delta: int = 1) -> None:
        pass


def _said(name: str) -> list[type[Exception]]:
    """Writers of JSON refuse what it has no word for with the message of the library."""
    return [ValueError] if name.startswith("write-as-json") else []


def _columns(directive: Any) -> set[str]:
    names = {"age", "a", "first", "last", "country", "count"}
    for declared in directive.arguments:
        given = getattr(directive, declared.attribute)
        if declared.kind is ArgumentKind.COLUMN and given is not None:
            names.add(given)
        elif declared.kind is ArgumentKind.COLUMNS and given is not None:
            names.update(given)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_any_value_gives_rows_or_an_error_that_says_what_is_wrong(name):
    for example in load_shipped_directives()[name].examples:
        (directive,) = build_valid_directives(example)
        context = RowContext(_NoMetrics(), {})
        directive.start(context)
        for value in VALUES:
            row = Row(dict.fromkeys(_columns(directive), value))
            with contextlib.suppress(DirectiveError, ErrorRow, EvaluationError, *_said(name)):
                assert all(isinstance(made, Row) for made in directive.expand(row, context))
        directive.end()
