"""How the data of an experiment is split into training and test data.

``random`` is that of mmds (``RandomDatasetSplitter``), and the only one in its list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.sql_names import quote_column

from .algorithms import INT, LONG, STRING, ParamSpec, ValueRange, fill_defaults, parse_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RANDOM: Final = "random"
_PERCENT: Final = ParamSpec(
    type=INT,
    name="testPercentage",
    label="Test Percentage",
    description="The percentage of the records that become test data: a whole number from 1 to 99.",
    default_val="20",
    range=ValueRange("1", "100", True, False),
)
_SEED: Final = ParamSpec(
    type=LONG,
    name="seed",
    label="Seed",
    description="The same seed, percentage and data give the same split.",
    default_val="null",
)


def _column(text: str) -> ParamSpec:
    return ParamSpec(
        type=STRING, name="column", label="Column", description=text, default_val="null"
    )


class Splitter(msgspec.Struct):
    """A way to split, as the service describes it."""

    type: str
    label: str
    hyperparameters: list[ParamSpec]


SPLITTERS: Final = [
    Splitter(RANDOM, RANDOM, [_PERCENT, _SEED]),
    Splitter("stratified", "stratified by the outcome", [_PERCENT, _SEED]),
    Splitter(
        "time",
        "by time: the newest records are test data",
        [_PERCENT, _column("The column that orders the records: a date, a timestamp or a number.")],
    ),
    Splitter(
        "key",
        "by the hash of a key: the records of a key stay together, also when data is added",
        [_PERCENT, _column("The column with the key.")],
    ),
]
_BY_TYPE: Final = {each.type: each for each in SPLITTERS}


def find_splitter(type: str) -> Splitter | None:
    """Return a splitter; None when there is none of this type."""
    return _BY_TYPE.get(type)


def check_parameters(splitter: Splitter, given: Mapping[str, str]) -> None:
    """Check the parameters of a split.

    :raises ValueError: when the splitter needs a column that is not given.
    :raises BadRequestError: when a value is invalid.
    """
    values = fill_defaults(splitter.hyperparameters, given)
    needs_column = any(each.name == "column" for each in splitter.hyperparameters)
    if needs_column and not values.get("column"):
        raise ValueError(f"Splitter '{splitter.type}' needs the parameter 'column'.")


def split(
    type: str, given: Mapping[str, str], data: DataFrame, outcome: str
) -> tuple[DataFrame, DataFrame]:
    """Return training and test data, lazily."""
    splitter = _BY_TYPE[type]
    values = parse_values(splitter.hyperparameters, fill_defaults(splitter.hyperparameters, given))
    percent: int = values["testPercentage"]
    if type == RANDOM:
        train, test = data.randomSplit([100.0 - percent, float(percent)], values.get("seed"))
        return train, test
    if type == "stratified":
        is_test = _stratify(outcome, values.get("seed"), percent)
    elif type == "time":
        is_test = _order(data, values["column"], percent)
    else:
        is_test = _hash(values["column"], percent)
    marked = data.withColumn(_MARK, is_test)
    return (marked.filter(~marked[_MARK]).drop(_MARK), marked.filter(marked[_MARK]).drop(_MARK))


_MARK: Final = "_is_test"


def _stratify(outcome: str, seed: int | None, percent: int) -> Any:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_class = Window.partitionBy(f.col(quote_column(outcome)))
    drawn = of_class.orderBy(f.rand(seed))
    place = f.row_number().over(drawn)
    return place <= f.round(f.count(f.lit(1)).over(of_class) * f.lit(percent / 100))


def _order(data: DataFrame, name: str, percent: int) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import NumericType

    column = f.col(quote_column(name))
    is_number = isinstance(data.schema[name].dataType, NumericType)
    moment = (column if is_number else column.cast("timestamp")).cast("double")
    found = data.agg(f.percentile(moment, 1 - percent / 100)).collect()[0][0]
    return f.coalesce(moment > f.lit(found), f.lit(False))


def _hash(name: str, percent: int) -> Any:
    from pyspark.sql import functions as f

    return f.pmod(f.xxhash64(f.col(quote_column(name))), f.lit(100)) < f.lit(percent)
