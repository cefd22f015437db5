"""Results of rules as users read them, and their trend."""

from __future__ import annotations

import pytest

from localcdap.expectations.results import (
    collect_trends,
    create_result,
    describe_result,
    format_share,
)
from localcdap.expectations.rules import read_rules


def result(node, checked, violations=0):
    (rule,), _ = read_rules([node])
    return create_result("clean", rule, checked, violations)


NOT_NULL = {"rule": "not-null", "column": "email"}


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.04, "< 0.1 %"), (0.4, "0.4 %"), (2, "2 %"), (31.2, "31 %"), (99.7, "> 99 %")],
)
def test_a_share_is_never_rounded_to_none_or_all(share, text):
    assert format_share(share) == text


def test_results_are_described():
    assert describe_result(result(NOT_NULL, 1000)) == "held"
    assert describe_result(result(NOT_NULL, 0)) == "held"
    assert describe_result(result(NOT_NULL, 1000, 310)) == "31 % (310 of 1,000)"
    count = {"rule": "row-count", "min": 10}
    assert describe_result(result(count, 1200)) == "held, 1,200 rows"
    assert describe_result(result(count, 9)) == "9 rows"


def test_a_run_fails_above_what_is_allowed():
    rule = NOT_NULL | {"action": "fail", "allowedPercent": 2}

    assert not result(rule, 1000, 20).is_failure
    assert result(rule, 1000, 21).is_failure
    assert not result(NOT_NULL, 1000, 1000).is_failure
    assert result({"rule": "row-count", "max": 5, "action": "fail"}, 6).is_failure


def test_a_trend_says_how_the_last_run_differs():
    runs = [
        ("r1", 1, [result(NOT_NULL, 1000, 20), result({"rule": "row-count", "min": 1}, 1000)]),
        ("r2", 2, []),
        ("r3", 3, [result(NOT_NULL, 1000, 310), result({"rule": "row-count", "min": 1}, 5)]),
    ]

    nulls, rows = collect_trends(runs)

    assert nulls.runs == ["r1", "r3"]
    assert nulls.describe_change() == "nulls of email rose from 2 % to 31 %"
    assert rows.describe_change() == "rows fell from 1,000 to 5"
    assert [t.describe_change() for t in collect_trends(runs[:2])] == [None, None]
    assert [t.describe_change() for t in collect_trends([runs[0], runs[0]])] == [None, None]
