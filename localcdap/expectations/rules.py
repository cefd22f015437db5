"""Rules for the records of a stage, and how they are read from plain JSON, with every problem at once.

A null fulfils every rule about a value: :class:`NotNull` is the rule about nulls, as in SQL. The records are
those that leave the stage; of a sink, those that reach it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, cast

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.decoders import convert, decode_json
from localcdap.java.regex import RegexError, compile_regex
from localcdap.text import format_available, nearest_name

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


_KINDS: Final[Mapping[str, type[Rule]]] = {
    "not-null": NotNull,
    "unique": Unique,
    "range": InRange,
    "regex": MatchesPattern,
    "in-set": InSet,
    "reference": Reference,
    "row": MeetsCondition,
    "row-count": RowCount,
}
_WHOLE: Final = 100


class RuleProblem(NamedTuple):
    """What is wrong with a rule, and what to do."""

    message: str
    action: str


def read_rules(node: Any) -> tuple[list[Expectation], list[RuleProblem]]:
    """Return the rules of a list, and the problems of what is not a rule.

    :param node: decoded JSON; None for no rules.
    """
    if node is None:
        return [], []
    if not isinstance(node, list):
        return [], [RuleProblem("Expectations must be a list.", "Put them in brackets.")]
    rules: list[Expectation] = []
    problems: list[RuleProblem] = []
    for number, each in enumerate(node, start=1):
        found = _read_rule(each)
        if isinstance(found, RuleProblem):
            problems.append(RuleProblem(f"Expectation {number}: {found.message}", found.action))
        elif any(found.label == other.label for other in rules):
            message = f"Expectation {number}: there is another one '{found.label}'."
            problems.append(RuleProblem(message, "Remove it, or give it a 'name' of its own."))
        else:
            rules.append(found)
    return rules, problems


def parse_rules(text: str | bytes) -> list[Expectation]:
    """Return the rules in a JSON text: a list, or an object with the key ``expectations``.

    :raises BadRequestError: with every problem.
    """
    try:
        node = decode_json(text)
    except msgspec.DecodeError as error:
        raise BadRequestError(
            f"The expectations are not JSON: {error}.", 'Write [{"rule": …}, …].'
        ) from None
    if isinstance(node, dict):
        node = node.get("expectations")
    rules, problems = read_rules(node)
    if problems:
        raise BadRequestError(
            "\n".join(each.message for each in problems),
            "\n".join(dict.fromkeys(each.action for each in problems)),
        )
    return rules


def to_json(rules: list[Expectation]) -> list[Any]:
    """Return rules as decoded JSON, in the form in which documents have them."""
    found: list[Any] = msgspec.to_builtins(rules)
    return found


def _read_rule(node: Any) -> Expectation | RuleProblem:
    if not isinstance(node, dict):
        return RuleProblem("it must be an object.", 'Write {"rule": …, …}.')
    kind = node.get("rule")
    cls = _KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        return _explain_kind(kind)
    names = [field.encode_name for field in msgspec.structs.fields(cls)]
    unknown = [key for key in node if key != "rule" and key not in names]
    if unknown:
        near = nearest_name(unknown[0], names)
        action = f"Did you mean '{near}'?" if near else f"It may have: {', '.join(names)}."
        return RuleProblem(f"'{kind}' has no '{unknown[0]}'.", action)
    try:
        rule: Expectation = convert(node, cast(Any, cls))
    except msgspec.ValidationError as error:
        return _explain_value(str(error), names)
    return _find_problem(rule) or rule


def _explain_kind(kind: Any) -> RuleProblem:
    kinds = ", ".join(_KINDS)
    if not isinstance(kind, str):
        return RuleProblem("'rule' must say what is expected.", f"Write one of: {kinds}.")
    near = nearest_name(kind, _KINDS)
    return RuleProblem(
        f"there is no rule '{kind}'.",
        f"Did you mean '{near}'?" if near else f"The rules are: {format_available(kind, _KINDS)}.",
    )


def _explain_value(text: str, names: list[str]) -> RuleProblem:
    """Return the problem for an error of msgspec, which names the place as ``$.name``."""
    missing = re.search(r"missing required field `(\w+)`", text)
    if missing:
        return RuleProblem(f"'{missing[1]}' is missing.", f"It may have: {', '.join(names)}.")
    place = re.search(r"`\$\.(\w+)", text)
    if place is not None and place[1] == "action":
        actions = ", ".join(RuleAction)
        return RuleProblem("'action' is none that there is.", f"Write one of: {actions}.")
    where = f"'{place[1]}': " if place else ""
    return RuleProblem(f"{where}{text.partition(' - at')[0]}.", "Correct the value.")


def _find_problem(rule: Rule) -> RuleProblem | None:
    if rule.allowed_percent and rule.action is not RuleAction.FAIL:
        return RuleProblem(
            "'allowedPercent' needs the action 'fail'.", "Remove it, or change the action."
        )
    if not 0 <= rule.allowed_percent <= _WHOLE:
        return RuleProblem("'allowedPercent' is not from 0 to 100.", "Correct the value.")
    if any(not column for column in rule.columns):
        return RuleProblem("a column without a name.", "Name the column.")
    match rule:
        case InRange() | RowCount():
            return _find_problem_of_bounds(rule)
        case Unique() if not rule.columns:
            return RuleProblem("'columns' is empty.", "Name one or more columns.")
        case InSet() if not rule.values:
            return RuleProblem("'values' is empty.", "List the values that are expected.")
        case MatchesPattern():
            try:
                compile_regex(rule.pattern)
            except RegexError as error:
                return RuleProblem(f"{error}.", "Correct 'pattern'.")
        case MeetsCondition() if not rule.condition.strip():
            return RuleProblem("'condition' is empty.", "Write a condition, such as price > 0.")
    return None


def _find_problem_of_bounds(rule: InRange | RowCount) -> RuleProblem | None:
    if isinstance(rule, RowCount) and rule.action is RuleAction.ERROR:
        return RuleProblem(
            "a number of rows has no records to send to error.", "Use the action 'fail' or 'count'."
        )
    low, high = rule.min, rule.max
    if low is None and high is None:
        return RuleProblem("neither 'min' nor 'max' is given.", "Give one of them, or both.")
    if low is None or high is None:
        return None
    if isinstance(low, str) is not isinstance(high, str):
        return RuleProblem("'min' and 'max' are of different types.", "Write both as numbers.")
    if low > high:  # type: ignore[operator]  # both are texts, or both are numbers
        return RuleProblem("'min' is greater than 'max'.", "Exchange the two.")
    return None
