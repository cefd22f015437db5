"""The keys of the prep area for the recipe and the rules for its rows, and the library of recipes.

The library of recipes is that of the application Data Prep, which all users of a namespace share.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final
from urllib.parse import quote

import msgspec
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from localcdap.api.errors import BadRequestError
from localcdap.apps.model import AppRequest
from localcdap.decoders import convert
from localcdap.expectations.rules import Expectation, RowCount, RuleAction, parse_rules
from localcdap.host.cdap import Cdap
from localcdap.tui.machine import RecipeVersion
from localcdap.tui.screens.prep.grid import NO_DATA
from localcdap.tui.screens.prep.recipe import (
    PrepRecipe,
    PrepStep,
    RuleList,
    StepList,
    propose_rules,
    read_lines,
    write_rule,
)
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.studio import Choice

_APP: Final = "dataprep"
_PAGE: Final = 100
"""Recipes of a page, as the application hands them out."""
_MACRO: Final = re.compile(r"\$\{([^${}()]+)\}")
_OK: Final = 200


class LibraryRecipe(msgspec.Struct, rename="camel"):
    """A recipe of the library; ``parameters`` are the macros of its directives."""

    recipe_name: str
    description: str
    directives: list[str]

    @property
    def parameters(self) -> list[str]:
        """The names of the values that it leaves open, in order."""
        return list_parameters(self.directives)


class _RecipePage(msgspec.Struct, rename="camel"):
    recipes: list[LibraryRecipe]
    next_page_token: str = ""


class _RecipeId(msgspec.Struct, rename="camel"):
    recipe_id: str


class _KeptRecipe(msgspec.Struct, rename="camel"):
    recipe_id: _RecipeId


def list_parameters(directives: Sequence[str]) -> list[str]:
    """Return the macros of directives, such as ``column`` of ``${column}``; functions are not among them."""
    return list(dict.fromkeys(name for each in directives for name in _MACRO.findall(each)))


def read_recipes(cdap: Cdap, namespace: str) -> list[LibraryRecipe]:
    """Return the recipes of a namespace by name.

    :raises BadRequestError: when the application answers with an error.
    """
    return list(_iterate(cdap, namespace))


def _iterate(cdap: Cdap, namespace: str) -> Iterator[LibraryRecipe]:
    token = ""
    while True:
        query: dict[str, str | list[str]] = {"pageSize": str(_PAGE)}
        if token:
            query["pageToken"] = token
        page = convert(_call(cdap, "GET", namespace, query=query), _RecipePage)
        yield from page.recipes
        token = page.next_page_token
        if not token:
            return


def save_recipe(cdap: Cdap, namespace: str, recipe: LibraryRecipe, *, replaces: bool) -> None:
    """Add a recipe to the library.

    :param replaces: whether it takes the place of the one of its name.
    :raises BadRequestError: when there is one already, or the name has other characters than letters of
        English, digits and blanks.
    """
    body = {
        "recipeName": recipe.recipe_name,
        "description": recipe.description,
        "directives": recipe.directives,
    }
    if not replaces:
        _call(cdap, "POST", namespace, body=body)
        return
    path = f"/name/{quote(recipe.recipe_name)}"
    kept = convert(_call(cdap, "GET", namespace, path), _KeptRecipe)
    _call(cdap, "PUT", namespace, f"/id/{kept.recipe_id.recipe_id}", body=body)


def delete_recipe(cdap: Cdap, namespace: str, name: str) -> None:
    """Delete a recipe of the library.

    :raises BadRequestError: when there is none of that name.
    """
    kept = convert(_call(cdap, "GET", namespace, f"/name/{quote(name)}"), _KeptRecipe)
    _call(cdap, "DELETE", namespace, f"/id/{kept.recipe_id.recipe_id}")


def _call(
    cdap: Cdap,
    method: str,
    namespace: str,
    path: str = "",
    *,
    query: dict[str, str | list[str]] | None = None,
    body: Any = None,
) -> Any:
    request = AppRequest(
        method, f"/v2/contexts/{quote(namespace)}/recipes{path}", query or {}, body
    )
    answer = cdap.apps.call(_APP, request)
    if answer.status == _OK:
        return answer.body
    message = answer.body.get("message") if isinstance(answer.body, dict) else None
    raise BadRequestError(
        str(message or f"The library answered {answer.status}."), "Correct the recipe or its name."
    )


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
