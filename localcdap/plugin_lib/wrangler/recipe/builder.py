"""Recipes parsed and built: :func:`load_recipe` is the one way from a recipe's text to its directives.

The precondition of a stage drops records before the recipe.

A stage is configured several times before it runs, and its run, previews, samples and checks need its
recipe too. So the parsed recipe and its directives are cached for the process, by the text and the loaded
directives. They are shared and must not be changed. Python workers of Spark build separate directives
with :class:`DirectiveBuilder`, since directives may keep state while they run on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Expression,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.wrangler.language import (
    DirectiveCall,
    ExpressionSource,
    LoadPragma,
    Recipe,
    list_loaded_directives,
    parse_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.registry import DirectiveRegistry, load_shipped_directives
from localcdap.workspace_views import RecipeProblem

if TYPE_CHECKING:
    from localcdap.plugin_lib.jexl import Problem


NAME: Final = "precondition"


@plugin(name=NAME, description="Leaves records out.")
class Precondition(Directive):
    """Drops the records for which the condition is true (``Precondition.java`` of wrangler-transform).

    A record for which it is neither true nor false fails, also for the text ``true`` and for null. Each
    variable must be a column: the engine of the original (``JexlScriptEngine``) is strict, and nothing adds
    nulls to its bindings. Recipes cannot use the directive: the stage's property makes it the one that runs
    before all others.
    """

    condition = argument.expression("True for the records that are left out.")

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._is_out: Callable[..., Any] = self.condition.compile()

    def propagate(self, columns: Columns) -> None:
        schema = self.condition.type(columns.record())
        if schema is not None and schema.non_nullable.type is not Type.BOOLEAN:
            columns.fail(
                self._explain(), f"It is {schema.display_name}: compare it with something."
            )

    def _explain(self) -> str:
        """Return the message of the original for a value that is neither true nor false."""
        return f"Precondition '{self.condition.text}' does not result in true or false."

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        value = self._is_out(row)
        if not isinstance(value, bool):
            raise DirectiveError(self._explain())
        return () if value else (row,)

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        found = frame.evaluate(self.condition)
        if found.type.non_nullable.type is not Type.BOOLEAN:
            raise NoNativeFormError("the precondition is not a comparison")
        if found.failing is not None:
            frame.fail_where(
                found.failing, f"the precondition '{self.condition.text}' has no value"
            )
        if found.type.is_nullable:
            frame.fail_where(found.column.isNull(), self._explain())
        frame.keep_where(~f.coalesce(found.column, f.lit(False)))


ALL_FIELDS: Final = "*"
"""The property ``field`` of a stage whose recipe gets all fields of a record as columns."""
WHOLE_RECORD: Final = "#"
"""The property ``field`` of a stage whose recipe gets the record as the value of one column."""


def find_row_schema(field: str, schema: Schema | None) -> Schema | None:
    """Return the schema of the rows that a recipe gets: all fields, or the one field that is wrangled."""
    if schema is None or field == ALL_FIELDS:
        return schema
    if field == WHOLE_RECORD:
        return Schema.record("row", [(schema.name or "record", schema)])
    found = schema.field(field)
    return Schema.record(schema.name or "row", [] if found is None else [found])


def select_row(field: str, schema: Schema | None, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row that a recipe gets of a record, see :func:`find_row_schema`."""
    if field == ALL_FIELDS:
        return record
    if field == WHOLE_RECORD:
        return {(schema.name if schema is not None else None) or "record": record}
    return {field: record.get(field)}


def list_precondition(text: str | None) -> tuple[RecipeStep, ...]:
    """Return the step of a precondition; exports of CDAP have ``false`` where there is none."""
    text = (text or "").strip()
    return () if text in ("", "false") else load_precondition(text).steps


FindDirective = Callable[[str, str], Any]
"""Returns the class of a plugin by its type (``directive``) and name; None for a missing one."""


class RecipeStep(msgspec.Struct, frozen=True):
    """One directive of a recipe."""

    call: DirectiveCall
    directive: Directive | None
    """None when it is known at run time only: its arguments contain macros, or its class is not loaded."""

    @property
    def name(self) -> str:
        """The directive's name."""
        return self.call.name


class BuiltRecipe(msgspec.Struct, frozen=True):
    """A parsed recipe with its directives, shared by everything in the process that needs it."""

    recipe: Recipe
    steps: tuple[RecipeStep, ...]
    problems: tuple[RecipeProblem, ...]
    """All problems, warnings included, in the order of the text."""

    @property
    def errors(self) -> list[RecipeProblem]:
        """The problems that keep the recipe from running."""
        return [problem for problem in self.problems if not problem.is_warning]

    @property
    def known_steps(self) -> tuple[RecipeStep, ...]:
        """The steps before the first statement that is invalid, or a macro for whole directives."""
        return self.steps[: self.recipe.known_calls]

    @property
    def is_complete(self) -> bool:
        """Whether the whole recipe is known: it holds no macros, and all directives are loaded."""
        return not self.recipe.has_macros and all(step.directive is not None for step in self.steps)


