"""How to protect the values of a semantic type: directives that mask, and tags for the field.

The field lineage knows the results of these directives to be masked, so that tags do not go on with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from localcdap.plugin_lib.wrangler.semantic_types.detection import detect_semantic_type
from localcdap.workspace_views import ColumnMeaning, PrivacyHint

PII: Final = "pii"
"""The tag of every field with data about persons."""
_MASKED: Final = ("card", "iban", "phone", "national-id")
"""The types of which the last characters may show."""
_SHOWN: Final = 4
_MOST_OTHER: Final = 0.1
"""The share of values of another form, which a mask would cut."""


def find_meaning(name: str, values: Sequence[str]) -> ColumnMeaning | None:
    """Return what texts of a column mean; None when that is not known."""
    found = detect_semantic_type(name, values)
    if found is None:
        return None
    hints = list_privacy_hints(found.type, "{c}", values)
    return ColumnMeaning(found.type, found.label, found.share, hints, list_tags(found.type))


def list_privacy_hints(type: str, column: str, values: Sequence[str]) -> list[PrivacyHint]:
    """Return the directives for a column of a semantic type, the most useful one first.

    :param type: see :class:`.detection.SemanticMatch`.
    :param column: a name that directives can write without quotes.
    :param values: a sample of the column, from which the mask gets its form.
    """
    hints = [
        PrivacyHint("Hash", f"hash :{column} 'SHA-256' true"),
        PrivacyHint("Shuffle the characters", f"mask-shuffle :{column}"),
    ]
    mask = build_mask(values) if type in _MASKED else None
    if mask is not None:
        masked = PrivacyHint(
            f"Mask all but the last {_SHOWN} characters", f"mask-number :{column} '{mask}'"
        )
        hints.insert(0, masked)
    return hints


def list_tags(type: str) -> list[str]:
    """Return the tags for a field of a semantic type."""
    return [PII, type]


def build_mask(values: Sequence[str]) -> str | None:
    """Return the mask of the directive ``mask-number`` for values of one form; None when forms differ.

    >>> build_mask(["4111-1111-1111-1111"])
    'xxxx-xxxx-xxxx-####'
    """
    if not values:
        return None
    form, count = Counter(map(_mask, values)).most_common(1)[0]
    is_safe = form.isprintable() and not set(form) & {"'", "\\"}
    return form if is_safe and count >= (1 - _MOST_OTHER) * len(values) else None


def _mask(value: str) -> str:
    hidden = sum(map(str.isalnum, value)) - _SHOWN
    signs = []
    for character in value:
        if character.isalnum():
            signs.append("x" if hidden > 0 else "#")
            hidden -= 1
        else:
            signs.append(character)
    return "".join(signs)
