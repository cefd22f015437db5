"""Connections that browse, of every shipped kind that needs no Spark."""

from __future__ import annotations

import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import msgspec
import pyarrow.parquet as pq
import pytest

from localcdap.api.app.connections import ConnectionPlugin
from localcdap.api.connector import (
    BrowseRequest,
    PageRequest,
    RecordPage,
    RecordSample,
    SampleRequest,
    SampleType,
    SpecificationRequest,
)
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.connectors.all_records import ConnectionData, RecordCopier
from localcdap.engine.messages.host import StatementBatch
from localcdap.testing import TemporaryInstance

ROWS = 2500


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    folder = tmp_path_factory.mktemp("connectors")
    (folder / "bucket" / "2026").mkdir(parents=True)
    (folder / "bucket" / "2026" / "a.csv").write_text("id,name\n1,x\n2,y\n")
    with duckdb.connect(str(folder / "x.duckdb")) as database:
        database.execute("CREATE SCHEMA shop")
        database.execute(
            f"CREATE TABLE shop.orders AS SELECT range AS id, 'g' || (range % 3) AS kind, "
            f"make_date(2026, 1, 1) AS day FROM range({ROWS})"
        )
        database.execute("CREATE VIEW outside AS SELECT * FROM read_csv('/etc/passwd')")
    lite = sqlite3.connect(folder / "x.sqlite")
    lite.execute("CREATE TABLE t (a INT, b TEXT)")
    lite.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"x{n}") for n in range(ROWS)])
    lite.commit()
    lite.close()
    home = folder / "home"
    home.mkdir()
    (home / "localcdap.toml").write_text(
        f'[locations]\n"gs://sales" = "{folder}/bucket"\n"s3a://logs/deep" = "{folder}/bucket"\n'
    )
    with TemporaryInstance(home) as made:
        given = {
            "files": ("File", {"root": str(folder)}),
            "duck": ("DuckDB", {"path": str(folder / "x.duckdb")}),
            "lite": ("SQLite", {"path": str(folder / "x.sqlite")}),
            "gcs": ("GCS", {}),
            "s3": ("S3", {}),
            "tables": ("Tables", {}),
            "bigquery": ("BigQuery", {}),
            "hidden": ("BigQuery", {"showHiddenDatasets": "true"}),
            "shop": ("BigQuery", {"rootDataset": "shop"}),
            "one": ("GCS", {"rootBucket": "sales", "format": "csv", "skipHeader": "false"}),
            "paste": ("Paste", {"text": "a\tb\n1\t2\n"}),
        }
        for name, (kind, properties) in given.items():
            plugin = {"name": kind, "properties": properties}
            made.cdap.connections.load("default", {"name": name, "plugin": plugin})
        yield made


def create_table(instance: TemporaryInstance, name: str, query: str) -> None:
    statement = f'CREATE TABLE "{name}" AS {query}'
    batch = StatementBatch("default", [statement], [name])
    instance.cdap.table_statements.carry_out(batch)


def browse(instance: TemporaryInstance, name: str, path: str = "/") -> list[str]:
    found = instance.cdap.connectors.browse("default", name, BrowseRequest(path))
    return [each.path for each in found.entities]


def sample(instance: TemporaryInstance, name: str, path: str, **request: object) -> RecordSample:
    wanted = SampleRequest(path, **request)
    return instance.cdap.connectors.sample("default", name, wanted).result


def specify(instance: TemporaryInstance, name: str, path: str) -> dict[str, str]:
    request = SpecificationRequest(path)
    (stage,) = instance.cdap.connectors.specify("default", name, request).related_plugins
    return {"plugin": stage.name, **stage.properties}


def test_buckets(instance: TemporaryInstance) -> None:
    assert browse(instance, "gcs") == ["/sales"]
    assert browse(instance, "gcs", "/sales") == ["/sales/2026"]
    assert browse(instance, "gcs", "/sales/2026") == ["/sales/2026/a.csv"]
    assert browse(instance, "Cloud Storage Default") == ["/sales"]
    assert sample(instance, "gcs", "/sales/2026/a.csv").records[0] == {"id": "1", "name": "x"}
    made = specify(instance, "gcs", "/sales/2026/a.csv")
    assert (made["plugin"], made["path"]) == ("GCSFile", "gs://sales/2026/a.csv")
    assert made["connection"] == "${conn(gcs)}"
    assert browse(instance, "one") == browse(instance, "one", "/") == ["/sales"]
    assert browse(instance, "one", "/sales/2026") == ["/sales/2026/a.csv"]
    without = sample(instance, "one", "/sales/2026/a.csv").records[0]
    assert list(without.values()) == ["id", "name"]
    asked = sample(instance, "one", "/sales/2026/a.csv", properties={"header": "true"})
    assert asked.records[0] == {"id": "1", "name": "x"}
    assert specify(instance, "one", "/sales/2026/a.csv")["skipHeader"] == "false"
    assert browse(instance, "s3") == ["/logs"]
    assert browse(instance, "s3", "/logs") == ["/logs/deep"]
    assert browse(instance, "s3", "/logs/deep/2026") == ["/logs/deep/2026/a.csv"]
    assert specify(instance, "s3", "/logs/deep/2026/a.csv")["plugin"] == "S3"
    for path in ("/none", "/sales/none", "/sales/../x", "/sales/2026/../../x.sqlite"):
        with pytest.raises((NotFoundError, BadRequestError)):
            browse(instance, "gcs", path)


