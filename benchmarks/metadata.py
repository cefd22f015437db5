"""Metadata: searches of many entities, and mutations beside the SQL that writes the same rows."""

from __future__ import annotations

import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.measure import Row, at_most, within
from localcdap.api.metadata import Metadata, MetadataEntity, ScopedMetadata
from localcdap.metadata import records
from localcdap.metadata.entities import to_key
from localcdap.metadata.records import UpdateMutation
from localcdap.metadata.search import SearchRequest
from localcdap.metadata.store import MetadataStore
from localcdap.store.store import Store

ENTITIES: Final = 100_000
TAGS: Final = 10
PROPERTIES: Final = 10
MUTATIONS: Final = 10_000
SINGLE: Final = 200
_QUERIES: Final = (
    *("w1", "w1*", "tags:w77", "key3:w9", "*", "+w5 w6 w7", "key1:w*", "ds5*", "tags:*", "w*"),
    *("properties:key1", "creation-time:>1700000050000", "dataset:ds77", "nothing"),
)
_SORTS: Final = (None, "entity-name", "creation-time desc")
_WORDS: Final = [f"w{number}" for number in range(5_000)]


def metadata(folder: Path, rounds: int) -> Iterator[Row]:
    """Searches, the first search, a batch of mutations, and single ones beside raw SQL."""
    place = folder / "metadata"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    chosen = random.Random(1)
    with Store(place / "metadata.duckdb") as store:
        filled = MetadataStore(store)
        for start in range(0, ENTITIES, 1_000):
            numbers = range(start, start + 1_000)
            _apply(store, filled, [_make_update(number, chosen) for number in numbers])
        opened = MetadataStore(store)
        first = _measure(lambda: opened.search(SearchRequest("w1")))
        yield within(f"first search of {ENTITIES} entities", first, 3.0)
        yield within("search of these, p95", _find_p95(opened, rounds), 0.05)
        updates = [_make_update(chosen.randrange(ENTITIES), chosen) for _ in range(MUTATIONS)]
        batches = [updates[start : start + 100] for start in range(0, MUTATIONS, 100)]
        spent = _measure(lambda: [_apply(store, opened, batch) for batch in batches])
        yield within(f"{MUTATIONS} mutations", spent, 10.0)
        ours, raw = _alternate(store, opened, rounds, chosen)
        yield at_most(f"{SINGLE} updates, one by one", ours, "same rows in raw SQL", raw, 1.3)


def _find_p95(opened: MetadataStore, rounds: int) -> float:
    times = [
        _measure(lambda query=query, sort=sort: opened.search(SearchRequest(query, sort=sort)))  # type: ignore[misc]
        for _ in range(max(rounds, 3))
        for query in _QUERIES
        for sort in _SORTS
    ]
    return statistics.quantiles(times, n=20)[-1]


def _alternate(
    store: Store, opened: MetadataStore, rounds: int, chosen: random.Random
) -> tuple[float, float]:
    """Return the medians of updates by the store, and of the SQL that writes the same rows."""
    ours, raw = [], []
    for _ in range(rounds):
        updates = [_make_update(chosen.randrange(ENTITIES), chosen) for _ in range(SINGLE)]
        ours.append(_measure(lambda: [_apply(store, opened, [each]) for each in updates]))  # noqa: B023
        rows = [_make_row(store, each) for each in updates]
        raw.append(_measure(lambda: [_write_raw(store, row) for row in rows]))  # noqa: B023
    return statistics.median(ours), statistics.median(raw)


def _make_row(store: Store, update: UpdateMutation) -> tuple[str, Sequence[object]]:
    """Return the key of an entity, and the values of its row."""
    key = to_key(update.entity)
    ((id, revision),) = store.read("SELECT id, revision FROM metadata WHERE entity = ?", (key,))
    terms = frozenset(records.list_terms(update.entity, update.metadata))
    row = records.MetadataRow(key, id, revision + 1, update.entity, update.metadata, terms)
    return key, records.to_values(row)


def _write_raw(store: Store, row: tuple[str, Sequence[object]]) -> None:
    """Read and write a row as one would by hand, in a transaction."""
    key, values = row
    with store.transaction() as tx:
        tx.execute("SELECT id, metadata FROM metadata WHERE entity = ?", (key,))
        tx.execute("SELECT nextval('metadata_revisions')")
        tx.execute(
            "INSERT INTO metadata VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entity) DO UPDATE SET "
            "revision = excluded.revision, metadata = excluded.metadata, terms = excluded.terms",
            values,
        )


def _apply(store: Store, opened: MetadataStore, updates: list[UpdateMutation]) -> None:
    with store.transaction() as tx:
        opened.apply(tx, updates)


def _make_update(number: int, chosen: random.Random) -> UpdateMutation:
    properties = {
        f"key{place}": " ".join(chosen.sample(_WORDS, 2)) for place in range(PROPERTIES - 2)
    }
    system = {"entity-name": f"ds{number}", "creation-time": str(1_700_000_000_000 + number)}
    metadata = ScopedMetadata(
        Metadata.of(properties, chosen.sample(_WORDS, TAGS)), Metadata.of(system)
    )
    return UpdateMutation(MetadataEntity.of_dataset(f"ds{number}", f"ns{number % 10}"), metadata)


def _measure(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
