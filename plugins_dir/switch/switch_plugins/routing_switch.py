"""The splitter RoutingSwitch: routes records to ports by rules on a field.

Rules of the routing switch: ``port:function(parameter)``, and the functions.

The functions, and which values they take, are those of ``BasicRoutingFunctions`` of CDAP's artifact
switch 1.0.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from localcdap.api import (
    EdgeKind,
    LineageRecorder,
    LogicalType,
    PluginConfig,
    PortEmitter,
    Record,
    Schema,
    SplitterTransform,
    StageConfigurer,
    StageContext,
    Type,
    field,
    plugin,
)
from localcdap.java.numbers import parse_decimal, parse_double, parse_float, parse_int, parse_long
from localcdap.java.regex import compile_regex
from localcdap.java.strings import narrow_to_float

Check: TypeAlias = Callable[[Any], bool]
"""Whether a value that is not null matches a rule."""
Reader: TypeAlias = Callable[[str], Any]
"""Reads a parameter; raises ValueError when it is wrong."""

_NUMBERS: Final = {
    Type.INT: parse_int,
    Type.LONG: parse_long,
    Type.DOUBLE: lambda text: rank_real(parse_double(text)),
    Type.FLOAT: lambda text: rank_real(narrow_to_float(parse_float(text))),
}
_ZONE_NAME: Final = re.compile(r"\[[^\]]*\]$")

FUNCTIONS: Final = (
    *("equals", "not_equals", "contains", "not_contains", "in", "not_in", "matches", "not_matches"),
    *("starts_with", "not_starts_with", "ends_with", "not_ends_with"),
    *("number_equals", "number_not_equals", "number_greater_than", "number_greater_than_or_equals"),
    *("number_lesser_than", "number_lesser_than_or_equals", "number_between", "number_not_between"),
    *("date_equals", "date_not_equals", "date_after", "date_after_or_on"),
    *("date_before", "date_before_or_on", "date_between", "date_not_between"),
)
"""The names of the functions; case does not count."""


class Rule(NamedTuple):
    """A rule of the property ``portSpecification``."""

    text: str
    port: str
    function: str
    """One of :data:`FUNCTIONS`."""
    parameter: str


class RuleError(ValueError):
    """A rule that cannot be read, or that does not fit its field."""

    def __init__(self, message: str, corrective_action: str) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action


def parse_rule(text: str) -> Rule:
    """Parse a rule.

    :raises RuleError: when it is wrong; the texts are those of ``BasicPortSpecificationEvaluator``.
    """
    port, colon, call = (part.strip() for part in text.partition(":"))
    if not colon:
        raise RuleError(
            f"Could not find ':' separating port name from its routing specification in '{text}'.",
            "The configuration for each port should contain a port name and its routing specification "
            "separated by :.",
        )
    name, parenthesis, rest = (part.strip() for part in call.partition("("))
    if not parenthesis:
        raise RuleError(
            f"Could not find '(' in function '{call}'. ",
            "Please specify routing functions as as function(parameter).",
        )
    function = name.lower()
    if function not in FUNCTIONS:
        raise RuleError(
            f"Invalid routing function '{name}'.",
            f"A routing function must be  one of {','.join(FUNCTIONS).upper()}.",
        )
    if not rest.endswith(")"):
        raise RuleError(
            f"Could not find closing ')' in function '{call}'.",
            "Functions must be specified as function(parameter).",
        )
    parameter = rest[:-1].strip()
    if not parameter:
        raise RuleError(
            f"Invalid function '{call}'.", "A parameter must be provided as an argument."
        )
    return Rule(text, port, function, parameter)


def build_check(rule: Rule, schema: Schema) -> Check:
    """Build the check of a rule for the values of a field.

    :param schema: that of the field.
    :raises RuleError: when the function cannot be applied to the field, or the parameter is wrong. The
        original notices that at the first record.
    """
    kind, is_negated, name = _split_name(rule.function)
    reader = _find_reader(kind, schema.non_nullable)
    if reader is None:
        raise RuleError(
            f"The function '{rule.function}' of port '{rule.port}' cannot be applied to a field of type "
            f"'{schema.non_nullable.display_name}'.",
            f"Use a function for it: {', '.join(list_functions(schema)) or 'there is none'}.",
        )
    try:
        check = _build_comparison(kind, name, rule.parameter, reader)
    except ValueError as error:
        raise RuleError(
            f"The parameter '{rule.parameter}' of port '{rule.port}' is wrong for a field of type "
            f"'{schema.non_nullable.display_name}': {error}",
            "Correct the parameter. Bounds are separated by '|', as in number_between(1|10).",
        ) from None
    return (lambda value: not check(value)) if is_negated else check


def list_functions(schema: Schema) -> list[str]:
    """Return the functions that take values of a schema."""
    return [name for name in FUNCTIONS if _find_reader(_split_name(name)[0], schema.non_nullable)]


def _split_name(function: str) -> tuple[str, bool, str]:
    """Return what a function compares (``text``, ``number``, ``date``), whether it is negated, and its name.

    >>> _split_name("number_not_between")
    ('number', True, 'between')
    """
    prefix, _, rest = function.partition("_")
    kind, name = (prefix, rest) if prefix in ("number", "date") else ("text", function)
    return kind, name.startswith("not_"), name.removeprefix("not_")


def _find_reader(kind: str, schema: Schema) -> Reader | None:
    """Return what reads the parameters of a kind of functions for a type; None when they do not take it."""
    logical = schema.logical_type
    if kind == "text":
        return str if schema.type is Type.STRING else None
    if kind == "number":
        if logical is LogicalType.DECIMAL:
            return parse_decimal
        return None if logical is not None else _NUMBERS.get(schema.type)
    return None if logical is None else _TIMES.get(logical)


def _build_comparison(kind: str, name: str, parameter: str, read: Reader) -> Check:
    if kind == "text":
        return _build_text_check(name, parameter)
    if name == "between":
        bounds = parameter.split("|")
        if len(bounds) != 2:
            raise ValueError(
                f"Should specify a lower bound and upper bound separated by a pipe. Found {parameter}."
            )
        low, high = map(read, bounds)
        return lambda value: bool(low <= rank(value) <= high)
    wanted = read(parameter)
    checks: dict[str, Check] = {
        "equals": lambda value: bool(rank(value) == wanted),
        "greater_than": lambda value: bool(rank(value) > wanted),
        "greater_than_or_equals": lambda value: bool(rank(value) >= wanted),
        "lesser_than": lambda value: bool(rank(value) < wanted),
        "lesser_than_or_equals": lambda value: bool(rank(value) <= wanted),
        "after": lambda value: bool(rank(value) > wanted),
        "after_or_on": lambda value: bool(rank(value) >= wanted),
        "before": lambda value: bool(rank(value) < wanted),
        "before_or_on": lambda value: bool(rank(value) <= wanted),
    }
    return checks[name]


def _build_text_check(name: str, parameter: str) -> Check:
    if name == "matches":
        return compile_regex(parameter).matches
    if name == "in":
        choices = frozenset(parameter.rstrip("|").split("|"))
        return lambda value: value in choices
    checks: dict[str, Check] = {
        "equals": lambda value: bool(value == parameter),
        "contains": lambda value: parameter in value,
        "starts_with": lambda value: bool(value.startswith(parameter)),
        "ends_with": lambda value: bool(value.endswith(parameter)),
    }
    return checks[name]


def rank(value: Any) -> Any:
    """Return a value in the form in which parameters are read."""
    return rank_real(value) if isinstance(value, float) else value


def rank_real(value: float) -> tuple[bool, float, float]:
    """Return what orders reals as Java's ``compareTo``: NaN is the largest, and -0.0 is less than 0.0."""
    return math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value)


