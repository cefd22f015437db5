"""Reads rules from plain JSON, with every problem at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.decoders import convert, decode_json
from localcdap.expectations.rules import (
    Expectation,
    InRange,
    InSet,
    MatchesPattern,
    MeetsCondition,
    NotNull,
    Reference,
    RowCount,
    Rule,
    RuleAction,
    Unique,
)
from localcdap.java.regex import RegexError, compile_regex
from localcdap.text import format_available, nearest_name

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
