"""The engine of workspaces beside the same recipe row by row, and profiles beside DuckDB's SUMMARIZE."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from benchmarks.measure import Row
from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import propagate
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.facets import Facet, apply_facets
from localcdap.plugin_lib.wrangler.workspaces.profiles import summarize_column
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable

COLUMNS: Final = 50
MIXED: Final = [
    "trim :c0",
    "uppercase :c1",
    "lowercase :c2",
    "titlecase :c3",
    "find-and-replace :c4 s/a/b/g",
    "set-type :c5 int",
    "fill-null-or-empty :c6 'x'",
    "rename :c7 :d7",
    "drop :c8",
    "copy :c9 :e9",
    "swap :c10 :c11",
    "cut-character :c12 :f12 1-3",
    "mask-number :c13 'xxx##'",
    "set-column :g exp:{c5 + 1}",
    "filter-row exp:{c5 > 990} true",
    "hash :c14 'MD5'",
    "split-to-columns :c15 '-'",
    "merge :c16 :c17 :m '_'",
    "set-column :h exp:{c16 + c17}",
    "trim :c20",
]
BY_COLUMN: Final = [
    *(f"trim :c{n}" for n in range(5)),
    *(f"uppercase :c{n}" for n in range(6, 10)),
    *(f"fill-null-or-empty :c{n} 'none'" for n in range(10, 14)),
    *("rename :c20 :d20", "drop :c21", "copy :c22 :e22", "swap :c23 :c24"),
    *("mask-number :c25 'xxx##'", "set-type :c5 int", "lowercase :c27"),
]


def workspaces(_folder: Path, rounds: int) -> Iterator[Row]:
    """A change of the last and the first of 20 steps; profiles of 200 columns."""
    yield from _changes("1,000 rows", make_rows(1000), MIXED, max(rounds, 5) * 4, 0.03, 0.1)
    yield from _changes("100,000 rows", make_rows(100_000), BY_COLUMN, rounds, 0.2, 1.0)
    yield _profiles(rounds)
    yield _facets(rounds)


def make_rows(count: int) -> list[dict[str, Any]]:
    source = random.Random(1)
    return [
        {
            f"c{n}": str(source.randrange(1000)) if n == 5 else f" ab-{source.randrange(100_000)} "
            for n in range(COLUMNS)
        }
        for _ in range(count)
    ]


def _changes(
    what: str,
    rows: list[dict[str, Any]],
    directives: list[str],
    rounds: int,
    last_s: float,
    whole_s: float,
) -> Iterator[Row]:
    engine = WorkspaceEngine(rows, Columns((name, None) for name in rows[0]))
    recipe = load_recipe("\n".join(directives))
    by_row = _time(lambda: _run_rows(rows, recipe), 1)
    engine.run(recipe, 60)

    def change(place: int) -> Callable[[], None]:
        changed = list(directives)
        other = iter([f"uppercase :c{30 + n % 20}" for n in range(1000)])

        def run() -> None:
            changed[place] = next(other)
            engine.run(load_recipe("\n".join(changed)), 60)
            engine.get_table()

        return run

    last = _time(change(-1), rounds)
    whole = _time(change(0), rounds)
    yield _at_most(f"{what}, 20 directives: last step", last, "all rows again", by_row, last_s)
    yield _at_most(f"{what}, 20 directives: first step", whole, "all rows again", by_row, whole_s)


def _run_rows(rows: list[dict[str, Any]], recipe: Any) -> None:
    found = propagate(recipe.steps, Columns((name, None) for name in rows[0]))
    executor = RecipeExecutor(found.directives, {})
    executor.start()
    for row in rows:
        executor.run(row)


def _profiles(rounds: int) -> Row:
    source = random.Random(2)
    lists = [
        [
            source.randrange(10_000) if n % 2 else f"text {source.randrange(500)}"
            for _ in range(1000)
        ]
        for n in range(200)
    ]

    def summarize() -> None:
        for values in lists:
            summarize_column(Column(values, is_full=True))

    table = pa.table({f"c{n}": values for n, values in enumerate(lists)})
    connection = duckdb.connect()
    connection.register("t", table)
    reference = _time(lambda: connection.execute("SUMMARIZE t").fetchall(), rounds)
    return _at_most(
        "profiles of 200 columns × 1,000", _time(summarize, rounds), "SUMMARIZE", reference, 0.05
    )


def _facets(rounds: int) -> Row:
    """The slowest of the facets of a text and of a number, each counted for the first time."""
    source = random.Random(3)
    count = 1_000_000
    columns = {
        "city": [f"City {source.randrange(5000)}" for _ in range(count)],
        "price": [source.random() * 1000 for _ in range(count)],
    }
    asked = [("city", kind) for kind in ("values", "form", "length", "state")]
    asked += [("price", kind) for kind in ("range", "values", "state")]

    def measure(name: str, kind: str) -> float:
        def count_rows() -> None:
            column = Column(columns[name], is_full=True)
            apply_facets(ColumnTable({name: column}, range(count)), [Facet(name, kind)])

        return _time(count_rows, rounds)

    ours = max(measure(name, kind) for name, kind in asked)
    connection = duckdb.connect()
    connection.register("t", pa.table({"city": columns["city"]}))
    query = "SELECT city, count(*) FROM t GROUP BY city ORDER BY 2 DESC"
    reference = _time(lambda: connection.execute(query).fetchall(), rounds)
    return _at_most("a facet of 1,000,000 rows", ours, "GROUP BY in DuckDB", reference, 1.0)


def _time(work: Callable[[], object], rounds: int) -> float:
    """Return the 95th percentile of the rounds, which is the longest of few."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.quantiles(times, n=20)[-1] if len(times) >= 20 else max(times)


def _at_most(name: str, ours: float, reference: str, theirs: float, limit_s: float) -> Row:
    return Row(name, ours, reference, theirs, f"<= {limit_s * 1000:g} ms", ours <= limit_s)
