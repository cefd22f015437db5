"""The classes of the built-in dataset types, in this process and from another one."""

from __future__ import annotations

import struct

import pytest

from localcdap.api.dataset.classes.cube import (
    AggregationFunction,
    CubeFact,
    CubeQuery,
    Measurement,
    MeasureType,
)
from localcdap.api.dataset.classes.time_series import Counter, Entry
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.schema import Schema

ORDERS = str(
    Schema.record(
        "order",
        [
            ("id", Schema.STRING),
            ("city", Schema.STRING.as_nullable),
            ("count", Schema.LONG.as_nullable),
        ],
    )
)
TABLE = {"schema": ORDERS, "schema.row.field": "id"}
SUM, MAX = AggregationFunction.SUM, AggregationFunction.MAX


def use(transactions, name, *bodies):
    """Run each function in a transaction of its own on the dataset, and return their results."""
    return [transactions.run(lambda tx, body=body: body(tx.dataset(name))) for body in bodies]


def test_table(transactions, create):
    name = create("table", **TABLE)

    def fill(table):
        table.write_all({"id": key, "city": city} for key, city in [("b", "Rome"), ("a", "Bonn")])
        table.write({"id": "c", "count": 5})
        table.put("a", {"count": 1})
        assert table.get("a") == {"id": "a", "city": "Bonn", "count": 1}
        assert table.increment("a", "count", 2) == 3
        assert table.increment("d", "count", -1) == -1
        assert table.compare_and_swap("b", "city", "Rome", "Oslo")
        assert not table.compare_and_swap("b", "city", "Rome", "Paris")
        table.delete("c")
        return [row["id"] for row in table.scan()]

    def look(table):
        assert table.get("c") is None
        assert sorted(row["id"] for row in table.get_all(["b", "a", "z"])) == ["a", "b"]
        assert [row["id"] for row in table.scan("b", "d")] == ["b"]
        assert [row["id"] for row in table.scan(limit=2)] == ["a", "b"]
        return table.count(), table.get("a"), table.get("b")["city"]

    assert use(transactions, name, fill, look) == [
        ["a", "b", "d"],
        (3, {"id": "a", "city": "Bonn", "count": 3}, "Oslo"),
    ]


def test_table_without_a_key_column(transactions, create):
    name = create("table", schema=ORDERS)
    use(transactions, name, lambda table: table.write_all([{"id": "a"}, {"id": "a"}]))
    (found,) = use(transactions, name, lambda table: list(table.scan()))
    assert found == [{"id": "a", "city": None, "count": None}] * 2
    with pytest.raises(BadRequestError, match="has no key: its rows are only added"):
        use(transactions, name, lambda table: table.get("a"))


def test_table_without_a_schema(transactions, create):
    name = create("table")

    def fill(table):
        table.put(b"r", {"x": b"1"})
        table.put(b"r", {"y": b"2"})
        assert table.increment(b"r", "n", 4) == 4
        assert table.compare_and_swap(b"s", "x", None, b"new")
        assert not table.compare_and_swap(b"s", "x", None, b"newer")
        table.put(b"t", {"x": b"gone"})
        table.delete_columns(b"t", "x")

    def look(table):
        assert table.get(b"t") == {}
        return dict(table.scan())

    number = struct.pack(">q", 4)
    assert use(transactions, name, fill, look)[1] == {
        b"r": {"x": b"1", "y": b"2", "n": number},
        b"s": {"x": b"new"},
    }
    with pytest.raises(BadRequestError, match="'x' is not a number of 8 bytes"):
        use(transactions, name, lambda table: table.increment(b"r", "x", 1))


def test_key_value_table(transactions, create):
    name = create("keyValueTable")

    def fill(table):
        table.write_all({b"a": b"1", b"b": b"2", b"c": b"3"})
        table.delete(b"b")
        assert table.swap(b"a", b"1", b"one")
        assert not table.swap(b"a", b"1", b"two")
        assert table.swap(b"c", b"3", None)
        assert table.swap(b"d", None, b"new")
        return table.increment(b"n", 7)

    def look(table):
        assert table.read(b"b") is None
        assert table.read_all([b"a", b"b", b"d"]) == {b"a": b"one", b"d": b"new"}
        return [key for key, _ in table.scan(b"a", b"n")], [key for key, _ in table.scan()]

    assert use(transactions, name, fill, look) == [7, ([b"a", b"d"], [b"a", b"d", b"n"])]


