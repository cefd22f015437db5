"""What the values of a column mean, as the plugin found it: the line of the panel, and what protects it."""

from __future__ import annotations

import msgspec

from localcdap.expectations.results import format_share

COLUMN = "{c}"
"""Stands in a directive for the name of the column."""


class PrepHint(msgspec.Struct):
    """A directive that protects the values."""

    label: str
    directive: str


class PrepMeaning(msgspec.Struct):
    """The semantic type of a column; see the plugin method ``workspace``."""

    type: str
    label: str
    share: float
    hints: list[PrepHint] = []
    tags: list[str] = []


def format_meaning(meaning: PrepMeaning) -> str:
    """Return the line of the panel: ``looks like IBAN (98 %)``."""
    return f"looks like {meaning.label} ({format_share(100 * meaning.share)})"


def list_directives(meaning: PrepMeaning, column: str) -> list[tuple[str, str]]:
    """Return labels and directives for a column."""
    return [(each.label, each.directive.replace(COLUMN, column)) for each in meaning.hints]
