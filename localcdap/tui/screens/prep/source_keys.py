"""The keys of the prep area for the data: a file, a table, a connection, a join, the sample."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from textual import on, work
from textual.binding import Binding, BindingType
from textual.events import Paste

from localcdap.api.connector import BrowseRequest, SampleType
from localcdap.connectors.all_records import SKIP_LINES
from localcdap.host.cdap import Cdap
from localcdap.text import plural
from localcdap.tui.dialogs.path_dialog import is_file
from localcdap.tui.routes import DocumentTarget, NavigationTarget, PrepTarget
from localcdap.tui.screens.prep.data_lists import ConnectionBrowser, ConnectionPlace, RecentData
from localcdap.tui.screens.prep.exports import build_joined_pipeline, read_prepared
from localcdap.tui.screens.prep.grid import NO_DATA
from localcdap.tui.screens.prep.recipe import PrepRecipe, read_lines
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.screens.prep.source import (
    FILE_OPTIONS,
    SAMPLE,
    PrepRequest,
    PrepSource,
    read_matches,
)
from localcdap.tui.studio import Choice
from localcdap.workspace_views import ColumnMatch

_SUFFIXES: Final = (
    *(".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".avro", ".orc", ".xlsx", ".xls"),
    *(".log", ".xml", ".gz"),
)
_SIZES: Final = (SAMPLE, 100, 10_000, 100_000)
_SIFTED: Final = {
    SampleType.STRATIFIED: ("Records of each value of a column …", "The column"),
    SampleType.MATCHING: ("Records for which a condition is true …", "The condition"),
    SampleType.FAILING: ("Records for which a recipe fails …", "The recipe"),
}
"""The kinds of samples that only connections take, and what they need."""
_FORMATS: Final = (
    "csv",
    "tsv",
    "json",
    "parquet",
    "orc",
    "avro",
    "excel",
    "text",
    "document",
    "blob",
)
_DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "vertical line": "|"}
_ENCODINGS: Final = ("UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1", "ISO-8859-15")
_DETECTED: Final[dict[str, object]] = dict.fromkeys((*FILE_OPTIONS, "types"))


class SourceKeys(RecipeScreen):
    """Opens data, takes other samples of them, and corrects how they are read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "open a file", id="prep.open"),
        Binding("t", "table", "open a table", id="prep.table", show=False),
        Binding("c", "connection", "open data of a connection", id="prep.connection", show=False),
        Binding("w", "sample", "another sample", id="prep.sample", show=False),
        Binding("r", "reading", "how it is read", id="prep.reading", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        source = self.source
        if action in ("sample", "reading") and (source is None or self.view is None):
            return NO_DATA
        if action in ("sample", "reading") and source is not None and source.stage is not None:
            return "the records are those that reach the stage"
        if action == "reading" and source is not None and source.table:
            return "a table has a schema"
        return super().explain_disabled(action)

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, PrepTarget) and target.connection:
            self._open_place(target.connection, target.path)
        else:
            super().show_target(target)

    @on(RecentData.Opened)
    def _open_recent(self, event: RecentData.Opened) -> None:
        event.stop()
        self.open_source(event.source)

    # -- data -----------------------------------------------------------------------------------

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
    async def action_connection(self) -> None:
        """Choose data of a connection, and which sample of them is taken."""
        source = self.source
        typed = ""
        if source is not None and source.connection:
            typed = f"{source.connection}:{source.place.rpartition('/')[0]}/"
        await self._browse(typed)

    def on_paste(self, event: Paste) -> None:
        """Open what is pasted while no text is edited, such as cells of a sheet."""
        if "\n" in event.text.strip():
            event.stop()
            self._open_pasted(event.text)

    @work(group="prep-dialog", exclusive=True)
    async def _open_pasted(self, text: str) -> None:
        """Keep a text as a connection, and open it."""
        if "${" in text:
            self.studio.explain_no_effect(
                "the text has '${', as macros do; save it in a file", "paste"
            )
            return
        namespace = self.studio.namespace
        found = await self.call_and_wait(lambda cdap: cdap.connections.list_connections(namespace))
        taken = {each.name for each in found}
        free = next(each for n in itertools.count(1) if (each := f"pasted-{n}") not in taken)
        name = await self.studio.ask(
            "The name of the pasted text",
            free,
            detail=f"{plural(len(text.splitlines()), 'line')} are kept as a connection of this name.",
            check=lambda typed: f"'{typed}' exists already" if typed.strip() in taken else None,
        )
        if not name or not name.strip():
            return
        plugin = {"name": "Paste", "properties": {"text": text}}
        document = {"name": name.strip(), "plugin": plugin}
        await self.call_and_wait(lambda cdap: cdap.connections.load(namespace, document))
        self.open_source(PrepSource(connection=name.strip(), place="/text"))

    @work(group="prep-dialog", exclusive=True)
    async def _open_place(self, connection: str, path: str) -> None:
        """Show what is at a path of a connection, or let the user choose in a folder."""
        path, namespace = path or "/", self.studio.namespace
        found = await self.call_and_wait(
            lambda cdap: cdap.connectors.browse(namespace, connection, BrowseRequest(path))
        )
        wanted = path.strip("/")
        itself = [each for each in found.entities if each.path.strip("/") == wanted]
        if itself and itself[0].can_sample:
            self.open_source(PrepSource(connection=connection, place=itself[0].path))
        else:
            await self._browse(f"{connection}:{path.rstrip('/')}/")

    async def _browse(self, typed: str) -> None:
        place = await self.app.push_screen_wait(
            ConnectionBrowser("Open data of a connection", typed)
        )
        if place is not None:
            source = PrepSource(connection=place.connection, place=place.path)
            chosen = await self._choose_sample(source, place)
            if chosen is not None:
                self.open_source(chosen)

    # -- the sample -----------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_sample(self) -> None:
        """Take another sample of the same data."""
        source = self.source
        assert source is not None
        columns = [each.name for each in self.view.columns] if self.view is not None else []
        chosen = await self._choose_sample(
            source, ConnectionPlace(source.connection, source.place, columns)
        )
        if chosen is not None:
            self.change_source(chosen)

    async def _choose_sample(self, source: PrepSource, place: ConnectionPlace) -> PrepSource | None:
        """Return the same data with the sample that the user wants."""
        plain = source.with_changes(kind=SampleType.DEFAULT, wanted="", seed=None)
        random = SampleType.RANDOM if source.connection else SampleType.DEFAULT
        choices: list[Choice[PrepSource | SampleType]] = []
        for size in _SIZES:
            first = plain.with_changes(limit=size)
            choices.append(Choice(f"The first {size:,} records", first))
        for size in _SIZES:
            spread = plain.with_changes(limit=size, seed=1, kind=random)
            choices.append(Choice(f"{size:,} random records", spread))
        if source.connection:
            choices += [Choice(label, kind) for kind, (label, _) in _SIFTED.items()]
        chosen = await self.studio.choose(choices, title=f"Which records of {source.name}?")
        if not isinstance(chosen, SampleType):
            return chosen
        return await self._ask_for_kind(plain, chosen, place.columns)

    async def _ask_for_kind(
        self, source: PrepSource, kind: SampleType, columns: Sequence[str]
    ) -> PrepSource | None:
        is_stratified = kind is SampleType.STRATIFIED
        column = self.column
        typed = ""
        if is_stratified and column is not None and column.name in columns:
            typed = column.name
        if kind is SampleType.FAILING and source.key == (self.source.key if self.source else ""):
            typed = "; ".join(self.recipe.directives)
        wanted = await self.studio.ask(
            _SIFTED[kind][1],
            typed,
            detail="All records are read, as far as the time allows." if is_stratified else "",
            check=lambda text: None if text.strip() else "it is needed",
            suggestions=columns if is_stratified else (),
        )
        if wanted is None:
            return None
        seed = 1 if is_stratified else None
        return source.with_changes(kind=kind, wanted=wanted, seed=seed)

    # -- how it is read -------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_reading(self) -> None:
        """Correct what was detected: format, delimiter, names in the first line, encoding, sheet, types."""
        source = self.source
        assert source is not None
        found = self._describe_reading(source)
        choices = [
            Choice(label, name, hint=found.get(name, ""))
            for name, label in (
                ("format", "Format"),
                (SKIP_LINES, "Lines at the beginning that are left out"),
                ("delimiter", "What separates the values"),
                ("header", "Whether the first line has names"),
                ("encoding", "Encoding"),
                ("sheet", "Sheet of the workbook"),
                *([("types", "Types of the columns")] if source.connection else []),
            )
        ]
        choices.append(Choice("All as it is detected", ""))
        name = await self.studio.choose(choices, title=f"How {source.name} is read")
        if name == "":
            self.change_source(source.with_changes(**_DETECTED))
        elif name is not None:
            value = await self._choose_reading(name, found.get(name, ""))
            if value is not None:
                option = "skip_lines" if name == SKIP_LINES else name
                self.change_source(source.with_changes(**{option: value[0]}))

    def _describe_reading(self, source: PrepSource) -> dict[str, str]:
        """Return how the data are read now, as texts."""
        view = self.view
        found = dict(view.reading) if view is not None else {}
        if view is not None and view.format is not None:
            has_names = str(view.format.header).lower()
            found |= {"format": view.format.format, "encoding": view.format.encoding}
            found[SKIP_LINES] = str(view.format.skip_lines)
            found |= {"delimiter": view.format.delimiter, "header": has_names}
        found = {SKIP_LINES: "0"} | found | source.reading
        names = {sign: name for name, sign in _DELIMITERS.items()}
        if "delimiter" in found:
            found["delimiter"] = names.get(found["delimiter"], found["delimiter"])
        found["header"] = "yes" if found.get("header") == "true" else "no"
        return found

    async def _choose_reading(self, name: str, now: str) -> tuple[str | int | None] | None:
        """Return what is chosen instead, None for what is detected; None when nothing is chosen."""
        choices: list[Choice[tuple[str | int | None]]]
        match name:
            case "format":
                choices = [Choice(each, (each,)) for each in _FORMATS]
            case "delimiter":
                choices = [Choice(each, (sign,)) for each, sign in _DELIMITERS.items()]
            case "header":
                choices = [Choice("yes", (True,)), Choice("no", (False,))]
            case "encoding":
                choices = [Choice(each, (each,)) for each in _ENCODINGS]
            case "types":
                choices = [
                    Choice("detected from the values", ("detect",)),
                    Choice("texts", (None,)),
                ]
            case "skipLines":
                count = await self.studio.ask(
                    "How many lines, or rows of a sheet, stand above the table?",
                    now,
                    check=_check_count,
                )
                return (int(count),) if count else None
            case _:
                choices = []
        if choices:
            if name not in ("header", "types"):
                choices.append(Choice("another one …", ("",)))
            title = f"Now it is: {now or 'not known'}"
            chosen = await self.studio.choose(choices, title=title)
            if chosen != ("",):
                return chosen
        typed = await self.studio.ask(f"The {name}", now)
        return (typed,) if typed else None


