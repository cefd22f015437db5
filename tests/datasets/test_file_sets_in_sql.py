"""SQL on file sets: formats, schemas, pruned partitions, and what stays refused."""

from __future__ import annotations

import datetime
import json
import uuid

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import ConflictError, QueryError
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.sql import SqlRequest
from localcdap.engine.messages.host import StatementBatch
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.store.dataset_catalog import require_dataset
from localcdap.store.table_catalog import to_identifier

SCHEMA = Schema.record("r", [("id", Schema.LONG), ("name", Schema.STRING.as_nullable)])
ROWS = [{"id": 1, "name": "ada"}, {"id": 2, "name": None}]
TABLE = pa.table({"id": [1, 2], "name": ["ada", None]})
DAYS = {
    "partitioning.fields.": "day,n",
    "partitioning.field.day": "STRING",
    "partitioning.field.n": "INT",
}


@pytest.fixture(scope="module")
def cdap(tmp_path_factory, fresh_home):
    with open_in_process(Home(fresh_home(tmp_path_factory.mktemp("files")))) as cdap:
        yield cdap


@pytest.fixture
def create(cdap):
    """Creates a dataset that is removed after the test, and returns its folder."""
    made = []

    def create(format, type="fileSet", schema=SCHEMA, **properties):
        given = {"format": format, **properties} | ({"schema": str(schema)} if schema else {})
        cdap.datasets.create(DatasetRequest("files", type, given))
        made.append("files")
        return place(cdap)

    yield create
    for name in made:
        cdap.datasets.drop("default", name)


def place(cdap):
    from pathlib import Path

    return Path(cdap.datasets.describe("default", "files").folder)


def ask(cdap, sql):
    return cdap.sql.query(SqlRequest(sql)).to_table().to_pylist()


def write_parquet(path, table=TABLE):
    pq.write_table(table, path)


def write_orc(path):
    po.write_table(TABLE, path)


def write_avro(path):
    document = fastavro.parse_schema(json.loads(str(SCHEMA)))
    with path.open("wb") as file:
        fastavro.writer(file, document, ROWS)


WRITERS = {
    "parquet": write_parquet,
    "orc": write_orc,
    "avro": write_avro,
    "csv": lambda path: path.write_text("1,ada\n2,\n", encoding="utf-8"),
    "json": lambda path: path.write_text('{"id":1,"name":"ada"}\n{"id":2}\n', encoding="utf-8"),
}


@pytest.mark.parametrize("format", WRITERS)
def test_every_format(cdap, create, format):
    folder = create(format)
    assert ask(cdap, "SELECT * FROM files") == []
    (folder / "deep").mkdir()
    WRITERS[format](folder / "deep" / "part-0")
    (folder / "_SUCCESS").touch()
    (folder / ".hidden").write_text("not a record", encoding="utf-8")
    assert ask(cdap, "SELECT * FROM files ORDER BY id") == ROWS
    assert ask(cdap, "SELECT name FROM files WHERE id = 1") == [{"name": "ada"}]


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_files_that_say_their_schema(cdap, create, format):
    folder = create(format, schema=None)
    WRITERS[format](folder / "part-0")
    assert ask(cdap, "SELECT name, id FROM files ORDER BY id") == [
        {"name": "ada", "id": 1},
        {"name": None, "id": 2},
    ]


def test_times_of_orc(cdap, create):
    clock = {"type": "long", "logicalType": "time-micros"}
    fields = [{"name": "id", "type": "long"}, {"name": "moment", "type": ["null", clock]}]
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    folder = create("orc", schema=schema)
    po.write_table(pa.table({"id": [1], "moment": [3723000004]}), folder / "part-0")
    assert ask(cdap, "SELECT CAST(moment AS VARCHAR) AS moment FROM files") == [
        {"moment": "01:02:03.000004"}
    ]


def test_uuids_of_avro(cdap, create):
    identifier = {"type": "string", "logicalType": "uuid"}
    document = {"type": "record", "name": "r", "fields": [{"name": "id", "type": identifier}]}
    with (create("avro", schema=None) / "part-0").open("wb") as file:
        fastavro.writer(file, document, [{"id": uuid.UUID(int=5)}])
    assert ask(cdap, "FROM files") == [{"id": str(uuid.UUID(int=5))}]


