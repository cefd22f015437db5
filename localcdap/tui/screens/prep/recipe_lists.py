"""The lists of a recipe: its steps with their counts, and the rules for the rows after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from localcdap.expectations.results import format_share
from localcdap.expectations.rules import RuleAction
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.lists.filtered_list import StudioOptionList, ValueOption
from localcdap.tui.screens.prep.panel import format_step
from localcdap.tui.screens.prep.recipe import PrepRecipe, PrepRule
from localcdap.tui.studio import ExplainedActions
from localcdap.workspace_views import RuleCheck, StepCounts

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