def _check_count(text: str) -> str | None:
    return None if text.isascii() and text.isdigit() else "it is a whole number"


class JoinKeys(RecipeScreen):
    """A join with a second file or table, which becomes a pipeline: no directive joins rows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("L", "join", "join with other data", id="prep.join", show=False)
    ]

    def explain_disabled(self, action: str) -> str | None:
        if action == "join" and self.column is None:
            return "the rows have no columns"
        if action == "join" and self.source is not None and self.source.stage is not None:
            return "add a Joiner stage to the pipeline"
        return super().explain_disabled(action)

    @work(group="prep-dialog", exclusive=True)
    async def action_join(self) -> None:
        """Choose other data, the columns that are to be equal, and the rows that are kept."""
        other = await self._choose_other()
        if other is None:
            return
        self.step = None
        left = replace(self.make_request(), facets=(), compares=False, first_column=0)
        kept = self.studio.user_state.find_recipe(left.namespace, other.key)
        recipe = PrepRecipe(*read_lines(kept))
        right = PrepRequest(
            other, left.session, left.namespace, recipe.directives, rules=recipe.expectations
        )
        matches = await self.call_and_wait(lambda cdap: read_matches(cdap, left, right))
        if not matches:
            reason = f"no column has values that are in a column of {other.name}, too"
            self.studio.explain_no_effect(reason, "join")
            return
        choices = [
            Choice(
                f"{each.left} = {each.right}",
                each,
                hint=f"{each.rows:,} of {each.total:,} rows match",
                detail=_describe_match(each, other.name),
            )
            for each in matches
        ]
        match = await self.studio.choose(
            choices, title=f"Which columns of {left.source.name} and {other.name} are equal?"
        )
        if match is None:
            return
        ways = [
            Choice("Keep all rows, with empty columns where nothing matches", value=False),
            Choice("Keep only the rows that match", value=True),
        ]
        is_inner = await self.studio.choose(ways, title="Open a pipeline with a Joiner")
        if is_inner is not None:
            self._open_joined(left, right, match, is_inner=is_inner)

    async def _choose_other(self) -> PrepSource | None:
        """Choose a table of the namespace, a file that was prepared before, or another file."""
        own = self.source.key if self.source is not None else ""
        namespace, state = self.studio.namespace, self.studio.user_state
        tables = await self.call_and_wait(lambda cdap: cdap.tables.list_tables(namespace))
        found = [PrepSource(table=each.name) for each in tables]
        found += [
            PrepSource(path=path) for path in state.list_prepared(namespace) if is_file(Path(path))
        ]
        choices: list[Choice[tuple[PrepSource | None]]] = [Choice("A file …", (None,))]
        for each in found:
            if each.key != own:
                kind = "file" if each.path else "table"
                choices.append(Choice(each.name, (each,), hint=kind, detail=each.path))
        chosen = await self.studio.choose(choices, title="Join with")
        if chosen is None or chosen[0] is not None:
            return None if chosen is None else chosen[0]
        path = await self.studio.pick_file("Join with a file", suffixes=())
        return None if path is None else PrepSource(path=str(path.absolute()))

    def _open_joined(
        self, left: PrepRequest, right: PrepRequest, match: ColumnMatch, *, is_inner: bool
    ) -> None:
        def build(cdap: Cdap) -> str:
            sides = read_prepared(cdap, left), read_prepared(cdap, right)
            keys = match.left, match.right
            return build_joined_pipeline(*sides, keys, is_inner=is_inner)

        self.call(build, lambda text: self.studio.navigate(DocumentTarget("joined", text)))


def _describe_match(match: ColumnMatch, other: str) -> str:
    if match.is_unique:
        return f"Each value is once in {other}, so no row is repeated."
    return f"Some values are several times in {other}, so their rows are repeated."