def parse_zoned_time(text: str) -> datetime.datetime:
    """Parse a time with its offset, and perhaps the name of its zone, which says nothing more.

    The original compares the names of the zones too, so that no field ever equals such a parameter; moments
    are compared here.

    :raises ValueError: when the text is another one.
    """
    moment = datetime.datetime.fromisoformat(_ZONE_NAME.sub("", text))
    if moment.tzinfo is None:
        raise ValueError(f"'{text}' has no offset, as 2020-05-02T00:03:20-07:00 has.")
    return moment


_TIMES: Final[dict[LogicalType, Reader]] = {
    LogicalType.DATE: datetime.date.fromisoformat,
    LogicalType.TIME_MILLIS: datetime.time.fromisoformat,
    LogicalType.TIME_MICROS: datetime.time.fromisoformat,
    LogicalType.TIMESTAMP_MILLIS: parse_zoned_time,
    LogicalType.TIMESTAMP_MICROS: parse_zoned_time,
}


_TYPES: Final = (Type.STRING, Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE, Type.BYTES)
SKIP: Final = "Skip"
ERROR_PORT: Final = "Send to error port"
DEFAULT_PORT: Final = "Send to default port"
NULL_PORT: Final = "Send to null port"


@plugin(
    name="RoutingSwitch",
    description="Sends each record to the port of the first rule that the value of a field matches.",
)
class RoutingSwitch(SplitterTransform):
    """Applies the rules of ``Router`` of CDAP's artifact switch 1.0.

    The original fails at the first record whose field a function cannot be applied to; here that is a
    failure of validation.
    """

    class Config(PluginConfig, rename="camel"):
        routing_field: str | None = field(
            "Field on whose value the rules are.", default=None, macro=True, form="{input-field}"
        )
        port_specification: list[str] = field(
            "Rules, as 'port:function(parameter)'. For texts: equals, contains, in (choices separated by "
            "'|'), matches (a regular expression of Java), starts_with, ends_with. For numbers: "
            "number_equals, number_greater_than, number_greater_than_or_equals, number_lesser_than, "
            "number_lesser_than_or_equals, number_between (bounds separated by '|'). For dates and times: "
            "date_equals, date_after, date_after_or_on, date_before, date_before_or_on, date_between. With "
            "'not_', as in not_equals and number_not_between, a rule matches the other values.",
            default=[],
            macro=True,
            form="{port}:{function},",
        )
        default_handling: str = field(
            "What becomes of records that match no rule. Those sent to the error port are counted, and "
            "dropped: no error transform may follow a splitter.",
            default=ERROR_PORT,
            choices=(SKIP, ERROR_PORT, DEFAULT_PORT),
        )
        default_port: str = field(f"The port for '{DEFAULT_PORT}'.", default="Default")
        null_handling: str = field(
            "What becomes of records in which the field is null; see the default handling.",
            default=ERROR_PORT,
            choices=(SKIP, ERROR_PORT, NULL_PORT),
        )
        null_port: str = field(f"The port for '{NULL_PORT}'.", default="Null")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        rules = self._parse_rules(stage)
        schema = self._find_schema(stage)
        for rule in rules if schema is not None else ():
            assert schema is not None
            try:
                build_check(rule, schema)
            except RuleError as error:
                stage.failures.add(error.message, error.corrective_action).with_config_property(
                    "portSpecification", element=rule.text
                )
        given = stage.input_schema
        if given is not None and not self.config.contains_macro("portSpecification"):
            stage.port_schemas = dict.fromkeys(self._list_ports(rules), given)

    def _parse_rules(self, stage: StageConfigurer) -> list[Rule]:
        if self.config.contains_macro("portSpecification"):
            return []
        rules: dict[str, Rule] = {}
        for text in self.config.port_specification:
            try:
                rule = parse_rule(text)
            except RuleError as error:
                stage.failures.add(error.message, error.corrective_action).with_config_property(
                    "portSpecification", element=text
                )
                continue
            if rule.port in rules:
                stage.failures.add(
                    f"Cannot create multiple ports with the same name '{rule.port}'.",
                    "Please specify a unique port name for each specification.",
                ).with_config_property("portSpecification", element=text)
            rules.setdefault(rule.port, rule)
        if not self.config.port_specification:
            stage.failures.add(
                "No port specifications defined.", "Please provide at least 1 port specification"
            ).with_config_property("portSpecification")
        return list(rules.values())

    def _find_schema(self, stage: StageConfigurer) -> Schema | None:
        """Return the schema of the routing field, when it is known and can be routed."""
        name = self.config.routing_field
        if self.config.contains_macro("routingField"):
            return None
        if not name:
            stage.failures.add(
                "Routing field is required when routing mode is basic.",
                "Please provide the routing field",
            ).with_config_property("routingField")
            return None
        given = stage.input_schema
        if given is None:
            return None
        found = given.field(name)
        if found is None:
            stage.failures.add(
                f"Routing field {name} not found in the input schema",
                "Please provide a field that exists in the input schema",
            ).with_config_property("routingField")
            return None
        if not _is_allowed(found.schema.non_nullable):
            types = ", ".join([each.name for each in _TYPES] + [each.name for each in LogicalType])
            stage.failures.add(
                f"Routing field '{name}' must be of one of the following types - [{types}]. "
                f"Found '{found.schema.display_name}'"
            ).with_config_property("routingField")
            return None
        return found.schema

    def _list_ports(self, rules: list[Rule]) -> list[str]:
        ports = [rule.port for rule in rules]
        if self.config.default_handling == DEFAULT_PORT:
            ports.append(self.config.default_port)
        if self.config.null_handling == NULL_PORT:
            ports.append(self.config.null_port)
        return ports

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if self.config.routing_field:
            lineage.influence(EdgeKind.FILTER, [self.config.routing_field])

    def initialize(self, context: StageContext) -> None:
        (given,) = dict.fromkeys(context.input_schemas.values())
        self._field = self.config.routing_field or ""
        found = given.field(self._field)
        assert found is not None
        self._checks: list[tuple[str, Check]] = [
            (rule.port, build_check(rule, found.schema))
            for rule in map(parse_rule, self.config.port_specification)
        ]

    def transform(self, record: Record, emit: PortEmitter) -> None:
        value = record.get(self._field)
        if value is None:
            if self.config.null_handling == NULL_PORT:
                emit(self.config.null_port, record)
            elif self.config.null_handling == ERROR_PORT:
                emit.error(record, 2, f"Record contained null value for field {self._field}")
            return
        for port, matches in self._checks:
            if matches(value):
                emit(port, record)
                return
        if self.config.default_handling == DEFAULT_PORT:
            emit(self.config.default_port, record)
        elif self.config.default_handling == ERROR_PORT:
            emit.error(record, 1, f"Record contained unknown value for field {self._field}")


@plugin(name="Router", description="The splitter RoutingSwitch under its later name.")
class Router(RoutingSwitch):
    """Version 1.0.0 of the artifact was renamed in May 2020; pipelines of before use the older name."""


def _is_allowed(schema: Schema) -> bool:
    return schema.type in _TYPES and (
        schema.type is not Type.BYTES or schema.logical_type is LogicalType.DECIMAL
    )