def load_recipe(
    text: str, names: Sequence[str] = (), find: FindDirective = lambda *_: None
) -> BuiltRecipe:
    """Parse a recipe and build its directives, once a process. It never raises for what the text says.

    :param names: user-defined directives that the recipe may use besides those that its pragmas load.
    :param find: finds the classes of user-defined directives.
    """
    found = (find("directive", name) for name in (*names, *list_loaded_directives(text)))
    loaded = tuple(cls for cls in found if cls is not None)
    return _build_recipe(text, tuple(names), loaded)


# One for each Wrangler stage of a large pipeline; a built recipe takes some 10 kB.
@lru_cache(maxsize=128)
def _build_recipe(
    text: str, names: tuple[str, ...], loaded: tuple[type[Directive], ...]
) -> BuiltRecipe:
    registry = load_shipped_directives().with_loaded(loaded)
    recipe = parse_recipe(text, registry.arguments, loaded=names)
    problems = list(recipe.problems)
    steps = tuple(build_step(call, registry, problems) for call in recipe.calls)
    problems += [
        _report_missing(load)
        for load in recipe.loads
        if load.name not in registry and load.name not in names
    ]
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return BuiltRecipe(recipe, steps, tuple(problems))


@lru_cache(maxsize=128)
def load_precondition(text: str) -> BuiltRecipe:
    """Build a stage's precondition as a recipe of the one directive that runs before all others."""
    arguments = {"condition": ExpressionSource(text, 1, 1)}
    call = DirectiveCall(NAME, arguments, 1, 1, f"precondition {text}")
    problems: list[RecipeProblem] = []
    step = build_step(call, _PRECONDITIONS, problems)
    return BuiltRecipe(Recipe((call,), (), tuple(problems)), (step,), tuple(problems))


_PRECONDITIONS = DirectiveRegistry({NAME: Precondition})


def build_step(
    call: DirectiveCall, registry: DirectiveRegistry, problems: list[RecipeProblem]
) -> RecipeStep:
    """Build the directive of a call; what is wrong with it is added to ``problems``."""
    if not call.is_declared or call.name not in registry:
        return RecipeStep(call, None)
    cls = registry[call.name]
    before = len(problems)
    values = {
        argument.attribute: _parse_expression(call.arguments[argument.attribute], cls, problems)
        if argument.kind is ArgumentKind.EXPRESSION
        else call.arguments[argument.attribute]
        for argument in cls.arguments
        if argument.attribute in call.arguments
    }
    if call.macros or len(problems) > before:
        return RecipeStep(call, None)
    directive = cls(values)
    problem = directive.problem()
    if problem is not None:
        problems.append(RecipeProblem(problem, call.line, call.column, usage=cls.usage()))
    return RecipeStep(call, directive)


def build_directives(
    calls: Sequence[DirectiveCall], loaded: Sequence[str], find: FindDirective
) -> list[Directive]:
    """Build directives to execute, from calls without problems.

    :param loaded: names of the user-defined directives.
    """
    found = (find("directive", name) for name in loaded)
    registry = load_shipped_directives().with_loaded([cls for cls in found if cls is not None])
    directives = []
    for call in calls:
        known = _PRECONDITIONS if call.name == NAME else registry
        directive = build_step(call, known, []).directive
        assert directive is not None
        directives.append(directive)
    return directives


class DirectiveBuilder:
    """Builds directives where batches run. Can be pickled where ``find`` can."""

    def __init__(
        self, calls: Sequence[DirectiveCall], loaded: Sequence[str], find: FindDirective
    ) -> None:
        self._calls = tuple(calls)
        self._loaded = tuple(loaded)
        self._find = find

    def __call__(self) -> list[Directive]:
        return build_directives(self._calls, self._loaded, self._find)


def _report_missing(load: LoadPragma) -> RecipeProblem:
    message = f"the user-defined directive '{load.name}' is not here: put its artifact into a plugin folder"
    return RecipeProblem(message, load.line, load.column)


def _parse_expression(
    source: Any, cls: type[Directive], problems: list[RecipeProblem]
) -> Expression | None:
    from localcdap.plugin_lib.jexl import JexlError
    from localcdap.plugin_lib.jexl import parse as parse_expression

    if not isinstance(source, ExpressionSource):
        return cast(Expression | None, source)
    try:
        return cast(Expression, parse_expression(source.text))
    except JexlError as error:
        for each in error.problems:
            line, column = locate_problem(each, source)
            message = f"{each.message} {each.hint}" if each.hint else each.message
            problems.append(RecipeProblem(message, line, column, usage=cls.usage()))
        return None


def locate_problem(problem: Problem, source: ExpressionSource) -> tuple[int, int]:
    """Return the line and the column in the recipe's text of a problem in an expression."""
    column = problem.column + (source.column - 1 if problem.line == 1 else 0)
    return source.line + problem.line - 1, column
