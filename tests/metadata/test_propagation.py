"""USER metadata goes along with records: it is added, never removed, and what the target has wins."""

from __future__ import annotations

import pytest

from localcdap.api.lineage import EdgeKind
from localcdap.api.metadata import Metadata, MetadataEntity
from localcdap.api.security import Authorizer, Permission, Principal
from localcdap.metadata.accesses import MetadataPropagation
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.security.authorizer import ALLOW_ALL, PrivilegeAuthorizer
from localcdap.security.principals import act_as
from localcdap.security.privileges import Privileges, UserPrivileges
from tests.metadata.catalog import Catalog, both, dataset, system, update, user

A, B, OUT = (DatasetId("n", name) for name in ("a", "b", "out"))
PAIRS = {(A, OUT), (B, OUT)}
DIRECT = EdgeKind.TRANSFORMATION


def edge(source: DatasetId, field: str, target: str, kind: EdgeKind, **more: bool) -> ColumnEdge:
    return ColumnEdge(
        DatasetField(source, field), DatasetField(OUT, target), Influence(kind, **more)
    )


def field(of: DatasetId, name: str) -> MetadataEntity:
    return of.to_entity().append("field", name)


def propagate(
    catalog: Catalog, *edges: ColumnEdge, authorizer: Authorizer = ALLOW_ALL
) -> list[str]:
    with catalog.database.transaction() as tx, act_as(Principal("anna")):
        return MetadataPropagation(catalog.metadata, authorizer).propagate(tx, PAIRS, edges)


def test_the_metadata_of_sources_is_added_to_the_sink(catalog: Catalog) -> None:
    catalog.apply(
        update(dataset("n", "a"), both(system("s", ttl="1"), user("gold", owner="anna", of="a"))),
        update(dataset("n", "b"), user("silver", of="b")),
        update(dataset("n", "out"), user("mine", owner="bob")),
    )
    assert propagate(catalog) == []
    expected = Metadata.of({"owner": "bob", "of": "a"}, ["gold", "mine", "silver"])
    assert catalog.read(OUT.to_entity()).user == expected
    assert catalog.read(OUT.to_entity()).system.is_empty()
    assert propagate(catalog) == []
    assert catalog.read(OUT.to_entity()).user == expected
    assert catalog.read(A.to_entity()).user == Metadata.of({"owner": "anna", "of": "a"}, ["gold"])


def test_fields_go_along_direct_and_certain_edges_between_the_datasets(catalog: Catalog) -> None:
    for name in ("direct", "filter", "guess", "other"):
        catalog.apply(update(field(A, name), user(name)))
    elsewhere = DatasetId("n", "elsewhere")
    catalog.apply(update(field(elsewhere, "far"), user("far")))
    propagate(
        catalog,
        edge(A, "direct", "made", DIRECT),
        edge(A, "filter", "made", EdgeKind.FILTER),
        edge(A, "guess", "made", DIRECT, assumed=True),
        edge(A, "other", "copied", EdgeKind.IDENTITY),
        edge(elsewhere, "far", "made", DIRECT),
    )
    assert catalog.read(field(OUT, "made")).user == Metadata.of(tags=["direct"])
    assert catalog.read(field(OUT, "copied")).user == Metadata.of(tags=["other"])


def test_a_masked_field_does_not_get_the_tags_of_the_original(catalog: Catalog) -> None:
    catalog.apply(update(field(A, "mail"), user("PII", owner="anna")))
    catalog.apply(update(field(A, "name"), user("PII")))
    propagate(
        catalog,
        edge(A, "mail", "hashed", DIRECT, masking=True),
        # One way to this field is masked, the other is not.
        edge(A, "mail", "label", DIRECT, masking=True),
        edge(A, "name", "label", DIRECT),
    )
    assert catalog.read(field(OUT, "hashed")).is_empty()
    assert catalog.read(field(OUT, "label")).user == Metadata.of(tags=["PII"])


@pytest.mark.parametrize(
    ("rights", "message"),
    [
        ({"*": [Permission.READ]}, "to perform action 'WRITE' on entity 'dataset:n.out'"),
        ({"namespaces/n/datasets/out": [Permission.WRITE]}, "access entity 'dataset:n.a'"),
        ({"*": [Permission.READ, Permission.WRITE]}, None),
    ],
)
def test_the_user_of_the_run_must_see_the_source_and_may_change_the_sink(
    catalog: Catalog, rights: UserPrivileges, message: str | None
) -> None:
    catalog.apply(update(A.to_entity(), user("gold")))
    privileges = Privileges.of(True, {"anna": rights})
    problems = propagate(catalog, authorizer=PrivilegeAuthorizer(lambda: privileges))
    if message is None:
        assert problems == []
        assert catalog.read(OUT.to_entity()).user.tags == ["gold"]
    else:
        assert len(problems) == 1
        assert message in problems[0]
        assert catalog.read(OUT.to_entity()).is_empty()
