"""The list of the rules for the rows after a recipe, with what violates them in the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from localcdap.expectations.results import format_share
from localcdap.expectations.rules import RuleAction
from localcdap.text import sanitize_for_terminal
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.screens.details import MUTED
from localcdap.tui.screens.prep.recipe import PrepRule
from localcdap.workspace_views import RuleCheck

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
    label = sanitize_for_terminal(rule.rule.label, single_line=True)
    action = _ACTIONS[rule.rule.action]
    if not rule.is_on:
        return Content.assemble("– ", (label, f"strike {MUTED}"), (action, MUTED))
    if check is None:
        return Content.assemble("· ", label, (action, MUTED))
    if check.problem:
        problem = sanitize_for_terminal(check.problem, single_line=True)
        return Content.assemble(("? ", "$warning"), label, (f"{action}\n  {problem}", MUTED))
    if not check.violations:
        return Content.assemble(("✓ ", "$text-success"), label, (action, MUTED))
    share = format_share(100 * check.violations / check.checked)
    counted = f"\n  {check.violations:,} of {check.checked:,} ({share})"
    return Content.assemble(("✗ ", "$text-error"), label, (action, MUTED), (counted, "$text-error"))
