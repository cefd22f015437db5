"""The recipe that is being written: its steps, the rules for its rows, its history, and its lists.

The values of a column suggest expectations as rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from localcdap.expectations.results import format_share
from localcdap.expectations.rules import Expectation, RuleAction, read_rules, to_json
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.lists import StudioOptionList, ValueOption
from localcdap.tui.studio import ExplainedActions
from localcdap.workspace_views import ColumnView, RuleCheck, StepCounts, ValueSummary


@dataclass(frozen=True)
class PrepStep:
    """One directive.

    :param is_on: whether it runs; one that is switched off stays in its place.
    """

    directive: str
    is_on: bool = True


@dataclass(frozen=True)
class PrepRule:
    """A rule for the rows after the recipe.

    :param is_on: whether it is checked; one that is switched off stays in its place.
    """

    rule: Expectation
    is_on: bool = True


Steps = tuple[PrepStep, ...]
Rules = tuple[PrepRule, ...]
_OFF: Final = "// "
"""Begins the line of a step or a rule that is switched off; recipes have comments after it."""
_RULE: Final = "#expect "
"""Begins the line of a rule."""


def write_step(step: PrepStep) -> str:
    """Return a step as a line that :func:`read_step` reads."""
    return step.directive if step.is_on else _OFF + step.directive


def read_step(line: str) -> PrepStep:
    """Return the step of a line."""
    is_off = line.startswith(_OFF)
    return PrepStep(line.removeprefix(_OFF), is_on=not is_off)


def write_rule(rule: Expectation) -> str:
    """Return a rule as the JSON that stands in the list ``expectations`` of a stage."""
    return json.dumps(to_json([rule])[0], ensure_ascii=False)


def read_lines(lines: Iterable[str]) -> tuple[Steps, Rules]:
    """Return the steps and the rules of the lines of a recipe, see :attr:`PrepRecipe.lines`."""
    steps: list[PrepStep] = []
    rules: list[PrepRule] = []
    for line in lines:
        step = read_step(line)
        if not step.directive.startswith(_RULE):
            steps.append(step)
            continue
        found, _ = read_rules([json.loads(step.directive.removeprefix(_RULE))])
        rules += [PrepRule(rule, step.is_on) for rule in found]
    return tuple(steps), tuple(rules)


class PrepRecipe:
    """The steps of a recipe and the rules for its rows, with undo and redo of every change.

    Numbers of steps count all of them, from 0; so do those of rules.
    """

    def __init__(self, steps: Iterable[PrepStep] = (), rules: Iterable[PrepRule] = ()) -> None:
        self.steps: Steps = tuple(steps)
        self.rules: Rules = tuple(rules)
        self._past: Final[list[tuple[Steps, Rules]]] = []
        self._future: Final[list[tuple[Steps, Rules]]] = []

    @property
    def lines(self) -> list[str]:
        """All steps and rules as texts, as they are kept."""
        rules = [PrepStep(_RULE + write_rule(each.rule), each.is_on) for each in self.rules]
        return list(map(write_step, (*self.steps, *rules)))

    @property
    def expectations(self) -> list[Expectation]:
        """The rules that are checked."""
        return [each.rule for each in self.rules if each.is_on]

    @property
    def directives(self) -> list[str]:
        """The directives that run."""
        return [each.directive for each in self.steps if each.is_on]

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def count_running(self, number: int) -> int:
        """Return how many directives run up to a step and with it; -1 as the step gives 0."""
        return sum(each.is_on for each in self.steps[: number + 1])

    def with_directive(self, directive: str, at: int, *, replaces: bool) -> list[str]:
        """Return the directives that would run with another one.

        :param at: the number of the step that it replaces, or before which it comes.
        """
        steps = list(self.steps)
        steps[at : at + replaces] = [PrepStep(directive)]
        return [each.directive for each in steps if each.is_on]

    def insert(self, directives: Sequence[str], at: int) -> None:
        """Add steps before the step of a number."""
        self._change((*self.steps[:at], *map(PrepStep, directives), *self.steps[at:]))

    def restore(self, steps: Iterable[PrepStep], rules: Iterable[PrepRule] | None = None) -> None:
        """Take all steps of an earlier time; undo takes them away.

        :param rules: those of that time; None keeps the rules.
        """
        self._change(tuple(steps), self.rules if rules is None else tuple(rules))

    def add_rule(self, rule: Expectation) -> bool:
        """Add a rule; return False when there is one with its label, which results go by."""
        if any(each.rule.label == rule.label for each in self.rules):
            return False
        self._change(self.steps, (*self.rules, PrepRule(rule)))
        return True

    def edit_rule(self, number: int, rule: Expectation) -> bool:
        """Replace a rule; return False when another one has its label."""
        others = [*self.rules[:number], *self.rules[number + 1 :]]
        if any(each.rule.label == rule.label for each in others):
            return False
        self._replace_rule(number, [replace(self.rules[number], rule=rule)])
        return True

    def switch_rule(self, number: int) -> None:
        """Switch a rule off, or on again."""
        kept = self.rules[number]
        self._replace_rule(number, [replace(kept, is_on=not kept.is_on)])

    def remove_rule(self, number: int) -> None:
        """Remove a rule."""
        self._replace_rule(number, [])

    def edit(self, number: int, directive: str) -> None:
        """Change the directive of a step."""
        self._replace(number, replace(self.steps[number], directive=directive))

    def switch(self, number: int) -> None:
        """Switch a step off, or on again."""
        step = self.steps[number]
        self._replace(number, replace(step, is_on=not step.is_on))

    def remove(self, number: int) -> None:
        """Remove a step."""
        self._change((*self.steps[:number], *self.steps[number + 1 :]))

    def move(self, number: int, by: int) -> bool:
        """Move a step by so many places; return False when it is at the end of the recipe already."""
        to = number + by
        if not 0 <= to < len(self.steps):
            return False
        steps = list(self.steps)
        steps.insert(to, steps.pop(number))
        self._change(tuple(steps))
        return True

    def undo(self) -> None:
        """Go back to the state before the last change."""
        self._future.append((self.steps, self.rules))
        self.steps, self.rules = self._past.pop()

    def redo(self) -> None:
        """Make the change again that was undone last."""
        self._past.append((self.steps, self.rules))
        self.steps, self.rules = self._future.pop()

    def _replace(self, number: int, step: PrepStep) -> None:
        self._change((*self.steps[:number], step, *self.steps[number + 1 :]))

    def _replace_rule(self, number: int, rules: Iterable[PrepRule]) -> None:
        kept = self.rules
        self._change(self.steps, (*kept[:number], *rules, *kept[number + 1 :]))

    def _change(self, steps: Steps, rules: Rules | None = None) -> None:
        now = steps, self.rules if rules is None else rules
        if now != (self.steps, self.rules):
            self._past.append((self.steps, self.rules))
            self._future.clear()
            self.steps, self.rules = now


_ACTIONS = {RuleAction.COUNT: "", RuleAction.FAIL: " fails the run", RuleAction.ERROR: " to error"}


class RuleList(StudioOptionList):
    """The rules; it is not there without any."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "change('switch')", "switch off or on", id="prep.switch_rule"),
        Binding("d,delete", "change('remove')", "remove", id="prep.remove_rule"),
    ]

    class ChangeAsked(Message):
        """A rule is to be changed.

        :param what: switch or remove.
        """

        def __init__(self, what: str, number: int) -> None:
            super().__init__()
            self.what = what
            self.number = number

    def on_mount(self) -> None:
        self.border_title = "expectations"

    def show(self, rules: Sequence[PrepRule], checks: Sequence[RuleCheck]) -> None:
        """Show rules; the highlight stays at its place.

        :param checks: of those that are switched on; empty while they are not known.
        """
        at = self.highlighted or 0
        self.display = bool(rules)
        self.clear_options()
        known = iter(checks)
        for number, each in enumerate(rules):
            check = next(known, None) if each.is_on else None
            self.add_option(ValueOption(format_rule(each, check), number))
        self.highlighted = min(at, len(rules) - 1) if rules else None

    def action_change(self, what: str) -> None:
        if self.highlighted is not None:
            self.post_message(self.ChangeAsked(what, self.highlighted))


