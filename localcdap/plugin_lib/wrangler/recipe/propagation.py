"""Follows the columns of a recipe's rows, directive by directive, before there are rows.

It finds the columns that a directive names and that no row has where it runs, the columns that the rest of a
recipe needs, and the differences between the declared schema and the columns that the directives make.

Finds the columns that a directive of a recipe names, and that no row has where it runs.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

import msgspec

from localcdap.api.arrow import MAX_DECIMAL_PRECISION
from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Field, LogicalType, Schema, Type
from localcdap.api.stage import FindTable
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.plugin_lib.wrangler.directives.conditions import (
    IncrementVariable,
    SendToErrorAndContinue,
    SetVariable,
)
from localcdap.plugin_lib.wrangler.language import ExpressionSource
from localcdap.plugin_lib.wrangler.recipe.builder import Precondition, RecipeStep, locate_problem
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.workspace_views import RecipeProblem

if TYPE_CHECKING:
    from localcdap.plugin_lib.jexl import JexlExpression


def find_missing_columns(
    step: RecipeStep,
    directive: Directive,
    before: Columns,
    after: Columns,
    variables: Collection[str],
) -> Iterator[RecipeProblem]:
    """Yield a problem for each column that cannot exist, unless the directive has reported it itself.

    A column of an argument is a warning. In an expression it is an error where each row fails without it.

    :param directive: the directive of the step, which has propagated.
    :param before: the columns before the directive.
    :param after: the columns after it, with the directive's own reports.
    :param variables: the transient variables of the recipe, which expressions read like columns.
    """
    reported = " ".join(message for message, _ in (*after.problems, *after.warnings))
    for name in dict.fromkeys(directive.reads_columns()):
        if before.is_missing(name) and after.is_missing(name) and f"'{name}'" not in reported:
            yield RecipeProblem(
                f"{step.name}: There is no column '{name}'.",
                step.call.line,
                step.call.column,
                is_warning=True,
                corrective_action=suggest_name(name, before),
            )
    for argument in directive.arguments:
        if argument.kind is ArgumentKind.EXPRESSION:
            yield from _check_expression(step, directive, argument.attribute, before, variables)


def _check_expression(
    step: RecipeStep,
    directive: Directive,
    attribute: str,
    columns: Columns,
    variables: Collection[str],
) -> Iterator[RecipeProblem]:
    source = step.call.arguments.get(attribute)
    if not isinstance(source, ExpressionSource):
        return
    expression = cast("JexlExpression", getattr(directive, attribute))
    must_exist = isinstance(directive, Precondition)
    for problem in expression.check_columns(columns, variables, must_exist=must_exist):
        line, column = locate_problem(problem, source)
        yield RecipeProblem(
            f"{step.name}: {problem.message}.",
            line,
            column,
            is_warning=problem.is_warning,
            corrective_action=problem.hint,
        )


class PropagatedColumns(msgspec.Struct):
    """The known columns before and after each directive."""

    before: list[Columns]
    """The columns before each step."""
    after: Columns
    problems: list[RecipeProblem]
    """Errors of directives that fail on such columns, and warnings of those that have no effect on them."""
    directives: list[Directive]
    """Copies of the directives that are known. They may have noted what they learned of the columns."""

    @property
    def errors(self) -> list[RecipeProblem]:
        """The problems that are not warnings."""
        return [problem for problem in self.problems if not problem.is_warning]


def to_columns(schema: Schema | None, find_table: FindTable = lambda _: None) -> Columns:
    """Return the columns that rows have before the first directive; an unknown schema has open columns.

    :param find_table: finds the tables of directives that look up rows.
    """
    if schema is None:
        return Columns(open=True, find_table=find_table)
    return Columns(((field.name, field.schema) for field in schema), find_table=find_table)


def propagate(steps: Sequence[RecipeStep], columns: Columns) -> PropagatedColumns:
    """Follow the columns through a recipe. After a step that is known at run time only they are open.

    The steps are shared by the whole process, so that directives propagate as copies.
    """
    before: list[Columns] = []
    problems: list[RecipeProblem] = []
    directives: list[Directive] = []
    variables = set(_list_variables(steps))
    for step in steps:
        before.append(columns)
        if step.directive is None:
            columns = _propagate_unknown(step, columns)
            continue
        columns = columns.copy()
        directive = copy.copy(step.directive)
        directive.propagate(columns)
        directives.append(directive)
        problems += find_missing_columns(step, directive, before[-1], columns, variables)
        problems += _report(step, columns.problems, is_warning=False)
        problems += _report(step, columns.warnings, is_warning=True)
    return PropagatedColumns(before, columns, problems, directives)


def _propagate_unknown(step: RecipeStep, columns: Columns) -> Columns:
    """Return the columns after a directive whose arguments hold macros, or whose expression is wrong.

    The shipped directives with expressions change only the columns that their arguments name; after any other
    directive nothing is known.
    """
    call, shipped = step.call, load_shipped_directives()
    arguments = shipped[call.name].arguments if call.name in shipped else ()
    expressions = {a.attribute for a in arguments if a.kind is ArgumentKind.EXPRESSION}
    if not expressions or set(call.macros) - expressions:
        return Columns(open=True, find_table=columns.find_table)
    columns = columns.copy()
    for argument in arguments:
        if argument.kind is ArgumentKind.COLUMN:
            columns.put(call.arguments[argument.attribute], None)
    return columns


def _list_variables(steps: Sequence[RecipeStep]) -> Iterator[str]:
    """Yield the transient variables that directives set, also those with wrong expressions."""
    for step in steps:
        if step.directive is not None:
            yield from step.directive.sets_variables()
        elif step.name in (SetVariable.directive_name(), IncrementVariable.directive_name()):
            yield step.call.arguments.get("variable", "")
        elif step.name == SendToErrorAndContinue.directive_name():
            yield from SendToErrorAndContinue.variables


def _report(
    step: RecipeStep, messages: Sequence[tuple[str, str | None]], *, is_warning: bool
) -> Iterator[RecipeProblem]:
    for message, action in messages:
        yield RecipeProblem(
            f"{step.name}: {message}",
            step.call.line,
            step.call.column,
            is_warning=is_warning,
            corrective_action=action,
        )


def is_known(columns: Columns) -> bool:
    """Whether all columns are known with their types."""
    return not columns.open and all(schema is not None for _, schema in columns.items())


def find_unknown_step(steps: Sequence[RecipeStep], found: PropagatedColumns) -> RecipeStep | None:
    """Return the last step whose columns are known before it and not after it; None if there is none."""
    after = [*found.before[1:], found.after]
    unknown = (
        step
        for step, one, other in zip(steps, found.before, after, strict=True)
        if is_known(one) and not is_known(other)
    )
    return next(reversed(list(unknown)), None)


def propose_schema(columns: Columns, name: str = "etlSchemaBody") -> Schema | None:
    """Return the schema of a recipe's output; None while a column or its type is unknown."""
    if not is_known(columns) or not len(columns):
        return None
    return Schema.record(name, [(n, s) for n, s in columns.items() if s is not None])