def test_timestamps_of_96_bits_beside_new_ones(cdap, create):
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    local = {"type": "string", "logicalType": "datetime"}
    fields = [{"name": "moment", "type": moment}, {"name": "dt", "type": local}]
    folder = create("parquet", schema=json.dumps({"type": "record", "name": "r", "fields": fields}))
    day = datetime.datetime(1582, 10, 4)
    old = {name: pa.array([day], pa.timestamp("us")) for name in ("moment", "dt")}
    pq.write_table(pa.table(old), folder / "old", use_deprecated_int96_timestamps=True)
    new = {"moment": pa.array([day], pa.timestamp("us", "UTC")), "dt": ["1582-10-04T00:00:00"]}
    pq.write_table(pa.table(new), folder / "new")
    query = "SELECT moment, dt, count(*) AS c FROM files GROUP BY moment, dt"
    assert ask(cdap, query) == [{"moment": day.replace(tzinfo=datetime.UTC), "dt": day, "c": 2}]


def test_text(cdap, create):
    (create("text", schema=None) / "a.txt").write_text("one\ntwo ä\n", encoding="utf-8")
    assert ask(cdap, "SELECT body FROM files") == [{"body": "one"}, {"body": "two ä"}]


def test_csv_with_a_header_and_another_delimiter(cdap, create):
    properties = {
        "explore.format.property.delimiter": ";",
        "explore.table.property.skip.header.line.count": "1",
    }
    (create("csv", **properties) / "a.csv").write_text('id;name\n1;"a;b"\n', encoding="utf-8")
    assert ask(cdap, "FROM files") == [{"id": 1, "name": "a;b"}]


def add_partition(cdap, path, *key):
    """Add a partition as a dataset class does."""
    with cdap.transaction_service._tables._store.transaction() as tx:
        assert require_dataset(tx, "default", "files")
        table = to_identifier("default", "files.partitions")
        tx.execute(f"INSERT INTO {table} VALUES (?, ?, ?, 0, MAP {{}})", (*key, path))  # noqa: S608


@pytest.mark.parametrize("format", WRITERS)
def test_partitions(cdap, create, format):
    folder = create(format, "partitionedFileSet", **DAYS)
    for day, n in (("mon", 1), ("tue", 2)):
        (folder / day).mkdir()
        WRITERS[format](folder / day / "part-0")
        add_partition(cdap, day, day, n)
    (folder / "unknown").mkdir()
    WRITERS[format](folder / "unknown" / "part-0")  # no partition
    assert ask(cdap, "SELECT day, n, count(*) AS c FROM files GROUP BY ALL ORDER BY day") == [
        {"day": "mon", "n": 1, "c": 2},
        {"day": "tue", "n": 2, "c": 2},
    ]
    assert ask(cdap, "SELECT id FROM files WHERE day = 'mon' AND id > 1") == [{"id": 2}]


READABLE = {**WRITERS, "text": lambda path: path.write_text("ada\nbob\n", encoding="utf-8")}


@pytest.mark.slow
@pytest.mark.parametrize("format", READABLE)
@pytest.mark.parametrize(
    "condition",
    [
        "day = 'mon'",
        "n < 2",
        "day IN ('mon', 'sat')",
        "n = 1 OR n = 7",
        "upper(day) = 'MON' AND n < 2",
    ],
)
def test_other_partitions_are_not_opened(cdap, create, format, condition):
    schema = None if format == "text" else SCHEMA
    folder = create(format, "partitionedFileSet", schema, **DAYS)
    READABLE[format](folder / "good")
    (folder / "bad").write_bytes(b"\xff broken")
    add_partition(cdap, "good", "mon", 1)
    add_partition(cdap, "bad", "tue", 2)
    found = ask(cdap, f"FROM files WHERE {condition}")  # noqa: S608
    assert [(each["day"], each["n"]) for each in found] == [("mon", 1)] * 2
    through = f"WITH v AS (FROM files) SELECT count(*) AS c FROM v WHERE {condition}"  # noqa: S608
    assert ask(cdap, through) == [{"c": 2}]
    with pytest.raises(QueryError, match=r"filesets/default/files/bad"):
        ask(cdap, "FROM files")


def test_partitions_of_avro_that_share_a_folder(cdap, create):
    folder = create("avro", "partitionedFileSet", **DAYS)
    (folder / "a" / "b").mkdir(parents=True)
    write_avro(folder / "a" / "b" / "part-0")
    add_partition(cdap, "a", "mon", 1)
    add_partition(cdap, "a/b", "tue", 2)
    count = "SELECT day, count(*) AS c FROM files GROUP BY day ORDER BY day"
    assert ask(cdap, count) == [{"day": "mon", "c": 2}, {"day": "tue", "c": 2}]
    joined = (
        "SELECT count(*) AS c FROM files a JOIN files b USING (id) WHERE a.day = 'mon' AND b.n = 2"
    )
    assert ask(cdap, joined) == [{"c": 2}]