def format_rule(rule: PrepRule, check: RuleCheck | None) -> Content:
    """Return the lines of a rule: whether the sample holds, what is expected, and how much violates it."""
    label = sanitize_name(rule.rule.label)
    action = _ACTIONS[rule.rule.action]
    if not rule.is_on:
        return Content.assemble("– ", (label, f"strike {MUTED}"), (action, MUTED))
    if check is None:
        return Content.assemble("· ", label, (action, MUTED))
    if check.problem:
        problem = sanitize_name(check.problem)
        return Content.assemble(("? ", "$warning"), label, (f"{action}\n  {problem}", MUTED))
    if not check.violations:
        return Content.assemble(("✓ ", "$text-success"), label, (action, MUTED))
    share = format_share(100 * check.violations / check.checked)
    counted = f"\n  {check.violations:,} of {check.checked:,} ({share})"
    return Content.assemble(("✗ ", "$text-error"), label, (action, MUTED), (counted, "$text-error"))


def format_step(number: int, step: PrepStep, counts: StepCounts | None) -> Content:
    """Return the line of a step, with what it did to the rows."""
    text = sanitize_name(step.directive)
    line = Content.assemble(
        (f"{number + 1:>2} ", MUTED), (text, "" if step.is_on else f"strike {MUTED}")
    )
    if counts is None:
        return line
    changes = []
    if counts.rows_out != counts.rows_in:
        changes.append(f"{counts.rows_out - counts.rows_in:+,} rows")
    if counts.failed:
        changes.append(f"{counts.failed:,} failed")
    if counts.sent:
        changes.append(f"{counts.sent:,} to error")
    return Content.assemble(line, (f"\n   {' · '.join(changes)}", "$warning")) if changes else line


