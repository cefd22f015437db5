"""The Cube sink.

Facts of a cube, made of records.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import (
    BatchSink,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    SinkContext,
    StageConfigurer,
    StageError,
    Type,
    field,
    plugin,
)
from localcdap.api.arrow import RecordCodec
from localcdap.api.dataset.classes.cube import CubeCells, CubeFact, Measurement, MeasureType
from localcdap.api.dataset.cube_aggregations import (
    RESOLUTIONS,
    Aggregation,
    read_aggregations,
    read_resolutions,
)
from localcdap.api.dataset.types.cube import FACT
from localcdap.api.errors import DatasetPropertiesError
from localcdap.api.rules import check_table_name
from localcdap.api.tables import TableLoading, TableWrite
from localcdap.java.dates.simple_date_format import check_simple_date, parse_simple_date
from localcdap.java.numbers import NumberFormatError, parse_double, parse_long, truncate_to_int
from localcdap.java.strings import to_java_string
from localcdap.java.unix_time import to_epoch_seconds
from localcdap.plugin_lib.text_values import find_float_shortener

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


MEASUREMENT_PREFIX: Final = "cubeFact.measurement."


class FactMapping(msgspec.Struct):
    """How a record becomes a fact."""

    measurements: dict[str, MeasureType]
    """By field."""
    time_field: str | None = None
    """None: the fact is of the present."""
    time_format: str | None = None
    """The pattern of the time, as of Java's SimpleDateFormat; None for milliseconds since 1970."""


def parse_groups(text: str, property: str) -> dict[str, str]:
    """Return the entries of ``name:value;name:value``, or of a JSON object as CDAP 3 writes it.

    :raises ValueError: when it is neither.
    """
    if text.lstrip().startswith(("{", "[")):
        try:
            return msgspec.json.decode(text, type=dict[str, str])
        except msgspec.DecodeError as error:
            raise ValueError(
                f"Property {property} is not a JSON object of texts: {error}"
            ) from None
    entries = {}
    for group in text.split(";"):
        name, colon, value = group.partition(":")
        if not (name.strip() and colon and value.strip()) or ":" in value:
            raise ValueError(
                f"For Property {property} Parameter {group}, name or value is empty, please check config"
            )
        entries[name.strip()] = value.strip()
    return entries


def parse_measurements(text: str, property: str) -> dict[str, MeasureType]:
    """Return the measurements by field.

    :raises ValueError: when there are none, or one is wrong.
    """
    found = {}
    for name, kind in parse_groups(text, property).items():
        measure = name.removeprefix(MEASUREMENT_PREFIX)
        if not measure:
            raise ValueError(f"Invalid property: {name}, measureName must be not empty")
        try:
            found[measure] = MeasureType(kind)
        except ValueError:
            raise ValueError(
                f"Measurement '{measure}' is of the type '{kind}'. Types are: {', '.join(MeasureType)}."
            ) from None
    if not found:
        raise ValueError("At least one measurement must be specified")
    return found


class FactMaker:
    """Makes facts of records.

    Every field of a simple type that has a value is a dimension, with its value as text.
    """

    def __init__(self, mapping: FactMapping, schema: Schema) -> None:
        self._mapping = mapping
        self._dimensions = [each.name for each in schema if each.schema.non_nullable.is_simple]
        self._shorten = find_float_shortener(schema) or (lambda record: record)

    def make(self, record: Record) -> CubeFact:
        """Make a fact.

        :raises StageError: for a record without a time, or with a value that is not a number.
        """
        record = self._shorten(record)
        held = ((name, record.get(name)) for name in self._dimensions)
        return CubeFact(
            self._find_time(record),
            {name: to_java_string(value) for name, value in held if value is not None},
            list(self._measure(record)),
        )

    def _find_time(self, record: Record) -> int:
        field, pattern = self._mapping.time_field, self._mapping.time_format
        if field is None:
            return int(time.time())
        value = record.get(field)
        if value is None:
            raise StageError(f"Required field to determine timestamp is missing: {field}")
        if isinstance(value, datetime.datetime):
            return to_epoch_seconds(value)
        text = to_java_string(value)
        try:
            if pattern is not None:
                return to_epoch_seconds(parse_simple_date(text, pattern))
            return _divide(parse_long(text))
        except ValueError:
            raise StageError(
                f"Cannot parse field value to determine timestamp: {text}",
                f"Set cubeFact.timestamp.format to the pattern of the field '{field}'."
                if pattern is None
                else f"The pattern is {pattern}.",
            ) from None

    def _measure(self, record: Record) -> Iterator[Measurement]:
        for name, kind in self._mapping.measurements.items():
            value = record.get(name)
            if value is not None:
                yield Measurement(name, truncate_to_int(_to_number(name, value), 64), kind)


def _to_number(name: str, value: Any) -> float:
    try:
        return parse_double(to_java_string(value))
    except NumberFormatError as error:
        raise StageError(f"The measurement '{name}' is not a number: {error}") from None


