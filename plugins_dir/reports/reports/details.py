"""Reading the details of a report from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from .fields import ARGUMENTS


def read_details(file: Path, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return details from ``offset`` on, without the fields that are null.

    :raises FileNotFoundError: when the report was deleted meanwhile.
    """
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = []
    with pq.ParquetFile(file) as opened:
        begin = 0
        for group in range(opened.num_row_groups):
            count = opened.metadata.row_group(group).num_rows
            if begin + count > offset and begin < offset + limit:
                rows = opened.read_row_group(group)
                first = max(offset - begin, 0)
                last = min(offset + limit - begin, count)
                found += map(_to_detail, rows.slice(first, last - first).to_pylist())
            begin += count
    return found


def _to_detail(row: dict[str, Any]) -> dict[str, Any]:
    arguments = row.get(ARGUMENTS)
    if arguments is not None:
        row[ARGUMENTS] = msgspec.json.decode(arguments)
    return {name: value for name, value in row.items() if value is not None}
