"""Stages as text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from localcdap.api.errors import BadRequestError
from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.editing.edited_document import EditedDocument, apply_edit, stage_names
from localcdap.tui.pipeline.insertion import format_stages, parse_stages
from tests.pipeline.json_documents import JSON
from tests.tui.pipeline.documents import orders, pipeline


def test_what_is_copied_can_be_pasted_beside_itself():
    document = orders()
    nodes = document["config"]["stages"]
    text = format_stages(
        nodes[:2], [StageConnection("Orders", "Rename"), StageConnection("Rename", "Out")]
    )

    edit, names = parse_stages(text, ["Orders", "Rename", "Out"])
    draft, _ = EditedDocument.read(document)
    after = apply_edit(draft, edit)

    assert names == ["Orders2", "Rename2"]
    assert stage_names(after.config) == ["Orders", "Rename", "Out", "Orders2", "Rename2"]
    assert after.config["connections"][-1] == {"from": "Orders2", "to": "Rename2"}
    assert after.config["stages"][3]["plugin"] == nodes[0]["plugin"]


@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [n], lambda n: pipeline([n])])
def test_a_stage_a_list_and_a_pipeline_are_read(wrap):
    node = orders()["config"]["stages"][0]

    _, names = parse_stages(json.dumps(wrap(node)), [])

    assert names == ["Orders"]


@pytest.mark.parametrize("text", ["", "hello", "3", "[]", "{}", '{"stages": 3}', "[" * 100_000])
def test_other_texts_are_refused(text):
    with pytest.raises(BadRequestError, match="no stages"):
        parse_stages(text, [])


@given(JSON)
def test_whatever_is_in_the_clipboard_is_read_or_refused(value):
    draft, _ = EditedDocument.read(pipeline([]))
    try:
        edit, names = parse_stages(json.dumps({"stages": [value], "connections": [value]}), [])
    except BadRequestError:
        return
    assert stage_names(apply_edit(draft, edit).config) == names
