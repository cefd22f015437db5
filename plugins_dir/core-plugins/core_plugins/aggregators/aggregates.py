"""The aggregates of a GroupByAggregate: parsing and validation of the property (CDAP ``GroupByConfig``)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from localcdap.api import FailureCollector, Field, LogicalType, Schema, StageConfigurer, Type, field

from .conditions import AggregateCondition, ConditionError, UnknownFieldError, compile_condition


def num_partitions_field() -> Any:
    """Return the property ``numPartitions``."""
    return field(
        "Number of partitions. If empty, the engine decides.",
        default=None,
        macro=True,
        name="numPartitions",
    )


def is_comparable(schema: Schema) -> bool:
    """Return whether values can be keys of groups and joins: they must not be or contain maps."""
    if schema.type is Type.MAP:
        return False
    parts = [*schema.members, *(part.schema for part in schema.fields or ())]
    if schema.items is not None:
        parts.append(schema.items)
    return all(is_comparable(part) for part in parts)


def check_comparable(stage: StageConfigurer, name: str, schema: Schema, property: str) -> bool:
    """Return whether a field's values can be keys; if not, add a failure for the property that names it."""
    if is_comparable(schema):
        return True
    stage.failures.add(
        f"Field '{name}' is or contains a map, and maps cannot be compared.",
        "Choose other fields, or drop this one in an earlier stage.",
    ).with_config_property(property, element=name).with_input_field(name)
    return False


FUNCTIONS: Final = (
    "Count",
    "CountDistinct",
    "CountNulls",
    "Sum",
    "Avg",
    "Min",
    "Max",
    "First",
    "Last",
    "Any",
    "Stddev",
    "Variance",
    "CollectList",
    "CollectSet",
    "LongestString",
    "ShortestString",
    "Concat",
    "ConcatDistinct",
    "LogicalAnd",
    "LogicalOr",
    "SumOfSquares",
    "CorrectedSumOfSquares",
)
_WITHOUT_CONDITION: Final = ("First", "Last", "CountNulls")
_NUMERIC: Final = (
    "Sum",
    "Avg",
    "Min",
    "Max",
    "Stddev",
    "Variance",
    "SumOfSquares",
    "CorrectedSumOfSquares",
)
_STRING: Final = ("LongestString", "ShortestString", "Concat", "ConcatDistinct")
_BOOLEAN: Final = ("LogicalAnd", "LogicalOr")
_DISTINCT_TYPES: Final = (Type.STRING, Type.INT, Type.LONG, Type.BOOLEAN)
_NULL_WITHOUT_VALUES: Final = (
    "Sum",
    "Avg",
    "Min",
    "Max",
    "First",
    "Last",
    "Any",
    "Stddev",
    "Variance",
    "LongestString",
    "ShortestString",
)
ALL: Final = "*"
_BY_NAME: Final = {
    name.lower(): name
    for function in FUNCTIONS
    for name in (function, *([f"{function}If"] if function not in _WITHOUT_CONDITION else []))
}
_CONDITION: Final = "condition"


class AggregateError(ValueError):
    """The text of an aggregate is invalid; the message says why."""