_EVERYTHING = "this"
"""The variable of an expression that reads the whole row."""


def list_needed_columns(
    directives: Sequence[Directive], output: Schema | None
) -> list[frozenset[str] | None]:
    """Return for each directive the columns that later directives and the output name, in lower case.

    None where they may need any column.
    """
    if output is None:
        return [None] * len(directives)
    names: frozenset[str] | None = frozenset(field.name.lower() for field in output)
    found: list[frozenset[str] | None] = []
    for directive in reversed(directives):
        found.append(names)
        if names is not None:
            own = list_named_columns(directive)
            names = None if own is None else names | {name.lower() for name in own}
    return found[::-1]


def list_named_columns(directive: Directive) -> set[str] | None:
    """Return the columns that a directive's arguments name; None if it reads others too."""
    if directive.whole_row:
        return None
    names: set[str] = set()
    for argument in directive.arguments:
        value = getattr(directive, argument.attribute)
        if value is None:
            continue
        if argument.kind is ArgumentKind.COLUMN:
            names.add(value)
        elif argument.kind is ArgumentKind.COLUMNS:
            names.update(value)
        elif argument.kind is ArgumentKind.EXPRESSION:
            if _EVERYTHING in value.variables:
                return None
            # "a.b" may be the column of that name, or a member of "a".
            names.update(_add_owners(value.variables))
    return names


