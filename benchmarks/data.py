"""Generated input: sales of numbered customers, the same for every run."""

from __future__ import annotations

from pathlib import Path

_SALES = """
    SELECT i AS id, (i * 7919) % 10000 AS customer, 'product-' || (i % 500) AS product,
           1 + i % 9 AS quantity, round(((i * 31) % 10000) / 100.0, 2) AS price
    FROM range({rows}) AS numbers(i)
"""


def sales_csv(path: Path, rows: int) -> Path:
    """A CSV file without a header line, named after the path and the rows; kept when it is there already."""
    return _export(path, rows, _SALES.format(rows=rows), "FORMAT csv, HEADER false")


def sales_parquet(path: Path, rows: int) -> Path:
    """A Parquet file with the columns of :data:`benchmarks.pipelines.SALES`."""
    typed = (
        "SELECT id::BIGINT AS id, customer::INTEGER AS customer, product, "
        f"quantity::INTEGER AS quantity, price::DOUBLE AS price FROM ({_SALES.format(rows=rows)})"
    )
    return _export(path, rows, typed, "FORMAT parquet, ROW_GROUP_SIZE 200000")


_PEOPLE = """
    SELECT printf('%09d', i) AS id, 'first name ' || i % 997 AS a2, 'last name ' || i % 7919 AS a3,
           substr(md5(i::VARCHAR), 1, 24) AS a4, CASE WHEN i % 11 > 0 THEN 'north-' || i % 5 END AS a5,
           'dropped later' || CASE WHEN i % 100 = 0 THEN ',' ELSE '' END || ' unseen ' || i % 13 AS a6,
           'also dropped ' || i AS a7,
           (i * 31) % 100000 AS a8, ['CA', 'NY', 'TX', 'WA', 'OR'][1 + i % 5] AS a9,
           printf('%05d', (i * 7919) % 100000) AS a10, CASE WHEN i % 7 > 0 THEN 'gold' END AS a11,
           'note of no interest to anybody at all ' || i % 101 AS a12,
           round(((i * 31) % 10000) / 100.0, 2) AS a13, DATE '2020-01-01' + (i % 1500)::INT AS a14,
           'street ' || i % 313 || ' number ' || i % 89 AS a15, 'someone' || i || '@example.com' AS a16,
           'a remark in lower case ' || i % 53 AS a17, printf('%06d', (i * 101) % 1000000) AS a18
    FROM range({rows}) AS numbers(i)
"""


def people_csv(path: Path, rows: int) -> Path:
    """A CSV file of 18 columns and about 330 bytes a line, without a header line."""
    return _export(path, rows, _PEOPLE.format(rows=rows), "FORMAT csv, HEADER false")


NUMBERS = 8
"""The columns of :func:`outcomes_parquet` that are numbers."""
_OUTCOMES = (
    "SELECT *, CASE WHEN n0 + 2 * n1 - n2 + hash(id * 11) % 60 > 130 THEN 'yes' ELSE 'no' END AS outcome"
    " FROM ("
    "SELECT i AS id, "
    + ", ".join(f"hash(i * {n + 7}) % 10000 / 100.0 AS n{n}" for n in range(NUMBERS))
    + ", 'channel ' || hash(i * 3) % 12 AS channel, 'region ' || hash(i * 5) % 30 AS region"
    " FROM range({rows}) AS numbers(i))"
)


def outcomes_parquet(path: Path, rows: int) -> Path:
    """A Parquet file of numbers and two categories, with an outcome that follows from some of them."""
    query = f"SELECT * EXCLUDE (id) FROM ({_OUTCOMES.format(rows=rows)})"
    return _export(path, rows, query, "FORMAT parquet, ROW_GROUP_SIZE 125000")


def _export(path: Path, rows: int, query: str, options: str) -> Path:
    import duckdb

    path = path.with_stem(f"{path.stem}-{rows}")
    if not path.exists():
        partial = path.with_suffix(".partial")
        quoted = str(partial).replace("'", "''")
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({query}) TO '{quoted}' ({options})")
        partial.rename(path)
    return path
