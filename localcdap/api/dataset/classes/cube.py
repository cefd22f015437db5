"""The dataset class of ``cube``: facts are aggregated when they are added, and queried as time series.

The methods are those of CDAP 6 ``Cube`` (``DefaultCube``), without interpolation between points. Counters are
added up when they are read: adding a fact needs no right to read.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from localcdap.api.dataset.access import read_only, write_only
from localcdap.api.dataset.cube_aggregations import (
    Aggregation,
    read_aggregations,
    read_resolutions,
)
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.rows import Row, RowCondition, RowTable, between, equal, one_of
from localcdap.api.errors import BadRequestError


class MeasureType(enum.StrEnum):
    """How the values of a measure at one time are combined."""

    COUNTER = "COUNTER"
    """They are added up."""
    GAUGE = "GAUGE"
    """The last one that was added counts."""


class AggregationFunction(enum.StrEnum):
    """How a query combines the values of one time that differ in other dimensions."""

    SUM = "SUM"
    MAX = "MAX"
    MIN = "MIN"
    LATEST = "LATEST"


class Measurement(msgspec.Struct, frozen=True):
    """A measured value."""

    name: str
    value: int
    type: MeasureType = MeasureType.COUNTER


class CubeFact(msgspec.Struct, frozen=True):
    """Measurements at one time."""

    timestamp: int
    """Seconds since 1970."""
    dimensions: dict[str, str]
    measurements: list[Measurement]


class CubeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which time series are wanted."""

    start: int
    """The first time, in seconds since 1970."""
    end: int
    """The time before which they end."""
    resolution: int
    """One of the cube's resolutions, in seconds."""
    measurements: dict[str, AggregationFunction]
    dimensions: dict[str, str] = {}
    """The values that dimensions must have."""
    group_by: list[str] = []
    """The dimensions of which each combination of values makes a time series."""
    aggregation: str | None = None
    """None: that with the fewest dimensions among those that have all of the query."""
    limit: int | None = None
    """The most points of each time series."""


class TimeSeries(msgspec.Struct, frozen=True):
    """The points of one measure for one combination of dimension values."""

    measure: str
    dimensions: dict[str, str]
    points: list[tuple[int, int]]
    """Times, in seconds since 1970, and values."""


class Cube(Dataset):
    """Facts are aggregated by time and by the dimensions of each aggregation."""

    @write_only
    def add(self, *facts: CubeFact) -> None:
        """Add facts; each counts in every aggregation whose required dimensions it has."""
        for resolution in read_resolutions(self.specification.properties):
            cells = CubeCells(self._read_aggregations(), resolution)
            for fact in facts:
                cells.add(fact)
            cells.write(self._open_table(str(resolution)))

    @read_only
    def query(self, query: CubeQuery) -> list[TimeSeries]:
        """Return the time series of a query, by dimension values and measure.

        Facts without a value of a dimension in ``group_by`` are left out.

        :raises BadRequestError: when there is no such resolution or aggregation.
        """
        name = self._choose_aggregation(query)
        series: dict[tuple[tuple[str, ...], str], dict[int, list[int]]] = {}
        for cell in self._read_cells(query, name):
            values = cell["dimensions"]
            if all(each in values for each in query.group_by):
                group = tuple(values[each] for each in query.group_by)
                points = series.setdefault((group, cell["measure"]), defaultdict(list))
                points[cell["time"]].append(cell["value"])
        return [
            TimeSeries(
                measure,
                dict(zip(query.group_by, group, strict=True)),
                [
                    (time, _combine(query.measurements[measure], points[time]))
                    for time in sorted(points)
                ][: query.limit],
            )
            for (group, measure), points in sorted(series.items())
        ]

    @write_only
    def delete(
        self,
        start: int,
        end: int,
        resolution: int,
        dimensions: Mapping[str, str],
        measures: Iterable[str] = (),
    ) -> None:
        """Remove facts of one resolution.

        :param start: the first time, in seconds since 1970.
        :param end: the time before which they end.
        :param dimensions: only facts with exactly these values, of aggregations by exactly these dimensions.
        :param measures: only these; none: all.
        """
        rows = self._open_resolution(resolution)
        conditions = [*between("time", start, end), equal("dimensions", _sort(dimensions))]
        if wanted := list(measures):
            conditions.append(one_of("measure", wanted))
        for name, aggregation in self._read_aggregations().items():
            if set(aggregation.dimensions) == dimensions.keys():
                rows.delete([*conditions, equal("aggregation", name)])

    @read_only
    def find_dimension_values(
        self, start: int, end: int, resolution: int, dimensions: Mapping[str, str | None]
    ) -> list[tuple[str, str]]:
        """Return names and values of dimensions that facts have besides some given ones.

        Of each fact and each aggregation that has all given dimensions, it is the first other dimension.

        :param dimensions: the values that facts must have; None: any value.
        """
        found: set[tuple[str, str]] = set()
        for values, aggregation, _ in self._explore(start, end, resolution, dimensions):
            others = (each for each in aggregation.dimensions if each not in dimensions)
            first = next((each for each in others if each in values), None)
            if first is not None:
                found.add((first, values[first]))
        return sorted(found)

    @read_only
    def find_measure_names(
        self, start: int, end: int, resolution: int, dimensions: Mapping[str, str | None]
    ) -> list[str]:
        """Return the names of measures; for arguments see :meth:`find_dimension_values`."""
        return sorted({name for _, _, name in self._explore(start, end, resolution, dimensions)})

    def _explore(
        self, start: int, end: int, resolution: int, dimensions: Mapping[str, str | None]
    ) -> Iterator[tuple[dict[str, str], Aggregation, str]]:
        rows = self._open_resolution(resolution)
        for name, aggregation in self._read_aggregations().items():
            if not dimensions.keys() <= set(aggregation.dimensions):
                continue
            for cell in rows.select([*between("time", start, end), equal("aggregation", name)]):
                values = cell["dimensions"]
                if all(k in values and v in (None, values[k]) for k, v in dimensions.items()):
                    yield values, aggregation, cell["measure"]

    def _read_cells(self, query: CubeQuery, aggregation: str) -> Iterator[Row]:
        """Return the cells of a query, counters added up."""
        conditions: Sequence[RowCondition] = [
            equal("aggregation", aggregation),
            *between("time", query.start, query.end),
            one_of("measure", query.measurements),
        ]
        totals: dict[tuple[tuple[tuple[str, str], ...], str, int], int] = defaultdict(int)
        for cell in self._open_resolution(query.resolution).select(conditions):
            held = cell["dimensions"]
            if all(held.get(name) == value for name, value in query.dimensions.items()):
                totals[tuple(held.items()), cell["measure"], cell["time"]] += cell["value"]
        for (values, measure, time), value in totals.items():
            yield {"dimensions": dict(values), "measure": measure, "time": time, "value": value}

    def _choose_aggregation(self, query: CubeQuery) -> str:
        aggregations = self._read_aggregations()
        if query.aggregation is not None:
            if query.aggregation not in aggregations:
                raise BadRequestError(
                    f"Specified aggregation {query.aggregation} is not found in cube aggregations: "
                    f"{', '.join(aggregations) or 'none'}"
                )
            return query.aggregation
        needed = {*query.group_by, *query.dimensions}
        fitting = [name for name, each in aggregations.items() if needed <= set(each.dimensions)]
        if not fitting:
            raise BadRequestError(
                "There's no data aggregated for specified dimensions to satisfy the query: "
                f"{', '.join(sorted(needed))}"
            )
        return min(fitting, key=lambda name: len(aggregations[name].dimensions))

    def _read_aggregations(self) -> dict[str, Aggregation]:
        return read_aggregations(self.specification.properties)

    def _open_resolution(self, resolution: int) -> RowTable:
        known = read_resolutions(self.specification.properties)
        if resolution not in known:
            raise BadRequestError(
                "There's no data aggregated for specified resolution to satisfy the query: "
                f"{resolution} s; available: {', '.join(map(str, known))}"
            )
        return self._open_table(str(resolution))


