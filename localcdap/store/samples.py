"""Queries that select the sample of a table in DuckDB."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.connector import MOST_RECORDS, SampleRequest, SampleType
from localcdap.api.sql_names import quote_identifier


class SampleQuery(msgspec.Struct, frozen=True):
    """A query in the SQL of DuckDB."""

    sql: str
    parameters: list[Any] = []
    is_sampled: bool = True
    """Whether its rows are the sample; otherwise they are the rows to take it from."""


def build_sample_query(table: str, request: SampleRequest) -> SampleQuery:
    """Return the query of a sample.

    Only the first 100,000 rows of a table are searched for rows that match a condition or fail.

    :param table: its quoted name.
    """
    select = f"SELECT * FROM {table}"  # noqa: S608 - the name is quoted
    limit = int(request.limit)
    match request.sampling_type:
        case SampleType.RANDOM:
            seed = int(request.seed or 0)
            chosen = f"USING SAMPLE reservoir({limit} ROWS) REPEATABLE ({seed})"
            return SampleQuery(f"{select} {chosen}")
        case SampleType.STRATIFIED:
            return SampleQuery(_build_stratified(table, request))
        case SampleType.MATCHING | SampleType.FAILING:
            return SampleQuery(f"{select} LIMIT {MOST_RECORDS}", is_sampled=False)
    return SampleQuery(f"{select} LIMIT {limit}")


def _build_stratified(table: str, request: SampleRequest) -> str:
    """Each value has its share of the rows, and at least one as far as the limit allows."""
    column = quote_identifier(request.strata or "")
    seed, limit = int(request.seed or 0), int(request.limit)
    numbered = f"SELECT *, row_number() OVER () AS __row FROM {table}"  # noqa: S608 - the name is quoted
    window = f"OVER (PARTITION BY {column}"
    placed = (
        f"SELECT *, row_number() {window} ORDER BY hash(__row, {seed})) AS __place, "  # noqa: S608
        f"count(*) {window}) AS __size, count(*) OVER () AS __all FROM ({numbered})"
    )
    return (
        f"SELECT * EXCLUDE (__row, __place, __size, __all) FROM ({placed}) "  # noqa: S608
        f"WHERE __place <= greatest(1, round({limit} * __size / __all)) "
        f"ORDER BY __place > 1, __place / __size, hash(__row, {seed}) LIMIT {limit}"
    )
