"""Rules for the records of a stage.

A null fulfils every rule about a value: :class:`NotNull` is the rule about nulls, as in SQL. The records are
those that leave the stage; of a sink, those that reach it.
"""

from __future__ import annotations

import enum
from typing import ClassVar

import msgspec

KEY = "expectations"
"""The key of a stage in a document; CDAP, which knows no expectations, ignores it (``ETLStage``)."""
Bound = int | float | str
"""A number; of a text, a date or a time its text, such as ``2026-11-30``."""
Value = bool | int | float | str
_MOST_SHOWN = 48


class RuleAction(enum.StrEnum):
    """What a run does about violations."""

    COUNT = "count"
    """It counts them."""
    FAIL = "fail"
    """It counts them, and fails before its sinks' data is visible."""
    ERROR = "error"
    """It takes the records out, and makes them error records of the stage."""


class Rule(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
    tag_field="rule",
):
    """The base of the rules."""

    name: str = ""
    """A name that replaces the description; the trend of a rule goes by it."""
    action: RuleAction = RuleAction.COUNT
    allowed_percent: float = 0
    """With :attr:`RuleAction.FAIL`: the share of the records, in per cent, that may violate the rule."""

    is_of_values: ClassVar[bool] = True
    """Whether one record alone shows whether it violates the rule."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule names."""
        return ()

    @property
    def description(self) -> str:
        """What is expected, in a few words."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """The name of the rule, or else its description."""
        return self.name or self.description

    @property
    def violations_noun(self) -> str:
        """What a report calls violations of the rule."""
        return "violations"


class _ColumnRule(Rule, frozen=True, kw_only=True):
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


class NotNull(_ColumnRule, frozen=True, kw_only=True, tag="not-null"):
    """A column has no null."""

    @property
    def description(self) -> str:
        return f"{self.column} is not null"

    @property
    def violations_noun(self) -> str:
        return f"nulls of {self.column}"


class Unique(Rule, frozen=True, kw_only=True, tag="unique"):
    """No two records have the same values in some columns; a record with a null there is not compared.

    Of several records with the same values, all but one violate the rule.
    """

    columns_: tuple[str, ...] = msgspec.field(name="columns")
    is_of_values: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.columns_

    @property
    def description(self) -> str:
        verb = "is" if len(self.columns_) == 1 else "are"
        return f"{', '.join(self.columns_)} {verb} unique"

    @property
    def violations_noun(self) -> str:
        return f"repeated values of {', '.join(self.columns_)}"


class InRange(_ColumnRule, frozen=True, kw_only=True, tag="range"):
    """A value is not below a minimum and not above a maximum; NaN is in no range."""

    min: Bound | None = None
    max: Bound | None = None

    @property
    def description(self) -> str:
        if self.max is None:
            return f"{self.column} is at least {self.min}"
        if self.min is None:
            return f"{self.column} is at most {self.max}"
        return f"{self.column} is from {self.min} to {self.max}"


class MatchesPattern(_ColumnRule, frozen=True, kw_only=True, tag="regex"):
    """A whole text matches a regular expression of Java."""

    pattern: str

    @property
    def description(self) -> str:
        return f"{self.column} matches {_shorten(self.pattern)}"


class InSet(_ColumnRule, frozen=True, kw_only=True, tag="in-set"):
    """A value is one of some values."""

    values: tuple[Value, ...]

    @property
    def description(self) -> str:
        return f"{self.column} is one of {_shorten(', '.join(map(str, self.values)))}"


class Reference(_ColumnRule, frozen=True, kw_only=True, tag="reference"):
    """A value is in a column of a table of the namespace."""

    table: str
    key: str

    @property
    def description(self) -> str:
        return f"{self.column} is in {self.table}.{self.key}"


class MeetsCondition(Rule, frozen=True, kw_only=True, tag="row"):
    """A condition, an expression of JEXL as in recipes, is true; without a value it is not."""

    condition: str

    @property
    def description(self) -> str:
        return _shorten(self.condition)


class RowCount(Rule, frozen=True, kw_only=True, tag="row-count"):
    """The number of records is not below a minimum and not above a maximum.

    It counts as one violation, of one check.
    """

    min: int | None = None
    max: int | None = None
    is_of_values: ClassVar[bool] = False

    @property
    def description(self) -> str:
        if self.max is None:
            return f"at least {self.min:,} rows"
        if self.min is None:
            return f"at most {self.max:,} rows"
        return f"from {self.min:,} to {self.max:,} rows"


Expectation = (
    NotNull | Unique | InRange | MatchesPattern | InSet | Reference | MeetsCondition | RowCount
)
"""Any rule."""


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def explain_violation(rule: Rule) -> str:
    """Return the message of an error record that violates a rule."""
    return f"Expectation violated: {rule.label}"
