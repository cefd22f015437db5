"""Drafts: listed as CDAP lists them, every save kept, no save lost to another one."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from localcdap.api.errors import BadRequestError, ConflictError, DocumentError, NotFoundError
from localcdap.api.security import SYSTEM_PRINCIPAL, Principal
from localcdap.messaging.topics import Topics
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.library.application_model import Draft, DraftRequest
from localcdap.pipeline.library.drafts import DraftService
from localcdap.security.principals import act_as
from localcdap.store.store import Store

ARTIFACT = {"name": "cdap-data-pipeline", "version": "6.2.0", "scope": "system"}


@pytest.fixture
def drafts(store: Store, namespaces: NamespaceService) -> DraftService:
    return DraftService(store, Topics(store), namespaces)


def document(name: str | None = "orders", **config: Any) -> dict[str, Any]:
    return {"name": name, "artifact": ARTIFACT, "config": {"stages": [], **config}}


def save(drafts: DraftService, given: Any, draft: str | None = None, **options: Any) -> Draft:
    namespace = options.pop("namespace", "default")
    return drafts.save(namespace, DraftRequest(given, **options), draft)


def test_each_save_is_a_revision_that_can_be_read_and_restored(drafts: DraftService):
    first = save(drafts, document(a=1))
    second = save(drafts, document(a=2))
    third = save(drafts, document("sales", a=3), first.id, description="renamed")

    assert first.id == second.id == third.id
    assert [d.revision for d in drafts.list_revisions("default", "sales")] == [3, 2, 1]
    assert first.created_time_millis == third.created_time_millis <= third.updated_time_millis
    assert len({first.hash, second.hash, third.hash}) == 3
    assert drafts.get("default", first.id, 1).config == {"stages": [], "a": 1}
    assert drafts.get("default", "sales").config["a"] == 3
    assert (third.artifact.version, third.artifact.scope) == ("6.2.0", "SYSTEM")

    restored = drafts.restore("default", "sales", 1)
    assert (restored.revision, restored.name, restored.hash) == (4, "orders", first.hash)
    assert json.loads(drafts.export("default", "orders")) == document(a=1)
    with pytest.raises(NotFoundError, match="has no revision 9"):
        drafts.restore("default", "orders", 9)


def test_of_two_writers_the_second_learns_both_revisions(drafts: DraftService):
    base = save(drafts, document())
    save(drafts, document(a=1), revision=base.revision, previous_hash=base.hash)
    with pytest.raises(ConflictError, match=r"based on revision 1, the latest is revision 2"):
        save(drafts, document(a=2), revision=base.revision)
    with pytest.raises(
        ConflictError, match=rf"\(hash {base.hash[:12]}\), the latest is revision 2"
    ):
        save(drafts, document(a=2), previous_hash=base.hash)
    assert drafts.get("default", "orders").config["a"] == 1
    save(drafts, document(a=3), revision=0, previous_hash="")
    with pytest.raises(ConflictError, match="does not exist any more"):
        save(drafts, document("gone"), revision=3)
    with pytest.raises(BadRequestError, match="not -1"):
        save(drafts, document(), revision=-1)


def test_of_many_writers_at_once_one_wins_each_round(drafts: DraftService):
    save(drafts, document())
    reported: list[str] = []

    def write(number: int) -> None:
        try:
            save(drafts, document(a=number), revision=1)
            reported.append("kept")
        except ConflictError:
            reported.append("refused")

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reported) == ["kept"] + 7 * ["refused"]
    assert drafts.get("default", "orders").revision == 2


def test_drafts_are_sorted_by_any_column_and_filtered_by_name(drafts: DraftService):
    for name, description in (("b", None), ("a", "z"), ("Call", "y")):
        save(drafts, document(name), description=description)
    save(drafts, document("b", a=1))

    def names(*arguments: Any, **options: Any) -> list[str]:
        return [each.name for each in drafts.list_drafts("default", *arguments, **options)]

    assert names() == ["Call", "a", "b"]
    assert names(sort_order="nonsense") == ["b", "a", "Call"]
    assert names(sort_by="createdTimeMillis", sort_order="asc")[0] in ("a", "b")
    assert names(sort_by="description") == ["b", "Call", "a"]
    assert names(sort_by="revision", sort_order="DESC")[0] == "b"
    assert names(filter="A") == ["Call", "a"]
    for column in (
        "namespace",
        "generation",
        "owner",
        "id",
        "artifact",
        "pipeline",
        "parentversion",
    ):
        assert len(names(sort_by=column)) == 3
    with pytest.raises(BadRequestError) as raised:
        names(sort_by="colour")
    assert raised.value.message == (
        "Invalid value 'colour' for sortBy. This field does not exist in the Drafts table."
    )
    (listed, *_) = drafts.list_drafts("default")
    assert b"config" not in msgspec.json.encode(listed)
    (listed, *_) = drafts.list_drafts("default", include_config=True)
    assert listed.config == {"stages": []}


def test_what_is_no_draft_is_refused(drafts: DraftService):
    cases: list[tuple[Any, type[Exception], str]] = [
        ({**document(), "artifact": None}, BadRequestError, "artifact is null"),
        (
            {**document(), "artifact": {"name": "acme"}},
            BadRequestError,
            "artifact 'acme' is not supported, valid options are: 'cdap-data-pipeline' or 'cdap-data-s",
        ),
        (document(None), BadRequestError, "The draft has no name."),
        ("[]", DocumentError, "is not a pipeline"),
        ("{", DocumentError, "is not valid JSON"),
    ]
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            save(drafts, given)
    with pytest.raises(NotFoundError, match="Namespace 'nope' does not exist"):
        save(drafts, document(), namespace="nope")
    assert drafts.list_drafts("default") == []


def test_a_draft_need_not_be_valid(drafts: DraftService):
    broken = {"config": {"stages": [{"name": 1}, 7], "connections": "x"}, "name": "half"}
    save(drafts, json.dumps(broken))

    assert json.loads(drafts.export("default", "half")) == broken


def test_drafts_of_one_name_are_distinguished_by_id(drafts: DraftService):
    for id in ("x", "y"):
        save(drafts, document(), id)
    with pytest.raises(ConflictError, match="Several drafts are called 'orders'"):
        drafts.get("default", "orders")
    assert drafts.delete("default", "x").id == "x"
    assert drafts.get("default", "orders").id == "y"
    with pytest.raises(NotFoundError, match="There is no draft 'x'"):
        drafts.delete("default", "x")


def test_drafts_go_with_their_namespace(drafts: DraftService, namespaces: NamespaceService):
    namespaces.create("team")
    save(drafts, document(), namespace="team")
    namespaces.delete("team")
    with pytest.raises(NotFoundError):
        drafts.list_drafts("team")
    namespaces.create("team")
    assert drafts.list_drafts("team") == []
    assert save(drafts, document(), namespace="team").revision == 1


def test_every_real_pipeline_is_kept_as_it_is(drafts: DraftService, corpus: Path):
    for file in sorted((corpus / "pipelines").glob("*.json")):
        text = file.read_text(encoding="utf-8-sig")
        save(drafts, text, name=file.stem)
        exported = drafts.export("default", file.stem)
        assert exported == msgspec.json.format(text, indent=2), file.name
        # The order of keys counts, too.
        assert json.dumps(json.loads(exported)) == json.dumps(json.loads(text)), file.name
    assert len(drafts.list_drafts("default")) == 156


def test_what_happens_to_a_draft_is_published_with_its_user(
    drafts: DraftService, store: Store, namespaces: NamespaceService
):
    with act_as(Principal("alice")):
        first = drafts.save("default", DraftRequest(document()))
    with act_as(Principal("bob")):
        drafts.restore("default", "orders", 1)
    with act_as(SYSTEM_PRINCIPAL):
        assert [each.user for each in drafts.list_revisions("default", "orders")] == [
            "bob",
            "alice",
        ]
        drafts.delete("default", "orders")

    with store.snapshot() as tx:
        messages = [each.payload for each in Topics(store).read(tx, "system", ["entities"], 0, 10)]
    assert [(each["kind"], each["user"]) for each in messages] == [
        ("entityCreated", "alice"),
        ("entityUpdated", "bob"),
        ("entityDeleted", None),
    ]
    entity = {"type": "draft", "details": {"namespace": "default", "draft": first.id}}
    assert [each["entity"] for each in messages] == 3 * [entity]
