"""Profiles of what reaches the sinks of a run, from a sample that is observed while the records pass.

The sample costs no job: an observation collects some records as JSON. Of each part of the data it takes the
first records, and of the others the fewer the more there are: it grows with the logarithm of their number.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.api.sql_names import quote_column
from localcdap.engine.messages.profiles import SinkColumn, SinkProfile
from localcdap.engine.plan.server_functions import is_sampled
from localcdap.engine.spark_internals import add_below_observations, create_observation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PLACE: Final = "__profile_place"
_IS_KEPT: Final = "__profile_kept"
_ROWS: Final = "rows"
_SAMPLE: Final = "sample"
_MOST_COLUMNS: Final = 200
_MOST_SAMPLED: Final = 20_000
_LONGEST: Final = 100
"""Characters of a text that are looked at."""
_KEPT: Final = (
    f"{_PLACE} < if(spark_partition_id() < 8, 1000, 50) or {_PLACE} % 128 = 0 and "
    f"{_PLACE} % cast(power(2, greatest(floor(log2({_PLACE})) - 6, 0)) as bigint) = 0"
)
"""Whether the record of a place, from 0, in its part of the data is in the sample: from place 1,000 on, 64
for each doubling of the place. The local server has the same rule, ``RecordSampler``."""
_PLACE_MASK: Final = (1 << 33) - 1
"""The bits of ``monotonically_increasing_id`` that number the records of a part."""
_NESTED: Final = (Type.ARRAY, Type.MAP, Type.RECORD, Type.UNION, Type.BYTES)


class SinkProfiler:
    """Takes the samples of the sinks of one plan.

    :param prefix: of the names of observations.
    :param is_local: whether the tasks are on this machine, see :mod:`localcdap.engine.plan.server_functions`.
    """

    def __init__(self, prefix: str, *, is_local: bool) -> None:
        self._prefix: Final = "localcdap_profile_" + re.sub(r"\W", "_", prefix)
        self._is_local: Final = is_local
        self._observed: Final[list[tuple[str, list[tuple[str, Schema]], Any]]] = []

    def observe(
        self, stage: str, schema: Schema, frame: DataFrame, *, is_read_once: bool
    ) -> DataFrame:
        """Return the records of a sink, of which a sample is taken while they are written.

        :param schema: of the records, in the order of the columns.
        :param is_read_once: whether the sink is the only reader of the DataFrame, which is not persisted.
        """
        from pyspark.sql import functions as f

        fields = [(field.name, field.schema.non_nullable) for field in schema][:_MOST_COLUMNS]
        values = [_shorten(name, type).alias(str(i)) for i, (name, type) in enumerate(fields)]
        is_kept = is_sampled() if self._is_local else f.col(_IS_KEPT)
        record = f.when(is_kept, f.to_json(f.struct(*values)))
        observed = f.count(f.lit(1)).alias(_ROWS), f.collect_list(record).alias(_SAMPLE)
        observation = create_observation(f"{self._prefix}_{len(self._observed)}")
        self._observed.append((stage, fields, observation))
        if self._is_local:
            return frame.observe(observation, *observed)
        # Spark copies each record after an observation when columns are added or removed.
        placed = add_below_observations(frame, _add_place) if is_read_once else _add_place(frame)
        return placed.observe(observation, *observed).select(*map(quote_column, schema.field_names))

    def get_profiles(self) -> list[SinkProfile]:
        """Return the profiles in the order of the sinks; waits for the observations."""
        profiles = []
        for stage, fields, observation in self._observed:
            found = observation.get
            sample = [json.loads(text) for text in (found.get(_SAMPLE) or ())[:_MOST_SAMPLED]]
            columns = [
                _profile(name, type, [record.get(str(i)) for record in sample])
                for i, (name, type) in enumerate(fields)
            ]
            profiles.append(SinkProfile(stage, int(found.get(_ROWS) or 0), len(sample), columns))
        return profiles


def _add_place(frame: DataFrame) -> DataFrame:
    """Add whether a record is in the sample: Spark's functions do not find the place in an observation."""
    from pyspark.sql import functions as f

    place = f.monotonically_increasing_id().bitwiseAND(f.lit(_PLACE_MASK))
    return frame.withColumn(_PLACE, place).withColumn(_IS_KEPT, f.expr(_KEPT)).drop(_PLACE)


def _shorten(name: str, type: Schema) -> Column:
    """Return a value as the sample has it: of a nested one, only whether it is there."""
    from pyspark.sql import functions as f

    column = f.col(quote_column(name))
    if type.type in _NESTED and type.logical_type is not LogicalType.DECIMAL:
        return f.when(column.isNotNull(), f.lit(True))
    if type.logical_type is None and type.type in (Type.STRING, Type.ENUM):
        return f.substring(column, 1, _LONGEST)
    return column


def _profile(name: str, type: Schema, values: list[Any]) -> SinkColumn:
    known = [value for value in values if value is not None]
    profile = SinkColumn(name, type.display_name, len(values) - len(known))
    if type.type in _NESTED and type.logical_type is not LogicalType.DECIMAL:
        return profile
    profile.distinct = len(set(known))
    # NaN and infinite numbers are texts in JSON.
    comparable = (
        [v for v in known if isinstance(v, str)] if _has_texts(type) else _list_numbers(known)
    )
    if comparable and type.type is not Type.BOOLEAN:
        profile.lowest, profile.highest = str(min(comparable)), str(max(comparable))
    return profile


def _has_texts(type: Schema) -> bool:
    """Return whether the values of a type are texts in JSON."""
    if type.logical_type is not None:
        return type.logical_type is not LogicalType.DECIMAL
    return type.type in (Type.STRING, Type.ENUM)


def _list_numbers(values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, int | float)]