class Aggregate(NamedTuple):
    """One aggregate of a group."""

    name: str
    """Name of the output field."""
    function: str
    """One of :data:`FUNCTIONS`, without ``If``."""
    field: str
    """The input field, or ``*``."""
    condition: str | None
    """The condition on the records that are aggregated; None for all records."""

    @property
    def display_name(self) -> str:
        return self.function if self.condition is None else f"{self.function}If"

    def __str__(self) -> str:
        return f"{self.name}:{self.display_name}({self.field})"

    def compile_condition(self, schema: Schema) -> AggregateCondition | None:
        """Compile the condition for records of the schema.

        :raises ConditionError: when the condition is invalid.
        """
        return None if self.condition is None else compile_condition(self.condition, schema)

    def make_output_field(self, schema: Schema) -> Field:
        """Return the output field of the aggregate; its input field must exist."""
        return Field(self.name, self._infer_type(schema))

    def _infer_type(self, schema: Schema) -> Schema:
        if self.function in ("Count", "CountNulls"):
            return Schema.LONG
        if self.function == "CountDistinct":
            return Schema.INT
        found = schema.field(self.field)
        assert found is not None, self.field
        given = found.schema
        match self.function:
            case "CollectList" | "CollectSet":
                return Schema.array(given)
            case "Avg" | "Variance" | "Stddev" | "SumOfSquares" | "CorrectedSumOfSquares":
                type = _match_nullability(Schema.DOUBLE, given)
            case "LogicalAnd" | "LogicalOr":
                type = Schema.BOOLEAN
            case _:
                type = given
        # With a condition there may be no value, even of a non-nullable field.
        may_be_null = self.condition is not None and self.function in _NULL_WITHOUT_VALUES
        return type.as_nullable if may_be_null else type

    def check(self, schema: Schema, failures: FailureCollector) -> None:
        """Add failures for an aggregate that does not fit the input schema."""
        self._check_field(schema, failures)
        try:
            self.compile_condition(schema)
        except UnknownFieldError as error:
            failures.add(
                str(error), f"Choose a field of the input: {', '.join(schema.field_names)}."
            ).with_config_property("aggregates", element=str(self))
        except ConditionError as error:
            failures.add(str(error)).with_config_property("aggregates", element=str(self))

    def _check_field(self, schema: Schema, failures: FailureCollector) -> None:
        if self.field == ALL and self.function == "Count":
            return
        found = schema.field(self.field)
        if found is None:
            failures.add(
                f"Invalid aggregate {self.display_name}({self.field}): Field '{self.field}' does not "
                "exist in input schema."
            ).with_config_property("aggregates", element=str(self))
            return
        message = self._find_type_problem(found.schema.non_nullable)
        if message is not None:
            failures.add(message).with_config_property(
                "aggregates", element=str(self)
            ).with_input_field(self.field)

    def _find_type_problem(self, type: Schema) -> str | None:
        shown = type.display_name
        if self.function == "CountDistinct" and (
            type.type not in _DISTINCT_TYPES or type.logical_type is not None
        ):
            return f"Distinct counting is not supported for the field {self.field} of type {shown}."
        if self.function in _NUMERIC and not is_number_or_decimal(type):
            return f"Field '{self.field}' is of unsupported non-numeric type '{shown}'."
        if self.function in _STRING and (type.type is not Type.STRING or type.logical_type):
            return f"Field '{self.field}' is of unsupported non-string type '{shown}'."
        if self.function in _BOOLEAN and type.type is not Type.BOOLEAN:
            return f"Field '{self.field}' is of unsupported non-boolean type '{shown}'."
        if self.function == "CollectSet" and not is_comparable(type):
            return f"Field '{self.field}' is or contains a map, and maps cannot be compared."
        return None


def parse_aggregates(text: str, failures: FailureCollector) -> list[Aggregate]:
    """Parse ``name:function(field)[:condition(…)], …``, and add a failure for each invalid aggregate."""
    found: list[Aggregate] = []
    names: set[str] = set()
    for element in (part.strip() for part in text.split(",")):
        try:
            found.append(_parse_aggregate(element, names))
        except AggregateError as error:
            failures.add(str(error)).with_config_property("aggregates", element=element)
    return found


def _parse_aggregate(text: str, names: set[str]) -> Aggregate:
    name, colon, call = (part.strip() for part in text.partition(":"))
    if not colon:
        raise AggregateError(
            f"Could not find ':' separating aggregate name from its function in '{text}'."
        )
    if name in names:
        raise AggregateError(
            f"Cannot create multiple aggregate functions with the same name '{name}'."
        )
    names.add(name)
    function, parenthesis, rest = (part.strip() for part in call.partition("("))
    if not parenthesis:
        raise AggregateError(
            f"Could not find '(' in function '{call}'. "
            "Functions must be specified as function(field)."
        )
    known = _BY_NAME.get(function.lower())
    if known is None:
        raise AggregateError(
            f"Invalid function '{function}'. Must be one of "
            f"{','.join(n.upper() for n in _BY_NAME.values())}."
        )
    field, closing, tail = (part.strip() for part in rest.partition(")"))
    if not closing or (tail and not tail.startswith(":")):
        raise AggregateError(
            f"Could not find closing ')' in function '{call}'. "
            "Functions must be specified as function(field)."
        )
    if not field:
        raise AggregateError(f"Invalid function '{call}'. A field must be given as an argument.")
    if known.endswith("If"):
        return Aggregate(name, known.removesuffix("If"), field, _parse_condition(tail))
    if tail:
        raise AggregateError(f"Function '{known}' takes no condition; use '{known}If'.")
    return Aggregate(name, known, field, None)


def _parse_condition(tail: str) -> str:
    label, parenthesis, rest = (part.strip() for part in tail.removeprefix(":").partition("("))
    if label != _CONDITION or not parenthesis:
        raise AggregateError("Missing 'condition' property for conditional function.")
    if not rest.endswith(")"):
        raise AggregateError(f"Could not find closing ')' of the condition in '{tail}'.")
    condition = rest.removesuffix(")").strip()
    if not condition:
        raise AggregateError("The 'condition' property is missing arguments.")
    return condition


def is_number_or_decimal(type: Schema) -> bool:
    """Return whether a type without null is a number, which dates and times in Avro's form are not."""
    if type.logical_type is not None:
        return type.logical_type is LogicalType.DECIMAL
    return type.type.is_numeric


def _match_nullability(type: Schema, given: Schema) -> Schema:
    return type.as_nullable if given.is_nullable else type
