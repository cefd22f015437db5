"""Read-only SQL: what a query sees, what it cannot do, what it may take, and which errors it reports."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.app import FieldType, StructuredTableSpecification
from localcdap.api.app.connections import CONNECTIONS
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError, QueryError
from localcdap.api.schema import Schema
from localcdap.datasets.sql import SqlRequest, SqlService
from localcdap.store.tables import NamespaceTables

from .conftest import Instance, open_instance

PERSON = Schema.record("person", [("id", Schema.LONG), ("name", Schema.STRING.as_nullable)])
NOTES = StructuredTableSpecification(
    "notes", fields={"id": FieldType.STRING, "stars": FieldType.INTEGER}, primary_key=["id"]
)
ENDLESS = (
    "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 > b.range"
)

WORDS = [
    "SELECT",
    "FROM",
    "people",
    "*",
    ",",
    "(",
    ")",
    ";",
    "'",
    '"',
    "WHERE",
    "=",
    "--",
    "\n",
    "$$",
]


def create_writer(instance: Instance, folder: Path) -> Callable[..., None]:
    """Return a function that writes rows into a table of the instance."""

    def write(namespace: str, name: str, rows: list[dict], key: str | None = "id") -> None:
        file = folder / "rows.parquet"
        schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
        pq.write_table(pa.Table.from_pylist(rows, schema), file)
        tables = NamespaceTables(instance.store)
        with instance.store.transaction() as tx:
            if key is None:
                tables.append(tx, namespace, name, PERSON, [file])
            else:
                tables.upsert_parquet(tx, namespace, name, PERSON, key, [file])

    return write


def create_service(instance: Instance, put: Callable[..., None]) -> SqlService:
    """Return the service of an instance that gets some tables."""
    instance.namespaces.create("team")
    put("default", "people", [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}])
    put("team", "people", [{"id": 7, "name": "Bo"}], key=None)
    instance.tables.admin.create_or_update(NOTES)
    instance.tables.transactions.run(
        lambda context: context.table("notes").upsert({"id": "a", "stars": 5})
    )
    return SqlService(instance.store, instance.namespaces, instance.tables.admin)


@pytest.fixture
def put(instance: Instance, tmp_path: Path) -> Callable[..., None]:
    return create_writer(instance, tmp_path)


@pytest.fixture
def sql(instance: Instance, put: Callable[..., None]) -> SqlService:
    return create_service(instance, put)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of :func:`shared_sql`."""
    return tmp_path_factory.mktemp("shared") / "x.duckdb"


@pytest.fixture(scope="module")
def shared_sql(database: Path) -> Iterator[SqlService]:
    """The service of one instance, for tests whose queries can change nothing."""
    with open_instance(database) as instance:
        yield create_service(instance, create_writer(instance, database.parent))


def rows(sql: SqlService, text: str, **more: object) -> list[tuple]:
    result = sql.query(SqlRequest(text, **more))
    return [tuple(row.values()) for row in result.to_table().to_pylist()]