def _add_owners(variables: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for variable in variables:
        parts = variable.split(".")
        found.update(".".join(parts[: count + 1]) for count in range(len(parts)))
    return found


def list_expression_columns(directive: Directive) -> set[str] | None:
    """Return the names that a directive's expressions read, with the owners of members; None if an expression
    reads the whole row.
    """
    names = list_variables_read(directive)
    return None if _EVERYTHING in names else _add_owners(names)


def list_variables_read(directive: Directive) -> set[str]:
    """Return the names that a directive's expressions read: columns and transient variables."""
    found: set[str] = set()
    for argument in directive.arguments:
        value = getattr(directive, argument.attribute)
        if argument.kind is ArgumentKind.EXPRESSION and value is not None:
            found.update(value.variables)
    return found


_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_TAKEN: Final = {
    Type.INT: (Type.INT, Type.LONG),  # the whole numbers of expressions, which mostly fit
    Type.LONG: (Type.INT, Type.LONG),
    Type.FLOAT: (Type.INT, Type.LONG, Type.FLOAT),
    Type.DOUBLE: _NUMBERS,
    Type.BOOLEAN: (Type.BOOLEAN,),
    Type.BYTES: (Type.BYTES,),
}
"""By the type of a field, the types whose values it takes."""


class SchemaMismatch(msgspec.Struct, frozen=True):
    """A declared field that no row can fill, or that is null in every row."""

    field: str
    message: str
    corrective_action: str
    is_warning: bool = False
    """Whether the field is null in every row, which is allowed."""


def find_schema_mismatches(columns: Columns, declared: Schema) -> Iterator[SchemaMismatch]:
    """Find the declared fields that are known to fail, or to be null, for every row."""
    for field in declared:
        if (field.schema.non_nullable.precision or 0) > MAX_DECIMAL_PRECISION:
            yield _report_precision(field)
            continue
        if columns.is_missing(field.name):
            yield _report_missing(field, columns)
            continue
        source = columns.schema(field.name)
        if source is not None and not can_become(source, field.schema):
            yield SchemaMismatch(
                field.name,
                f"Field '{field.name}' is {_describe(source)} after the recipe, and cannot become "
                f"{_describe(field.schema)} as the output schema says.",
                f"Change its type there, or add 'set-type :{field.name} …' to the recipe.",
            )


def _report_precision(field: Field) -> SchemaMismatch:
    """Report a decimal with too many digits.

    Wrangler of CDAP 6.8 and later proposes 77 digits, 38 of them after the point, for ``set-type`` without a
    scale.
    """
    return SchemaMismatch(
        field.name,
        f"Field '{field.name}' has {field.schema.non_nullable.precision} digits in the output schema, and "
        f"Spark's decimals at most {MAX_DECIMAL_PRECISION}.",
        f"Declare fewer, and say how many stand after the point: set-type :{field.name} decimal 9",
    )


def _report_missing(field: Field, columns: Columns) -> SchemaMismatch:
    is_null = field.schema.is_nullable or field.schema.type is Type.NULL
    what = f"No directive makes the field '{field.name}' of the output schema, which "
    return SchemaMismatch(
        field.name,
        what + ("is null in every record." if is_null else "must not be null."),
        f"The columns after the recipe: {', '.join(columns) or 'none'}.",
        is_warning=is_null,
    )


def can_become(source: Schema, target: Schema) -> bool:
    """Whether any value of one schema can be converted to another."""
    source, target = source.non_nullable, target.non_nullable
    if source.type is Type.NULL or source.type is Type.UNION or target.type is Type.UNION:
        return True
    if source == target:
        return True
    if target.logical_type is not None:
        return _can_become_logical(source, target)
    if target.type is Type.STRING:
        return True
    if target.type is Type.ENUM:
        return source.type in (Type.STRING, Type.ENUM)
    if source.type is Type.STRING and source.logical_type is None:
        return target.type.is_simple
    if source.logical_type is not None:
        is_real = target.type in (Type.FLOAT, Type.DOUBLE)
        return source.logical_type is LogicalType.DECIMAL and is_real
    if target.type in _TAKEN:
        return source.type in _TAKEN[target.type]
    return source.type is target.type or {source.type, target.type} == {Type.MAP, Type.RECORD}


def _can_become_logical(source: Schema, target: Schema) -> bool:
    if source.type is Type.STRING and source.logical_type is None:
        return True
    if target.logical_type is LogicalType.DECIMAL:
        return source.logical_type is LogicalType.DECIMAL or source.type in _NUMBERS
    return source.logical_type is not None and _find_family(source) == _find_family(target)


def _find_family(schema: Schema) -> str:
    """Return the part of a logical type that does not depend on its unit."""
    assert schema.logical_type is not None
    return schema.logical_type.value.partition("-")[0]


def _describe(schema: Schema) -> str:
    name = schema.display_name
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
