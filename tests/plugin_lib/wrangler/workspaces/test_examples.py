"""By example: what the first candidate makes of texts that were not among the examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.workspaces.examples import Example, find_candidates
from localcdap.plugin_lib.wrangler.workspaces.tables import Column

MAILS = ["ada@example.com", "bob.b@mail.org", "c@x.de"]
CODES = ["AB-12 x", "CDE-7 y", "F-345 z"]
PRICES = ["$1,200.50", "$17", "€ 5.5"]
NAMES = ["Doe, John", "Roe, Jane", "Müller, Eva"]
DATES = ["31.12.2023", "01.02.2024"]


@pytest.mark.parametrize(
    ("texts", "wanted", "others"),
    [
        (MAILS, ["example.com"], [["mail.org"], ["x.de"]]),
        (MAILS, ["ada", "example.com"], [["bob.b", "mail.org"], ["c", "x.de"]]),
        (CODES, ["12"], [["7"], ["345"]]),
        (CODES, ["AB"], [["CDE"], ["F"]]),
        (PRICES, ["1200.50"], [["17"], ["5.5"]]),
        (NAMES, ["John Doe"], [["Jane Roe"], ["Eva Müller"]]),
        (NAMES, ["Doe", "John"], [["Roe", "Jane"], ["Müller", "Eva"]]),
        (DATES, ["2023-12-31"], [["2024-02-01"]]),
        (["  a b ", " c"], ["a b"], [["c"]]),
        (["x1", "y2"], ["id-x1"], [["id-y2"]]),
        (["2024/Q1/north", "2023/Q4/south"], ["north"], [["south"]]),
        (["2024/Q1/north", "2023/Q4/south"], ["2024", "Q1", "north"], [["2023", "Q4", "south"]]),
    ],
)  # fmt: skip
def test_the_first_candidate(texts: list[str], wanted: list[str], others: list[list[str]]) -> None:
    found = find_candidates("c", Column(list(texts)), [Example(texts[0], wanted)])
    best = found.candidates[0]
    assert best.rows == best.total == len(texts)
    made = {each.text: each.made for each in best.results}
    assert [made[text] for text in texts] == [wanted, *others], best.directives


def test_a_second_example_decides() -> None:
    texts = ["a-b-c", "d-e", "f-g-h-i"]
    first = find_candidates("c", Column(texts), [Example("a-b-c", ["c"])])
    assert first.question in ("d-e", "f-g-h-i")
    both = [Example("a-b-c", ["c"]), Example("f-g-h-i", ["i"])]
    second = find_candidates("c", Column(texts), both)
    made = {each.text: each.made for each in second.candidates[0].results}
    assert made["d-e"] == ["e"]


def test_what_cannot_be_made_has_no_candidates() -> None:
    column = Column(["abc", None, 3])
    assert find_candidates("c", column, [Example("abc", ["xyz", "q"])]).candidates == []
    assert find_candidates("c", column, [Example("abc", [""])]).candidates == []


@given(
    st.lists(st.text("aB9 -,'\"/\\${}()[].é", max_size=12), min_size=1, max_size=4),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_every_candidate_gives_the_examples(texts: list[str], start: int, end: int) -> None:
    wanted = texts[0][start:end]
    found = find_candidates("c", Column(list(texts)), [Example(texts[0], [wanted])])
    for each in found.candidates:
        assert {one.text: one.made for one in each.results}[texts[0]] == [wanted]