def test_a_duckdb_file(instance: TemporaryInstance) -> None:
    assert browse(instance, "duck") == ["/main", "/shop"]
    assert browse(instance, "duck", "/shop") == ["/shop/orders"]
    first = sample(instance, "duck", "/shop/orders", limit=2)
    assert first.records == [
        {"id": 0, "kind": "g0", "day": "2026-01-01"},
        {"id": 1, "kind": "g1", "day": "2026-01-01"},
    ]
    assert first.description == f"2 of {ROWS:,} records"
    for kind in (SampleType.RANDOM, SampleType.STRATIFIED):
        request = {"limit": 6, "sampling_type": kind, "strata": "kind", "seed": 4}
        one = sample(instance, "duck", "/shop/orders", **request)
        assert one.records == sample(instance, "duck", "/shop/orders", **request).records
        assert len(one.records) == 6
    assert sorted(each["kind"] for each in one.records) == ["g0", "g0", "g1", "g1", "g2", "g2"]
    matching = {"condition": "id == 2400"}
    found = sample(
        instance, "duck", "/shop/orders", sampling_type=SampleType.MATCHING, properties=matching
    )
    assert [each["id"] for each in found.records] == [2400]
    assert found.description == f"1 of {ROWS:,} records (matching)"
    with pytest.raises(BadRequestError, match="cannot be read"):
        sample(instance, "duck", "/main/outside")  # its view reads another file
    with pytest.raises(NotFoundError, match="available: main.outside, shop.orders"):
        sample(instance, "duck", "/shop/none")
    with pytest.raises(BadRequestError, match="nope"):
        sample(
            instance,
            "duck",
            "/shop/orders",
            sampling_type=SampleType.STRATIFIED,
            strata="nope",
        )


def test_an_sqlite_file(instance: TemporaryInstance) -> None:
    assert browse(instance, "lite") == ["/t"]
    found = sample(instance, "lite", "/t", limit=1, sampling_type=SampleType.RANDOM, seed=2)
    assert found.total == ROWS
    (record,) = found.records
    assert record["b"] == f"x{record['a']}"
    assert [str(each.schema.non_nullable) for each in found.schema] == ['"long"', '"string"']
    with pytest.raises(NotFoundError):
        sample(instance, "lite", '/t" --')


@pytest.mark.parametrize("kind", ["DuckDB", "SQLite"])
def test_no_database(instance: TemporaryInstance, tmp_path: Path, kind: str) -> None:
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x00\xff" * 5000)
    for path in (garbage, tmp_path / "none", tmp_path):
        plugin = ConnectionPlugin(kind, properties={"path": str(path)})
        (failure,) = instance.cdap.connectors.test("default", plugin)
        assert str(path) in failure.message or "cannot be read as SQLite" in failure.message


def test_tables_of_the_namespace(instance: TemporaryInstance) -> None:
    assert browse(instance, "tables") == []
    create_table(instance, "people", "SELECT range AS id, 'Ulm' AS city FROM range(7)")
    create_table(instance, "shop.orders", "SELECT 1 AS id")
    assert browse(instance, "tables") == ["/people", "/shop.orders"]
    found = sample(instance, "tables", "/people", limit=2)
    assert found.description == "2 of 7 records"
    assert specify(instance, "tables", "/people") == {"plugin": "Table", "name": "people"}
    create_table(instance, "_cache.orders", "SELECT 1 AS id")
    create_table(instance, "archive.orders", "SELECT 1 AS id")
    assert browse(instance, "bigquery") == ["/archive", "/shop"]
    assert browse(instance, "hidden") == ["/_cache", "/archive", "/shop"]
    assert browse(instance, "shop") == ["/shop"]
    assert browse(instance, "shop", "/archive") == ["/archive/orders"]
    assert browse(instance, "BigQuery Default", "/shop") == ["/shop/orders"]
    assert sample(instance, "bigquery", "/shop/orders").records == [{"id": 1}]
    made = specify(instance, "bigquery", "/shop/orders")
    assert (made["plugin"], made["dataset"], made["table"]) == ("BigQueryTable", "shop", "orders")
    with pytest.raises(NotFoundError, match="no table 'peopel'.*people"):
        sample(instance, "tables", "/peopel")


