"""Checks the configuration of Wrangler, and sets the schema that its recipe makes."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.api import (
    FailureBuilder,
    FailureCollector,
    NamedPlugins,
    PluginConfig,
    Schema,
    StageConfigurer,
    field,
)
from localcdap.plugin_lib.spark.sql_checks import find_sql_problems
from localcdap.plugin_lib.wrangler.directives.lookups import TableLookup
from localcdap.plugin_lib.wrangler.recipe.builder import (
    ALL_FIELDS,
    WHOLE_RECORD,
    BuiltRecipe,
    RecipeStep,
    find_row_schema,
    load_precondition,
    load_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.builder import NAME as PRECONDITION
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    find_schema_mismatches,
    find_unknown_step,
    propagate,
    propose_schema,
    to_columns,
)
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from localcdap.workspace_views import RecipeProblem

FAIL = "fail-pipeline"
SKIP = "skip-error"
SEND = "send-to-error-port"
FAILS_FOR_ERRORS = "feature.wrangler.fail.pipeline.for.error.enabled"
"""The runtime argument, or preference, that says whether error records fail a run in the mode
``fail-pipeline``: the feature flag of CDAP 6.8 and later."""
DEFAULT_MODE = "wrangler.error.strategy.default"
"""The runtime argument with the mode of stages that set none."""


def fails_for_errors(arguments: Mapping[str, str]) -> bool:
    """Return whether records that ``send-to-error`` selects fail a run, also if a stage collects them.

    They do not by default: ``cdap-default.xml`` of CDAP 6.8 to 6.11 sets the flag to false, and CDAP before
    6.8 has neither the flag nor the failure. ``Wrangler.java`` does not ask whether a stage collects the
    records.
    """
    return arguments.get(FAILS_FOR_ERRORS, "").strip().lower() == "true"


class WranglerConfig(PluginConfig, macros=True, rename="camel"):
    input_field: str = field(
        "The input field that is wrangled, or '*' for all fields.", default="*", name="field"
    )
    precondition: str | None = field(
        "A JEXL expression. Records for which it is true are dropped.", default=None, syntax="jexl"
    )
    precondition_sql: str | None = field(
        "An SQL condition, instead of a recipe. Records for which it is false are dropped.",
        default=None,
        name="preconditionSQL",
        syntax="sql",
    )
    precondition_language: str | None = field(
        "The language of the condition: JEXL or SQL.", default=None, choices=["JEXL", "SQL"]
    )
    expression_language: str | None = field(
        "Another name of preconditionLanguage, which goes first.",
        default=None,
        choices=["JEXL", "SQL"],
    )
    directives: str = field(
        "The recipe: one directive a line, or ended by semicolons.",
        default="",
        syntax="wrangler",
        uses=NamedPlugins("directive", after="#pragma load-directives"),
    )
    udd: list[str] = field(
        "The user-defined directives that the recipe uses.",
        default=[],
        form="{plugin:directive},",
        macro=False,
    )
    schema: Schema | None = field(
        "The schema of the output. By default the schema that the recipe makes, as far as it is known "
        "before the run.",
        default=None,
    )
    on_error: str | None = field(
        "What happens to a record for which a directive fails: the pipeline fails, the record is "
        "skipped, or it goes to the error port.",
        default=None,
        choices=[FAIL, SKIP, SEND],
        name="on-error",
    )
    threshold: str | None = field("A property of older versions; has no effect.", default=None)
    workspace_id: str | None = field(
        "The place of the sample in CDAP's studio; has no effect.", default=None, macro=False
    )

    @property
    def is_sql(self) -> bool:
        """Whether the condition is SQL, which excludes a recipe."""
        return (self.precondition_language or self.expression_language or "JEXL") == "SQL"


_SENDERS = ("send-to-error", "send-to-error-and-continue")


class ConfigurationCheck:
    """The check of one configuration of the stage."""

    def __init__(self, config: WranglerConfig, stage: StageConfigurer) -> None:
        self._config = config
        self._stage = stage
        self._failures = stage.failures

    def check(self) -> None:
        """Add the failures, and set the schemas."""
        config, stage = self._config, self._stage
        stage.error_schema = stage.input_schema
        stage.output_schema = config.schema
        self._check_field()
        if config.is_sql:
            self._check_sql()
            return
        if config.precondition and not config.contains_macro("precondition"):
            self._check_precondition(config.precondition)
        self._check_user_directives()
        recipe = self._load_recipe()
        for problem in recipe.problems:
            self._add_problem(problem)
        self._warn_of_errors(recipe)
        self._propagate(recipe)

    def check_tables(self) -> None:
        """Look for the tables that directives name, and propagate the columns that these add."""
        recipe, find = self._load_recipe(), self._stage.find_table
        tables = _list_tables(recipe)
        missing = [(step, name) for step, name in tables if find(name) is None]
        for step, name in missing:
            message = f"there is no table '{name}'; 'localcdap tables' lists all"
            self._add_problem(_report(step, message))
        for step in recipe.steps:
            if step.directive is None and step.name == TableLookup.directive_name():
                message = "whether its table is there is known when the macro has a value"
                self._add_problem(_report(step, message, is_warning=True))
        if not missing and tables and _is_known(recipe):
            self._propagate(recipe)

    def _warn_of_errors(self, recipe: BuiltRecipe) -> None:
        """Warn of error records that no stage collects: as in CDAP, they are dropped.

        In the mode ``skip-error``, the pipeline asks for that.
        """
        config, stage = self._config, self._stage
        if stage.wants_errors is not False or config.contains_macro("on-error"):
            return
        if config.on_error == SEND:
            stage.warnings.add(
                "No stage collects the records for which a directive fails: they are dropped.",
                f"Connect an ErrorCollector, or set 'on-error' to '{FAIL}' or '{SKIP}'.",
            ).with_config_property("on-error")
            return
        if config.on_error == SKIP:
            return
        senders = [step.name for step in recipe.steps if step.name in _SENDERS]
        readers = [
            step.name
            for step in recipe.steps
            if step.directive is not None and step.directive.drops_rows and step.name not in senders
        ]
        for names, verb in ((senders, "selects"), (readers, "cannot read")):
            if not names:
                continue
            listed = ", ".join(f"'{name}'" for name in dict.fromkeys(names))
            stage.warnings.add(
                f"No stage collects the records that {listed} {verb}: they are dropped.",
                f"Connect an ErrorCollector, or set the argument '{FAILS_FOR_ERRORS}' to 'true' to fail "
                "the run.",
            ).with_config_property("directives")

    def _check_field(self) -> None:
        field, schema = self._config.input_field, self._stage.input_schema
        if (
            self._config.contains_macro("field")
            or field in (ALL_FIELDS, WHOLE_RECORD)
            or schema is None
        ):
            return
        if schema.field(field) is None:
            self._failures.add(
                f"Field '{field}' must be present in input schema.",
                f"Choose one of: {', '.join(schema.field_names)}; or '*' for all.",
            ).with_config_property("field")

    def _check_sql(self) -> None:
        config, stage = self._config, self._stage
        if not config.precondition_sql and not config.contains_macro("preconditionSQL"):
            self._failures.add(
                "Precondition (SQL) must be present.", "Give it, or choose the language JEXL."
            ).with_config_property("preconditionSQL")
        for problem in find_sql_problems(config.precondition_sql or "true", stage.input_schema):
            failure = self._add_once(problem.message, problem.corrective_action, problem.is_warning)
            failure.with_config_property("preconditionSQL")
        if config.directives or config.contains_macro("directives"):
            self._failures.add(
                "Directives are not supported for precondition of type SQL",
                "Remove them, or choose the language JEXL.",
            ).with_config_property("directives")
        if config.udd:
            self._failures.add(
                "UDDs are not supported for precondition of type SQL", "Remove them."
            ).with_config_property("udd")
        if stage.output_schema is None and not config.contains_macro("schema"):
            stage.output_schema = stage.input_schema

    def _check_precondition(self, text: str) -> None:
        config = self._config
        built = load_precondition(text)
        problems = list(built.problems)
        if not built.errors and not config.contains_macro("field"):
            row_schema = find_row_schema(config.input_field, self._stage.input_schema)
            problems += propagate(built.steps, to_columns(row_schema)).problems
        for problem in problems:
            where = f"The precondition, line {problem.line}, column {problem.column}: "
            message = where + problem.message.removeprefix(f"{PRECONDITION}: ")
            failure = self._add_once(message, problem.corrective_action, problem.is_warning)
            failure.with_config_property("precondition")

    def _check_user_directives(self) -> None:
        shipped = load_shipped_directives()
        for name in self._config.udd:
            if name not in shipped and self._stage.find_plugin("directive", name) is None:
                self._failures.add(
                    f"User Defined Directive '{name}' is not deployed or is not available.",
                    "Put its artifact into a plugin folder.",
                ).with_config_property("udd", element=name)

    def _load_recipe(self) -> BuiltRecipe:
        text = self._config.text_with_macros("directives") or self._config.directives
        return load_recipe(text, self._config.udd, self._stage.find_plugin)

    def _propagate(self, recipe: BuiltRecipe) -> None:
        """Follow the columns as far as the recipe is known; check the output if all of it is."""
        config, stage = self._config, self._stage
        if config.contains_macro("field"):
            return
        row_schema = find_row_schema(config.input_field, stage.input_schema)
        steps = recipe.steps if _is_known(recipe) else recipe.known_steps
        found = propagate(steps, to_columns(row_schema, stage.find_table))
        for problem in found.problems:
            self._add_problem(problem)
        if not _is_known(recipe) or config.contains_macro("schema") or found.errors:
            return
        if config.schema is None:
            stage.output_schema = propose_schema(found.after)
            if stage.locations is None and _list_tables(recipe):
                return  # the columns of the tables are known once check_tables looks at them
            if stage.output_schema is None and stage.input_schema is not None:
                cause = find_unknown_step(steps, found)
                where = (
                    "" if cause is None else f" from line {cause.call.line} on, with '{cause.name}'"
                )
                self._failures.add(
                    f"The output of this recipe depends on the data{where}, so its output schema is unknown.",
                    "Set the property 'schema'; the method propose-schema proposes it from sample data.",
                ).with_config_property("schema")
            return
        for mismatch in find_schema_mismatches(found.after, config.schema):
            failure = self._add_once(
                mismatch.message, mismatch.corrective_action, mismatch.is_warning
            )
            failure.with_config_property("schema").with_output_field(mismatch.field)

    def _add_problem(self, problem: RecipeProblem) -> None:
        where = f"Recipe, line {problem.line}, column {problem.column}: "
        message = problem.message if problem.message.endswith(".") else f"{problem.message}."
        failure = self._add_once(f"{where}{message}", _find_action(problem), problem.is_warning)
        failure.with_config_property("directives", element=str(problem.line))

    def _add_once(self, message: str, action: str | None, is_warning: bool) -> FailureBuilder:
        """Add a failure or warning, unless the check without tables has added it already."""
        collector = self._stage.warnings if is_warning else self._failures
        if any(each.message == message for each in collector):
            collector = FailureCollector()
        return collector.add(message, action)


def _find_action(problem: RecipeProblem) -> str | None:
    if problem.nearest:
        return f"Did you mean '{problem.nearest}'?"
    return f"Usage: {problem.usage}." if problem.usage else problem.corrective_action


def _is_known(recipe: BuiltRecipe) -> bool:
    return recipe.is_complete and not recipe.errors


def _report(step: RecipeStep, message: str, *, is_warning: bool = False) -> RecipeProblem:
    call = step.call
    return RecipeProblem(f"{step.name}: {message}", call.line, call.column, is_warning=is_warning)


def _list_tables(recipe: BuiltRecipe) -> list[tuple[RecipeStep, str]]:
    """List the tables in which directives look up rows."""
    known = [(step, step.directive) for step in recipe.steps if step.directive is not None]
    return [(step, name) for step, directive in known for name in directive.tables()]
