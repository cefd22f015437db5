"""The prep screen: the rows of a sample after a recipe, the recipe, and what the columns hold."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from localcdap.expectations.rules import to_json
from localcdap.text import plural
from localcdap.tui.dialogs.dialog_screen import LinesDialog
from localcdap.tui.screens.prep.column_keys import ColumnKeys, FacetKeys
from localcdap.tui.screens.prep.grid import NO_DATA
from localcdap.tui.screens.prep.recipe_keys import RecipeKeys, RuleKeys
from localcdap.tui.screens.prep.result_keys import ResultKeys
from localcdap.tui.screens.prep.source_keys import JoinKeys, SourceKeys
from localcdap.workspace_views import FailureView, WorkspaceView


class PrepScreen(SourceKeys, FacetKeys, ColumnKeys, RecipeKeys, RuleKeys, JoinKeys, ResultKeys):
    """The keys of the prep area: those of columns, facets, the recipe and its results, and of the data."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "errors", "rows that are left out", id="prep.errors", show=False),
        Binding("ctrl+s", "give", "give it to the stage", id="prep.give"),
        Binding("escape", "rows", "all steps", id="prep.rows", show=False),
    ]

    # -- keys -----------------------------------------------------------------------------------

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action == "errors" and self.view is None:
            return NO_DATA
        match action:
            case "errors" if self.view is not None and not self._list_left_out():
                return "no rows are left out"
            case "give" if self.source is None or self.source.stage is None:
                return "the data do not come from a stage"
        return super().explain_disabled(action)

    def action_rows(self) -> None:
        """Go back to the rows after all steps."""
        is_at_step = self.step is not None
        self.step = None
        if is_at_step:
            self.read()
        elif self.table.grid.has_focus:
            self.studio.explain_no_effect("the rows after all steps are shown")
        self.table.grid.focus()

    def _list_left_out(self) -> list[tuple[str, list[str]]]:
        view = self.view
        if view is None:
            return []
        parts = [
            (
                f"record {each.record}, {_describe_end(each)} directive {each.step}",
                [each.message, *(f"{name}: {value}" for name, value in each.values.items())],
            )
            for each in view.failures
        ]
        more = view.left_out - len(view.failures)
        if more > 0:
            parts.append((plural(more, "more record"), ["Their messages are not kept here."]))
        return [*parts, *([("unreadable", view.unreadable)] if view.unreadable else [])]

    def action_errors(self) -> None:
        self.app.push_screen(LinesDialog("Records that are left out", self._list_left_out()))

    # -- results -----------------------------------------------------------------------

    def action_give(self) -> None:
        """Give the recipe and the schema of its rows to the stage, and go back to the pipeline."""
        source = self.source
        assert source is not None
        stage = source.stage
        assert stage is not None
        directives = self.recipe.directives
        self.step = None

        def give(view: WorkspaceView) -> None:
            if view.errors:
                self.studio.explain_no_effect("the recipe has mistakes; correct them first", "give")
                return
            schema = None if view.schema is None else str(view.schema)
            stage.take("\n".join(directives), schema, to_json(self.recipe.expectations))

        self.read(then=give, is_whole=True)


def _describe_end(failure: FailureView) -> str:
    return "sent to error by" if failure.is_sent else "fails at"
