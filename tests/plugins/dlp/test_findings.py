"""Data about persons inside of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.plugin_lib.wrangler.semantic_types.findings import (
    ALL,
    CARD,
    EMAIL,
    IBAN,
    MAC,
    NATIONAL_ID,
    PHONE,
    find_in_text,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to ada@x.org. Or call", [("ada@x.org", EMAIL)]),
        ("<ada@x.org>,bob@y.de", [("ada@x.org", EMAIL), ("bob@y.de", EMAIL)]),
        ("card 4111 1111 1111 1111 of Ada", [("4111 1111 1111 1111", CARD)]),
        ("pay 4111111111111111 12", [("4111111111111111", CARD)]),
        ("IBAN DE89 3704 0044 0532 0130 00 is mine", [("DE89 3704 0044 0532 0130 00", IBAN)]),
        ("SSN 536-90-4399.", [("536-90-4399", NATIONAL_ID)]),
        ("call +49 30 1234567 now", [("+49 30 1234567", PHONE)]),
        ("(212) 555-2368", [("(212) 555-2368", PHONE)]),
        ("mac 00:1B:44:11:3A:B7", [("00:1B:44:11:3A:B7", MAC)]),
        ("on 2026-01-02 at 10.5, order 1234567, 4111 1111 1111 1112", []),
        ("", []),
    ],
)
def test_what_is_found(text: str, expected: list[tuple[str, str]]):
    found = find_in_text(text)
    assert [(text[each.start : each.end], each.type) for each in found] == expected


def test_only_the_types_that_are_asked_for():
    text = "ada@x.org 4111111111111111"
    assert [each.type for each in find_in_text(text, (CARD,))] == [CARD]
    assert find_in_text(text, ()) == []


@given(st.text("0123456789 +-().,@abX:\n", max_size=60))
def test_findings_are_in_order_and_apart(text: str):
    position = 0
    for found in find_in_text(text):
        assert position <= found.start < found.end <= len(text)
        assert found.type in ALL
        position = found.end
