"""What is wrong with the configuration of Wrangler, and the schema that its recipe makes."""

from __future__ import annotations

from localcdap.api import FailureBuilder, FailureCollector, Schema, StageConfigurer
from localcdap.plugin_lib.wrangler.directives.lookups import TableLookup
from localcdap.plugin_lib.wrangler.language import Problem, loaded_names
from localcdap.plugin_lib.wrangler.recipe.building import (
    FindDirective,
    precondition_call,
    registry_with,
)
from localcdap.plugin_lib.wrangler.recipe.precondition import NAME, Precondition
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    columns_of,
    propagate,
    proposed_schema,
)
from localcdap.plugin_lib.wrangler.recipe.registry import Registry
from localcdap.plugin_lib.wrangler.recipe.schema_check import misfits
from localcdap.plugin_lib.wrangler.recipe.steps import Step, Steps, build_step, check

from .config import WranglerConfig

ALL = "*"
RECORD = "#"


def given_schema(field: str, schema: Schema | None) -> Schema | None:
    """The schema of the rows that a recipe gets: all fields, or the one that is wrangled."""
    if schema is None or field == ALL:
        return schema
    if field == RECORD:
        return Schema.record("row", [(schema.name or "record", schema)])
    found = schema.field(field)
    return Schema.record(schema.name or "row", [] if found is None else [found])


def steps_of(text: str, loaded: list[str], find: FindDirective) -> Steps:
    """The directives of a recipe.

    :param loaded: user-defined directives that the property ``udd`` names.
    """
    return check(text, registry_with([*loaded, *loaded_names(text)], find), loaded=loaded)


class Configuration:
    """One configuration of the stage."""

    def __init__(self, config: WranglerConfig, stage: StageConfigurer) -> None:
        self._config = config
        self._stage = stage
        self._failures = stage.failures

    def check(self) -> None:
        """Add the failures, set the schemas."""
        config, stage = self._config, self._stage
        stage.error_schema = stage.input_schema
        stage.output_schema = config.schema
        self._check_field()
        if config.is_sql:
            self._check_sql()
            return
        if config.precondition and not config.contains_macro("precondition"):
            self._check_precondition(config.precondition)
        self._check_loaded()
        steps = self._steps()
        for problem in steps.problems:
            self._add(problem)
        if self._is_known(steps):
            self._follow(steps)

    def check_tables(self) -> None:
        """Look at the tables that directives name, and follow the columns that these bring."""
        steps, find = self._steps(), self._stage.find_table
        lacking = [(step, name) for step, name in _tables(steps) if find(name) is None]
        for step, name in lacking:
            self._add(_problem(step, f"there is no table '{name}'; 'localcdap tables' lists all"))
        for step in steps.steps:
            if step.directive is None and step.name == TableLookup.directive_name():
                told = "whether its table is there is known when the macro has a value"
                self._add(_problem(step, told, is_warning=True))
        if not lacking and _tables(steps) and self._is_known(steps):
            self._follow(steps)

    def _is_known(self, steps: Steps) -> bool:
        return steps.is_complete and not steps.errors and not self._config.contains_macro("field")

    def _check_field(self) -> None:
        field, schema = self._config.input_field, self._stage.input_schema
        if self._config.contains_macro("field") or field in (ALL, RECORD) or schema is None:
            return
        if schema.field(field) is None:
            self._failures.add(
                f"Field '{field}' must be present in input schema.",
                f"Choose one of: {', '.join(schema.field_names)}; or '*' for all.",
            ).with_config_property("field")

    def _check_sql(self) -> None:
        config = self._config
        if not config.precondition_sql and not config.contains_macro("preconditionSQL"):
            self._failures.add(
                "Precondition (SQL) must be present.", "Give it, or choose the language JEXL."
            ).with_config_property("preconditionSQL")
        if config.directives or config.contains_macro("directives"):
            self._failures.add(
                "Directives are not supported for precondition of type SQL",
                "Remove them, or choose the language JEXL.",
            ).with_config_property("directives")
        if config.udd:
            self._failures.add(
                "UDDs are not supported for precondition of type SQL", "Remove them."
            ).with_config_property("udd")
        if self._stage.output_schema is None and not config.contains_macro("schema"):
            self._stage.output_schema = self._stage.input_schema

    def _check_precondition(self, text: str) -> None:
        problems: list[Problem] = []
        registry = Registry({NAME: Precondition})
        build_step(precondition_call(text), registry, problems)
        for problem in problems:
            self._failures.add(
                f"The precondition, column {problem.column}: {problem.message}"
            ).with_config_property("precondition")

    def _check_loaded(self) -> None:
        for name in self._config.udd:
            if name not in registry_with([name], self._stage.find_plugin):
                self._failures.add(
                    f"User Defined Directive '{name}' is not deployed or is not available.",
                    "Put its artifact into a plugin folder.",
                ).with_config_property("udd", element=name)

    def _steps(self) -> Steps:
        text = self._config.text_with_macros("directives") or self._config.directives
        return steps_of(text, self._config.udd, self._stage.find_plugin)

    def _follow(self, steps: Steps) -> None:
        config, stage = self._config, self._stage
        given = given_schema(config.input_field, stage.input_schema)
        found = propagate(steps.steps, columns_of(given, stage.find_table))
        for problem in found.problems:
            self._add(problem)
        if config.contains_macro("schema") or found.errors:
            return
        if config.schema is None:
            stage.output_schema = proposed_schema(found.after)
            if stage.locations is None and _tables(steps):
                return  # the tables tell, once they are looked at
            if stage.output_schema is None and stage.input_schema is not None:
                self._failures.add(
                    "Only the data can tell the output of this recipe: there is no output schema.",
                    "Set the property 'schema'; sampled data propose it.",
                ).with_config_property("schema")
            return
        for misfit in misfits(found.after, config.schema):
            told = self._tell(misfit.message, misfit.corrective_action, misfit.is_warning)
            told.with_config_property("schema").with_output_field(misfit.field)

    def _add(self, problem: Problem) -> None:
        action = f"Usage: {problem.usage}." if problem.usage else None
        if problem.nearest:
            action = f"Did you mean '{problem.nearest}'?"
        where = f"Recipe, line {problem.line}, column {problem.column}: "
        message = problem.message if problem.message.endswith(".") else f"{problem.message}."
        told = self._tell(f"{where}{message}", action, problem.is_warning)
        told.with_config_property("directives", element=str(problem.line))

    def _tell(self, message: str, action: str | None, is_warning: bool) -> FailureBuilder:
        """Tell something, unless it was told before the tables were looked at."""
        into = self._stage.warnings if is_warning else self._failures
        if any(each.message == message for each in into):
            into = FailureCollector()
        return into.add(message, action)


def _problem(step: Step, message: str, *, is_warning: bool = False) -> Problem:
    call = step.call
    return Problem(f"{step.name}: {message}", call.line, call.column, is_warning=is_warning)


def _tables(steps: Steps) -> list[tuple[Step, str]]:
    """The tables that directives look into."""
    known = [(step, step.directive) for step in steps.steps if step.directive is not None]
    return [(step, name) for step, directive in known for name in directive.tables()]
