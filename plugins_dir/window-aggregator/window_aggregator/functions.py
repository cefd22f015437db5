"""Window functions: what each needs and makes, and ``alias:function(field,arguments,ignore nulls)``.

The rules are those of ``WindowAggregationConfig.Function`` of CDAP's artifact window-aggregator 1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api import Schema
from localcdap.api.sql_names import quote_column
from localcdap.java.numbers import parse_double, parse_int
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column

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
