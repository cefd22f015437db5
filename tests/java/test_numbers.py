"""Numbers as Java has them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from localcdap.java.numbers import is_number


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, True),
        (1.5, True),
        (float("nan"), True),
        (Decimal("1.50"), True),
        (True, False),
        (False, False),
        ("1", False),
        (b"1", False),
        (None, False),
    ],
)
def test_what_is_a_number(value, expected):
    assert is_number(value) is expected
