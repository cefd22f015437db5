"""The computation WindowAggregation: window functions over partitions of the records.

The rules are those of ``WindowAggregationConfig.Function`` of CDAP's artifact window-aggregator 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.java.numbers import parse_double, parse_int, parse_long
from localcdap.plugin_lib.spark.columns import get_column, to_spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec


REQUIRED: Final = "required"
OPTIONAL: Final = "optional"
NOT_SUPPORTED: Final = "not supported"


class WindowFunction(NamedTuple):
    """What is known of a function."""

    output: Schema | None
    """The type of its values, which may be null; None: that of the field."""
    order: str = REQUIRED
    frame: str = NOT_SUPPORTED
    needs_field: bool = False
    needs_number: bool = False
    argument: Callable[[str], bool] | None = None
    """Whether an argument is right; None for a function without one."""
    argument_rule: str = ""


def _is_count(text: str) -> bool:
    return parse_int(text) >= 1


def _is_offset(text: str) -> bool:
    return parse_int(text) >= 0


def _is_share(text: str) -> bool:
    return 0 <= parse_double(text) <= 1


_PERCENTILE: Final = "needs an argument between [0,1]"
FUNCTIONS: Final = {
    "RANK": WindowFunction(Schema.INT),
    "DENSE_RANK": WindowFunction(Schema.INT),
    "PERCENT_RANK": WindowFunction(Schema.FLOAT),
    "N_TILE": WindowFunction(
        Schema.INT,
        argument=_is_count,
        argument_rule="needs an argument of type INTEGER greater than 0",
    ),
    "ROW_NUMBER": WindowFunction(Schema.INT),
    "MEDIAN": WindowFunction(Schema.DOUBLE, needs_field=True, needs_number=True),
    "CONTINUOUS_PERCENTILE": WindowFunction(
        Schema.DOUBLE, NOT_SUPPORTED, NOT_SUPPORTED, True, True, _is_share, _PERCENTILE
    ),
    "DISCRETE_PERCENTILE": WindowFunction(
        None, REQUIRED, NOT_SUPPORTED, True, True, _is_share, _PERCENTILE
    ),
    "LEAD": WindowFunction(
        None,
        needs_field=True,
        argument=_is_offset,
        argument_rule="needs an non-negative Integer argument",
    ),
    "LAG": WindowFunction(
        None,
        needs_field=True,
        argument=_is_offset,
        argument_rule="needs an non-negative Integer argument",
    ),
    "FIRST": WindowFunction(None, frame=OPTIONAL, needs_field=True),
    "LAST": WindowFunction(None, frame=OPTIONAL, needs_field=True),
    "CUMULATIVE_DISTRIBUTION": WindowFunction(Schema.DOUBLE),
    "ACCUMULATE": WindowFunction(None, OPTIONAL, OPTIONAL, True, True),
}
"""By the name in capital letters. Each needs fields to partition by."""


class WindowCall(NamedTuple):
    """A function with its field and arguments, whose values become an output field."""

    text: str
    alias: str
    name: str
    """One of :data:`FUNCTIONS`."""
    field: str
    """Empty for a function on no field."""
    arguments: tuple[str, ...] = ()
    ignores_nulls: bool = True

    @property
    def function(self) -> WindowFunction:
        return FUNCTIONS[self.name]


class CallError(ValueError):
    """A text that is not a call."""

    def __init__(self, message: str, corrective_action: str) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action


def parse_call(text: str) -> WindowCall:
    """Parse a line of the property ``aggregates``.

    :raises CallError: when it is wrong, with the texts of ``WindowAggregationConfig.getAggregates``.
    """
    alias, colon, call = (part.strip() for part in text.partition(":"))
    if not colon:
        raise CallError(
            f"Could not find ':' separating aggregate alias from its function in '{text}'.",
            "Functions must be specified as alias:function(field, argumentsEncoded, ignoreNulls).",
        )
    advice = "Functions must be specified as function(field, argumentsEncoded, ignoreNulls)."
    name, parenthesis, rest = (part.strip() for part in call.partition("("))
    if not parenthesis:
        raise CallError(f"Could not find '(' in function '{call}'.", advice)
    if name.upper() not in FUNCTIONS:
        raise CallError(f"Invalid function '{name}'.", f"Must be one of {','.join(FUNCTIONS)}.")
    if not rest.endswith(")"):
        raise CallError(f"Could not find closing ')' in function '{call}'.", advice)
    field, comma, others = (part.strip() for part in rest[:-1].partition(","))
    encoded, second, nulls = (part.strip() for part in others.partition(","))
    if not comma or not second:
        raise CallError(f"Could not find three parameters in function '{call}'.", advice)
    arguments = tuple(part.strip() for part in encoded.replace("%2C", ",").split(","))
    given = () if arguments == ("",) else arguments
    return WindowCall(text, alias, name.upper(), field, given, nulls != "false")


def find_argument_problem(call: WindowCall) -> tuple[str, str] | None:
    """Return what is wrong with the arguments of a call, and what to do."""
    function = call.function
    if function.argument is None:
        return None
    if len(call.arguments) != 1:
        takes = "takes only 1" if call.name in ("LEAD", "LAG") else "takes exactly 1"
        return f"{call.name} {takes} argument.", "Make sure there is only one argument specified"
    try:
        is_right = function.argument(call.arguments[0])
    except ValueError:
        is_right = False
    return None if is_right else (f"{call.name} {function.argument_rule}", "Correct the argument.")


def build_aggregate(call: WindowCall) -> tuple[Column, Callable[[Column], Column]]:
    """Build the function of a call, and what makes the output of its value over a window."""
    from pyspark.sql import functions as F  # noqa: N812

    value = get_column(call.field) if call.field else F.lit(None)
    argument = call.arguments[0] if call.arguments else ""
    ignores_nulls = call.ignores_nulls or argument.lower() == "true"
    match call.name:
        case "RANK" | "DENSE_RANK" | "PERCENT_RANK" | "ROW_NUMBER":
            return F.call_function(call.name.lower()), _keep
        case "N_TILE":
            return F.ntile(parse_int(argument)), _keep
        case "MEDIAN":
            return F.percentile(value, 0.5), _keep
        case "CONTINUOUS_PERCENTILE":
            return F.percentile(value, parse_double(argument)), _keep
        case "DISCRETE_PERCENTILE":
            share = parse_double(argument)
            return F.collect_list(value), lambda values: _choose(F.sort_array(values), share)
        case "LEAD" | "LAG":
            shift = F.lead if call.name == "LEAD" else F.lag
            return shift(quote_column(call.field), parse_int(argument)), _keep
        case "FIRST":
            return F.first(value, ignores_nulls), _keep
        case "LAST":
            return F.last(value, ignores_nulls), _keep
        case "CUMULATIVE_DISTRIBUTION":
            return F.cume_dist(), _keep
        case _:
            return F.sum(value), _keep


def _keep(column: Column) -> Column:
    return column


def _choose(values: Column, share: float) -> Column:
    """Return the first of sorted values whose cumulative distribution reaches a share; null of none."""
    from pyspark.sql import functions as F  # noqa: N812

    reaching = F.filter(values, lambda _, i: (i + 1) / F.size(values) >= F.lit(share))
    return F.get(reaching, F.lit(0))


_NONE: Final = "NONE"


@plugin(
    name="WindowAggregation",
    description="Adds fields with window functions over partitions: ranks, percentiles, earlier and later "
    "values, running sums.",
)
class WindowAggregation(SparkCompute):
    """Applies the rules of ``WindowAggregation`` of CDAP's artifact window-aggregator 1.1.

    The fields that are made may be null: a partition may have no such record. A sum has the type of its
    field, and fails the run where it does not fit.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        partition_fields: list[str] = field(
            "Fields whose values make a partition.", form="{input-field},"
        )
        partition_order: list[str] = field(
            "Order of the records of a partition, as 'field:Ascending' or 'field:Descending'.",
            default=[],
            form="{input-field}:{order:Ascending|Descending},",
        )
        window_frame_type: str = field(
            "What a frame is counted in: records (ROW), or values of the field of the order (RANGE).",
            default=_NONE,
            choices=("ROW", "RANGE", _NONE),
        )
        unbounded_preceding: bool = field("Whether frames begin with the partition.", default=False)
        unbounded_following: bool = field("Whether frames end with the partition.", default=False)
        preceding: str | None = field(
            "The first record of a frame, as -2 for the second before, or the value to add.",
            default=None,
        )
        following: str | None = field(
            "The last record of a frame, as 3 for the third after, or the value to add.",
            default=None,
        )
        aggregates: str = field(
            "Functions, one a line, as 'output field:function(field,argument,ignore nulls)'. They are rank, "
            "dense_rank, percent_rank, n_tile, row_number, median, continuous_percentile, "
            "discrete_percentile, lead, lag, first, last, cumulative_distribution and accumulate."
        )
        number_of_partitions: int | None = field(
            "Into how many partitions Spark divides the result.", default=None
        )
        schema: Schema | None = field(
            "Without effect: the output schema follows from the functions.",
            default=None,
            macro=False,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        calls = self._parse_calls(stage)
        self._check_bounds(stage)
        for call in calls:
            self._check_clauses(stage, call)
            problem = find_argument_problem(call)
            if problem is not None:
                _report(stage, call, *problem)
        schema = stage.input_schema
        if schema is None or self.config.macros & {"aggregates", "partitionFields"}:
            return
        self._check_fields(stage, schema)
        for call in calls:
            _check_field(stage, call, schema)
        if not len(stage.failures):
            made = [_make_field(call, schema) for call in calls]
            stage.output_schema = Schema.record(f"{schema.name}.window", [*schema, *made])

    def _parse_calls(self, stage: StageConfigurer) -> list[WindowCall]:
        calls: dict[str, WindowCall] = {}
        if self.config.contains_macro("aggregates") or not self.config.aggregates:
            return []
        for text in self.config.aggregates.split("\n"):
            try:
                call = parse_call(text.strip())
            except CallError as error:
                stage.failures.add(error.message, error.corrective_action).with_config_property(
                    "aggregates", element=text
                )
                continue
            if call.alias in calls:
                message = f"Cannot create multiple aggregate functions with the same alias '{call.alias}'."
                _report(stage, call, message, "Provided aliases must be unique.")
            calls.setdefault(call.alias, call)
        return list(calls.values())

    def _check_clauses(self, stage: StageConfigurer, call: WindowCall) -> None:
        config, function = self.config, call.function
        if not config.contains_macro("partitionOrder"):
            if function.order is REQUIRED and not config.partition_order:
                stage.failures.add(
                    f"partitionOrder is missing. It is a required clause for function : {call.name}.",
                    "Please add at least 1 field",
                ).with_config_property("partitionOrder")
            if function.order is NOT_SUPPORTED and config.partition_order:
                stage.failures.add(
                    f"partitionOrder is not supported for function : {call.name}.",
                    "Please remove this clause.",
                ).with_config_property("partitionOrder")
        has_frame = config.window_frame_type != _NONE
        if config.contains_macro("windowFrameType") or not has_frame:
            return
        if function.frame is NOT_SUPPORTED:
            stage.failures.add(
                f"windowFrameType is not supported for function : {call.name}.",
                f"Please change to {_NONE}",
            ).with_config_property("windowFrameType")

    def _check_bounds(self, stage: StageConfigurer) -> None:
        for key, text in (
            ("preceding", self.config.preceding),
            ("following", self.config.following),
        ):
            if text and not self.config.contains_macro(key):
                try:
                    parse_long(text)
                except ValueError:
                    stage.failures.add(
                        f"'{text}' is not a whole number.", "Write a number such as -2."
                    ).with_config_property(key)

    def _check_fields(self, stage: StageConfigurer, schema: Schema) -> None:
        for name in self.config.partition_fields:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Partition field '{name}' must exist in input schema."
                ).with_config_property("partitionFields", element=name)
        order = self._list_order()
        for text, (name, direction) in zip(self.config.partition_order, order, strict=True):
            if not name or not direction:
                stage.failures.add(
                    f"Column name for order or order type value is missing for the field {text} "
                ).with_config_property("partitionOrder", element=text)
            elif schema.field(name) is None:
                stage.failures.add(
                    f"Can not order by field '{name}' because it does not exist in input schema"
                ).with_config_property("partitionOrder", element=text)
        if self._has_range_bounds():
            found = [schema.field(name) for name, _ in order]
            if len(found) != 1 or (
                found[0] is not None and not _is_number_without_scale(found[0].schema)
            ):
                stage.failures.add(
                    "A frame of the type RANGE with bounds needs an order by exactly one numeric field.",
                    "Order by one numeric field, or make the frame unbounded.",
                ).with_config_property("partitionOrder")

    def _has_range_bounds(self) -> bool:
        config = self.config
        is_open = config.macros & {"windowFrameType", "partitionOrder", "unboundedPreceding"}
        return (
            not is_open
            and config.window_frame_type == "RANGE"
            and not (config.unbounded_preceding and config.unbounded_following)
        )

    def _list_order(self) -> list[tuple[str, str]]:
        parts = (text.partition(":") for text in self.config.partition_order)
        return [(name.strip(), direction.strip()) for name, _, direction in parts]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        config = self.config
        for call in self._list_calls():
            fields = [call.field] if call.field else []
            lineage.derive(call.alias, fields, f"Window function {call.name} for {call.alias}")
            lineage.influence(EdgeKind.WINDOW, config.partition_fields, call.alias)
            lineage.influence(EdgeKind.SORT, [name for name, _ in self._list_order()], call.alias)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        window, made = self._build_window(), []
        for call in self._list_calls():
            output = _make_field(call, context.input_schema).schema.non_nullable
            function, finish = build_aggregate(call)
            value = finish(function.over(window)).cast(to_spark_type(output))
            made.append(value.alias(call.alias))
        kept = [get_column(name) for name in context.input_schema.field_names]
        result = df.select(*kept, *made)
        if self.config.number_of_partitions:
            return result.repartition(self.config.number_of_partitions)
        return result

    def _list_calls(self) -> Iterator[WindowCall]:
        return (parse_call(text.strip()) for text in self.config.aggregates.split("\n"))

    def _build_window(self) -> WindowSpec:
        from pyspark.sql import Window

        config = self.config
        window = Window.partitionBy(*map(get_column, config.partition_fields))
        order = [_order(name, direction) for name, direction in self._list_order()]
        if order:
            window = window.orderBy(*order)
        if config.window_frame_type == _NONE:
            return window
        first = parse_long(config.preceding) if config.preceding else 0
        last = parse_long(config.following) if config.following else 0
        begin = Window.unboundedPreceding if config.unbounded_preceding else first
        end = Window.unboundedFollowing if config.unbounded_following else last
        if config.window_frame_type == "ROW":
            return window.rowsBetween(begin, end)
        return window.rangeBetween(begin, end)


