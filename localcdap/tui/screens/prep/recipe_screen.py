"""The recipe in the prep area, and the rows of the sample after it: what is shown, read and changed."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList, Static

from localcdap.api.errors import LocalcdapError
from localcdap.expectations.rules import Expectation, read_rules
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.machine import RecipeVersion
from localcdap.tui.routes import NavigationTarget, PrepStageTarget, PrepTarget
from localcdap.tui.screens.prep.data_lists import RecentData, remember
from localcdap.tui.screens.prep.directives import DirectiveLine
from localcdap.tui.screens.prep.facets import FacetList
from localcdap.tui.screens.prep.grid import PrepTable, format_column, format_problems, format_title
from localcdap.tui.screens.prep.recipe import (
    PrepRecipe,
    PrepRule,
    PrepStep,
    RuleList,
    StepList,
    read_lines,
)
from localcdap.tui.screens.prep.source import (
    PrepRequest,
    PrepSource,
    StageRecordsSource,
    close_session,
    list_directive_names,
    read_parts,
)
from localcdap.tui.service_calls import deliver
from localcdap.workspace_views import ColumnView, Facet, WorkspaceView

_CHANGES: Final = ("same", "changed", "dropped", "new")
"""What a step does to rows, in the order in which the note counts them."""


class _PartShower:
    """Reads what a request shows, and shows each part as soon as it is there.

    :param number: of the reading; a newer one ends it.
    """

    def __init__(
        self,
        screen: RecipeScreen,
        number: int,
        request: PrepRequest,
        then: Callable[[WorkspaceView], object] | None,
    ) -> None:
        self._screen = screen
        self._number = number
        self._request = request
        self._then = then
        self.is_trial = False
        """Whether the directives are not those of the recipe."""
        self.is_whole = False
        """Whether ``then`` waits for all that is to be shown."""

    def read(self, cdap: Cdap) -> WorkspaceView | None:
        """Read in a thread; return what was read last, None when another reading has begun."""
        view: WorkspaceView | None = None
        for view in read_parts(cdap, self._request):
            if self._screen.reading != self._number:
                return None
            if not view.is_complete:
                deliver(self._screen, partial(self.show, view))
        return view

    def show(self, view: WorkspaceView | None) -> None:
        if view is None or self._screen.reading != self._number:
            return
        self._screen.show_part(view, self._request.directives, is_trial=self.is_trial)
        is_enough = view.is_complete if self.is_whole else view.has_rows
        if is_enough and self._then is not None:
            then, self._then = self._then, None
            then(view)


class RecipeScreen(AreaScreen):
    """Shows a sample of a file or a table, and what a recipe makes of it; keys are those of the subclass."""

    AREA = "prep"
    CSS_PATH = "prep.tcss"
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self.source: PrepSource | None = None
        """The data that are shown; None before any are open."""
        self.recipe = PrepRecipe()
        self.view: WorkspaceView | None = None
        """What is shown; None before the first answer."""
        self.session = str(uuid.uuid4())
        self.sorting: tuple[str, bool] | None = None
        self.step: int | None = None
        """The number of the step whose rows are shown; None for those after all."""
        self.editing: int | None = None
        """The number of the step that the line of the directive replaces; None for a new one."""
        self.facets: tuple[Facet, ...] = ()
        self.first_column = 0
        """The first column that is shown, of very many."""
        self.compares = False
        """Whether the rows before the highlighted step are shown, too."""
        self.arguments: dict[str, str] = {}
        """Values of the macros of the recipe."""
        self._directives: Sequence[str] = ()
        self._cursor: tuple[str, int, int] | None = None
        """The name and the place of the column and the row under the cursor before something was tried."""
        self._earlier: PrepSource | None = None
        """How the data were read before another way was tried; None when that way works."""
        self._reading = 0
        """The number of the newest reading; older ones end at their next part."""

    def compose_body(self) -> ComposeResult:
        yield Static(id="prep-title")
        with Horizontal(id="prep-body"):
            yield RecentData(id="prep-recent")
            with Vertical(id="prep-main"):
                yield PrepTable(id="prep-rows")
                yield DirectiveLine(id="prep-line")
            with Vertical(id="prep-panel"):
                yield Static("recipe", classes="heading")
                yield StepList(id="prep-steps")
                yield RuleList(id="prep-rules")
                yield FacetList(id="prep-facets")
                yield Static(id="prep-column")

    def on_mount(self) -> None:
        namespace = self.studio.namespace
        self.call(lambda cdap: list_directive_names(cdap, namespace), self._take_directives)
        self._update()

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, PrepTarget):
            self.open_source(PrepSource(path=target.path, table=target.table))
        elif isinstance(target, PrepStageTarget):
            sample = StageRecordsSource(
                target.pipeline,
                target.stage,
                target.schema,
                target.records,
                target.arguments,
                target.take,
            )
            rules, _ = read_rules(list(target.expectations))
            self.open_source(PrepSource(stage=sample), target.directives, rules)

    def show_namespace(self, namespace: str) -> None:
        if self.source is not None:
            self.read()
        else:
            self.query_one(RecentData).show()

    # -- what is shown ------------------------------------------------------------------------

    @property
    def table(self) -> PrepTable:
        return self.query_one(PrepTable)

    @property
    def line(self) -> DirectiveLine:
        return self.query_one(DirectiveLine)

    @property
    def facet_list(self) -> FacetList:
        return self.query_one(FacetList)

    @property
    def column(self) -> ColumnView | None:
        """The column under the cursor; None without columns."""
        if self.view is None or not self.view.columns:
            return None
        at = self.table.grid.cursor_coordinate.column
        return self.view.columns[min(at, len(self.view.columns) - 1)]

    @property
    def value(self) -> str | None:
        """The text of the cell under the cursor; None for null, and without rows."""
        at = self.table.grid.cursor_coordinate
        if self.view is None or at.row >= len(self.view.rows) or self.column is None:
            return None
        return self.view.rows[at.row][min(at.column, len(self.view.columns) - 1)]

    def open_source(
        self,
        source: PrepSource,
        recipe: Sequence[str] | None = None,
        rules: Sequence[Expectation] = (),
    ) -> None:
        """Show other data.

        :param recipe: its directives; None for those that were written last for the data, with their rules.
        :param rules: those of a given recipe.
        """
        self._save()
        kept = recipe
        if kept is None:
            kept = self.studio.user_state.find_recipe(self.studio.namespace, source.key)
        self.source, self.view, self._earlier = source, None, None
        self.sorting = self.step = self.editing = None
        self.facets, self.first_column, self.compares, self.arguments = (), 0, False, {}
        self.recipe = PrepRecipe(map(PrepStep, recipe or ()), map(PrepRule, rules))
        if kept and recipe is None:
            self.recipe.restore(*read_lines(kept))
        self.line.clear()
        self.read()

    def change_source(self, source: PrepSource) -> None:
        """Show the same data, read in another way; without success, as before."""
        self._earlier, self.source = self.source, source
        self.read()

    def make_request(self, directives: Sequence[str] | None = None) -> PrepRequest:
        assert self.source is not None
        step = None if self.step is None else self.recipe.count_running(self.step)
        name, is_descending = self.sorting or (None, False)
        return PrepRequest(
            self.source,
            self.session,
            self.studio.namespace,
            self.recipe.directives if directives is None else directives,
            step if directives is None else None,
            name,
            is_descending,
            self.facets,
            self.first_column,
            self.table.grid.cursor_coordinate.column,
            self.compares and step is not None and directives is None,
            self.arguments,
            self.recipe.expectations,
        )

    def read(
        self,
        directives: Sequence[str] | None = None,
        then: Callable[[WorkspaceView], object] | None = None,
        *,
        is_whole: bool = False,
    ) -> None:
        """Read what is to be shown; a newer reading ends this one.

        :param directives: other directives than those of the recipe, to show what they would do.
        :param then: gets the first part that has rows.
        :param is_whole: whether it gets all that is to be shown instead.
        """
        if self.source is None:
            return
        request = self.make_request(directives)
        self._reading += 1
        show = _PartShower(self, self._reading, request, then)
        show.is_trial, show.is_whole = directives is not None, is_whole
        self.call(show.read, show.show, on_error=self._show_error, group="view")

    @property
    def reading(self) -> int:
        """The number of the newest reading."""
        return self._reading

    def show_part(
        self,
        view: WorkspaceView,
        directives: Sequence[str],
        *,
        is_trial: bool,
    ) -> None:
        """Show what is known of the rows after directives."""
        if not view.has_rows:
            self.table.set_note(f"the recipe runs, {view.share:.0%} are done")
            return
        if self.view is None:
            remember(self.studio, self.source)
        column = self.column
        if is_trial and self._cursor is None and column is not None:
            at = self.table.grid.cursor_coordinate
            self._cursor = column.name, at.column, at.row
        self.view, self._earlier = view, None
        self.line.show_problem(format_problems(view, directives), is_error=bool(view.errors))
        self.line.know([each.name for each in view.columns], self._directives)
        self._update(is_trial=is_trial)
        if not is_trial and self._cursor is not None:
            self._return_cursor(*self._cursor)
            self._cursor = None

    def _return_cursor(self, name: str, column: int, row: int) -> None:
        """Go back to where the cursor was: rows that were tried may have had fewer columns."""
        names = [each.name for each in self.view.columns] if self.view is not None else []
        place = names.index(name) if name in names else column
        self.table.grid.move_cursor(row=row, column=max(0, min(place, len(names) - 1)))

    def _show_error(self, error: LocalcdapError) -> None:
        if self._earlier is not None:
            self.source, self._earlier = self._earlier, None
        if self.view is None:
            self.source = None
            self._update()
        self.studio.report_error(error)

    def _take_directives(self, names: Sequence[str]) -> None:
        self._directives = names

    def _update(self, *, is_trial: bool = False) -> None:
        """Draw everything that is known."""
        view = self.view
        self.query_one("#prep-title", Static).update(format_title(self.source, view))
        self._show_or_hide_recent()
        if view is None:
            self.table.show_view([], [], "")
        else:
            self.table.show_view(
                view.columns,
                view.rows,
                self._format_note(view, is_trial=is_trial),
                view.changes,
            )
        self.facet_list.show(view.facets if view is not None else [])
        self.facet_list.display = bool(self.facets)
        if not is_trial:
            self.query_one(StepList).show(self.recipe, view.steps if view is not None else [])
        self.query_one(RuleList).show(self.recipe.rules, view.checks if view is not None else [])
        self._show_column()
        self.refresh_bindings()

    def _show_or_hide_recent(self) -> None:
        """List what was opened last while nothing is open; what is shown gets the focus."""
        is_open = self.source is not None
        if self.focused is None or is_open != self.has_class("-open"):
            self.set_class(is_open, "-open")
            recent = self.query_one(RecentData)
            if is_open:
                self.table.grid.focus()
            else:
                recent.show()
                recent.focus_list()

    def _format_note(self, view: WorkspaceView, *, is_trial: bool) -> str:
        count = plural(view.row_count, "row")
        if view.kept_count is not None:
            count = f"{view.kept_count:,} of {count}"
        parts = [count]
        if len(view.rows) < (view.row_count if view.kept_count is None else view.kept_count):
            parts = [f"the first {len(view.rows):,} of {count}"]
        if view.head_count is not None:
            parts.append(f"of the first {view.head_count:,} records; {view.share:.0%} of all done")
        if is_trial:
            parts.append("as the directive would leave them; enter accepts, esc does not")
        elif self.step is not None:
            parts.append(f"after step {self.step + 1} of {len(self.recipe.steps)}")
            if view.changes:
                counts = Counter(each.kind for each in view.changes)
                kinds = [f"{counts[kind]:,} {kind}" for kind in _CHANGES if counts[kind]]
                parts.append(f"compared: {', '.join(kinds)}")
        if self.sorting is not None:
            parts.append(f"sorted by {self.sorting[0]}{', descending' if self.sorting[1] else ''}")
        if view.left_out:
            parts.append(f"{view.left_out:,} left out (e)")
        return " · ".join(parts)

    @on(PrepTable.ColumnEntered)
    def _show_column(self) -> None:
        self.query_one("#prep-column", Static).update(format_column(self.column))

    # -- the recipe -----------------------------------------------------------------------------

    @property
    def place(self) -> int:
        """The number of the step before which a new one comes."""
        return len(self.recipe.steps) if self.step is None else self.step + 1

    def try_directive(self, text: str) -> None:
        """Show what a directive would do."""
        if self.source is None:
            return
        is_edit = self.editing is not None
        at = self.editing if self.editing is not None else self.place
        trial = self.recipe.with_directive(text, at, replaces=is_edit) if text else None
        self.read(trial)

    @on(DirectiveLine.Changed)
    def _try_line(self, event: DirectiveLine.Changed) -> None:
        event.stop()
        self.try_directive(event.text)

    @on(DirectiveLine.Accepted)
    def _accept_line(self, event: DirectiveLine.Accepted) -> None:
        event.stop()
        text = event.text
        if self.source is None or not text:
            self.studio.explain_no_effect("there is no directive in the line")
            return
        is_edit = self.editing is not None
        at = self.editing if self.editing is not None else self.place
        trial = self.recipe.with_directive(text, at, replaces=is_edit)

        def accept(view: WorkspaceView) -> None:
            if view.errors:
                self.line.input.focus()
                return
            self.take_directive(text)

        self.read(trial, accept)

    def take_directive(self, text: str) -> None:
        """Make a directive a step, and show all steps."""
        if self.editing is not None:
            self.recipe.edit(self.editing, text)
        else:
            self.recipe.insert([text], self.place)
        self.line.clear()
        self.finish_change()
        self.table.grid.focus()

    def take_rule(self, rule: Expectation) -> None:
        """Add a rule for the rows after the recipe."""
        if self.recipe.add_rule(rule):
            self.finish_change()
        else:
            self.studio.explain_no_effect(f"there is a rule '{rule.label}' already", "expect")

    def finish_change(self) -> None:
        self.step = self.editing = None
        self._save()
        self.read()

    def keep_version(self, name: str) -> None:
        """Keep the recipe as it is as a version, unless the last one has the same steps."""
        if self.source is None:
            return
        state, namespace = self.studio.user_state, self.studio.namespace
        version = RecipeVersion(name, time.time(), self.recipe.lines)
        if state.keep_version(namespace, self.source.key, version):
            self.studio.save_user_state()

    def _save(self) -> None:
        """Keep the recipe for the next time that the data are opened."""
        if self.source is not None and self.source.stage is None:
            state = self.studio.user_state
            state.remember_recipe(self.studio.namespace, self.source.key, self.recipe.lines)
            self.studio.save_user_state()

    @on(DirectiveLine.Left)
    def _leave_line(self, event: DirectiveLine.Left) -> None:
        event.stop()
        self.editing = None
        self.read()
        self.table.grid.focus()

    @on(OptionList.OptionHighlighted, "#prep-steps")
    def _show_step(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if not self.query_one(StepList).has_focus or self.step == event.option_index:
            return
        self.step = event.option_index
        self.read()

    @on(OptionList.OptionSelected, "#prep-steps")
    def _edit_step(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.editing = event.option_index
        self.line.write(self.recipe.steps[event.option_index].directive)

    @on(StepList.ChangeAsked)
    def _change_step(self, event: StepList.ChangeAsked) -> None:
        event.stop()
        recipe, number = self.recipe, event.number
        match event.what:
            case "switch":
                recipe.switch(number)
            case "remove":
                recipe.remove(number)
            case direction:
                by = 1 if direction == "down" else -1
                if not recipe.move(number, by):
                    end = "last" if by > 0 else "first"
                    self.studio.explain_no_effect(f"it is the {end} step", "move")
                    return
                self.query_one(StepList).highlighted = number + by
        self.finish_change()

    def on_unmount(self) -> None:
        self._save()
        session, namespace = self.session, self.studio.namespace
        self.call(lambda cdap: close_session(cdap, session, namespace))
