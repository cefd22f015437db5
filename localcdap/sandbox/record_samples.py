"""Samples and pages of the records of a connection.

A sample has the first records, random ones, or some of each value; a page is a part of all records, one for
each call of the connector.
"""

from __future__ import annotations

import itertools
import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import (
    MOST_RECORDS,
    PageRequest,
    PositionedRecords,
    RecordPage,
    RecordSample,
    RecordStream,
    SampleRequest,
    SampleType,
    Unreadable,
)
from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.java.strings import to_java_string
from localcdap.text import format_count

if TYPE_CHECKING:
    import pyarrow as pa


Sift = Callable[[Schema, list[Record]], list[Record]]
"""Returns those of the records that are wanted."""
_LOOKS_AT_CLOCK: Final = 256
"""Records between two looks at the clock."""
_COUNTED_S: Final = 0.3
"""Seconds for which records after the sample are counted."""
_SIFTED_AT_ONCE: Final = 1000
_MOST_HELD: Final = 200_000
"""Records of a stratified sample in memory; beyond it, each value keeps fewer."""
_MOST_MESSAGES: Final = 100
_Place = tuple[int, Record]
"""A record and its number in the stream."""


def check_sample_request(request: SampleRequest) -> None:
    """Check the parts of a request that do not depend on the data.

    :raises BadRequestError: when one is wrong or missing.
    """
    if request.limit <= 0:
        raise BadRequestError("Limit should be greater than 0")
    if request.limit > MOST_RECORDS:
        raise BadRequestError(f"A sample has at most {MOST_RECORDS:,} records.")
    needed = {
        SampleType.MATCHING: ("condition", request.properties.get("condition")),
        SampleType.FAILING: ("recipe", request.properties.get("recipe")),
        SampleType.STRATIFIED: ("strata", request.strata),
    }.get(request.sampling_type)
    if needed is not None and not (needed[1] or "").strip():
        raise BadRequestError(
            f"A sample of the type '{request.sampling_type}' needs '{needed[0]}'.",
            f"Give {needed[0]} a value, or choose another type.",
        )


def take_sample(
    stream: RecordStream, request: SampleRequest, seconds: float, sift: Sift | None = None
) -> RecordSample:
    """Read a stream as far as a sample needs it, at most for some seconds.

    :param sift: selects records, for the types that need it.
    :raises BadRequestError: when the column of a stratified sample does not exist.
    """
    reader = _Reader(stream, seconds)
    kind = SampleType.FIRST if stream.is_sampled else request.sampling_type
    seed = request.seed if request.seed is not None else secrets.randbelow(2**31)
    is_random = request.sampling_type in (SampleType.RANDOM, SampleType.STRATIFIED)
    match kind:
        case SampleType.RANDOM:
            found = _take_random(reader, request.limit, random.Random(seed))  # noqa: S311
        case SampleType.STRATIFIED:
            assert request.strata is not None
            strata = _Strata(request.strata, random.Random(seed))  # noqa: S311
            found = strata.take(reader, request.limit)
        case SampleType.MATCHING | SampleType.FAILING:
            assert sift is not None
            found = _take_sifted(reader, request.limit, sift)
        case _:
            found = list(itertools.islice(reader, request.limit))
    if reader.is_open and stream.total is None:
        reader.read_on(_COUNTED_S)
    records = [record for _, record in found]
    schema = stream.schema
    if schema is None and stream.find_schema is not None:
        schema = stream.find_schema(records)
        records = records if schema is None else list(_fit(records, schema))
    total, is_estimate = reader.estimate_total()
    result = RecordSample(
        schema,
        [encode_json_record(each) for each in records],
        total,
        is_estimate,
        reader.read,
        is_complete=not reader.is_late,
        unreadable=reader.unreadable,
        properties=stream.properties,
        seed=seed if is_random else None,
    )
    result.description = _describe(result, request)
    return result


class _Reader(Iterator[_Place]):
    """The records of a stream that can be read, until the time is over."""

    def __init__(self, stream: RecordStream, seconds: float) -> None:
        self.stream = stream
        self._items = iter(stream.records)
        self._end = time.monotonic() + seconds
        self.read = 0
        self.is_open = True
        self._is_at_end = False
        self.is_late = False
        """Whether the time was over before the end."""
        self.unreadable: list[str] = []

    def __next__(self) -> _Place:
        while True:
            if self.read % _LOOKS_AT_CLOCK == 0 and self.read and time.monotonic() > self._end:
                self.is_open, self.is_late = False, True
                raise StopIteration
            try:
                item = next(self._items)
            except StopIteration:
                self.is_open, self._is_at_end = False, True
                raise
            self.read += 1
            if not isinstance(item, Unreadable):
                return self.read, item
            if len(self.unreadable) < _MOST_MESSAGES:
                self.unreadable.append(item.message)

    def read_on(self, seconds: float) -> None:
        """Count further records for some seconds: for their number, or a good estimate of it."""
        self._end = min(self._end, time.monotonic() + seconds)
        for _ in self:
            pass
        self.is_late = False

    def estimate_total(self) -> tuple[int | None, bool]:
        """Return the number of all records, and whether it is an estimate."""
        if self.stream.total is not None:
            return self.stream.total, False
        if self._is_at_end:
            return self.read, False
        share = self.stream.share() if self.stream.share is not None else None
        if not share or not self.read:
            return None, False
        return max(self.read, round(self.read / share)), True


