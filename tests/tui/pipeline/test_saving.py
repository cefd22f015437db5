"""Files, drafts and applications that a pipeline is kept in."""

from __future__ import annotations

import json
import os

import pytest

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.tui.document.source import format_empty_pipeline, load_document
from localcdap.tui.pipeline.save_actions import deploy_document, save_draft, save_file
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    NewPipelineTarget,
    PipelineFileTarget,
)
from tests.tui.pipeline.documents import orders

TEXT = json.dumps(orders())


def test_a_file_is_written_whole_and_keeps_its_mode(cdap, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(TEXT)
    path.chmod(0o640)
    source, paper = load_document(cdap, "default", PipelineFileTarget(path))

    after = save_file(source, path, "{}")

    assert path.read_text() == "{}"
    assert path.stat().st_mode & 0o777 == 0o640
    assert after.stamp == path.stat().st_mtime_ns
    assert [file.name for file in tmp_path.iterdir()] == ["p.json"]
    assert paper.document.name == "orders"


def test_a_file_that_another_program_changed_is_not_lost(cdap, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(TEXT)
    source, _ = load_document(cdap, "default", PipelineFileTarget(path))
    path.write_text("{}")
    os.utime(path, ns=(1, 1))

    with pytest.raises(ConflictError, match="changed by another program"):
        save_file(source, path, TEXT)
    assert path.read_text() == "{}"
    save_file(source, path, TEXT, is_forced=True)
    assert path.read_text() == TEXT


@pytest.mark.parametrize("locked", ["p.json", "."])
def test_what_is_marked_read_only_stays_as_it_is_also_for_root(cdap, tmp_path, locked):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "p.json"
    path.write_text(TEXT)
    place = folder / locked
    mode = place.stat().st_mode
    place.chmod(mode & ~0o222)
    try:
        source, _ = load_document(cdap, "default", PipelineFileTarget(path))
        for is_forced in (False, True):
            with pytest.raises(BadRequestError, match="read-only"):
                save_file(source, path, "{}", is_forced=is_forced)
        assert path.read_text() == TEXT
    finally:
        place.chmod(mode)


def test_a_place_that_cannot_be_written_is_reported(cdap, tmp_path):
    source, _ = load_document(cdap, "default", DocumentTarget("x", TEXT))

    with pytest.raises(BadRequestError, match="cannot be written"):
        save_file(source, tmp_path / "no" / "such.json", TEXT)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"[1]"])
def test_what_is_no_pipeline_is_reported(cdap, tmp_path, content):
    path = tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises((NotFoundError, BadRequestError)) as raised:
        load_document(cdap, "default", PipelineFileTarget(path))
    assert "p.json" in raised.value.message


def test_a_draft_that_another_studio_saved_is_not_lost(cdap):
    source, _ = load_document(cdap, "default", DocumentTarget("mine", TEXT))
    first = save_draft(cdap, "default", source, TEXT, "mine")
    opened, paper = load_document(cdap, "default", DraftTarget(first.draft))
    save_draft(cdap, "default", first, TEXT.replace("orders.csv", "other.csv"), "mine")

    with pytest.raises(ConflictError):
        save_draft(cdap, "default", opened, paper.current.to_text(), "mine")
    again = save_draft(cdap, "default", opened, paper.current.to_text(), "mine", is_forced=True)
    assert again.revision == 3
    other = save_draft(cdap, "default", again, TEXT, "another name")
    assert other.draft != again.draft


def test_a_version_that_was_deployed_meanwhile_is_not_lost(cdap):
    source, _ = load_document(cdap, "default", DocumentTarget("d", TEXT))
    _, first = deploy_document(cdap, "default", source, TEXT, "d", None)
    opened, _ = load_document(cdap, "default", DeployedTarget("d"))
    deploy_document(cdap, "default", first, TEXT, "d", "another")

    with pytest.raises(ConflictError):
        deploy_document(cdap, "default", opened, TEXT, "d", None)
    deployment, _ = deploy_document(cdap, "default", opened, TEXT, "d", None, is_forced=True)
    assert deployment.application.number == 3


def test_what_has_failures_is_not_deployed(cdap):
    source, _ = load_document(cdap, "default", NewPipelineTarget("broken"))

    deployment, after = deploy_document(
        cdap, "default", source, format_empty_pipeline("broken"), "broken", None
    )

    assert deployment.application is None
    assert deployment.errors
    assert after is source
