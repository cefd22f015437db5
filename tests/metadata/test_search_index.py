"""The index finds what a look at every entity finds, whatever was written before and after it was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.metadata import MetadataEntity, MetadataScope, ScopedMetadata
from localcdap.metadata import search_index
from localcdap.metadata.records import DropMutation, MetadataRow, Mutation, UpdateMutation
from localcdap.metadata.search import ALL
from localcdap.metadata.terms import list_terms, parse_query
from localcdap.store.store import Store
from tests.metadata.catalog import Catalog, both, dataset, system, user

WORDS = st.sampled_from(["a", "ab", "a-b", "b_c", "7", "8.5", "x:int", "Ü", ","])
ENTITIES = st.one_of(
    st.builds(dataset, st.sampled_from(["n", "m"]), st.sampled_from(["d1", "d2", "_h"])),
    st.builds(lambda f: dataset("n", "d1").append("field", f), st.sampled_from(["a", "b"])),
)
PARTS = st.tuples(
    st.lists(WORDS, max_size=2), st.dictionaries(st.sampled_from("pq"), WORDS, max_size=2)
)
METADATA = st.builds(
    lambda one, two: both(system(*one[0], **one[1]), user(*two[0], **two[1])), PARTS, PARTS
)
MUTATIONS = st.lists(
    st.one_of(st.builds(UpdateMutation, ENTITIES, METADATA), st.builds(DropMutation, ENTITIES)),
    max_size=8,
)
QUERIES = st.sampled_from(
    [
        "*",
        "a",
        "a*",
        "A-B",
        "p:a*",
        "p:*",
        "+a b",
        "tags:b",
        "field*",
        "d*",
        "p:>7",
        "x:int",
        "q:x:i*",
    ]
    + ["properties:p", "dataset:d1", "+p:7 +tags:*", "ü", "c 8.5", "field:a"]
)


def look(
    entities: dict[MetadataEntity, ScopedMetadata],
    query: str,
    scope: MetadataScope | None,
    namespaces: Sequence[str] | None,
) -> set[MetadataEntity]:
    """The entities that match, each looked at alone."""
    found = set()
    for entity, metadata in entities.items():
        row = MetadataRow("", 0, 0, entity, metadata, frozenset(list_terms(entity, metadata)))
        given = search_index.SearchFilter(scope, namespaces)
        if search_index._passes(row, given) and search_index._score(row, parse_query(query), scope):
            found.add(entity)
    return found


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    before=MUTATIONS,
    after=MUTATIONS,
    query=QUERIES,
    scope=st.sampled_from([None, *MetadataScope]),
    namespaces=st.sampled_from([None, ["n"]]),
)
def test_the_index_agrees_with_a_look_at_every_entity(
    module_store: Store,
    before: list[Mutation],
    after: list[Mutation],
    query: str,
    scope: MetadataScope | None,
    namespaces: list[str] | None,
) -> None:
    catalog = Catalog(module_store)
    if before:
        catalog.apply(*before)
    catalog.find("*")  # reads what was written before
    if after:
        catalog.apply(*after)
    entities = {
        each.entity: each.metadata
        for each in catalog.search("*", show_hidden=True, limit=ALL).results
    }
    expected = look(entities, query, scope, namespaces)

    assert set(catalog.find(query, scope=scope, namespaces=namespaces)) == expected
    read_again = Catalog(module_store)
    assert set(read_again.find(query, scope=scope, namespaces=namespaces)) == expected
    for sort in (None, "entity-name", "entity-name desc", "creation-time"):
        one, two = (each.find(query, sort=sort) for each in (catalog, read_again))
        if sort != "creation-time":  # entities without a time may come in any order
            assert [each.name.lower() for each in one] == [each.name.lower() for each in two]
    catalog.clear()


def test_the_postings_are_read_again_when_much_was_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(search_index, "_MOST_RECENT", 5)
    with Store(tmp_path / "m.duckdb") as store:
        catalog = Catalog(store)
        index = catalog.metadata._index
        catalog.find("*")
        catalog.apply(*(UpdateMutation(dataset("n", f"d{i}"), user("t")) for i in range(10)))
        catalog.apply(DropMutation(dataset("n", "d3")))
        for _ in range(2):
            assert len(catalog.find("t")) == 9
            with index._reading:  # the thread that reads has ended
                pass
        assert len(index._recent) == 0
        assert len(catalog.find("t")) == 9
