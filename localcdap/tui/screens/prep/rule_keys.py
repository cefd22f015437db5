"""The keys of the prep area for the rules that the rows after the recipe are to fulfil."""

from __future__ import annotations

import json
from typing import ClassVar, Final

import msgspec
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from localcdap.api.errors import BadRequestError
from localcdap.expectations.rules import Expectation, RowCount, RuleAction, parse_rules
from localcdap.tui.screens.prep.recipe import write_rule
from localcdap.tui.screens.prep.recipe_lists import RuleList
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.screens.prep.rule_proposals import propose_rules
from localcdap.tui.studio import Choice

_ACTIONS: Final = {
    RuleAction.COUNT: "A run counts what violates it",
    RuleAction.FAIL: "A run fails for it",
    RuleAction.ERROR: "A run sends what violates it to error",
}
_TEMPLATES: Final = (
    ("a condition is true", '{"rule": "row", "condition": ""}'),
    ("values are in a range", '{"rule": "range", "column": {c}, "min": 0, "max": 100}'),
    ("texts match a pattern", '{"rule": "regex", "column": {c}, "pattern": ""}'),
    ("values are some of these", '{"rule": "in-set", "column": {c}, "values": []}'),
    ("values are in a table", '{"rule": "reference", "column": {c}, "table": "", "key": ""}'),
    ("there is no null", '{"rule": "not-null", "column": {c}}'),
    ("values are unique", '{"rule": "unique", "columns": [{c}]}'),
    ("there are enough rows", '{"rule": "row-count", "min": 1}'),
)
"""Beginnings of rules; ``{c}`` stands for the name of the column."""


class RuleKeys(RecipeScreen):
    """Adds rules, and changes them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("P", "expect", "expect something of the rows", id="prep.expect", show=False),
        Binding("X", "rules", "expectations", id="prep.rules", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        if action == "expect" and self.column is None:
            return "the rows have no columns"
        if action == "rules" and not self.recipe.rules:
            return "there are no expectations; P adds one"
        return super().explain_disabled(action)

    @work(group="prep-dialog", exclusive=True)
    async def action_expect(self) -> None:
        """Add a rule: one that all values of the column fulfil, or one that is written."""
        column = self.column
        rules = [] if column is None else propose_rules(column)
        choices: list[Choice[Expectation | str]] = [
            Choice(rule.description, rule, detail=write_rule(rule)) for rule in rules
        ]
        name = column.name if column is not None else ""
        for label, template in _TEMPLATES:
            text = template.replace("{c}", json.dumps(name, ensure_ascii=False))
            choices.append(Choice(f"{label} …", text, group="to be written", detail=text))
        chosen = await self.studio.choose(choices, title="Expect of the rows that …")
        rule = await self._ask(chosen) if isinstance(chosen, str) else chosen
        if rule is not None:
            self.take_rule(rule)

    async def _ask(self, text: str) -> Expectation | None:
        """Let the user write a rule."""

        def check(typed: str) -> str | None:
            try:
                parse_rules(f"[{typed}]")
            except BadRequestError as error:
                return f"{error.message} {error.corrective_action or ''}".strip()
            return None if typed.strip() else "it is needed"

        typed = await self.studio.ask("The rule", text, check=check, verb="Take")
        return None if typed is None else parse_rules(f"[{typed}]")[0]

    def action_rules(self) -> None:
        """Go to the rules, to change them."""
        self.query_one(RuleList).focus()

    @on(RuleList.ChangeAsked)
    def _change_rule(self, event: RuleList.ChangeAsked) -> None:
        event.stop()
        if event.what == "switch":
            self.recipe.switch_rule(event.number)
        else:
            self.recipe.remove_rule(event.number)
        if not self.recipe.rules:
            self.table.grid.focus()
        self.finish_change()

    @on(OptionList.OptionSelected, "#prep-rules")
    def _edit_rule(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._edit(event.option_index)

    @work(group="prep-dialog", exclusive=True)
    async def _edit(self, number: int) -> None:
        """Change what a run does for a rule, or the rule."""
        rule = self.recipe.rules[number].rule
        choices: list[Choice[RuleAction | str]] = [
            Choice(
                label,
                action,
                hint="now" if rule.action is action else "",
                reason="it is about no single row"
                if action is RuleAction.ERROR and isinstance(rule, RowCount)
                else None,
            )
            for action, label in _ACTIONS.items()
        ]
        choices.append(Choice("Write it in another way …", "", detail=write_rule(rule)))
        chosen = await self.studio.choose(choices, title=rule.label)
        made: Expectation | None = None
        if isinstance(chosen, RuleAction):
            allowed = rule.allowed_percent if chosen is RuleAction.FAIL else 0
            made = msgspec.structs.replace(rule, action=chosen, allowed_percent=allowed)
        elif chosen is not None:
            made = await self._ask(write_rule(rule))
        if made is None:
            return
        if self.recipe.edit_rule(number, made):
            self.finish_change()
        else:
            self.studio.explain_no_effect(f"there is another rule '{made.label}'", "edit")