def _take_random(reader: _Reader, limit: int, chance: random.Random) -> list[_Place]:
    """Return so many records, of which each has the same chance (reservoir sampling), in their order."""
    held = list(itertools.islice(reader, limit))
    for number, each in enumerate(reader, limit + 1):
        place = chance.randrange(number)
        if place < limit:
            held[place] = each
    return sorted(held, key=lambda each: each[0])


def _take_sifted(reader: _Reader, limit: int, sift: Sift) -> list[_Place]:
    """Return the first records that are wanted."""
    found: list[_Place] = []
    stream = reader.stream
    while len(found) < limit and (chunk := list(itertools.islice(reader, _SIFTED_AT_ONCE))):
        records = [dict(record) for _, record in chunk]
        schema = stream.schema
        if schema is None and stream.find_schema is not None:
            schema = stream.find_schema(records)
            records = records if schema is None else list(_fit(records, schema))
        if schema is None:
            break
        found += [(0, each) for each in sift(schema, records)]
    return found[:limit]


class _Strata:
    """Records by the value of a column."""

    def __init__(self, column: str, chance: random.Random) -> None:
        self._column = column
        self._chance = chance
        self._held: dict[str, list[_Place]] = {}
        self._counts: dict[str, int] = {}
        self._total = 0
        self._most = MOST_RECORDS

    def take(self, reader: _Reader, limit: int) -> list[_Place]:
        """Return a sample with the share of each value, at least one record as far as the limit allows."""
        self._most = limit
        for each in reader:
            self._add(each)
        shares = _share_out(self._counts, limit, self._chance)
        found = [
            each
            for value, share in shares.items()
            for each in self._choose(self._held[value], share)
        ]
        return sorted(found, key=lambda each: each[0])

    def _add(self, each: _Place) -> None:
        record = each[1]
        if self._column not in record:
            known = ", ".join(record) or "none"
            raise BadRequestError(
                f"The records have no column '{self._column}'.", f"Available: {known}."
            )
        value = repr(record[self._column])
        held = self._held.setdefault(value, [])
        count = self._counts[value] = self._counts.get(value, 0) + 1
        if len(held) < self._most:
            held.append(each)
            self._total += 1
            if self._total > _MOST_HELD and self._most > 1:
                self._thin_out()
            return
        place = self._chance.randrange(count)
        if place < self._most:
            held[place] = each

    def _thin_out(self) -> None:
        self._most = max(1, self._most // 2)
        self._held = {value: self._choose(held, self._most) for value, held in self._held.items()}
        self._total = sum(map(len, self._held.values()))

    def _choose(self, held: list[_Place], most: int) -> list[_Place]:
        return held if len(held) <= most else self._chance.sample(held, most)


def _share_out(counts: dict[str, int], limit: int, chance: random.Random) -> dict[str, int]:
    """Return how many records of each value a sample has: in proportion, by the largest remainder."""
    total = sum(counts.values())
    if total <= limit:
        return dict(counts)
    if len(counts) >= limit:
        return dict.fromkeys(chance.sample(sorted(counts), limit), 1)
    spare = limit - len(counts)
    rest = total - len(counts)
    exact = {value: spare * (count - 1) / rest for value, count in counts.items()}
    shares = {value: 1 + int(share) for value, share in exact.items()}
    missing = limit - sum(shares.values())
    by_remainder = sorted(exact, key=lambda value: (int(exact[value]) - exact[value], value))
    for value in by_remainder[:missing]:
        shares[value] += 1
    return shares


def _describe(result: RecordSample, request: SampleRequest) -> str:
    """Return what the sample is: ``1,000 of 2.4 M records``."""
    shown = f"{len(result.records):,}"
    if result.total is None:
        whole = "an unknown number of records"
    else:
        about = "about " if result.is_estimate else ""
        whole = f"{about}{format_count(result.total)} record{'' if result.total == 1 else 's'}"
    parts = []
    match request.sampling_type:
        case SampleType.RANDOM:
            parts.append(f"random, seed {result.seed}")
        case SampleType.STRATIFIED:
            parts.append(f"of each value of {request.strata}, seed {result.seed}")
        case SampleType.MATCHING:
            parts.append("matching")
        case SampleType.FAILING:
            parts.append("failing")
    if not result.is_complete:
        parts.append(f"from the first {format_count(result.read)}, as far as the time allowed")
    return f"{shown} of {whole}" + (f" ({'; '.join(parts)})" if parts else "")


_CHUNK: Final = 2000
"""Records that are encoded at once."""
_MOST_BYTES: Final = 32 * 2**20
"""Of a page, as Arrow; the last chunk may exceed it."""


def take_page(stream: PositionedRecords, request: PageRequest, seconds: float) -> RecordPage:
    """Read records for some seconds, at least some of them if there are any.

    :raises BadRequestError: when the records have no columns.
    """
    import pyarrow as pa

    end = time.monotonic() + seconds
    records = itertools.islice(stream.records, request.limit)
    tables: list[pa.Table] = []
    rows, size, after, is_last = 0, 0, request.after, False
    while size < _MOST_BYTES and (not tables or time.monotonic() < end):
        chunk = list(itertools.islice(records, _CHUNK))
        if chunk:
            after = chunk[-1][0]
            tables.append(_encode([record for _, record in chunk], stream))
            rows += len(chunk)
            size += tables[-1].nbytes
        if len(chunk) < _CHUNK:
            is_last = rows < request.limit
            break
    if not tables and stream.schema is not None:
        tables = [pa.Table.from_batches([RecordCodec(stream.schema).encode([])])]
    return RecordPage(_write(tables), rows, after, is_last, stream.total, stream.version)


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa

    if pa.types.is_binary(column.type) and pa.types.is_string(type):
        texts = [None if each is None else to_java_string(each) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, type)])
    return column.cast(type, safe=False)