def test_pasted_text(instance: TemporaryInstance) -> None:
    found = sample(instance, "paste", "/text")
    assert found.records == [{"a": "1", "b": "2"}]
    assert found.properties["delimiter"] == "\t"
    right = sample(instance, "paste", "/text", properties={"header": "false"})
    assert [list(each.values()) for each in right.records] == [["a", "b"], ["1", "2"]]


def test_formats_are_detected_and_corrected(instance: TemporaryInstance, tmp_path: Path) -> None:
    folder = Path(instance.cdap.connections.get("default", "files").plugin.properties["root"])
    (folder / "m.csv").write_bytes("id;size;tag\n1;größer;2026-01-01\nx;3;\n".encode("cp1252"))
    found = sample(instance, "files", "/m.csv")
    assert found.properties["delimiter"] == ";"
    assert found.records[0] == {"id": "1", "size": "größer", "tag": "2026-01-01"}
    typed = sample(instance, "files", "/m.csv", properties={"types": "detect"})
    assert str(typed.schema.field("id").schema.non_nullable) == '"string"'
    schema = json.dumps(
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": "id", "type": ["null", "int"]}],
        }
    )
    right = sample(instance, "files", "/m.csv", properties={"schema": schema})
    assert right.records == [{"id": 1}]
    (problem,) = right.unreadable
    assert "Row 2" in problem
    text = sample(instance, "files", "/m.csv", properties={"format": "text"})
    assert list(text.records[0]) == ["body"]
    for wrong in ({"format": "x"}, {"header": "maybe"}, {"delimiter": "ab"}, {"schema": "{"}):
        with pytest.raises(BadRequestError):
            sample(instance, "files", "/m.csv", properties=wrong)


def test_a_url(instance: TemporaryInstance, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{"a": 2}\n')
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        for name, given in (("one", f"{url}/a.json"), ("all", url)):
            plugin = {"name": "HTTP", "properties": {"url": given}}
            instance.cdap.connections.load("default", {"name": name, "plugin": plugin})
        assert instance.cdap.connectors.test_stored("default", "one") == []
        assert sample(instance, "one", "/").records == [{"a": 1}, {"a": 2}]
        assert sample(instance, "all", "/a.json").total == 2
        for path in ("/none.json", "/../x", "//x"):
            with pytest.raises(LocalcdapError):
                sample(instance, "all", path)
        server.shutdown()
    (failure,) = instance.cdap.connectors.test_stored("default", "one")
    assert "does not answer" in failure.message
    wrong = ConnectionPlugin("HTTP", properties={"url": "file:///etc/passwd"})
    (failure,) = instance.cdap.connectors.test("default", wrong)
    assert failure.property == "url"


def test_no_answer_has_a_secret(instance: TemporaryInstance) -> None:
    plugin = {"name": "DuckDB", "properties": {"path": "${secure(where)}"}}
    instance.cdap.secure_keys.put("default", "where", "/nowhere/hidden-place.duckdb")
    instance.cdap.connections.load("default", {"name": "secret", "plugin": plugin})
    (failure,) = instance.cdap.connectors.test_stored("default", "secret")
    assert "hidden-place" not in failure.message
    assert "********" in failure.message
    with pytest.raises(BadRequestError) as error:
        browse(instance, "secret")
    assert "hidden-place" not in error.value.full_message


def test_all_records_are_copied_in_pages_until_the_data_change(
    instance: TemporaryInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connectors = instance.cdap.connectors
    shares: list[float | None] = []
    stops: list[bool] = []
    copier = RecordCopier(connectors, instance.cdap.runs, lambda: bool(stops), shares.append)
    for name, path, column in (("duck", "/shop/orders", "id"), ("lite", "/t", "a")):
        file = tmp_path / name / "rows.parquet"
        file.parent.mkdir()
        data = ConnectionData("default", name, path)
        assert copier.find_file(data) == ""
        assert copier.find_source(data) is None
        copier.copy(data, None, {}, file)
        assert pq.read_table(file).column(column).to_pylist() == list(range(ROWS))
    assert shares == [1.0, 1.0]

    read, number = connectors.read_page, 0

    def read_page(namespace: str, name: str, request: PageRequest) -> RecordPage | None:
        nonlocal number
        number += 1
        page = read(namespace, name, msgspec.structs.replace(request, limit=1000))
        assert page is not None
        return msgspec.structs.replace(page, version=str(number))

    monkeypatch.setattr(type(connectors), "read_page", lambda _self, *given: read_page(*given))
    with pytest.raises(BadRequestError, match="'/t' changed while it was read"):
        copier.copy(data, None, {}, tmp_path / "rows.parquet")
    stops.append(True)
    (tmp_path / "stopped").mkdir()
    copier.copy(data, None, {}, tmp_path / "stopped" / "rows.parquet")
    assert not (tmp_path / "stopped" / "rows.parquet").exists()
