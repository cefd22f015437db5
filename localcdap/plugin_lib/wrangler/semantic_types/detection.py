"""Finds the semantic type of a column from a sample of its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Final

import msgspec

from localcdap.plugin_lib.wrangler.semantic_types.values import (
    is_address,
    is_card,
    is_email,
    is_iban,
    is_person_name,
    is_phone,
    is_plain_phone,
    list_countries,
)

MOST_VALUES: Final = 500
"""The distinct values that are looked at."""
_FIRST: Final = 6
"""The values that are looked at first."""
_FEWEST: Final = 5
"""Distinct values below which only the name of the column makes a finding."""
_MOST_OTHER: Final = 0.2
"""The share of values of another kind among those of a type whose single values prove much."""
_MOST_BY_CHANCE: Final = 0.05
"""The same for numbers with check digits: one of ten passes by chance."""
_NAMES: Final = {
    "email": r"e.?mail",
    "phone": r"phone|mobile|cell|telefon|telephone|\btel\b|handy|fax",
    "card": r"card|pan\b|kreditkarte",
    "iban": r"iban|bank.?account",
    "address": r"address|street|stra(?:ss|ß)e|adresse|anschrift|addr\b",
    "person-name": r"(?:first|last|given|family|middle|full|customer|person|employee|patient|contact)"
    r".?name|vorname|nachname|surname|forename",
    "national-id": r"\bssn\b|national.?id|personal.?(?:id|number)|tax.?id|citizen",
}
"""What the names of columns of a type contain; words are divided by ``_`` and by capital letters."""


class SemanticMatch(msgspec.Struct):
    """What the values of a column mean."""

    type: str
    """``email``, ``phone``, ``card``, ``iban``, ``national-id``, ``address`` or ``person-name``."""
    label: str
    """For people: ``IBAN``, ``national id (Germany)``."""
    share: float
    """The share of the distinct values that are of the type, above 0 and up to 1."""


def detect_semantic_type(name: str, values: Iterable[str]) -> SemanticMatch | None:
    """Return the semantic type of a column; None when its values are of no known one.

    The name of the column alone makes no finding: most of the values have the form of the type, too.

    :param values: texts of the column; blank ones do not count, repeated ones count once.
    """
    shown = list(dict.fromkeys(text for each in values if (text := each.strip())))[:MOST_VALUES]
    hints = _find_hints(name)
    if not shown or (len(shown) < _FEWEST and not hints):
        return None
    likely = {sign: _is_likely(sign, shown) for sign in set(_SIGNS.values())}
    for type, label, holds in _STRONG:
        if not likely[_SIGNS[type]]:
            continue
        match = _match(
            type, label, holds, shown, _MOST_BY_CHANCE if type == "card" else _MOST_OTHER
        )
        if match is not None:
            return match
    return _match_national_id(shown) or _match_by_name(hints, shown)


_STRONG: Final[tuple[tuple[str, str, Callable[[str], bool]], ...]] = (
    ("email", "e-mail", is_email),
    ("iban", "IBAN", is_iban),
    ("card", "payment card", is_card),
    ("phone", "phone number", is_phone),
    ("address", "postal address", is_address),
)


def _has_many_digits(text: str) -> bool:
    return len(_DIGITS.findall(text)) >= 6


_DIGITS: Final = re.compile(r"[0-9]")
_SIGNS: Final[dict[str, Callable[[str], bool]]] = {
    "email": lambda text: "@" in text,
    "iban": _has_many_digits,
    "card": _has_many_digits,
    "phone": _has_many_digits,
    "address": lambda text: " " in text and _DIGITS.search(text) is not None,
}
"""What a value of a type has at least, which takes less time to see."""
_BY_NAME: Final[tuple[tuple[str, str, Callable[[str], bool]], ...]] = (
    ("phone", "phone number", is_plain_phone),
    ("person-name", "person's name", is_person_name),
)


def _match(
    type: str, label: str, holds: Callable[[str], bool], values: list[str], most_other: float
) -> SemanticMatch | None:
    if not _is_likely(holds, values):
        return None
    share = sum(map(holds, values)) / len(values)
    return SemanticMatch(type, label, share) if share >= 1 - most_other else None


def _is_likely(holds: Callable[[str], bool], values: list[str]) -> bool:
    """Return whether half of the first values pass: most columns are of no type, and take no time."""
    first = values[:_FIRST]
    return 2 * sum(map(holds, first)) >= len(first)


def _match_national_id(values: list[str]) -> SemanticMatch | None:
    if not _is_likely(_has_many_digits, values):
        return None
    if not _is_likely(lambda value: bool(list_countries(value)), values):
        return None
    countries = Counter(country for value in values for country in list_countries(value))
    if not countries or len(values) < _FEWEST:
        return None
    country, count = countries.most_common(1)[0]
    share = count / len(values)
    if share < 1 - _MOST_BY_CHANCE:
        return None
    return SemanticMatch("national-id", f"national id ({country})", share)


def _match_by_name(hints: Collection[str], values: list[str]) -> SemanticMatch | None:
    for type, label, holds in _BY_NAME:
        if type in hints:
            match = _match(type, label, holds, values, _MOST_OTHER)
            if match is not None:
                return match
    return None


def _find_hints(name: str) -> set[str]:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", name).lower()
    return {type for type, pattern in _NAMES.items() if re.search(pattern, words)}
