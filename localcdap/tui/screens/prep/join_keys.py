"""The key of the prep area that joins the rows with those of other data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.path_dialog import is_file
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.screens.prep.exports import build_joined_pipeline, read_prepared
from localcdap.tui.screens.prep.recipe import PrepRecipe, read_lines
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.screens.prep.source import PrepRequest, PrepSource, read_matches
from localcdap.tui.studio import Choice
from localcdap.workspace_views import ColumnMatch


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
