"""Facts of a cube, made of records."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.api import Record, Schema, StageError
from localcdap.api.dataset.classes.cube import CubeFact, Measurement, MeasureType
from localcdap.java.dates.simple_date_format import parse_simple_date
from localcdap.java.numbers import NumberFormatError, parse_double, parse_long, truncate_to_int
from localcdap.java.strings import to_java_string
from localcdap.java.unix_time import to_epoch_seconds
from localcdap.plugin_lib.text_values import find_float_shortener

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
