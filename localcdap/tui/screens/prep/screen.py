"""The prep screen: the rows of a sample after a recipe, the recipe, and what the columns hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from localcdap.tui.dialogs.lines import LinesDialog
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.screens.prep.exports import apply_to_all, build_pipeline
from localcdap.tui.screens.prep.menu import (
    CLUSTER_METHODS,
    MenuEntry,
    build_cluster_replacement,
    build_filter,
    format_cluster,
    is_plain_name,
    list_entries,
)
from localcdap.tui.screens.prep.protection_keys import ProtectionKeys
from localcdap.tui.screens.prep.source import (
    PrepFailure,
    PrepSource,
    PrepView,
    read_clusters,
    read_view,
)
from localcdap.tui.screens.prep.steps import StepList
from localcdap.tui.studio import Choice
from localcdap.tui.system.atomic_files import write_file

_NEEDS_VIEW: Final = ("insert", "sort", "steps", "export", "sample", "errors")
_NEEDS_COLUMN: Final = ("menu", "values", "clusters")
_SUFFIXES: Final = (
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".avro", ".orc", ".xlsx", ".xls"),
    *(".log", ".xml", ".gz"),
)


class PrepScreen(ProtectionKeys):
    """The keys of the prep area: its menus, and what becomes of data and recipes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "menu", "directives for the column", id="prep.menu"),
        Binding("v", "values", "values of the column", id="prep.values"),
        Binding("C", "clusters", "values that mean the same", id="prep.clusters", show=False),
        Binding("i", "insert", "write a directive", id="prep.insert"),
        Binding("u", "undo", "undo", id="prep.undo"),
        Binding("U,ctrl+r", "redo", "redo", id="prep.redo", show=False),
        Binding("s", "sort", "sort", id="prep.sort"),
        Binding("b", "steps", "steps", id="prep.steps"),
        Binding("e", "errors", "rows that are left out", id="prep.errors", show=False),
        Binding("w", "sample", "another sample", id="prep.sample", show=False),
        Binding("ctrl+s", "give", "give it to the stage", id="prep.give"),
        Binding("x", "export", "use the recipe", id="prep.export"),
        Binding("o", "open", "open a file", id="prep.open"),
        Binding("t", "table", "open a table", id="prep.table", show=False),
        Binding("escape", "rows", "all steps", id="prep.rows", show=False),
    ]

    # -- keys -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted or self.explain_disabled(action) is not None:
            return None
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        if action in (*_NEEDS_VIEW, *_NEEDS_COLUMN) and self.view is None:
            return "no data are open; o opens a file, t a table"
        if action in _NEEDS_COLUMN and self.column is None:
            return "the rows have no columns"
        match action:
            case "undo" if not self.recipe.can_undo:
                return "the recipe has not been changed"
            case "redo" if not self.recipe.can_redo:
                return "no change was undone"
            case "errors" if self.view is not None and not self._list_left_out():
                return "no rows are left out"
            case "steps" if not self.recipe.steps:
                return "the recipe has no steps"
            case "give" if self.source is None or self.source.stage is None:
                return "the data do not come from a stage"
            case "sample" if self.source is not None and self.source.stage is not None:
                return "the records are those that reach the stage"
        return None

    def action_insert(self) -> None:
        self.editing = None
        self.line.input.focus()

    def action_undo(self) -> None:
        self.recipe.undo()
        self.finish_change()

    def action_redo(self) -> None:
        self.recipe.redo()
        self.finish_change()

    def action_steps(self) -> None:
        """Go to the steps, to see the rows after each, and to change them."""
        self.query_one(StepList).focus()

    def action_rows(self) -> None:
        """Go back to the rows after all steps."""
        is_at_step = self.step is not None
        self.step = None
        if is_at_step:
            self.read()
        elif self.table.grid.has_focus:
            self.studio.explain_no_effect("the rows after all steps are shown")
        self.table.grid.focus()

    def action_sort(self) -> None:
        """Sort the rows that are shown by the column; again turns them round, and again ends that."""
        column = self.column
        if column is None:
            self.studio.explain_no_effect("the rows have no columns")
            return
        before = self.sorting
        if before is None or before[0] != column.name:
            self.sorting = column.name, False
        else:
            self.sorting = None if before[1] else (column.name, True)
        self.read()

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
        choices = [
            Choice(each.label, each, detail=each.directive, group=each.group)
            for each in list_entries(column, self.value)
        ]
        chosen = await self.studio.choose(
            choices, title=f"Directives for {column.name}", on_highlight=self._try_entry
        )
        if chosen is None:
            self.read()
        elif chosen.is_complete:
            self.take_directive(chosen.directive)
        else:
            self.line.write(chosen.directive)

    def _try_entry(self, entry: MenuEntry) -> None:
        self.try_directive(entry.directive if entry.is_complete else "")

    @work(group="prep-dialog", exclusive=True)
    async def action_values(self) -> None:
        """Choose a frequent value of the column, and keep or drop the rows with it."""
        column = self.column
        if column is None or column.profile is None:
            return
        name, profile = column.name, column.profile
        found: list[tuple[str | None, int]] = [(each.value, each.count) for each in profile.top]
        if profile.nulls:
            found.append((None, profile.nulls))
        if not found:
            self.studio.explain_no_effect(f"{name} has no values", "values")
            return
        choices = [
            Choice("null" if value is None else value or "(empty)", (value,), hint=f"{count:,}")
            for value, count in found
        ]
        value = await self.studio.choose(choices, title=f"Most frequent values of {name}")
        if value is None:
            return
        keep, drop = (build_filter(column, value[0], keeps=keeps) for keeps in (True, False))
        if keep is None or drop is None or not is_plain_name(name):
            self.studio.explain_no_effect("expressions cannot compare this value", "values")
            return
        ways = [
            Choice("Keep only the rows with it", keep, detail=keep),
            Choice("Drop the rows with it", drop, detail=drop),
        ]
        chosen = await self.studio.choose(ways, title="What to do", on_highlight=self.try_directive)
        if chosen is None:
            self.read()
        else:
            self.take_directive(chosen)

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
        return [*parts, *([("unreadable", view.unreadable)] if view.unreadable else [])]

    def action_errors(self) -> None:
        self.app.push_screen(LinesDialog("Records that are left out", self._list_left_out()))

    # -- data and results -----------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_open(self) -> None:
        path = await self.studio.pick_file("Open a file", suffixes=_SUFFIXES)
        if path is not None:
            self.open_source(PrepSource(path=str(path.absolute())))

    @work(group="prep-dialog", exclusive=True)
    async def action_table(self) -> None:
        namespace = self.studio.namespace
        found = await self.call_and_wait(lambda cdap: cdap.tables.list_tables(namespace))
        if not found:
            self.studio.explain_no_effect("this namespace has no tables", "open a table")
            return
        choices = [Choice(each.name, each.name) for each in found]
        name = await self.studio.choose(choices, title="Open a table")
        if name is not None:
            self.open_source(PrepSource(table=name))

    @work(group="prep-dialog", exclusive=True)
    async def action_sample(self) -> None:
        """Take another sample of the same data."""
        source = self.source
        assert source is not None
        sizes = (100, 1000, 10_000, 100_000)
        choices = [
            *(
                Choice(f"The first {size:,} records", source.with_changes(limit=size, seed=None))
                for size in sizes
            ),
            *(
                Choice(f"{size:,} random records", source.with_changes(limit=size, seed=1))
                for size in sizes
            ),
        ]
        chosen = await self.studio.choose(choices, title="Another sample")
        if chosen is not None:
            self.source = chosen
            self.read()

    def action_give(self) -> None:
        """Give the recipe and the schema of its rows to the stage, and go back to the pipeline."""
        source = self.source
        assert source is not None
        stage = source.stage
        assert stage is not None
        directives = self.recipe.directives
        self.step = None

        def give(view: PrepView) -> None:
            if view.errors:
                self.studio.explain_no_effect("the recipe has mistakes; correct them first", "give")
                return
            schema = None if view.schema is None else json.dumps(view.schema)
            stage.take("\n".join(directives), schema)

        self.read(then=give)

    @work(group="prep-dialog", exclusive=True)
    async def action_export(self) -> None:
        """Choose what becomes of the recipe."""
        source = self.source
        assert source is not None
        no_file = (
            None if source.path else "the data do not come from a file; run a pipeline instead"
        )
        no_source = None if source.stage is None else "the stage has a pipeline"
        choices = [
            Choice("Open a pipeline with it", "pipeline", reason=no_source),
            Choice("Apply it to all rows, into a file", "apply", reason=no_file),
            Choice("Save it as a file of directives", "save"),
            Choice("Copy it", "copy"),
        ]
        text = "\n".join(self.recipe.directives)
        match await self.studio.choose(choices, title="Use the recipe"):
            case "pipeline":
                self._open_pipeline()
            case "apply":
                path = await self._ask_path("Apply the recipe to all rows", "prepared.csv")
                if path is not None:
                    self._apply(path)
            case "save":
                path = await self._ask_path("Save the recipe", f"{source.name}.recipe")
                if path is not None:
                    self._save_file(path, text)
            case "copy":
                self.studio.copy_text(text, "recipe")

    async def _ask_path(self, title: str, typed: str) -> Path | None:
        suffixes = (".csv", ".json", ".parquet", ".xlsx", ".recipe", ".txt")
        return await self.studio.pick_file(title, suffixes=suffixes, for_saving=True, typed=typed)

    def _open_pipeline(self) -> None:
        self.step = None
        after = self.make_request()
        before = replace(after, step=0)

        def show(text: str) -> None:
            assert self.source is not None
            self.studio.navigate(DocumentTarget(self.source.name.partition(".")[0], text))

        self.call(
            lambda cdap: build_pipeline(after, read_view(cdap, before), read_view(cdap, after)),
            show,
        )

    def _apply(self, path: Path) -> None:
        request = self.make_request()
        self.studio.show_notice(
            f"The recipe is being applied to all rows of {request.source.name}."
        )

        def show(progress: dict[str, int]) -> None:
            left_out = progress["failed"] + progress["sent"]
            self.studio.show_notice(
                f"{progress['rows_out']:,} rows written to {path}.",
                f"{left_out:,} of {progress['rows_in']:,} rows are left out." if left_out else "",
                "warning" if left_out else "information",
            )

        self.call(lambda cdap: apply_to_all(cdap, request, path), show)

    def _save_file(self, path: Path, text: str) -> None:
        def write(_: object) -> Path:
            write_file(path, text + "\n")
            return path

        self.call(write, lambda saved: self.studio.show_notice(f"Saved {saved}."))


def _describe_end(failure: PrepFailure) -> str:
    return "sent to error by" if failure.is_sent else "fails at"
