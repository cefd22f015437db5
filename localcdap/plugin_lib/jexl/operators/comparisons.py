"""``==``, and what is less or greater."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from localcdap.plugin_lib.jexl.errors import fail, type_name
from localcdap.plugin_lib.jexl.operators.conversions import (
    to_boolean,
    to_decimal,
    to_double,
    to_long,
    to_text,
)

_WIDE: Final = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def compare(left: Any, right: Any) -> int:
    """Below, at or above 0. NaN is below all numbers and equals itself. Neither side is null."""
    kinds = (left.__class__, right.__class__)
    if Decimal in kinds:
        a: Any = to_decimal(left)
        b: Any = to_decimal(right)
    elif float in kinds:
        a, b = to_double(left), to_double(right)
        if a != a or b != b:
            return int(b != b) - int(a != a)
    elif kinds == (int, int):
        a, b = left, right
    elif int in kinds:
        a, b = _beside_whole(left), _beside_whole(right)
    elif str in kinds:
        a, b = to_text(left), to_text(right)
        if _WIDE.search(a) or _WIDE.search(b):  # Java orders by UTF-16 units
            a, b = (t.encode("utf-16-be", "surrogatepass") for t in (a, b))
    else:
        a, b = left, right
    try:
        return int(a > b) - int(a < b)
    except TypeError:
        fail(f"A {type_name(left)} cannot be compared with a {type_name(right)}")


def _beside_whole(value: Any) -> int:
    """What a whole number is compared with: read as a long, like the number itself."""
    return int(value) if value.__class__ is int else to_long(value)


def equals(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if left is None or right is None:
        return False
    if left.__class__ is bool or right.__class__ is bool:
        return to_boolean(left) == to_boolean(right)
    kinds = (left.__class__, right.__class__)
    if not (str in kinds or int in kinds or float in kinds or Decimal in kinds):
        return bool(left == right)
    return compare(left, right) == 0


def differs(left: Any, right: Any) -> bool:
    return not equals(left, right)


def less(left: Any, right: Any) -> bool:
    return left is not None and right is not None and compare(left, right) < 0


def greater(left: Any, right: Any) -> bool:
    return left is not None and right is not None and compare(left, right) > 0


def at_most(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) <= 0


def at_least(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return compare(left, right) >= 0
