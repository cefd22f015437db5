"""The splitter RoutingSwitch: routes records to ports by rules on a field."""

from __future__ import annotations

from typing import Final

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

from .rules import Check, Rule, RuleError, build_check, parse_rule

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
