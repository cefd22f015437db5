"""The keys of the prep area for columns: menu, similar values, facets, examples, protection."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList

from localcdap.api.metadata import MetadataEntity
from localcdap.expectations.rules import Expectation
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.lists import ValueOption
from localcdap.tui.screens.prep.directives import (
    CLUSTER_METHODS,
    MenuEntry,
    build_cluster_replacement,
    format_cluster,
    is_plain_name,
    list_entries,
)
from localcdap.tui.screens.prep.facets import (
    DUPLICATES,
    KINDS,
    FacetList,
    build_condition,
    build_directives,
    build_rules,
    choose_bin,
)
from localcdap.tui.screens.prep.grid import NO_DATA, format_meaning
from localcdap.tui.screens.prep.recipe import propose_rules, write_rule
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.screens.prep.source import (
    list_columns,
    read_candidates,
    read_clusters,
)
from localcdap.tui.studio import Choice
from localcdap.workspace_views import (
    CandidateList,
    ColumnMeaning,
    DirectiveCandidate,
    Facet,
    FacetBin,
)

_SEPARATORS: Final = ("|", ";", "~")


_TAG = ""
"""Stands in the choices of :meth:`ColumnKeys.action_protect` for the tags."""


class ColumnKeys(RecipeScreen):
    """Directives for the column under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "menu", "directives for the column", id="prep.menu"),
        Binding("E", "example", "directives by example", id="prep.example"),
        Binding("C", "clusters", "values that mean the same", id="prep.clusters", show=False),
        Binding("s", "sort", "sort", id="prep.sort", show=False),
        Binding("p", "protect", "protect the column", id="prep.protect", show=False),
        Binding("colon", "columns", "go to a column", id="prep.columns", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        if action in ("menu", "clusters", "example", "sort", "columns") and self.column is None:
            return "the rows have no columns"
        if action == "example" and not self.value:
            return "the cell under the cursor has no text"
        return super().explain_disabled(action)

    def action_sort(self) -> None:
        """Sort the rows that are shown by the column; again turns them round, and again ends that."""
        column = self.column
        if column is None:
            return
        before = self.sorting
        if before is None or before[0] != column.name:
            self.sorting = column.name, False
        else:
            self.sorting = None if before[1] else (column.name, True)
        self.read()

    @work(group="prep-dialog", exclusive=True)
    async def action_columns(self) -> None:
        """Go to a column by its name, also to one of those that are not shown."""
        request = self.make_request()
        columns = await self.call_and_wait(lambda cdap: list_columns(cdap, request))
        choices = [Choice(name, place, hint=type) for place, (name, type) in enumerate(columns)]
        place = await self.studio.choose(choices, title="Go to a column")
        if place is None or self.view is None:
            return
        shown = range(self.first_column, self.first_column + len(self.view.columns))
        if place not in shown:
            self.first_column = max(0, place - 10)

        def go() -> None:
            self.table.grid.move_cursor(column=place - self.first_column)

        self.read(then=lambda _: go())

    @work(group="prep-dialog", exclusive=True)
    async def action_menu(self) -> None:
        """Choose a directive for the column; what it would do shows while it is highlighted."""
        column = self.column
        if column is None:
            return
        if not is_plain_name(column.name):
            reason = f"directives cannot name '{column.name}'; cleanse-column-names renames it"
            self.studio.explain_no_effect(reason, "menu")
            return
        choices: list[Choice[MenuEntry | Expectation]] = [
            Choice(each.label, each, detail=each.directive, group=each.group)
            for each in list_entries(column, self.value)
        ]
        choices += [
            Choice(f"Expect that {each.description}", each, group="expectations")
            for each in propose_rules(column)
        ]
        chosen = await self.studio.choose(
            choices, title=f"Directives for {column.name}", on_highlight=self._try_entry
        )
        if chosen is None:
            self.read()
        elif not isinstance(chosen, MenuEntry):
            self.take_rule(chosen)
        elif chosen.is_complete:
            self.take_directive(chosen.directive)
        else:
            self.line.write(chosen.directive)

    def _try_entry(self, entry: MenuEntry | Expectation) -> None:
        directive = ""
        if isinstance(entry, MenuEntry) and entry.is_complete:
            directive = entry.directive
        self.try_directive(directive)

    @work(group="prep-dialog", exclusive=True)
    async def action_clusters(self) -> None:
        """Find values of the column that are probably meant to be the same, and replace them."""
        column = self.column
        if column is None:
            return
        if column.type != "string" or not is_plain_name(column.name):
            self.studio.explain_no_effect(f"{column.name} has no texts to compare", "clusters")
            return
        ways = [Choice(label, method) for method, label in CLUSTER_METHODS.items()]
        method = await self.studio.choose(ways, title=f"How to compare the values of {column.name}")
        if method is None:
            return
        request = replace(self.make_request(), step=None)
        name = column.name
        found = await self.call_and_wait(lambda cdap: read_clusters(cdap, request, name, method))
        directives = [
            (each, directive)
            for each in found
            if (directive := build_cluster_replacement(column, each)) is not None
        ]
        if not directives:
            self.studio.explain_no_effect("no values mean the same by this method", "clusters")
            return
        every = [directive for _, directive in directives]
        choices = [
            Choice(f"All {len(every)} clusters", every),
            *(
                Choice(format_cluster(each), [directive], detail=directive)
                for each, directive in directives
            ),
        ]
        chosen = await self.studio.choose(
            choices,
            title=f"Values of {name} that mean the same",
            on_highlight=self._try_directives,
        )
        if chosen is None:
            self.read()
        else:
            self.recipe.insert(chosen, self.place)
            self.finish_change()

    def _try_directives(self, directives: list[str]) -> None:
        self.read([*self.recipe.directives, *directives])

    # -- by example -----------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_example(self) -> None:
        """Ask what is wanted of the value under the cursor, and offer directives that make it."""
        column, value = self.column, self.value
        if column is None or not value:
            return
        if not is_plain_name(column.name) or column.type != "string":
            self.studio.explain_no_effect(f"{column.name} has no texts", "by example")
            return
        examples: list[tuple[str, list[str]]] = []
        text: str | None = value
        while text is not None:
            wanted = await self._ask_example(column.name, text)
            if wanted is None:
                break
            examples.append((text, wanted))
            request = replace(self.make_request(), step=None)
            name, given = column.name, list(examples)
            found = await self.call_and_wait(
                lambda cdap, request=request, name=name, given=given: read_candidates(  # type: ignore[misc]
                    cdap, request, name, given
                )
            )
            if not found.candidates:
                self.studio.explain_no_effect("no directive makes that of the value", "by example")
                break
            text = await self._choose_candidate(column.name, found)

    async def _ask_example(self, name: str, text: str) -> list[str] | None:
        sign = next((each for each in _SEPARATORS if each not in text), None)
        detail = f"Type what is to stand in {name}, or the part that you want."
        if sign is not None:
            detail += f" {sign} between parts splits it."
        answer = await self.studio.ask(
            f"What do you want instead of ‹{text}›?", text, detail=detail, verb="Find"
        )
        if answer is None or sign is None:
            return None if answer is None else [answer]
        return [part.strip() if sign in answer else part for part in answer.split(sign)]

    async def _choose_candidate(self, name: str, found: CandidateList) -> str | None:
        """Take a candidate; return the text for another example when one is wanted."""
        choices: list[Choice[DirectiveCandidate | str]] = [
            Choice(
                each.label,
                each,
                hint=f"{each.rows:,} of {each.total:,}"
                + (f", loses {plural(each.lost, 'value')}" if each.lost else ""),
                detail=format_candidate(each),
            )
            for each in found.candidates
        ]
        if found.question is not None:
            choices.append(Choice(f"Another example: what of ‹{found.question}›?", found.question))
        chosen = await self.studio.choose(
            choices, title=f"Directives that make this of {name}", on_highlight=self._try_candidate
        )
        if isinstance(chosen, DirectiveCandidate):
            self.recipe.insert(chosen.directives, self.place)
            self.finish_change()
        elif chosen is None:
            self.read()
        return chosen if isinstance(chosen, str) else None

    def _try_candidate(self, candidate: DirectiveCandidate | str) -> None:
        if isinstance(candidate, DirectiveCandidate):
            self._try_directives(candidate.directives)

    # -- protection -----------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_protect(self) -> None:
        """Mask or hash what looks like data about persons, or tag the field."""
        column = self.column
        meaning = None if column is None or column.profile is None else column.profile.meaning
        if column is None or meaning is None:
            self.studio.explain_no_effect("the values look like nothing to protect", "protect")
            return
        if not is_plain_name(column.name):
            self.studio.explain_no_effect(f"directives cannot name '{column.name}'", "protect")
            return
        choices = []
        for hint in meaning.hints:
            directive = hint.directive.replace("{c}", column.name)
            choices.append(Choice(hint.label, directive, detail=directive))
        choices.append(self._create_tag_choice(meaning))
        title = f"{column.name} {format_meaning(meaning)}"
        chosen = await self.studio.choose(choices, title=title, on_highlight=self.try_directive)
        if chosen is None:
            self.read()
        elif chosen == _TAG:
            self._add_tags(column.name, meaning)
        else:
            self.take_directive(chosen)

    def _create_tag_choice(self, meaning: ColumnMeaning) -> Choice[str]:
        reason = None if self._table else "only fields of tables have tags"
        return Choice(f"Tag the field: {', '.join(meaning.tags)}", _TAG, reason=reason)

    @property
    def _table(self) -> str:
        """The table that is open; an empty text for other data."""
        return "" if self.source is None else self.source.table

    def _add_tags(self, column: str, meaning: ColumnMeaning) -> None:
        namespace, table = self.studio.namespace, self._table
        field = MetadataEntity.of_dataset(table, namespace).append("field", column)
        tags = meaning.tags

        def add(cdap: Cdap) -> None:
            cdap.metadata.add(field, tags=tags)

        self.call(
            add,
            on_result=lambda _: self.studio.show_notice(
                f"{table}.{column} is tagged {', '.join(tags)}"
            ),
            group="prep-tags",
        )
        self.read()


def format_candidate(candidate: DirectiveCandidate) -> str:
    """Return its directives, and what it makes of some texts."""
    made = [
        f"{each.text} → {' | '.join('null' if one is None else one for one in each.made)}"
        for each in candidate.results[:3]
    ]
    return "\n".join(["; ".join(candidate.directives), "   ".join(made)])


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
