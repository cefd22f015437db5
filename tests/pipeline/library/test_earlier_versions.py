"""Pipelines of earlier versions keep their form of JSON and their texts of values."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from localcdap.files.formats import FORMER_JSON, FORMER_TEXTS
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.application_model import hash_draft
from localcdap.pipeline.library.earlier_versions import keep_earlier_versions
from localcdap.store.migration import SHIPPED
from localcdap.store.store import Store

DATABASE = "localcdap.duckdb"
LAST = ["0897_former_json.sql", "0899_former_texts.sql"]
ARTIFACT = '{"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"}'


def write_document(*stages: tuple[str, str, dict[str, str]]) -> str:
    nodes = [
        {"name": f"s{n}", "plugin": {"type": type, "name": name, "properties": properties}}
        for n, (type, name, properties) in enumerate(stages)
    ]
    return json.dumps(
        {"name": "p", "artifact": json.loads(ARTIFACT), "config": {"stages": nodes, "more": 1.10}}
    )


def list_marked(text: str, property: str = FORMER_JSON) -> list[str]:
    stages = json.loads(text)["config"]["stages"]
    return [s["name"] for s in stages if property in s["plugin"]["properties"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database of the version before the migration, in which :func:`fill` may store pipelines."""
    shutil.copytree(SHIPPED, tmp_path / "migrations", ignore=lambda *_: LAST)
    return tmp_path


def fill(folder: Path, document: str, template: dict[str, str]) -> None:
    with Store(folder / DATABASE, folder / "migrations") as store, store.transaction() as tx:
        tx.execute(
            "INSERT INTO applications BY NAME SELECT 'default' AS namespace, 'p' AS name, 'v' AS version, "
            "1 AS number, ? AS artifact, 'a' AS author, 0 AS created, ? AS document",
            (ARTIFACT, document),
        )
        tx.execute(
            "INSERT INTO draft_revisions BY NAME SELECT 'default' AS namespace, 0 AS generation, '' AS owner,"
            " 'd' AS id, 1 AS revision, 'p' AS name, ? AS artifact, 0 AS updated, 'h' AS hash, ? AS pipeline",
            (ARTIFACT, document),
        )
        tx.execute(
            "INSERT INTO plugin_templates VALUES ('default', 'batchsink', 't', 'File', '{}', ?, '[]', '')",
            (json.dumps(template),),
        )


def test_stages_that_write_json_or_texts_get_the_properties_once(folder: Path):
    document = write_document(
        ("batchsource", "File", {"format": "json"}),
        ("batchsink", "File", {"format": " JSON "}),
        ("batchsink", "File", {"format": "csv"}),
        ("batchsink", "GCS", {"format": "${format}"}),
        ("batchsink", "S3", {"format": "json"}),
        ("batchsink", "GCSMultiFiles", {"format": "json"}),
        ("batchsink", "GCSText", {}),
        ("batchsink", "GCSText", {"type": "Text Tab Separated"}),
        ("batchsink", "Kafka", {"format": "JSON"}),
        ("batchsink", "Kafka", {"format": "CSV"}),
        ("batchsink", "GooglePublisher", {}),
        ("batchsink", "GooglePublisher", {"format": "avro"}),
        ("transform", "JSONFormatter", {"schema": "{}"}),
        ("transform", "CSVFormatter", {"format": "EXCEL"}),
        ("transform", "Normalize", {}),
        ("batchsink", "Kafka", {"format": "${format}"}),
    )
    fill(folder, document, {"format": "json", "suffix": "x"})

    with Store(folder / DATABASE) as store:
        keep_earlier_versions(store)
        ((text,),) = store.read("SELECT document FROM applications")
        ((draft, hash),) = store.read("SELECT pipeline, hash FROM draft_revisions")
        ((template,),) = store.read("SELECT properties FROM plugin_templates")
        assert list_marked(text) == ["s1", "s3", "s4", "s5", "s6", "s8", "s10", "s12", "s15"]
        assert list_marked(text, FORMER_TEXTS) == ["s9", "s13", "s14", "s15"]
        assert draft == text
        assert hash == hash_draft("p", None, read_document(text))
        assert json.loads(template) == {"format": "json", "suffix": "x", FORMER_JSON: "true"}

        with store.transaction() as tx:
            tx.execute("UPDATE applications SET document = ?", (document,))
        keep_earlier_versions(store)
        assert store.read("SELECT document FROM applications") == [(document,)]


def test_other_pipelines_and_what_is_none_stay_letter_by_letter(folder: Path):
    for document in (write_document(("batchsink", "File", {"format": "csv"})), '{"oops": 1}'):
        (folder / DATABASE).unlink(missing_ok=True)
        fill(folder, document, {"format": "csv"})
        with Store(folder / DATABASE) as store:
            keep_earlier_versions(store)
            assert store.read("SELECT document FROM applications") == [(document,)]
            assert store.read("SELECT pipeline, hash FROM draft_revisions") == [(document, "h")]
            assert store.read("SELECT properties FROM plugin_templates") == [('{"format": "csv"}',)]


def test_a_new_instance_has_nothing_to_keep(tmp_path: Path):
    with Store(tmp_path / DATABASE) as store:
        assert store.read("SELECT * FROM former_json") == []
        assert store.read("SELECT * FROM former_texts") == []
