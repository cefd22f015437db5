"""The list F of the facts: CDAP 6 ``MetadataStorageTest``, mutations and reads (F1 to F13, F31, F32)."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

import pytest

from localcdap.api.metadata import MetadataEntity, MetadataKind, MetadataScope, ScopedMetadata
from localcdap.metadata.records import (
    CreateMutation,
    DropMutation,
    MetadataChange,
    Mutation,
    RemoveMutation,
    select,
)
from tests.metadata.catalog import (
    EMPTY,
    PROPERTY,
    SYSTEM,
    TAG,
    USER,
    Catalog,
    app,
    both,
    dataset,
    keep,
    name,
    preserve,
    program,
    system,
    update,
    user,
)

ENTITY = dataset("ns", "ds")
DIRECTIVES = [
    keep(SYSTEM, TAG, "st1"),
    preserve(SYSTEM, TAG, "st2"),
    preserve(SYSTEM, PROPERTY, "sp1"),
    keep(SYSTEM, PROPERTY, "sp2"),
]
FIRST = both(system("st1", "st2", sp1="sv1", sp2="sv2"), user("ut1", up1="uv1", up2="uv2"))


def test_f1_an_entity_without_metadata_is_empty_and_can_be_dropped(catalog: Catalog) -> None:
    assert catalog.read(ENTITY) == EMPTY
    names = [name(USER, TAG, "x")]
    assert (
        catalog.apply(
            DropMutation(ENTITY), RemoveMutation(ENTITY), RemoveMutation(ENTITY, names=names)
        )
        == [MetadataChange(ENTITY, EMPTY, EMPTY)] * 3
    )


def test_f2_an_update_creates_and_repeating_it_changes_nothing(catalog: Catalog) -> None:
    assert catalog.apply(update(ENTITY, FIRST)) == [MetadataChange(ENTITY, EMPTY, FIRST)]
    assert catalog.apply(update(ENTITY, FIRST)) == [MetadataChange(ENTITY, FIRST, FIRST)]


def test_f3_create_replaces_both_scopes_when_both_occur(catalog: Catalog) -> None:
    catalog.apply(update(ENTITY, FIRST))
    new = both(system("a", p="v"), user("b"))
    assert catalog.apply(CreateMutation(ENTITY, new)) == [MetadataChange(ENTITY, FIRST, new)]
    assert catalog.read(ENTITY) == new


@pytest.mark.parametrize(
    ("scope", "kind", "names", "expected"),
    [
        (None, None, None, FIRST),
        (SYSTEM, None, None, system("st1", "st2", sp1="sv1", sp2="sv2")),
        (None, TAG, None, both(system("st1", "st2"), user("ut1"))),
        (USER, PROPERTY, None, user(up1="uv1", up2="uv2")),
        (None, None, [name(SYSTEM, TAG, "st1"), name(USER, PROPERTY, "none")], system("st1")),
        (None, None, [name(USER, TAG, "st1")], EMPTY),
    ],
)
def test_f4_a_part_is_selected_by_scope_kind_and_name(
    scope: MetadataScope | None,
    kind: MetadataKind | None,
    names: list[object] | None,
    expected: ScopedMetadata,
) -> None:
    assert select(FIRST, scope, kind, names) == expected


def test_f5_and_f6_create_keeps_and_preserves_by_its_directives(catalog: Catalog) -> None:
    catalog.apply(update(ENTITY, FIRST))
    new = system("nst0", sp1="nsv1", nsp0="sv0")
    catalog.apply(CreateMutation(ENTITY, new, DIRECTIVES))
    assert catalog.read(ENTITY) == both(
        system("st1", "st2", "nst0", sp1="sv1", sp2="sv2", nsp0="sv0"), FIRST
    )

    newer = both(system("nst1", sp1="nsv1", nsp2="sv2"), user("nut1", up3="uv3"))
    catalog.apply(CreateMutation(ENTITY, newer, [*DIRECTIVES, preserve(USER, PROPERTY, "up2")]))
    assert catalog.read(ENTITY) == both(
        system("st1", "st2", "nst1", sp1="sv1", sp2="sv2", nsp2="sv2"),
        user("nut1", up2="uv2", up3="uv3"),
    )


def test_f7_an_update_merges_and_overwrites(catalog: Catalog) -> None:
    catalog.apply(update(ENTITY, FIRST))
    more = both(system("ast1", sp1="nsv1", nsp2="nsv2"), user("aut1", up2="nuv2", up3="uv3"))
    expected = both(
        system("st1", "st2", "ast1", sp1="nsv1", sp2="sv2", nsp2="nsv2"),
        user("ut1", "aut1", up1="uv1", up2="nuv2", up3="uv3"),
    )
    assert catalog.apply(update(ENTITY, more), update(ENTITY, more)) == [
        MetadataChange(ENTITY, FIRST, expected),
        MetadataChange(ENTITY, expected, expected),
    ]


def test_f8_names_are_removed_and_a_drop_empties(catalog: Catalog) -> None:
    catalog.apply(update(ENTITY, FIRST))
    names = [name(SYSTEM, TAG, "st1"), name(USER, PROPERTY, "up1"), name(USER, TAG, "none")]
    for _ in range(2):
        catalog.apply(RemoveMutation(ENTITY, names=names))
        assert catalog.read(ENTITY) == both(
            system("st2", sp1="sv1", sp2="sv2"), user("ut1", up2="uv2")
        )
    for _ in range(2):
        catalog.apply(DropMutation(ENTITY))
        assert catalog.read(ENTITY) == EMPTY


def test_f9_a_change_is_visible_as_soon_as_it_is_committed(catalog: Catalog) -> None:
    catalog.apply(update(ENTITY, FIRST))
    assert catalog.find("st1") == [ENTITY]
    catalog.apply(RemoveMutation(ENTITY, names=[name(SYSTEM, TAG, "st1")]))
    assert catalog.find("st1") == []


def test_f10_a_batch_returns_the_changes_of_single_mutations(catalog: Catalog) -> None:
    mutations: list[Mutation] = [
        update(ENTITY, FIRST),
        DropMutation(ENTITY),
        CreateMutation(ENTITY, system("a"), DIRECTIVES),
        update(ENTITY, user("b", p="v")),
        RemoveMutation(ENTITY, names=[name(USER, TAG, "b")]),
        CreateMutation(ENTITY, user("c")),
    ]
    assert catalog.apply() == []
    alone = [change for each in mutations for change in catalog.apply(each)]
    catalog.apply(DropMutation(ENTITY))
    assert catalog.apply(*mutations) == alone


@pytest.mark.parametrize(
    ("scope", "kind"),
    [(None, None), (USER, None), (SYSTEM, None), (None, TAG), (None, PROPERTY)]
    + [(SYSTEM, PROPERTY), (USER, TAG)],
)
def test_f11_removing_a_scope_or_kind_leaves_the_rest(
    catalog: Catalog, scope: MetadataScope | None, kind: MetadataKind | None
) -> None:
    catalog.apply(update(ENTITY, FIRST))
    catalog.apply(RemoveMutation(ENTITY, scope, kind))
    removed = select(FIRST, scope, kind)
    left = catalog.read(ENTITY)
    for each in MetadataScope:
        assert not set(left.get(each).tags) & set(removed.get(each).tags)
        assert {*left.get(each).tags, *removed.get(each).tags} == {*FIRST.get(each).tags}
        assert left.get(each).properties | removed.get(each).properties == (
            FIRST.get(each).properties
        )


def to_versions(entity: Callable[[MetadataEntity], MetadataEntity]) -> list[MetadataEntity]:
    """An entity without a version, with version 42, and with the default one."""
    plain = MetadataEntity.of_application("app", "nn")
    return [entity(plain), entity(app("nn", "app", "42")), entity(app("nn", "app"))]


@pytest.mark.parametrize(
    "entities",
    [
        to_versions(lambda of: of),
        to_versions(lambda of: program(of, "Service", "pingService")),
        to_versions(lambda of: MetadataEntity({**of.details, "schedule": "ping"})),
    ],
    ids=["application", "program", "schedule"],
)
def test_f12_all_versions_of_an_application_share_metadata(
    catalog: Catalog, entities: list[MetadataEntity]
) -> None:
    without, versioned, default = entities
    first = both(system("sys", sp="sv"), user("usr", up="uv"))
    catalog.apply(CreateMutation(versioned, first))
    assert [catalog.read(each) for each in entities] == [first] * 3

    catalog.apply(update(versioned, user("plus", plus="minus")))
    catalog.apply(
        RemoveMutation(default, names=[name(USER, TAG, "usr"), name(SYSTEM, PROPERTY, "sp")])
    )
    expected = both(system("sys"), user("plus", up="uv", plus="minus"))
    assert [catalog.read(each) for each in entities] == [expected] * 3
    found = catalog.search("plus").results
    assert [(each.entity, each.metadata) for each in found] == [(default, expected)]

    catalog.apply(DropMutation(without))
    assert [catalog.read(each) for each in entities] == [EMPTY] * 3


def test_f13_the_version_of_an_artifact_counts(catalog: Catalog) -> None:
    versioned = MetadataEntity.of_artifact("artifact", "42", "nn")
    other = MetadataEntity.of_artifact("artifact", "-SNAPSHOT", "nn")
    metadata = both(system("sys", sp="sv"), user("usr", up="uv"))
    catalog.apply(CreateMutation(versioned, metadata), DropMutation(other))
    assert catalog.read(versioned) == metadata
    assert catalog.read(other) == EMPTY
    assert catalog.find("sp:sv") == [versioned]


def run_threads(works: Sequence[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_f31_threads_that_change_one_entity_lose_nothing(catalog: Catalog) -> None:
    count = 10
    catalog.apply(update(ENTITY, user(*(f"r{i}" for i in range(count)))))
    kept = [keep(USER, TAG, f"{letter}{i}") for letter in "trc" for i in range(count)]

    def change(i: int) -> list[Mutation]:
        return [
            CreateMutation(ENTITY, user(f"c{i}"), kept),
            update(ENTITY, user(f"t{i}")),
            RemoveMutation(ENTITY, names=[name(USER, TAG, f"r{i}")]),
        ]

    run_threads(
        [lambda one=each: catalog.apply(one) for i in range(count) for each in change(i)]  # type: ignore[misc]
    )
    expected = {f"{letter}{i}" for letter in "ct" for i in range(count)}
    assert set(catalog.read(ENTITY).user.tags) == expected


def test_f31_batches_of_threads_over_the_same_entities_lose_nothing(catalog: Catalog) -> None:
    threads, entities = 5, [dataset("ns", f"ds{i}") for i in range(20)]
    chosen = random.Random(7)
    kept = [keep(USER, TAG, f"{letter}{i}") for letter in "trc" for i in range(threads)]
    first = [f"r{i}" for i in range(threads)]
    catalog.apply(*(update(each, user(*first)) for each in entities))
    expected = {entity: set(first) for entity in entities}
    batches: list[list[Mutation]] = []
    for i in range(threads):
        batches.append([])
        for entity in entities:
            kind = chosen.choice(["update", "create", "remove", "nothing"])
            if kind == "update":
                expected[entity].add(f"t{i}")
                batches[i].append(update(entity, user(f"t{i}")))
            elif kind == "create":
                expected[entity].add(f"c{i}")
                batches[i].append(CreateMutation(entity, user(f"c{i}"), kept))
            elif kind == "remove":
                expected[entity].discard(f"r{i}")
                batches[i].append(RemoveMutation(entity, names=[name(USER, TAG, f"r{i}")]))
    run_threads([lambda one=each: catalog.apply(*one) for each in batches])  # type: ignore[misc]
    assert {each: set(catalog.read(each).user.tags) for each in entities} == expected


def test_f32_an_update_beside_a_drop_never_leaves_half(catalog: Catalog) -> None:
    for _ in range(10):
        catalog.apply(CreateMutation(ENTITY, user("a")))
        run_threads(
            [
                lambda: catalog.apply(update(ENTITY, user("b"))),
                lambda: catalog.apply(DropMutation(ENTITY)),
            ]
        )
        assert catalog.read(ENTITY) in (EMPTY, user("b"))
        catalog.apply(DropMutation(ENTITY))


def test_the_metadata_of_a_namespace_is_removed_with_it(catalog: Catalog) -> None:
    inside = [MetadataEntity.of_namespace("n"), dataset("n", "d"), app("n", "a")]
    field = dataset("n", "d").append("field", "f")
    others = [dataset("m", "d"), MetadataEntity({"file": "x"})]
    catalog.apply(*(update(each, user("t")) for each in [*inside, field, *others]))
    assert len(catalog.find("t")) == 6
    with catalog.database.transaction() as tx:
        catalog.metadata.remove_namespace(tx, "n")
    assert set(catalog.find("t")) == set(others)
    assert catalog.read(field) == EMPTY
    catalog.apply(update(field, user("t2")))
    assert catalog.find("t2") == [field]
