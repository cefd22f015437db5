"""The keys of the prep area for the recipe: changes, steps side by side, versions, and the library."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from localcdap.tui.machine import RecipeVersion
from localcdap.tui.screens.prep.library import (
    LibraryRecipe,
    delete_recipe,
    list_parameters,
    read_recipes,
    save_recipe,
)
from localcdap.tui.screens.prep.panel import NO_DATA
from localcdap.tui.screens.prep.recipe import PrepRecipe, PrepStep, read_lines
from localcdap.tui.screens.prep.recipe_lists import StepList
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.studio import Choice


class RecipeKeys(RecipeScreen):
    """Changes of the recipe, its versions, and recipes of the library."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "insert", "write a directive", id="prep.insert"),
        Binding("u", "undo", "undo", id="prep.undo"),
        Binding("U,ctrl+r", "redo", "redo", id="prep.redo", show=False),
        Binding("b", "steps", "steps", id="prep.steps"),
        Binding("V", "versions", "versions of the recipe", id="prep.versions", show=False),
        Binding("B", "library", "library of recipes", id="prep.library", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        if action in ("insert", "steps", "versions", "library") and self.source is None:
            return NO_DATA
        match action:
            case "undo" if not self.recipe.can_undo:
                return "the recipe has not been changed"
            case "redo" if not self.recipe.can_redo:
                return "no change was undone"
            case "steps" if not self.recipe.steps:
                return "the recipe has no steps"
        return super().explain_disabled(action)

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

    @on(StepList.ComparisonAsked)
    def _compare(self, event: StepList.ComparisonAsked) -> None:
        """Show what the highlighted step changes, or only the rows after it again."""
        event.stop()
        self.compares = not self.compares
        self.step = event.number
        self.read()

    # -- versions -------------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_versions(self) -> None:
        """Keep the recipe as a version, or go back to one; what differs shows while it is highlighted."""
        source = self.source
        if source is None:
            return
        now = self.recipe.lines
        kept = self.studio.user_state.find_versions(self.studio.namespace, source.key)
        keep = "the recipe has no steps" if not now else None
        choices: list[Choice[tuple[RecipeVersion | None]]] = [
            Choice("Keep the recipe as a version", (None,), reason=keep),
        ]
        for each in reversed(kept):
            hint = f"{format_moment(each)}  {len(each.lines)} steps"
            choices.append(Choice(each.name, (each,), hint, describe_difference(now, each.lines)))
        chosen = await self.studio.choose(
            choices, title="Versions of the recipe", on_highlight=self._try_version
        )
        if chosen is None:
            self.read()
        elif chosen[0] is None:
            name = await self.studio.ask("Name of the version", f"version {len(kept) + 1}")
            if name:
                self.keep_version(name)
            self.read()
        else:
            self.keep_version(f"before {chosen[0].name}")
            self.recipe.restore(*read_lines(chosen[0].lines))
            self.finish_change()

    def _try_version(self, value: tuple[RecipeVersion | None]) -> None:
        version = value[0]
        if version is not None:
            self.read(PrepRecipe(*read_lines(version.lines)).directives)

    # -- the library ----------------------------------------------------------------------------

    @work(group="prep-dialog", exclusive=True)
    async def action_library(self) -> None:
        """Apply a recipe of the library, or add this one to it."""
        namespace = self.studio.namespace
        found = await self.call_and_wait(lambda cdap: read_recipes(cdap, namespace))
        own = self.recipe.directives
        choices: list[Choice[tuple[LibraryRecipe | None]]] = [
            Choice(
                "Add this recipe to the library",
                (None,),
                reason=None if own else "no step is on",
            ),
        ]
        for each in found:
            detail = "\n".join([each.description, *each.directives[:4]])
            choices.append(Choice(each.recipe_name, (each,), _describe_size(each), detail))
        chosen = await self.studio.choose(
            choices, title="Library of recipes", on_highlight=self._try_recipe
        )
        if chosen is None:
            self.read()
        elif chosen[0] is None:
            await self._add_to_library([each.recipe_name for each in found])
        else:
            await self._use_recipe(chosen[0])

    def _try_recipe(self, value: tuple[LibraryRecipe | None]) -> None:
        if value[0] is not None:
            self.read([*self.recipe.directives, *value[0].directives])

    async def _add_to_library(self, names: list[str]) -> None:
        name = await self.studio.ask(
            "Name of the recipe",
            detail="Letters, digits and blanks. Who uses it is asked for macros such as ${column}.",
            check=lambda text: None if text.strip() else "a name is needed",
            suggestions=names,
        )
        if name is None:
            return
        replaces = name in names
        if replaces and not await self.studio.confirm(
            f"Replace the recipe '{name}' of the library?", verb="Replace"
        ):
            return
        description = await self.studio.ask("What does it do?", f"{len(self.recipe.steps)} steps")
        if description is None:
            return
        recipe = LibraryRecipe(name, description, self.recipe.directives)
        namespace = self.studio.namespace
        self.call(
            lambda cdap: save_recipe(cdap, namespace, recipe, replaces=replaces),
            lambda _: self.studio.show_notice(f"The library has the recipe '{name}'."),
        )

    async def _use_recipe(self, recipe: LibraryRecipe) -> None:
        ways = [
            Choice("Append its steps", "append", detail="\n".join(recipe.directives[:5])),
            Choice("Replace all steps by it", "replace"),
            Choice("Delete it from the library", "delete"),
        ]
        way = await self.studio.choose(ways, title=recipe.recipe_name)
        if way == "delete":
            await self._delete_recipe(recipe)
        elif way is not None and await self._ask_parameters(recipe):
            steps = [PrepStep(each) for each in recipe.directives]
            self.recipe.restore([*self.recipe.steps, *steps] if way == "append" else steps)
            self.finish_change()
        else:
            self.read()

    async def _delete_recipe(self, recipe: LibraryRecipe) -> None:
        name, namespace = recipe.recipe_name, self.studio.namespace
        if await self.studio.confirm(f"Delete the recipe '{name}' from the library?"):
            self.call(
                lambda cdap: delete_recipe(cdap, namespace, name),
                lambda _: self.studio.show_notice(f"Deleted the recipe '{name}'."),
            )
        self.read()

    async def _ask_parameters(self, recipe: LibraryRecipe) -> bool:
        """Ask for the values that a recipe leaves open; return False when one is not given."""
        for name in list_parameters(recipe.directives):
            value = await self.studio.ask(
                f"Value of ${{{name}}}",
                self.arguments.get(name, ""),
                detail=f"for the recipe {recipe.recipe_name}; pipelines ask for it when they run",
                suggestions=[each.name for each in self.view.columns] if self.view else [],
            )
            if value is None:
                return False
            self.arguments[name] = value
        return True


def _describe_size(recipe: LibraryRecipe) -> str:
    count = len(recipe.directives)
    asked = f", asks for {', '.join(recipe.parameters)}" if recipe.parameters else ""
    return f"{count} {'step' if count == 1 else 'steps'}{asked}"


_LINES = 5
"""Lines of a difference that are shown."""


def describe_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the lines that one recipe has less and more than another; what is the same is left out."""
    lines = [
        f"{line[0]} {line[2:]}"
        for line in difflib.ndiff(list(before), list(after))
        if line[0] in "+-"
    ]
    if not lines:
        return "the same steps as now"
    more = len(lines) - _LINES
    shown = lines if more <= 0 else [*lines[: _LINES - 1], f"… {more + 1} more lines"]
    return "\n".join(shown)


def format_moment(version: RecipeVersion) -> str:
    """Return when a version was kept, in the time of this machine."""
    return f"{datetime.fromtimestamp(version.time):%Y-%m-%d %H:%M}"
