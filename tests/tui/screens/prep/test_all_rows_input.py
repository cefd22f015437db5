"""All rows behind connections: of buckets by a run, of database files page by page."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from localcdap.api.connector import MOST_RECORDS, SampleRequest, SampleType
from localcdap.api.errors import BadRequestError
from localcdap.testing.instance import TemporaryInstance
from localcdap.tui.screens.prep.result_keys import open_all_rows
from localcdap.tui.screens.prep.source import PrepRequest, PrepSource, close_session

ROWS = 2500


@pytest.mark.spark
@pytest.mark.slow
def test_all_rows_behind_connections(tmp_path: Path, cdap_engine_directory: Path) -> None:
    assert cdap_engine_directory
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    lines = [f'{n},"x{n}, ö"' for n in range(ROWS)]
    (bucket / "a.csv").write_text("\n".join(["id,name", *lines]), encoding="utf-8")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute(f"CREATE TABLE few AS SELECT range AS id FROM range({ROWS})")
        database.execute(f"CREATE TABLE many AS SELECT range AS id FROM range({MOST_RECORDS + 1})")
    home = tmp_path / "home"
    home.mkdir()
    (home / "localcdap.toml").write_text(f'[locations]\n"gs://sales" = "{bucket}"\n')
    with TemporaryInstance(home) as instance:
        cdap = instance.cdap
        given = {
            "gcs": ("GCS", {}),
            "duck": ("DuckDB", {"path": str(tmp_path / "x.duckdb")}),
            "h2": (
                "Database",
                {
                    "connectionString": "jdbc:h2:mem:x",
                    "jdbcPluginName": "h2",
                    "user": "sa",
                    "password": "x",
                },
            ),
        }
        for name, (kind, properties) in given.items():
            plugin = {"name": kind, "properties": properties}
            cdap.connections.load("default", {"name": name, "plugin": plugin})

        shares: list[float | None] = []
        for connection, place in (("gcs", "/sales/a.csv"), ("duck", "/main/few")):
            source = PrepSource(connection=connection, place=place)
            request = PrepRequest(source, connection, "default", [])
            with open_all_rows(cdap, request, lambda: False, shares.append) as rows:
                found = pq.read_table(rows["path"])
            assert [int(each) for each in found.column("id").to_pylist()] == list(range(ROWS))
            assert not Path(rows["path"]).exists()
            close_session(cdap, connection, "default")
        assert shares
        run = cdap.runs.list_runs("default", limit=1)[0]
        assert (run.pipeline, run.status) == ("prep-gcs", "COMPLETED")

        source = PrepSource(connection="duck", place="/main/many")
        request = PrepRequest(source, "many", "default", [])
        with open_all_rows(cdap, request, lambda: False, shares.append) as rows:
            assert pq.read_metadata(rows["path"]).num_rows == MOST_RECORDS + 1
        close_session(cdap, "many", "default")

        wanted = SampleRequest("/PUBLIC/T", 5, sampling_type=SampleType.RANDOM, seed=1)
        with pytest.raises(BadRequestError, match="no random records that a seed repeats"):
            cdap.connectors.sample("default", "h2", wanted)