def test_key_value_table_of_texts(transactions, create):
    fields = [("key", Schema.STRING), ("value", Schema.STRING)]
    name = create("keyValueTable", schema=str(Schema.record("kv", fields)))
    use(transactions, name, lambda table: table.write("ä", "1"))
    assert use(transactions, name, lambda table: table.read("ä")) == ["1"]
    with pytest.raises(
        BadRequestError, match="'key' of table 'data' cannot hold b'a': it is of type string"
    ):
        use(transactions, name, lambda table: table.write(b"a", "1"))


def test_indexed_table(transactions, create):
    name = create("indexedTable", **TABLE, columnsToIndex="city,count")
    rows = [("a", "Rome", 3), ("b", "Oslo", 1), ("c", "Rome", 2)]

    def fill(table):
        table.write_all({"id": key, "city": city, "count": n} for key, city, n in rows)
        return sorted(row["id"] for row in table.read_by_index("city", "Rome"))

    def look(table):
        table.put("b", {"city": "Rome"})
        return [row["id"] for row in table.scan_by_index("count", 2)], sorted(
            row["id"] for row in table.read_by_index("city", "Rome")
        )

    assert use(transactions, name, fill, look) == [["a", "c"], (["c", "a"], ["a", "b", "c"])]
    with pytest.raises(BadRequestError, match="'id' of dataset 'data' is not indexed"):
        use(transactions, name, lambda table: table.read_by_index("id", "a"))


def test_object_stores(transactions, create):
    schema = Schema.record("p", [("n", Schema.INT), ("tags", Schema.array(Schema.STRING))])
    name = create("objectStore", schema=str(schema))
    value = {"n": 1, "tags": ["x", "y"]}
    use(transactions, name, lambda store: store.write(b"k", value))
    use(transactions, name, lambda store: (store.write(b"l", value), store.delete(b"l")))
    assert use(transactions, name, lambda store: (store.read(b"k"), list(store.scan()))) == [
        (value, [(b"k", value)])
    ]
    with pytest.raises(BadRequestError, match="'value' of table 'data' cannot hold"):
        use(transactions, name, lambda store: store.write(b"k", {"n": "one", "tags": []}))


def test_indexed_object_store(transactions, create):
    name = create("indexedObjectStore")

    def fill(store):
        store.write(b"1", b"one", [b"odd", b"small"])
        store.write(b"2", b"two", [b"small"])
        store.write(b"3", b"three", [b"odd"])
        store.write(b"3", b"THREE", [b"large"])
        store.update_index(b"3", b"odd")
        store.prune_index(b"2", b"small")
        return store.read_all_by_index(b"odd")

    def look(store):
        before = store.read_all_by_index(b"small"), store.read_all_by_index(b"large")
        store.delete(b"1")
        return before, store.read_all_by_index(b"small"), store.read_all_by_index(b"none")

    assert use(transactions, name, fill, look) == [
        [b"one", b"THREE"],
        (([b"one"], [b"THREE"]), [], []),
    ]


def test_object_mapped_table(transactions, create):
    schema = Schema.record("p", [("price", Schema.DOUBLE), ("name", Schema.STRING.as_nullable)])
    name = create(
        "objectMappedTable",
        **{"object.type": "P", "object.schema": str(schema), "row.key.explore.type": "STRING"},
    )
    use(transactions, name, lambda table: table.write("a", {"price": 1.5, "name": "x"}))
    assert use(transactions, name, lambda table: (table.read("a"), list(table.scan("b")))) == [
        ({"price": 1.5, "name": "x"}, [])
    ]


def test_time_series(transactions, create):
    name = create("timeseriesTable")

    def fill(table):
        for time in (5, 1, 3):
            table.write(Entry(b"k", b"%d" % time, time, (b"b", b"a")))
        table.write(Entry(b"k", b"five", 5, (b"a", b"b")))
        table.write(Entry(b"k", b"other", 5))

    def look(table):
        assert [each.value for each in table.read(b"k", 1, 3)] == [b"1", b"3"]
        assert [each.value for each in table.read(b"k", 0, 9, offset=1, limit=2)] == [
            b"3",
            b"other",
        ]
        assert table.read(b"none", 0, 9) == []
        return table.read(b"k", 4, 9, tags=[b"a"])

    found = use(transactions, name, fill, look)[1]
    assert found == [Entry(b"k", b"five", 5, (b"a", b"b"))]
    for start, end, more, message in [
        (2, 1, {}, "Provided time range condition is incorrect: startTime > endTime"),
        (0, 1, {"offset": -1}, "Offset cannot be < 0"),
        (0, 1, {"limit": -1}, "Limit cannot be < 0"),
    ]:
        with pytest.raises(BadRequestError, match=message):
            use(transactions, name, lambda t, s=start, e=end, m=more: t.read(b"k", s, e, **m))