def test_an_update_of_the_schema_shows_at_once(cdap, create):
    write_parquet(create("parquet") / "old")
    wider = Schema.record(
        "r", [*((f.name, f.schema) for f in SCHEMA), ("x", Schema.INT.as_nullable)]
    )
    cdap.datasets.update(DatasetUpdate("files", {"schema": str(wider)}, replaces=False))
    newer = pa.table({"id": [3], "name": ["eve"], "x": pa.array([7], pa.int32())})
    write_parquet(place(cdap) / "new", newer)
    assert ask(cdap, "SELECT id, x FROM files ORDER BY id") == [
        {"id": 1, "x": None},
        {"id": 2, "x": None},
        {"id": 3, "x": 7},
    ]


def test_joins_views_and_lists(cdap, create):
    write_parquet(create("parquet") / "part-0")
    found = ask(cdap, 'SELECT count(*) AS c FROM files a JOIN "default".files b USING (id)')
    assert found == [{"c": 2}]
    (listed,) = [each for each in cdap.sql.list_tables("default") if each.name == "files"]
    assert [(each.name, each.type) for each in listed.columns] == [
        ("id", "BIGINT"),
        ("name", "VARCHAR"),
    ]
    names = ask(
        cdap, "SELECT column_name FROM information_schema.columns WHERE table_name LIKE 'fil%'"
    )
    assert [each["column_name"] for each in names] == ["id", "name"]


def test_a_file_that_cannot_be_read_is_named(cdap, create):
    (create("avro") / "part-0").write_text("broken", encoding="utf-8")
    with pytest.raises(QueryError, match="part-0 cannot be read"):
        ask(cdap, "FROM files")
    assert ask(cdap, "SELECT 'files' AS x") == [{"x": "files"}]


def test_links_out_of_the_folder_are_refused(cdap, create, tmp_path):
    write_parquet(tmp_path / "secret")
    folder = create("parquet")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(QueryError, match="link is not in the folder"):
        ask(cdap, "FROM files")
    assert ask(cdap, "SELECT 'files' AS x") == [{"x": "files"}]
    (folder / "link").unlink()
    (folder / "linked").symlink_to(tmp_path)
    assert ask(cdap, "FROM files") == []


@pytest.mark.parametrize("sql", ["FROM '{}'", "FROM read_parquet('{}')", "FROM read_text('{}')"])
def test_no_other_way_leads_to_the_files(cdap, create, sql):
    folder = create("parquet")
    write_parquet(folder / "part-0")
    with pytest.raises(QueryError):
        ask(cdap, sql.format(folder / "part-0"))


def test_a_file_set_without_format_is_no_table(cdap):
    cdap.datasets.create(DatasetRequest("plain", "fileSet"))
    with pytest.raises(QueryError, match="plain"):
        ask(cdap, "FROM plain")
    cdap.datasets.drop("default", "plain")


@pytest.mark.slow
def test_statements_and_views_read_file_sets(cdap, create, tmp_path):
    folder = create("parquet", "partitionedFileSet", **DAYS)
    for day, name in (("mon", "ada"), ("tue", "bob")):
        (folder / day).mkdir()
        write_parquet(folder / day / "a.parquet", pa.table({"id": [1], "name": [name]}))
        add_partition(cdap, day, day, 1)

    def do(*sql, changes=""):
        return cdap.table_statements.carry_out(
            StatementBatch("default", list(sql), changes.split())
        )

    assert do("SELECT * FROM files").rows == 2
    found = do("CREATE TABLE kept AS SELECT name FROM files WHERE day = 'tue'", changes="kept")
    assert found.reads == ["files"]
    assert ask(cdap, "FROM kept") == [{"name": "bob"}]

    do("CREATE VIEW \"v\" AS SELECT name, day FROM files WHERE day <> 'tue'", changes="v")
    assert ask(cdap, "FROM v") == [{"name": "ada", "day": "mon"}]
    assert cdap.tables.read_rows("default", "v", 10).rows == [["ada", "mon"]]
    assert cdap.tables.export("default", "v", str(tmp_path)).schema.field_names == ["name", "day"]
    (view,) = (each for each in cdap.sql.list_tables("default") if each.name == "v")
    assert [each.name for each in view.columns] == ["name", "day"]
    add_partition(cdap, "wed", "wed", 1)
    (folder / "wed").mkdir()
    write_parquet(folder / "wed" / "a.parquet", TABLE)
    assert len(ask(cdap, "FROM v")) == 3, "a view reads the partitions of now"

    for sql in (
        "INSERT INTO files VALUES (1, 'x', 'y', 2)",
        "DROP VIEW files",
        "CREATE TABLE files (a INT)",
    ):
        with pytest.raises(ConflictError, match="'files' is a file set, so statements cannot"):
            do(sql, changes="files")
    with pytest.raises(QueryError):
        do("INSERT INTO files VALUES (1, 'x', 'y', 2)")
    for name in ("v", "kept"):
        cdap.tables.drop("default", name)