def _order(name: str, direction: str) -> Column:
    column = get_column(name)
    return column.asc() if direction.lower() == "ascending" else column.desc()


def _is_number_without_scale(schema: Schema) -> bool:
    inner = schema.non_nullable
    return inner.logical_type is None and inner.type.is_numeric


def _report(stage: StageConfigurer, call: WindowCall, message: str, advice: str) -> None:
    stage.failures.add(message, advice).with_config_property("aggregates", element=call.text)


def _check_field(stage: StageConfigurer, call: WindowCall, schema: Schema) -> None:
    if schema.field(call.alias) is not None:
        message = f"The input has a field '{call.alias}' already."
        _report(stage, call, message, "Choose another name for the output field.")
    if not call.field:
        if call.function.needs_field:
            _report(stage, call, f"Function {call.name} needs a field.", "Write it first.")
        return
    found = schema.field(call.field)
    if found is None:
        _report(
            stage,
            call,
            f"Invalid aggregate {call.text}: Field '{call.field}' does not exist in input schema.",
            f"Field '{call.field}' must exist in input schema.",
        )
    elif call.function.needs_number and not _is_number_without_scale(found.schema):
        _report(
            stage,
            call,
            f"Invalid input schema type '{found.schema.non_nullable.display_name}' for field "
            f"'{call.field}' in function '{call.name}'.",
            f"Allowed input types for function '{call.name}' are 'int,double,long,float'.",
        )


def _make_field(call: WindowCall, schema: Schema) -> Field:
    found = schema.field(call.field)
    output = call.function.output or (found.schema if found is not None else None)
    assert output is not None
    return Field(call.alias, output.as_nullable)
