"""The keys of the prep area for facets: to open them, to choose of them, and to make directives of them."""

from __future__ import annotations

from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList

from localcdap.expectations.rules import Expectation
from localcdap.tui.lists.filtered_list import ValueOption
from localcdap.tui.screens.prep.facets import (
    DUPLICATES,
    KINDS,
    FacetList,
    build_condition,
    build_directives,
    build_rules,
    choose_bin,
)
from localcdap.tui.screens.prep.panel import NO_DATA
from localcdap.tui.screens.prep.recipe import write_rule
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.studio import Choice
from localcdap.workspace_views import Facet, FacetBin


class FacetKeys(RecipeScreen):
    """Facets: how the rows are spread over the values of columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "values", "values of the column", id="prep.values"),
        Binding("f", "facet", "another facet", id="prep.facet"),
        Binding("F", "close_facets", "close the facets", id="prep.close_facets", show=False),
        Binding("D", "duplicates", "rows that are there again", id="prep.duplicates", show=False),
    ]

    class DuplicatesAsked(Message):
        """The rows that are there again are to be dropped, which no directive does.

        :param columns: that are compared, separated by commas; "" for all.
        """

        def __init__(self, columns: str) -> None:
            super().__init__()
            self.columns = columns

    def explain_disabled(self, action: str) -> str | None:
        if action == "duplicates" and self.view is None:
            return NO_DATA
        if action in ("values", "facet") and self.column is None:
            return "the rows have no columns"
        if action == "close_facets" and not self.facets:
            return "there are no facets"
        return super().explain_disabled(action)

    def action_values(self) -> None:
        """Count the frequent values of the column."""
        if self.column is not None:
            self._open_facet(Facet(self.column.name, "values"))

    def action_duplicates(self) -> None:
        """Count the rows that are there several times."""
        self._open_facet(Facet("", DUPLICATES))

    @work(group="prep-dialog", exclusive=True)
    async def action_facet(self) -> None:
        """Count the rows by what the column under the cursor holds."""
        column, view = self.column, self.view
        if column is None or view is None:
            return
        kinds = view.facet_kinds.get(column.name, ["values", DUPLICATES])
        choices = [Choice(KINDS[kind][:1].upper() + KINDS[kind][1:], kind) for kind in kinds]
        kind = await self.studio.choose(choices, title=f"Count the rows by {column.name}")
        if kind is not None:
            self._open_facet(Facet(column.name, kind))

    def _open_facet(self, facet: Facet) -> None:
        known = [(each.column, each.kind) for each in self.facets]
        if (facet.column, facet.kind) in known:
            number = known.index((facet.column, facet.kind))
        else:
            number = len(known)
            self.facets = (*self.facets, facet)

        def go() -> None:
            self.facet_list.focus()
            self.facet_list.go_to(number)

        self.read(then=lambda _: go())

    def action_close_facets(self) -> None:
        self.facets = ()
        self.read()
        self.table.grid.focus()

    @on(FacetList.Closed)
    def _close_facet(self, event: FacetList.Closed) -> None:
        event.stop()
        self.facets = tuple(each for n, each in enumerate(self.facets) if n != event.facet)
        if not self.facets:
            self.table.grid.focus()
        self.read()

    @on(FacetList.Chosen)
    def _choose_bin(self, event: FacetList.Chosen) -> None:
        event.stop()
        self.facets = tuple(
            choose_bin(each, event.key) if n == event.facet else each
            for n, each in enumerate(self.facets)
        )
        self.read()

    @on(OptionList.OptionSelected, "#prep-facets")
    def _use_facets(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if isinstance(event.option, ValueOption):
            self._ask_what_to_do(event.option.value)

    @work(group="prep-dialog", exclusive=True)
    async def _ask_what_to_do(self, place: tuple[int, FacetBin]) -> None:
        """Ask what becomes of the rows that the facets keep."""
        view = self.view
        if view is None:
            return
        if view.facets[place[0]].kind == DUPLICATES:
            self.post_message(self.DuplicatesAsked(view.facets[place[0]].column))
            return
        condition = build_condition(view.facets, place)
        if condition is None:
            self.studio.explain_no_effect("no expression selects these rows", "directive")
            return
        ways: list[Choice[str | Expectation]] = [
            Choice(label, directive, detail=directive)
            for label, directive in build_directives(condition)
        ]
        ways += [
            Choice(label, rule, detail=write_rule(rule)) for label, rule in build_rules(condition)
        ]
        facets, self.facets = (
            self.facets,
            tuple(Facet(each.column, each.kind) for each in self.facets),
        )
        chosen = await self.studio.choose(ways, title="What to do", on_highlight=self._try_way)
        if isinstance(chosen, str):
            self.take_directive(chosen)
            return
        self.facets = facets
        if chosen is None:
            self.read()
        else:
            self.take_rule(chosen)

    def _try_way(self, way: str | Expectation) -> None:
        self.try_directive(way if isinstance(way, str) else "")
