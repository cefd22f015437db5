"""The list of the steps of a recipe, with their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from localcdap.tui.explained_actions import ExplainedActions
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.screens.prep.panel import format_step
from localcdap.tui.screens.prep.recipe import PrepRecipe
from localcdap.workspace_views import StepCounts


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