class StepList(ExplainedActions, StudioOptionList):
    """The steps; the rows after the highlighted one are shown while the list has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "change('switch')", "switch off or on", id="prep.switch"),
        Binding("d,delete", "change('remove')", "remove", id="prep.remove"),
        Binding("J,shift+down", "change('down')", "move down", id="prep.down", show=False),
        Binding("K,shift+up", "change('up')", "move up", id="prep.up", show=False),
        Binding("equals_sign", "compare", "compare before and after", id="prep.compare"),
    ]

    class ChangeAsked(Message):
        """A step is to be changed.

        :param what: switch, remove, down or up.
        """

        def __init__(self, what: str, number: int) -> None:
            super().__init__()
            self.what = what
            self.number = number

    class ComparisonAsked(Message):
        """The rows before a step are to be shown beside those after it, or not any more."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def show(self, recipe: PrepRecipe, counts: Sequence[StepCounts]) -> None:
        """Show the steps; the highlight stays if the list has the focus, else it goes to the last one."""
        at = self.highlighted if self.has_focus else None
        self.clear_options()
        for number, step in enumerate(recipe.steps):
            place = recipe.count_running(number) - 1
            known = counts[place] if step.is_on and place < len(counts) else None
            self.add_option(ValueOption(format_step(number, step, known), number))
        if recipe.steps:
            self.highlighted = min(
                at if at is not None else len(recipe.steps), len(recipe.steps) - 1
            )

    def action_change(self, what: str) -> None:
        if self.highlighted is not None:
            self.post_message(self.ChangeAsked(what, self.highlighted))

    def action_compare(self) -> None:
        if self.highlighted is not None:
            self.post_message(self.ComparisonAsked(self.highlighted))

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in ("change", "compare") and self.highlighted is None:
            return "the recipe has no steps"
        return None


_MOST_VALUES: Final = 20
"""Different values that a rule lists."""
_WHOLE: Final = ("int", "long")
_NUMBERS: Final = (*_WHOLE, "float", "double", "decimal")


def propose_rules(column: ColumnView) -> list[Expectation]:
    """Return the rules that all values of a sample fulfil, the simplest first."""
    if column.profile is None or not column.profile.rows:
        return []
    rules, _ = read_rules(list(_propose(column, column.profile)))
    return rules


def _propose(column: ColumnView, profile: ValueSummary) -> Iterator[dict[str, Any]]:
    name = column.name
    values = profile.rows - profile.nulls
    if not profile.nulls:
        yield {"rule": "not-null", "column": name}
    if values and profile.distinct == values:
        yield {"rule": "unique", "columns": [name]}
    low, high = (_read_bound(column.type, text) for text in (profile.lowest, profile.highest))
    if low is not None and high is not None:
        yield {"rule": "range", "column": name, "min": low, "max": high}
    is_listed = len(profile.top) == profile.distinct <= _MOST_VALUES
    if column.type == "string" and is_listed and profile.distinct < values:
        yield {"rule": "in-set", "column": name, "values": [each.value for each in profile.top]}


def _read_bound(type: str, text: str | None) -> int | float | str | None:
    """Return the lowest or the highest value as a rule has it; None for a type without a range."""
    if text is None or type not in (*_NUMBERS, "date"):
        return None
    if type == "date":
        return text
    try:
        return int(text) if type in _WHOLE else float(text)
    except ValueError:
        return None
