"""English names of months and days, as patterns of dates show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def named(names: Sequence[str], index: int, width: int) -> str:
    """A name by the number of its pattern's letters: whole for four, one letter for five, else three."""
    name = names[index]
    return name if width == 4 else name[0] if width == 5 else name[:3]