class SchemaMerger:
    """The schema to which the rows of several tables can be cast: the wider type of a column, text for types
    that have nothing in common. The type of a column without values does not count where another table has
    values.
    """

    def __init__(self) -> None:
        self._fields: dict[str, tuple[pa.Field, bool]] = {}
        """By name, and whether a table has values."""

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([field for field, _ in self._fields.values()])

    def add(self, table: pa.Table) -> None:
        """Take the types of a table."""
        for field, column in zip(table.schema, table.columns, strict=True):
            found = field, column.null_count < len(column)
            before = self._fields.get(field.name)
            self._fields[field.name] = found if before is None else _merge(before, found)


def cast_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a merged schema."""
    import pyarrow as pa

    columns = []
    for field in schema:
        place = table.schema.get_field_index(field.name)
        if place < 0:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        else:
            columns.append(_cast(table.column(place), field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _merge(before: tuple[pa.Field, bool], other: tuple[pa.Field, bool]) -> tuple[pa.Field, bool]:
    import pyarrow as pa

    (known, had_values), (field, has_values) = before, other
    is_nullable = known.nullable or field.nullable
    if had_values != has_values:
        return (known if had_values else field).with_nullable(is_nullable), True
    if known.type != field.type:
        pair = [pa.schema([known]), pa.schema([field])]
        try:
            known = pa.unify_schemas(pair, promote_options="permissive").field(0)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            known = pa.field(known.name, pa.string())
    return known.with_nullable(is_nullable), had_values


def _encode(records: list[Record], stream: PositionedRecords) -> pa.Table:
    import pyarrow as pa

    schema = stream.schema
    if schema is None and stream.find_schema is not None:
        schema = stream.find_schema(records)
        if schema is not None:
            records = list(_fit(records, schema))
    if schema is None:
        raise BadRequestError("The records have no columns.", "Choose other data.")
    return pa.Table.from_batches([RecordCodec(schema).encode(records)])


def _fit(records: Sequence[Record], schema: Schema) -> Iterator[Record]:
    """Give the values of each column the type that was found for all of them, and the column its name."""
    convert = {each.name: _make_converter(each.schema) for each in schema}
    names = {name.lower(): name for name in schema.field_names}
    for record in records:
        named = {names.get(name.lower(), name): value for name, value in record.items()}
        yield {
            name: convert[name](value) if name in convert else value
            for name, value in named.items()
        }


def _make_converter(schema: Schema) -> Callable[[Any], Any]:
    """Return the function from a value to one of a type that was found for it and others; null stays."""
    inner = schema.non_nullable
    item = None if inner.items is None else _make_converter(inner.items)
    members = [(each.name, _make_converter(each.schema)) for each in inner.fields or ()]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if inner == Schema.STRING:
            return to_java_string(value)
        if inner == Schema.DOUBLE:
            return float(value)
        if item is not None:
            return list(map(item, value))
        return {name: part(value.get(name)) for name, part in members} if members else value

    return convert


def _write(tables: Sequence[pa.Table]) -> bytes:
    """Return the rows of some tables as an Arrow stream; nothing without a table."""
    import pyarrow as pa

    if not tables:
        return b""
    merger = SchemaMerger()
    for each in tables:
        merger.add(each)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, merger.schema) as stream:
        for each in tables:
            stream.write_table(cast_table(each, merger.schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data
