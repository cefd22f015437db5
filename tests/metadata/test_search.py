"""The list F of the facts: CDAP 6 ``MetadataStorageTest``, searches (F14 to F30)."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema, Type
from localcdap.metadata.records import DropMutation, RemoveMutation
from localcdap.metadata.search import parse_sorting
from localcdap.metadata.search_index import Sorting
from tests.metadata.catalog import (
    PROPERTY,
    SYSTEM,
    TAG,
    USER,
    Catalog,
    app,
    both,
    dataset,
    name,
    program,
    system,
    update,
    user,
)

MULTIWORD = "aV1 av2 ,  -  ,  av3 - av4_av5 av6"


def find_names(catalog: Catalog, query: str, **request: Any) -> set[str]:
    return {each.name for each in catalog.find(query, **request)}


@pytest.mark.parametrize("prefix", ["description:", ""])
def test_f14_descriptions_are_found_by_their_words_and_scope(catalog: Catalog, prefix: str) -> None:
    one, two = app("ns1", "one"), app("ns2", "two")
    first = both(
        system(description="this is the first application"),
        user(description="business description of app1"),
    )
    catalog.apply(update(one, first), update(two, system(description="this other app description")))

    def find(word: str, **request: Any) -> set[str]:
        return find_names(catalog, prefix + word, **request)

    assert find("occursnot", show_hidden=True) == set()
    assert find("first") == {"one"}
    assert find("this") == find("app*") == find("description") == {"one", "two"}
    assert find("first", scope=SYSTEM) == {"one"}
    assert find("this", scope=SYSTEM) == find("app*", scope=SYSTEM) == {"one", "two"}
    assert find("description", scope=SYSTEM) == {"two"}
    assert find("first", scope=USER) == find("this", scope=USER) == set()
    assert find("app*", scope=USER) == find("description", scope=USER) == {"one"}


def test_f15_a_ttl_is_found_as_text_and_number(catalog: Catalog) -> None:
    catalog.apply(update(dataset("ns1", "ds"), system(ttl="3600")))
    for query in (
        "ttl:3600",
        "3600",
        "properties:ttl",
        "ttl:*",
        "TTL:3600",
        "ttl:>3599",
        "ttl:==3600",
    ):
        assert find_names(catalog, query) == {"ds"}, query
        assert find_names(catalog, query, scope=SYSTEM) == {"ds"}, query
        assert find_names(catalog, query, scope=USER) == set(), query
    assert find_names(catalog, "ttl:<3600") == find_names(catalog, "ttl:>3600") == set()


def make_schema() -> Schema:
    array = Schema.array(Schema.BYTES)
    nested = Schema.map(array, Schema.map(Schema.BOOLEAN, Schema.BYTES))
    record22 = Schema.record("record22", [("a", nested)])
    record21 = Schema.record(
        "record21",
        [
            ("x", Schema.STRING),
            ("y", Schema.array(Schema.STRING)),
            ("z", Schema.map(Schema.BYTES, Schema.DOUBLE)),
        ],
    )
    record1 = Schema.record(
        "record1",
        [
            ("map1", Schema.map(record21, Schema.array(record22))),
            ("i", Schema.INT.as_nullable),
            ("j", Schema.union([Schema.INT, Schema.LONG, Schema.NULL])),
        ],
    )
    return Schema.union([record1, Schema.array(Schema.STRING), Schema.of(Type.NULL)])


def test_f16_a_schema_is_found_by_its_fields_and_their_types(catalog: Catalog) -> None:
    entity = MetadataEntity.of_dataset("myDs")
    catalog.apply(update(entity, system(entity_name="myDs", schema=str(make_schema()))))
    for query in ("myds", "schema:*", "properties:schema"):
        assert catalog.find(query) == [entity], query
    for field, type in (
        *(("record1", "RECORD"), ("map1", "MAP"), ("record21", "RECORD"), ("x", "STRING")),
        *(("y", "ARRAY"), ("z", "MAP"), ("record22", "RECORD"), ("a", "MAP"), ("i", "INT")),
        ("j", "UNION"),
    ):
        for query in (field, f"{field}:{type}", f"schema:{field}", f"schema:{field}:{type}"):
            assert catalog.find(query) == [entity], query
    assert catalog.find("i:STRING") == []


def test_f17_an_invalid_schema_is_found_as_text(catalog: Catalog) -> None:
    entity = MetadataEntity.of_dataset("myDs")
    catalog.apply(update(entity, system(entity_name="myDs", schema="an invalid schema")))
    for query in ("myds", "schema:*", "properties:schema", "schema:inval*"):
        assert catalog.find(query) == [entity], query


def test_f18_custom_entities_are_found_by_their_type(catalog: Catalog) -> None:
    stuff = dataset("different", "stuff")
    hype = MetadataEntity({"field": "value", "hype": "custom"})
    field = MetadataEntity({"field": "val", "hype": "irrel"}, "field")
    for entity, text in ((stuff, "stuff"), (hype, "custom"), (field, "irrel")):
        catalog.apply(update(entity, system("foo", "bar", entity_name=text)))

    def find(query: str, *types: str) -> set[MetadataEntity]:
        return set(catalog.find(query, types=types or None))

    assert find("*") == {stuff, hype, field}
    assert find("*", "dataset") == {stuff}
    assert find("*", "hype") == {hype}
    assert find("*", "field") == find("*", "field", "nosuch") == {field}
    assert find("*", "field", "hype") == {field, hype}
    assert find("hype:custom") == find("hype:cust*") == find("hype:*") == {hype}
    assert find("field:value") == set()
    assert find("field:val*") == find("field:*") == {field}


def test_f19_tags_are_found_by_their_words_in_their_namespace(catalog: Catalog) -> None:
    app1, app2 = app("ns1", "app1"), app("ns2", "app1")
    wk1 = program(app1, "Worker", "wk1")
    ds1, ds2 = dataset("ns1", "ds1"), dataset("ns1", "ds2")
    file1 = ds1.append("file", "f1")
    tags = {
        app1: ["tag1", "tag2", "tag3"],
        app2: ["tag1", "tag2", "tag3_more"],
        wk1: ["tag1"],
        ds1: ["tag3", "tag2", "tag12-tag33"],
        ds2: ["tag2", "tag4"],
        file1: ["tag2", "tag5"],
    }
    catalog.apply(*(update(entity, user(*words)) for entity, words in tags.items()))

    def find(query: str, *namespaces: str) -> set[MetadataEntity]:
        return set(catalog.find(query, namespaces=namespaces or None))

    assert find("tags:*", "ns1") == {app1, wk1, ds1, ds2, file1}
    assert find("tags:tag1*", "ns1") == {app1, wk1, ds1}
    assert find("  tAGS  :  tag1  ", "ns1") == {app1, wk1}
    assert find("tags:tag5", "ns1") == {file1}
    assert find("tags:tag2", "ns1") == {app1, ds1, ds2, file1}
    assert find("tags:tag4", "ns1") == {ds2}
    assert find("tags:tag33", "ns1") == find("tag12-tag33", "ns1") == find("  tag33  ", "ns1")
    assert find("tag12-tag33", "ns1") == {ds1}
    assert find("tags:tag3*", "ns1") == {app1, ds1}
    assert find("tags:tag1", "ns2") == find("tag3", "ns2") == find("tag*", "ns2") == {app2}
    assert find("tags:tag1") == {app1, app2, wk1}


def test_f20_more_tags_are_found_and_no_tags_change_nothing(catalog: Catalog) -> None:
    entity = program(app("default", "appX"), "Workflow", "wtf")
    catalog.apply(update(entity, system("tag1", "tag2")))
    assert catalog.find("tag1") == [entity]
    catalog.apply(update(entity, system("tag3", "tag4")), update(entity, system()))
    assert catalog.read(entity) == system("tag1", "tag2", "tag3", "tag4")
    for tag in ("tag1", "tag2", "tag3", "tag4"):
        assert catalog.find(tag) == [entity]


def test_f21_entities_are_found_by_the_name_of_their_type(catalog: Catalog) -> None:
    of = dataset("default", "myDs")
    field1, field2 = of.append("field", "myField1"), of.append("field", "myField2")
    catalog.apply(update(field1, user(testKey1="testValue1")))
    catalog.apply(update(field2, user(testKey2="testValue2")))
    assert catalog.find("field:myField1") == [field1]
    assert set(catalog.find("field:myFie*")) == set(catalog.find("field*")) == {field1, field2}
    assert catalog.find("x*", types=["invalid"]) == []


def test_f22_values_are_found_by_their_words(catalog: Catalog) -> None:
    wk1 = program(app("ns1", "app1"), "Worker", "wk1")
    ds2 = dataset("ns1", "ds2")
    catalog.apply(update(wk1, user(key1="value1", key2="value2", multiword=MULTIWORD)))
    assert catalog.find("value1") == [wk1]
    assert catalog.find("  aV1   ", types=["program"]) == [wk1]
    assert catalog.find("  aV1   ", types=["artifact"]) == []
    for query in ("-", ",", "_", ", ,", ", - ,"):
        assert catalog.find(query) == [], query
    assert catalog.find("av5", types=["program"]) == [wk1]
    assert catalog.find("ValUe1", types=["program"]) == [wk1]

    catalog.apply(update(wk1, system(key3="value1")), update(ds2, user(key21="value21")))
    assert catalog.find("value1", types=["program"]) == [wk1]
    assert set(catalog.find("value2*")) == {wk1, ds2}
    assert catalog.find("value2*", namespaces=["ns12"]) == []


def test_f23_properties_are_found_by_their_names(catalog: Catalog) -> None:
    wk1 = program(app("ns1", "app1"), "Worker", "wk1")
    ds2 = dataset("ns1", "ds2")
    catalog.apply(
        update(wk1, user(key1="value1", key2="value2", multiword=MULTIWORD)),
        update(ds2, both(system(sKey1="sValue1"), user(Key1="Value1"))),
    )
    assert set(catalog.find("properties:key1")) == {wk1, ds2}
    assert catalog.find("properties:skey1", scope=SYSTEM) == [ds2]
    assert catalog.find("properties:multi*", scope=USER) == [wk1]
    assert catalog.find("key1:value1", types=["program"]) == [wk1]
    assert set(catalog.find("key1:value1")) == {wk1, ds2}
    assert catalog.find("multiword:aV5") == catalog.find("  multiword:aV1   ") == [wk1]

    catalog.apply(RemoveMutation(wk1, names=[name(USER, PROPERTY, "multiword")]))
    assert catalog.find("multiword:aV5") == []
    assert catalog.find("key1:value1", namespaces=["ns12"]) == []
    for query in ("  value1  av2  ", "  value1  sValue1  ", "  valu*  sVal*  "):
        assert set(catalog.find(query)) == {wk1, ds2}, query
    assert set(catalog.find("valu* sVal*", types=["program", "dataset"])) == {wk1, ds2}


def test_f24_old_values_are_no_longer_found(catalog: Catalog) -> None:
    wk1 = program(app("ns", "app1"), "Worker", "wk1")
    catalog.apply(update(wk1, user("tag1", "tag2", key1="value1", key2="value2")))
    for query in ("value1", "value2", "tag2"):
        assert catalog.find(query, namespaces=["ns"]) == [wk1], query
    names = [name(USER, PROPERTY, "key2"), name(USER, TAG, "tag2")]
    catalog.apply(update(wk1, user(key1="value3")), RemoveMutation(wk1, names=names))
    for query in ("value1", "value2", "tag2"):
        assert catalog.find(query, namespaces=["ns"]) == [], query
    assert catalog.find("value3") == catalog.find("tag1") == [wk1]


def test_f25_the_system_namespace_is_searched_when_it_is_named(catalog: Catalog) -> None:
    wk1 = program(app("ns1", "app1"), "Worker", "wk1")
    artifact = MetadataEntity.of_artifact("artifact", "1.0", "ns2")
    shipped = MetadataEntity.of_artifact("artifact", "1.0", "system")
    for each in (wk1, artifact, shipped):
        catalog.apply(update(each, system(multiword=MULTIWORD)))

    def find(query: str, *namespaces: str, types: list[str] | None = None) -> set[MetadataEntity]:
        return set(catalog.find(query, namespaces=namespaces, types=types))

    assert find("aV5", "ns1", "system") == {wk1, shipped}
    assert find("aV5", "ns1", types=["program"]) == {wk1}
    assert find("multiword:aV5", "ns1", types=["program"]) == {wk1}
    assert find(f"multiword:{MULTIWORD}", "ns1", "system", types=["artifact"]) == {shipped}
    assert find("multiword:aV4", "ns2", "system") == {artifact, shipped}
    assert find("aV*", "ns2", "system", types=["program"]) == set()
    assert find("av*", "ns3", "system") == find("av*", "system") == {shipped}
    assert find("aV5", "ns2") == {artifact}


def test_f26_a_search_without_namespaces_searches_all(catalog: Catalog) -> None:
    values = {
        app("ns1", "a1"): user("v1", k1="v1"),
        app("ns1", "a2"): user(k1="v1", k2="v2"),
        app("ns1", "a3"): user(k1="v1", k3="v3"),
        app("ns2", "a1"): user(k1="v1", k2="v2"),
        app("ns2", "a2"): user("v2", "v3", k1="v1"),
    }
    catalog.apply(*(update(entity, metadata) for entity, metadata in values.items()))
    a1, a2, a3, b1, b2 = values
    assert set(catalog.find("v1")) == set(catalog.find("*")) == set(values)
    assert set(catalog.find("v2")) == {a2, b1, b2}
    assert set(catalog.find("v3")) == {a3, b2}
    assert a1 in catalog.find("v1")


def test_f27_equal_names_are_sorted_by_namespace(catalog: Catalog) -> None:
    one, two = app("ns1", "app"), app("ns2", "app")
    catalog.apply(*(update(each, system(entity_name="app")) for each in (two, one)))
    catalog.metadata = type(catalog.metadata)(catalog.database)  # reads all terms again
    assert catalog.find("*", sort="entity-name") == [one, two]


def test_f28_hidden_entities_take_no_place_unless_they_are_shown(catalog: Catalog) -> None:
    service = program(app("ns", "app"), "Service", "service")
    worker = program(app("ns", "app2"), "Worker", "worker")
    visible, hidden = dataset("ns", "dataset"), dataset("ns", "_auditLog")
    catalog.apply(
        update(service, user("tag", "tag1")),
        update(worker, user("tag2", "tag3 tag4")),
        update(visible, user("tag5 tag6", "tag7 tag8")),
        update(hidden, user("tag9", "tag10", "tag11", "tag12", "tag13")),
    )

    def find(**request: Any) -> list[MetadataEntity]:
        return catalog.find("tag*", namespaces=["ns"], **request)

    everything = find(show_hidden=True)
    shown = [each for each in everything if each != hidden]
    assert set(everything) == {service, worker, visible, hidden}
    assert find() == shown
    assert find(limit=2) == shown[:2]
    assert find(offset=1, limit=2) == shown[1:3]
    assert find(offset=1, limit=3, show_hidden=True) == everything[1:4]
    assert find(offset=2, limit=2) == shown[2:]
    assert find(offset=4, limit=2) == []
    assert find(offset=1) == shown[1:]


@pytest.mark.parametrize("field", ["entity-name", "creation-time"])
def test_f29_results_are_sorted_in_windows_and_by_cursors(catalog: Catalog, field: str) -> None:
    chosen = random.Random(29)
    numbers, times = chosen.sample(range(1000), 10), chosen.sample(range(1_000_000), 10)
    values = {
        f"ds{number}": 1_600_000_000_000 + time for number, time in zip(numbers, times, strict=True)
    }
    for text, time in values.items():
        metadata = system(entity_name=text, creation_time=str(time))
        catalog.apply(update(dataset("myns", text), metadata))
    order = sorted(values, key=values.__getitem__ if field == "creation-time" else str)
    for each in values:
        value = each if field == "entity-name" else values[each]
        assert find_names(catalog, f"{field}:{value}") == {each}
    for direction, names in (("asc", order), ("DESC", order[::-1])):
        sort = f"{field} {direction}"
        for offset, limit in ((0, 100), (0, 4), (2, 4), (8, 4), (12, 4)):
            found = catalog.find("*", sort=sort, offset=offset, limit=limit)
            assert [each.name for each in found] == names[offset : offset + limit]
        assert page_by_cursors(catalog, sort) == [names[:4], names[4:8], names[8:]]


def page_by_cursors(catalog: Catalog, sort: str) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        answer = catalog.search("*", sort=sort, limit=4, cursor=cursor, cursor_requested=True)
        pages.append([each.entity.name for each in answer.results])
        cursor = answer.cursor
        if cursor is None:
            return pages


def test_f30_cursors_offsets_and_totals(catalog: Catalog) -> None:
    for i in range(20):
        catalog.apply(update(dataset("default", f"ds{i}"), system(entity_name=f"ds{i}")))

    def check(
        request: tuple[int, int, str | None, bool], expected: tuple[int, int, int, bool, bool]
    ) -> str | None:
        offset, limit, cursor, requested = request
        answer = catalog.search(
            "*",
            sort="entity-name asc",
            offset=offset,
            limit=limit,
            cursor=cursor,
            cursor_requested=requested,
        )
        count = len(answer.results)
        more = answer.total_results > answer.offset + count
        assert (count, answer.offset, answer.limit, more, answer.cursor is not None) == expected
        if answer.cursor is not None:
            decoded = json.loads(base64.urlsafe_b64decode(answer.cursor))
            assert decoded[:2] == [answer.offset + answer.limit, answer.limit]
        return answer.cursor

    check((0, 10, None, False), (10, 0, 10, True, False))
    check((5, 10, None, False), (10, 5, 10, True, False))
    check((10, 10, None, False), (10, 10, 10, False, False))
    check((15, 10, None, False), (5, 15, 10, False, False))
    check((20, 10, None, False), (0, 20, 10, False, False))
    check((25, 10, None, False), (0, 25, 10, False, False))
    for empty in (None, ""):
        check((0, 10, empty, True), (10, 0, 10, True, True))
        check((0, 20, empty, True), (20, 0, 20, False, False))
        check((0, 30, empty, True), (20, 0, 30, False, False))
    cursor = check((0, 8, None, True), (8, 0, 8, True, True))
    cursor = check((0, 8, cursor, True), (8, 8, 8, True, True))
    check((0, 8, cursor, True), (4, 16, 8, False, False))
    cursor = check((0, 10, None, True), (10, 0, 10, True, True))
    check((0, 10, cursor, True), (10, 10, 10, False, False))
    cursor = check((0, 4, None, True), (4, 0, 4, True, True))
    cursor = check((0, 0, cursor, True), (4, 4, 4, True, True))
    cursor = check((10, 100, cursor, True), (4, 8, 4, True, True))
    cursor = check((12, 2, cursor, True), (4, 12, 4, True, True))
    check((1, 1, cursor, True), (4, 16, 4, False, False))
    cursor = check((4, 4, None, True), (4, 4, 4, True, True))
    check((8, 4, cursor, True), (4, 8, 4, True, True))


def test_a_cursor_continues_after_what_was_shown_when_names_come_and_go(catalog: Catalog) -> None:
    names = ["b", "d", "f", "h", "j"]
    catalog.apply(*(update(dataset("n", each), user("t")) for each in names))
    first = catalog.search("t", sort="entity-name", limit=2, cursor_requested=True)
    catalog.apply(update(dataset("n", "a"), user("t")), DropMutation(dataset("n", "h")))
    second = catalog.search("t", sort="entity-name", cursor=first.cursor)
    assert [each.entity.name for each in second.results] == ["f", "j"]


def test_the_best_match_comes_first(catalog: Catalog) -> None:
    catalog.apply(
        update(dataset("n", "a"), user("red")),
        update(dataset("n", "b"), user("red", "green", "blue")),
        update(dataset("n", "c"), user("red", "green")),
    )
    found = catalog.find("red green blue")
    assert [each.name for each in found] == ["b", "c", "a"]
    assert [each.name for each in catalog.find("+green red blue")] == ["b", "c"]
    assert [each.name for each in catalog.find("+red +blue")] == ["b"]


def test_numbers_and_dates_are_compared(catalog: Catalog) -> None:
    for text, size in (("a", "9"), ("b", "10"), ("c", "-2.5"), ("d", "many"), ("e", "3.5")):
        catalog.apply(update(dataset("n", text), system(size=size)))
    day = 1_564_963_200_000  # 2019-08-05
    catalog.apply(update(dataset("n", "old"), system(creation_time=str(day - 1))))
    catalog.apply(update(dataset("n", "new"), system(creation_time=str(day))))
    assert find_names(catalog, "size:>=9") == {"a", "b"}
    assert find_names(catalog, "size:<3.5") == {"c"}
    assert find_names(catalog, "size:==10") == {"b"}
    assert find_names(catalog, "size:>9 a") == {"b"}, "a comparison is required"
    assert find_names(catalog, "size:>many") == set()
    assert find_names(catalog, "DATE:creation-time:<2019-08-05") == {"old"}
    assert find_names(catalog, "DATE:creation-time:>=2019-08-05") == {"new"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("entity-name", Sorting(False)),
        ("Entity-Name ASC", Sorting(False)),
        ("  creation-time  DeSc  ", Sorting(True, True)),
        (None, None),
    ],
)
def test_sort_orders_are_read(text: str | None, expected: Sorting | None) -> None:
    assert parse_sorting(text) == expected


@pytest.mark.parametrize("text", [" xyz ascending", "f g", "a b c", "  ", ""])
def test_what_is_no_sort_order_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError, match=f"Invalid value '{text}' for Sorting"):
        parse_sorting(text)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"sort": "owner"}, "Sorting is only supported on fields: entity-name, creation-time"),
        ({"cursor_requested": True}, "Specify a sort order when requesting a cursor"),
        ({"cursor": "x"}, "Specify a sort order when passing in a cursor"),
        ({"cursor": "x", "sort": "entity-name"}, "'x' is not the cursor of a search."),
        ({"offset": -1}, "must not be negative"),
    ],
)
def test_wrong_searches_are_refused(
    catalog: Catalog, request_: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadRequestError, match=message):
        catalog.search("*", **request_)