def failure(sql: SqlService, text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        sql.query(SqlRequest(text))
    return caught.value


def test_names_without_a_namespace_mean_its_tables(shared_sql: SqlService):
    assert rows(shared_sql, "FROM people ORDER BY id") == [(1, "Ada"), (2, None)]
    assert rows(shared_sql, "FROM people", namespace="team") == [(7, "Bo")]
    assert rows(shared_sql, 'SELECT name FROM "default".people WHERE id = 1', namespace="team") == [
        ("Ada",)
    ]
    assert rows(shared_sql, "FROM structured.notes") == [("a", 5)]


def test_tables_of_datasets_need_no_quotes(sql: SqlService, put: Callable[..., None]):
    for name in ("sales.orders", "team.orders", "main.orders", "temp.orders", "a.b.c", "sales."):
        put("default", name, [{"id": 3, "name": name}])
    found = [(3, "sales.orders")]
    assert rows(sql, "FROM sales.orders") == found
    assert rows(sql, 'FROM "sales.orders"') == found
    both = rows(sql, 'FROM "a.b.c" UNION FROM "temp.orders"')
    assert sorted(both) == [(3, "a.b.c"), (3, "temp.orders")]
    for elsewhere, namespace in (("sales.orders", "team"), ("team.orders", "default")):
        with pytest.raises(QueryError):
            rows(sql, f"FROM {elsewhere}", namespace=namespace)


def test_a_table_that_is_named_twice_is_read_twice(shared_sql: SqlService):
    assert rows(shared_sql, "SELECT count(*) FROM people a, people b, team.people") == [(4,)]


def test_a_query_sees_what_was_committed_before_it(sql: SqlService, put: Callable[..., None]):
    assert rows(sql, "SELECT count(*) FROM people") == [(2,)]
    put("default", "people", [{"id": 3, "name": "Cy"}])
    put("default", "more", [{"id": 1, "name": ""}])

    assert rows(sql, "SELECT count(*) FROM people") == [(3,)]
    assert rows(sql, "SELECT count(*) FROM more") == [(1,)]


def test_the_result_has_its_columns_and_whether_there_is_more(shared_sql: SqlService):
    result = shared_sql.query(SqlRequest("SELECT id, 1.5 AS half, [name] FROM people", limit=1))

    assert [(c.name, c.type) for c in result.columns] == [
        ("id", "BIGINT"),
        ("half", "DECIMAL(2,1)"),
        ('list_value("name")', "VARCHAR[]"),
    ]
    assert (result.rows, result.truncated) == (1, True)
    assert shared_sql.query(SqlRequest("FROM people", limit=2)).truncated is False
    assert shared_sql.query(SqlRequest("FROM people", limit=0)).to_table().num_columns == 2


def test_tables_are_listed_with_columns_keys_and_rows(shared_sql: SqlService):
    found = {(t.schema, t.name): t for t in shared_sql.list_tables()}
    del found["structured", CONNECTIONS.table]  # every instance has it

    assert list(found) == [("default", "people"), ("team", "people"), ("structured", "notes")]
    assert [(c.name, c.type) for c in found["default", "people"].columns] == [
        ("id", "BIGINT"),
        ("name", "VARCHAR"),
    ]
    assert [t.key for t in found.values()] == [["id"], [], ["id"]]
    assert [t.rows for t in found.values()] == [2, 1, 1]
    assert {t.schema for t in shared_sql.list_tables("team")} == {"team", "structured"}


@pytest.mark.parametrize(
    "text",
    [
        "FROM read_csv('{file}')",
        "FROM '{file}'",
        "FROM read_text('{file}')",
        "FROM glob('{folder}/*')",
        "FROM read_parquet('{database}')",
        "COPY people TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{database}' AS other",
        "CREATE TABLE mine AS FROM people",
        "CREATE TEMP TABLE mine AS FROM people",
        "CREATE MACRO mine() AS 1",
        "INSERT INTO people VALUES (9, 'x')",
        "UPDATE people SET id = 9",
        "DELETE FROM people",
        "DROP VIEW people",
        "WITH x AS (DELETE FROM people RETURNING *) FROM x",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "PRAGMA enable_profiling",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "COMMIT",
        "PREPARE x AS SELECT 1",
        "FROM secure_keys",
        "FROM main.secure_keys",
        "FROM app_notes",
        "SELECT 1; DROP VIEW people",
        "EXPLAIN ANALYZE COPY people TO '{folder}/out.csv'",
        "SELECT getenv('HOME')",
        "FROM rows",
    ],
)
def test_nothing_but_reading_tables_is_possible(
    shared_sql: SqlService, database: Path, tmp_path: Path, text: str
):
    file = tmp_path / "secret.csv"
    file.write_text("secret\n1\n")
    before = sorted(tmp_path.iterdir())

    error = failure(shared_sql, text.format(file=file, folder=tmp_path, database=database))

    assert error.message
    assert sorted(tmp_path.iterdir()) == before
    assert rows(shared_sql, "SELECT count(*) FROM people") == [(2,)]


def test_the_place_of_what_is_wrong_is_reported(shared_sql: SqlService):
    missing = failure(shared_sql, "SELECT *\nFROM peple")
    assert missing.message == "Line 2, column 6: Table with name peple does not exist!"
    assert missing.corrective_action == 'Did you mean "people"?'
    assert (missing.line, missing.column) == (2, 6)

    wrong = failure(shared_sql, "SELECT id FROM people WHERE")
    assert (wrong.line, wrong.column) == (1, 23)
    unknown = failure(shared_sql, f"SELECT {'1 + ' * 100} nix FROM people")
    assert (unknown.line, unknown.column) == (1, 409)
    assert failure(shared_sql, "SELECT name::INTEGER FROM people WHERE id = 1").line == 1


@pytest.mark.parametrize("text", ["", "  ", "-- nothing", ";"])
def test_no_query_is_no_query(shared_sql: SqlService, text: str):
    assert failure(shared_sql, text).message == "There is no query."


def test_a_query_that_takes_too_long_is_ended(shared_sql: SqlService):
    with pytest.raises(QueryError, match=r"longer than 0\.1 s"):
        shared_sql.query(SqlRequest(ENDLESS, time_limit_s=0.1))


def test_a_query_can_be_cancelled(sql: SqlService):
    ended = threading.Event()

    def cancel() -> None:
        # A query that is cancelled before it arrives is cancelled too, and is never seen running.
        while not sql.cancel("mine") and not ended.wait(0.01):
            pass

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(QueryError, match="cancelled"):
        sql.query(SqlRequest(ENDLESS, id="mine"))
    ended.set()
    thread.join()


def test_a_query_that_was_cancelled_before_it_came_is_ended_at_once(sql: SqlService):
    assert sql.cancel("mine") is False
    with pytest.raises(QueryError, match="cancelled"):
        sql.query(SqlRequest(ENDLESS, id="mine"))
    assert rows(sql, "SELECT 1", id="mine") == [(1,)]


def test_an_id_is_of_one_query_at_a_time(sql: SqlService):
    def ask() -> None:
        with pytest.raises(QueryError, match="cancelled"):
            sql.query(SqlRequest(ENDLESS, id="mine"))

    thread = threading.Thread(target=ask)
    thread.start()
    while not sql._running:
        time.sleep(0.01)
    with pytest.raises(ConflictError):
        sql.query(SqlRequest("SELECT 1", id="mine"))
    sql.cancel("mine")
    thread.join()


def test_a_query_that_needs_too_much_memory_fails_alone(sql: SqlService):
    error = failure(
        sql, "SELECT repeat('x', 1000) || range AS x FROM range(3000000) ORDER BY x DESC"
    )
    assert "512 MB" in error.message
    assert rows(sql, "SELECT 1") == [(1,)]


def test_limits_that_cannot_be_are_refused(shared_sql: SqlService):
    for request in (SqlRequest("SELECT 1", limit=-1), SqlRequest("SELECT 1", time_limit_s=0)):
        with pytest.raises(BadRequestError):
            shared_sql.query(request)
    with pytest.raises(NotFoundError):
        shared_sql.query(SqlRequest("SELECT 1", namespace="nope"))


def test_what_a_query_used_is_given_back(sql: SqlService, instance: Instance):
    for text in ("FROM people LIMIT 1", "FROM nix", "SELECT 'x'::INT FROM people"):
        with contextlib.suppress(QueryError):
            sql.query(SqlRequest(text))
    with instance.store.transaction() as tx:  # nothing holds on to the tables
        tx.execute('ALTER TABLE "default".people ADD COLUMN more INTEGER')
    assert not instance.store._used


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(WORDS),
            max_size=12,
        ).map(" ".join),
    )
)
def test_garbage_is_answered_or_refused(shared_sql: SqlService, text: str):
    with contextlib.suppress(QueryError):
        shared_sql.query(SqlRequest(text, time_limit_s=5))
