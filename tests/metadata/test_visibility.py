"""Searches of callers who see a part of the entities: full pages, and totals of what they see."""

from __future__ import annotations

import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission, Principal
from localcdap.metadata.postings import Visibility, find_cdap_entity
from localcdap.metadata.records import DropMutation
from localcdap.metadata.search import SearchRequest
from localcdap.security.authorizer import ALLOW_ALL, PrivilegeAuthorizer
from localcdap.security.privileges import Privileges, UserPrivileges
from tests.metadata.catalog import Catalog, app, dataset, program, update, user

ANNA = Principal("anna")
WORKFLOW = program(app("n", "a"), "Workflow", "w")


class Guarded:
    """Searches of Anna, who sees what her privileges name."""

    def __init__(self, catalog: Catalog, *paths: str) -> None:
        self.catalog = catalog
        self.grant(*paths)

    def grant(self, *paths: str) -> None:
        rights: UserPrivileges = {path: [Permission.READ] for path in paths}
        privileges = Privileges.of(True, {"anna": rights})
        self.authorizer = PrivilegeAuthorizer(lambda: privileges)

    def search(self, **request: object) -> tuple[list[str], int, str | None]:
        """The names on the page, the total and the cursor."""
        view = self.authorizer.describe_view(ANNA)
        shown = Visibility(view, lambda entity: self.authorizer.is_visible(ANNA, entity))
        wanted = SearchRequest("*", sort="entity-name", **request)
        found = self.catalog.metadata.search(wanted, None if view is None else shown)
        return [each.entity.name for each in found.results], found.total_results, found.cursor


def test_pages_are_full_and_totals_count_what_is_seen(catalog: Catalog) -> None:
    names = [f"d{number:02}" for number in range(30)]
    catalog.apply(*(update(dataset("n", name), user("t")) for name in names))
    seen = names[::3]
    guarded = Guarded(catalog, *(f"namespaces/n/datasets/{name}" for name in seen))
    assert guarded.search(limit=4) == (seen[:4], 10, None)
    assert guarded.search(limit=4, offset=8) == (seen[8:], 10, None)
    page, total, cursor = guarded.search(limit=6, cursor_requested=True)
    assert (page, total) == (seen[:6], 10)
    assert cursor is not None
    assert guarded.search(cursor=cursor, cursor_requested=True) == (seen[6:], 10, None)


def test_what_is_new_gone_or_granted_later_is_counted_at_once(catalog: Catalog) -> None:
    catalog.apply(*(update(dataset("n", name), user("t")) for name in ("a", "b", "c")))
    guarded = Guarded(catalog, "namespaces/n/datasets/a", "namespaces/n/datasets/new")
    assert guarded.search() == (["a"], 1, None)
    catalog.apply(*(update(dataset("n", name), user("t")) for name in ("new", "other")))
    assert guarded.search() == (["a", "new"], 2, None)
    catalog.apply(DropMutation(dataset("n", "a")))
    assert guarded.search() == (["new"], 1, None)
    guarded.grant("namespaces/n")
    assert guarded.search() == (["b", "c", "new", "other"], 4, None)
    guarded.grant("namespaces/elsewhere")
    assert guarded.search() == ([], 0, None)
    guarded.grant("*")
    assert guarded.search()[1] == 4


def test_a_custom_entity_is_seen_with_the_cdap_entity_around_it(catalog: Catalog) -> None:
    for name in ("a", "b"):
        catalog.apply(update(dataset("n", name).append("field", f"of-{name}"), user("t")))
    catalog.apply(update(MetadataEntity({"jar": "tools"}), user("t")))
    assert Guarded(catalog, "namespaces/n/datasets/a").search() == (["of-a", "tools"], 2, None)


@pytest.mark.parametrize(
    ("entity", "around"),
    [
        (dataset("n", "d"), dataset("n", "d")),
        (dataset("n", "d").append("field", "f").append("part", "p"), dataset("n", "d")),
        (WORKFLOW.append("node", "x"), WORKFLOW),
        (MetadataEntity({"namespace": "n", "jar": "j"}), MetadataEntity.of_namespace("n")),
        (MetadataEntity({"jar": "j"}), None),
    ],
)
def test_the_cdap_entity_around_an_entity(
    entity: MetadataEntity, around: MetadataEntity | None
) -> None:
    assert find_cdap_entity(entity) == around


def test_who_sees_everything_has_no_view() -> None:
    assert ALLOW_ALL.describe_view(ANNA) is None
    off = Privileges.of(False, {})
    assert PrivilegeAuthorizer(lambda: off).describe_view(ANNA) is None
    assert Privileges.of(True, {"anna": {"*": []}}).list_seen("anna") == frozenset()