def _divide(millis: int) -> int:
    """Return seconds, towards zero as in Java."""
    return -(-millis // 1000) if millis < 0 else millis // 1000


def build_dataset_properties(aggregations: Mapping[str, str]) -> dict[str, str]:
    """Return the dataset properties of aggregations: their dimensions by name."""
    return {
        f"dataset.cube.aggregation.{name}.dimensions": dimensions
        for name, dimensions in aggregations.items()
    }


_AGGREGATIONS: Final = "dataset.cube.aggregations"
_OTHERS: Final = "dataset.cube.properties"
_TIME_FIELD: Final = "cubeFact.timestamp.field"
_TIME_FORMAT: Final = "cubeFact.timestamp.format"
_MEASUREMENTS: Final = "cubeFact.measurements"
_NUMERIC: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE, Type.STRING)
_CELL: Final = Schema.record(
    "cell", [("table", Schema.INT), *((each.name, each.schema) for each in FACT)]
)
_MOST_CELLS: Final = 100_000
"""Cells that a task keeps before it gives them away; Spark then adds them up."""
_KEYS: Final = ("aggregation", "time", "dimensions", "measure")


@plugin(name="Cube", description="Aggregates records by time and dimensions, in a cube dataset.")
class CubeSink(BatchSink):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/batch/sink/BatchCubeSink.java``, ``common/StructuredRecordToCubeFact.java``).

    The original says nothing about a measurement or a time of a field that does not exist, until a run fails
    or the cube stays empty; here these are failures of validation, as is a cube without aggregations. Dates
    and times are texts as dimensions, where the original has numbers, and a timestamp can be the time.
    """

    class Config(PluginConfig):
        name: str = field(
            "Name of the cube dataset in this namespace; it is created if it does not exist.",
            macro=True,
        )
        resolutions: str = field(
            "The seconds of the times to which records are added up, comma-separated: '1,60,3600'.",
            default="1",
            name=RESOLUTIONS,
        )
        aggregations: str | None = field(
            "Groups of dimensions, each with a name: 'byUser:user;byPlace:country,city'. A dimension is a "
            "field of a simple type.",
            default=None,
            name=_AGGREGATIONS,
            form="{name}:{dimensions}",
        )
        others: str | None = field(
            "More properties of the dataset, as a JSON object. CDAP 3 has the aggregations here.",
            default=None,
            name=_OTHERS,
            syntax="json",
        )
        time_field: str | None = field(
            "Field with the time of a record; by default it is the time of the run.",
            default=None,
            name=_TIME_FIELD,
            form="{input-field}",
        )
        time_format: str | None = field(
            "Pattern of the time, as of Java's SimpleDateFormat, such as 'MM/dd/yyyy HH:mm:ss'; by default "
            "it is in milliseconds since 1970.",
            default=None,
            name=_TIME_FORMAT,
        )
        measurements: str = field(
            "Fields to measure, with COUNTER (values are added up) or GAUGE (the last value counts): "
            "'quantity:COUNTER;price:GAUGE', or the JSON object of CDAP 3. Parts after the decimal point are "
            "dropped.",
            name=_MEASUREMENTS,
            form="{input-field}:{COUNTER|GAUGE}",
        )

        def build_mapping(self) -> FactMapping:
            """Return how records become facts."""
            measurements = parse_measurements(self.measurements, _MEASUREMENTS)
            return FactMapping(measurements, self.time_field, self.time_format)

        def build_properties(self) -> dict[str, str]:
            """Return the properties of the dataset.

            :raises ValueError: when a property of the stage cannot be read.
            """
            others = parse_groups(self.others, _OTHERS) if self.others else {}
            groups = parse_groups(self.aggregations, _AGGREGATIONS) if self.aggregations else {}
            return others | build_dataset_properties(groups) | {RESOLUTIONS: self.resolutions}

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_table_name(stage, self.config)
        self._check_dataset(stage)
        self._check_time(stage)
        self._check_measurements(stage)
        if not stage.failures and not self.config.contains_macro("name"):
            stage.create_dataset(
                self.config.name, "cube", self.config.build_properties(), config_property="name"
            )

    def _check_dataset(self, stage: StageConfigurer) -> None:
        for name, value in (
            (_OTHERS, self.config.others),
            (_AGGREGATIONS, self.config.aggregations),
        ):
            try:
                parse_groups(value, name) if value else None
            except ValueError as error:
                stage.failures.add(str(error)).with_config_property(name)
        if stage.failures:
            return
        try:
            properties = self.config.build_properties()
            read_resolutions(properties)
            aggregations = read_aggregations(properties)
        except DatasetPropertiesError as error:
            name = RESOLUTIONS if error.property == RESOLUTIONS else _OTHERS
            stage.failures.add(error.message).with_config_property(name)
            return
        if not aggregations:
            stage.failures.add(
                "A cube without aggregations keeps no records.",
                "Name the dimensions of at least one, such as byName:name",
            ).with_config_property(_AGGREGATIONS)
        self._check_dimensions(stage, aggregations)

    def _check_dimensions(
        self, stage: StageConfigurer, aggregations: dict[str, Aggregation]
    ) -> None:
        """A dimension that no record has is not an error in CDAP: other writers may have it."""
        if stage.input_schema is None:
            return
        for name, each in aggregations.items():
            missing = [d for d in each.dimensions if stage.input_schema.field(d) is None]
            if missing:
                stage.warnings.add(
                    f"Aggregation '{name}' has dimensions that are not fields of the input: "
                    f"{', '.join(missing)}.",
                    f"Fields are: {', '.join(stage.input_schema.field_names)}.",
                ).with_config_property(_AGGREGATIONS if self.config.aggregations else _OTHERS)

    def _check_time(self, stage: StageConfigurer) -> None:
        name, pattern = self.config.time_field, self.config.time_format
        if (
            name is not None
            and stage.input_schema is not None
            and not stage.input_schema.field(name)
        ):
            stage.failures.add(
                f"Required field to determine timestamp is missing: {name}",
                f"Use one of {', '.join(stage.input_schema.field_names)}.",
            ).with_config_property(_TIME_FIELD)
        if pattern is not None:
            try:
                check_simple_date(pattern)
            except ValueError as error:
                stage.failures.add(
                    f"Invalid format of the time: {error}.",
                    "Use a pattern of Java's SimpleDateFormat.",
                ).with_config_property(_TIME_FORMAT)

    def _check_measurements(self, stage: StageConfigurer) -> None:
        if self.config.measurements is None:
            return
        try:
            measurements = parse_measurements(self.config.measurements, _MEASUREMENTS)
        except ValueError as error:
            stage.failures.add(str(error)).with_config_property(_MEASUREMENTS)
            return
        schema = stage.input_schema
        for name in measurements if schema is not None else ():
            assert schema is not None
            found = schema.field(name)
            if found is None or found.schema.non_nullable.type not in _NUMERIC:
                problem = "is not a field of the input" if found is None else "is not a number"
                stage.failures.add(
                    f"Measurement '{name}' {problem}.",
                    f"Use a number, or a text that is one, of: {', '.join(schema.field_names)}.",
                ).with_config_property(_MEASUREMENTS, element=name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if not self.config.contains_macro("name"):
            lineage.datasets.append(self.config.name)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        properties = self.config.build_properties()
        resolutions = read_resolutions(properties)
        count = _CellCounter(
            RecordCodec(context.input_schema),
            FactMaker(self.config.build_mapping(), context.input_schema),
            read_aggregations(properties),
            resolutions,
        )
        context.create_dataset(self.config.name, "cube", properties)
        cells = context.in_batches(df, count, _CELL)
        gauges = TableWrite("upsert", keys=_KEYS)
        loads = [
            TableLoading(f"{self.config.name}.{each}", FACT, how)
            for each in resolutions
            for how in (TableWrite(), gauges)
        ]
        context.load_tables(_add_up(cells), loads)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        self.write(df, context)


class _CellCounter:
    """Aggregates the records of a task."""

    def __init__(
        self,
        codec: RecordCodec,
        maker: FactMaker,
        aggregations: dict[str, Aggregation],
        resolutions: list[int],
    ) -> None:
        self._codec, self._maker = codec, maker
        self._aggregations, self._resolutions = aggregations, resolutions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield cells; those with an odd number of a table replace what the cube has."""
        cells = [CubeCells(self._aggregations, each) for each in self._resolutions]
        for batch in batches:
            for record in self._codec.decode(batch):
                fact = self._maker.make(record)
                for each in cells:
                    each.add(fact)
            if sum(map(len, cells)) > _MOST_CELLS:
                yield self._encode(cells)
        yield self._encode(cells)

    def _encode(self, cells: list[CubeCells]) -> pa.RecordBatch:
        return RecordCodec(_CELL).encode(
            {"table": 2 * number + replaces, **row}
            for number, each in enumerate(cells)
            for row, replaces in each.take()
        )


def _add_up(cells: DataFrame) -> DataFrame:
    """Return one row for each cell: the sum of a counter, the last value of a gauge."""
    from pyspark.sql import functions as F  # noqa: N812

    place = F.to_json(F.col("dimensions"))
    numbered = cells.select(
        "*", place.alias("place"), F.monotonically_increasing_id().alias("number")
    )
    last = F.max_by("value", "number")
    value = F.when(F.col("table") % 2 == 1, last).otherwise(F.sum("value"))
    grouped = numbered.groupBy("aggregation", "time", "place", "measure", "table")
    rows = grouped.agg(value.alias("value"), F.first("dimensions").alias("dimensions"))
    return rows.select(*FACT.field_names, "table")