class CubeCells:
    """The cells of some facts in one resolution.

    :param aggregations: those of the cube, by name.
    :param resolution: in seconds.
    """

    def __init__(self, aggregations: Mapping[str, Aggregation], resolution: int) -> None:
        self._aggregations = aggregations
        self._resolution = resolution
        self._values: dict[_Cell, int] = {}
        self._gauges: set[_Cell] = set()

    def __len__(self) -> int:
        return len(self._values)

    def add(self, fact: CubeFact) -> None:
        """Add a fact to the cells of each aggregation whose required dimensions it has."""
        time = fact.timestamp // self._resolution * self._resolution
        for name, aggregation in self._aggregations.items():
            if not fact.dimensions.keys() >= set(aggregation.required):
                continue
            held = {k: v for k, v in fact.dimensions.items() if k in aggregation.dimensions}
            place = tuple(_sort(held).items())
            for each in fact.measurements:
                self._add(_Cell(name, time, place, each.name), each)

    def _add(self, cell: _Cell, measurement: Measurement) -> None:
        if measurement.type is MeasureType.GAUGE:
            self._values[cell] = measurement.value
            self._gauges.add(cell)
        else:
            self._values[cell] = self._values.get(cell, 0) + measurement.value

    def take(self) -> Iterator[tuple[Row, bool]]:
        """Yield the rows of the cells, each with whether it replaces what the cube has; then forget them."""
        values, gauges = self._values, self._gauges
        self._values, self._gauges = {}, set()
        for cell, value in values.items():
            yield cell.to_row() | {"value": value}, cell in gauges

    def write(self, rows: RowTable) -> None:
        """Write the cells."""
        for cell in self._gauges:
            rows.delete([equal(column, value) for column, value in cell.to_row().items()])
        rows.write(row for row, _ in self.take())


class _Cell(NamedTuple):
    aggregation: str
    time: int
    dimensions: tuple[tuple[str, str], ...]
    measure: str

    def to_row(self) -> dict[str, Any]:
        return self._asdict() | {"dimensions": dict(self.dimensions)}


def _sort(dimensions: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(dimensions.items()))


def _combine(function: AggregationFunction, values: Sequence[int]) -> int:
    match function:
        case AggregationFunction.SUM:
            return sum(values)
        case AggregationFunction.MAX:
            return max(values)
        case AggregationFunction.MIN:
            return min(values)
        case AggregationFunction.LATEST:
            return values[-1]