def test_counters(transactions, create):
    name = create("counterTimeseriesTable")
    add = use(transactions, name, *[lambda table: table.increment(b"c", 3, 7, [b"t"])] * 2)
    use(transactions, name, lambda table: table.set(b"c", 100, 8))
    (found,) = use(transactions, name, lambda table: table.read(b"c", 0, 9))
    assert add == [3, 6]
    assert found == [Counter(b"c", 6, 7, (b"t",)), Counter(b"c", 100, 8)]


CUBE = {
    "dataset.cube.resolutions": "60,3600",
    "dataset.cube.aggregation.shop.dimensions": "country,city",
    "dataset.cube.aggregation.shop.requiredDimensions": "country",
    "dataset.cube.aggregation.all.dimensions": "country",
}


def test_cube(transactions, create):
    name = create("cube", **CUBE)

    def make_fact(time, amount, **dimensions):
        gauge = Measurement("stock", amount * 10, MeasureType.GAUGE)
        return CubeFact(time, dimensions, [Measurement("sold", amount), gauge])

    def fill(cube):
        cube.add(make_fact(61, 1, country="it", city="Rome"), make_fact(62, 2, country="it"))
        cube.add(make_fact(63, 4, country="it", city="Rome"), make_fact(190, 8, country="no"))

    def ask(group_by, resolution=60, measurements=None, **more):
        wanted = measurements or {"sold": SUM}
        query = CubeQuery(
            start=0, end=3600, resolution=resolution, measurements=wanted, group_by=group_by, **more
        )
        return lambda cube: {
            (each.measure, *each.dimensions.values()): each.points for each in cube.query(query)
        }

    assert use(
        transactions,
        name,
        fill,
        ask(["country"]),
        ask(["city"]),
        ask([], 3600),
        ask(["country"], measurements={"stock": MAX}, dimensions={"country": "it"}),
        ask([], limit=1),
    )[1:] == [
        {("sold", "it"): [(60, 7)], ("sold", "no"): [(180, 8)]},
        {("sold", "Rome"): [(60, 5)]},
        {("sold",): [(0, 15)]},
        {("stock", "it"): [(60, 40)]},
        {("sold",): [(60, 7)]},
    ]
    assert use(
        transactions,
        name,
        lambda cube: cube.find_dimension_values(0, 3600, 60, {"country": None}),
        lambda cube: cube.find_dimension_values(0, 3600, 60, {}),
        lambda cube: cube.find_measure_names(0, 100, 60, {"country": "no"}),
        lambda cube: cube.delete(0, 3600, 60, {"country": "it"}, ["sold"]),
        ask(["country"]),
    ) == [
        [("city", "Rome")],
        [("country", "it"), ("country", "no")],
        [],
        None,
        {("sold", "no"): [(180, 8)]},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resolution": 5}, "no data aggregated for specified resolution"),
        (
            {"aggregation": "none"},
            "Specified aggregation none is not found in cube aggregations: all, shop",
        ),
        ({"group_by": ["color"]}, "no data aggregated for specified dimensions"),
    ],
)
def test_wrong_queries_of_a_cube(transactions, create, change, message):
    query = {"start": 0, "end": 9, "resolution": 60, "measurements": {"sold": SUM}} | change
    name = create("cube", **CUBE)
    with pytest.raises(BadRequestError, match=message):
        use(transactions, name, lambda cube: cube.query(CubeQuery(**query)))


def test_a_dataset_that_does_not_exist(transactions, create):
    create("keyValueTable", "users")
    with pytest.raises(
        NotFoundError, match="no dataset 'usrs' in namespace 'default'; available: .*users"
    ):
        use(transactions, "usrs", lambda table: table.read(b"a"))


def test_the_rows_are_those_of_sql(cdap, transactions, create):
    name = create("table", **TABLE)
    use(transactions, name, lambda table: table.write({"id": "a", "count": 1}))
    assert cdap.tables.read_rows("default", name, 10).rows == [["a", None, 1]]
