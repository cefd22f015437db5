"""Generated input: sales of numbered customers, the same for every run."""

from __future__ import annotations

from pathlib import Path

_SALES = """
    SELECT i AS id, (i * 7919) % 10000 AS customer, 'product-' || (i % 500) AS product,
           1 + i % 9 AS quantity, round(((i * 31) % 10000) / 100.0, 2) AS price
    FROM range({rows}) AS numbers(i)
"""


def sales_csv(path: Path, rows: int) -> Path:
    """A CSV file without a header line; kept when it is there already."""
    return _export(path, _SALES.format(rows=rows), "FORMAT csv, HEADER false")


def sales_parquet(path: Path, rows: int) -> Path:
    """A Parquet file with the columns of :data:`benchmarks.pipelines.SALES`."""
    typed = (
        "SELECT id::BIGINT AS id, customer::INTEGER AS customer, product, "
        f"quantity::INTEGER AS quantity, price::DOUBLE AS price FROM ({_SALES.format(rows=rows)})"
    )
    return _export(path, typed, "FORMAT parquet, ROW_GROUP_SIZE 200000")


def _export(path: Path, query: str, options: str) -> Path:
    import duckdb

    if not path.exists():
        partial = path.with_suffix(".partial")
        quoted = str(partial).replace("'", "''")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{quoted}' ({options})")
        partial.rename(path)
    return path
