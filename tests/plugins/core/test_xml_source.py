"""The XMLReader source: elements of XML documents, and what happens with files that were read."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from core_plugins.files.xml_source import NODE, XmlReaderSource, read_nodes

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import StageError
from localcdap.testing import StageTester, TemporaryInstance
from tests.plugins.core.test_key_values import json_lines, json_sink, run, stage

NEEDED = {"referenceName": "r", "nodePath": "/catalog/book/title", "reprocessingRequired": "Yes"}
CATALOG = """<?xml version="1.0"?>
<!-- books -->
<c:catalog xmlns:c="urn:c">
  <book id="bk104"><title lang="&quot;en&quot;">Oberon's &lt;Legacy&gt;</title></book>
  <other><title>no</title></other>
  <book id="bk105">
    <title>ü<sub x="1"/><title>inner</title><![CDATA[ & more]]></title>
  </book>
</c:catalog>
"""
TITLES = [
    (4, '<title lang="&quot;en&quot;">Oberon&apos;s &lt;Legacy&gt;</title>'),
    (7, '<title>ü<sub x="1"></sub><title>inner</title> &amp; more</title>'),
]


def read(file: Path, path: str, *, allows_entities: bool = False) -> list[tuple[int, str]]:
    batches = read_nodes((str(file), "name"), path, allows_entities=allows_entities)
    records = [row for batch in batches for row in RecordCodec(NODE).decode(batch)]
    assert {row["filename"] for row in records} <= {"name"}
    return [(row["offset"], row["record"]) for row in records]


def test_elements_at_a_path_are_texts_with_their_lines(tmp_path):
    file = tmp_path / "a.xml"
    file.write_text(CATALOG)
    assert read(file, "/catalog/book/title") == read(file, "catalog/book/title") == TITLES
    assert read(file, "/catalog/nothing") == []
    assert [line for line, _ in read(file, "/catalog")] == [3]
    many = "".join(f"<r>{n}</r>\n" for n in range(70_000))
    file.write_text(f"<a>\n{many}</a>")
    found = read(file, "/a/r")
    assert (len(found), found[-1]) == (70_000, (70_001, "<r>69999</r>"))


def test_broken_documents_and_entities_are_errors(tmp_path):
    file = tmp_path / "a.xml"
    file.write_text("<a><b>1</b><b>2</a>")
    with pytest.raises(StageError, match="'name' is not well-formed XML: mismatched tag"):
        read(file, "/a/b")
    file.write_text('<!DOCTYPE a [<!ENTITY e "text">]><a><b>&e;</b></a>')
    with pytest.raises(StageError, match="declares the entity 'e'"):
        read(file, "/a/b")
    assert read(file, "/a/b", allows_entities=True) == [(1, "<b>text</b>")]
    file.write_text('<!DOCTYPE a [<!ENTITY e SYSTEM "/etc/passwd">]><a><b>&e;</b></a>')
    assert read(file, "/a/b", allows_entities=True) == [(1, "<b></b>")]


def test_properties_are_checked(tmp_path):
    wrong = NEEDED | {
        "path": "in.xml",
        "pattern": "(",
        "actionAfterProcess": "Move",
        "tableExpiryPeriod": "-1",
    }
    assert StageTester(XmlReaderSource, wrong).problems == [
        "tableExpiryPeriod: Invalid value: -1.",
        (
            "actionAfterProcess: Only one of 'After Processing Action' or 'Reprocessing Required' may be "
            "selected at a time."
        ),
        "targetFolder: Target folder cannot be empty for Action = 'move'.",
        "pattern: Invalid regular expression: '('.",
        (
            "path: When filtering with regular expressions, the path must be a directory and leverage glob "
            "syntax."
        ),
    ]
    right = StageTester(XmlReaderSource, NEEDED | {"path": "in/*", "pattern": "^a"})
    assert right.problems == []
    assert right.output_schema is not None
    assert right.output_schema.field_names == ["offset", "filename", "record"]


def read_in(instance: TemporaryInstance, out: str, **properties: str) -> Any:
    source = stage("batchsource", "XMLReader", **(NEEDED | {"path": "in/*"} | properties))
    return run(instance, source, json_sink(out))


@pytest.fixture
def instance(tmp_path: Path):
    with TemporaryInstance(tmp_path) as made:
        yield made


@pytest.mark.slow
@pytest.mark.spark
def test_files_that_were_read_are_noted_and_moved(instance, cdap_engine_directory):
    folder = instance.home.path
    (folder / "in").mkdir()
    (folder / "done").mkdir()
    (folder / "in" / "a.xml").write_text(CATALOG)
    (folder / "in" / "b.txt").write_text(CATALOG)
    tracked = {"reprocessingRequired": "No", "tableName": "seen"}

    first = read_in(instance, "one", pattern="xml$", **tracked)
    assert first.error is None
    rows = json_lines(folder / "one")
    assert [(row["offset"], row["record"]) for row in rows] == TITLES
    assert rows[0]["filename"] == f"file:{folder / 'in' / 'a.xml'}"

    second = read_in(instance, "two", actionAfterProcess="Archive", targetFolder="done", **tracked)
    assert (second.error, second.stages["s0-0"].records_out) == (None, 2)
    assert [each.name for each in (folder / "in").iterdir()] == ["a.xml"]
    archive = zipfile.ZipFile(folder / "done" / "b.txt.zip")
    assert archive.read("b.txt").decode() == CATALOG

    (folder / "in" / "a.xml").write_text("<a>")
    failed = read_in(instance, "three", actionAfterProcess="Delete", reprocessingRequired="No")
    assert "'file:" in failed.error.message
    assert "not well-formed" in failed.error.message
    assert (folder / "in" / "a.xml").exists()
    (folder / "in" / "a.xml").write_text(CATALOG)
    assert (
        read_in(instance, "four", actionAfterProcess="Delete", reprocessingRequired="No").error
        is None
    )
    assert not (folder / "in" / "a.xml").exists()
    empty = read_in(instance, "five", path="in/")
    assert (empty.error, empty.stages["s0-0"].records_out) == (None, 0)
