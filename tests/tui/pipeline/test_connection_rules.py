"""What can be connected to what."""

from __future__ import annotations

import pytest

from localcdap.pipeline.document.reader import read_document
from localcdap.tui.pipeline.insertion import (
    ConnectionRules,
    OutputBranch,
    disconnect_edit,
    find_free_name,
    format_connection,
)
from tests.tui.pipeline.documents import pipeline, stage


def wiring(links=""):
    stages = [
        stage("in", "batchsource", "File"),
        stage("t", "transform", "JavaScript"),
        stage("u", "transform", "JavaScript"),
        stage("e", "errortransform", "ErrorCollector"),
        stage("out", "batchsink", "File"),
        stage("if", "condition", "Conditional"),
        stage("split", "splittertransform", "NullFieldSplitter"),
        stage("act", "action", "FileMove"),
    ]
    mail = {"name": "mail", "plugin": {"name": "Email", "type": "postaction"}}
    return ConnectionRules(read_document(pipeline(stages, links, postActions=[mail])))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("in", "t", None),
        ("in", "in", "a stage is not connected to itself"),
        ("out", "t", "a sink has no output"),
        ("t", "in", "a source has no input"),
        ("act", "in", None),
        ("out", "act", None),
        ("if", "e", "condition stages emit no errors"),
        ("t", "e", None),
        ("t", "mail", "post actions are not connected"),
        ("mail", "t", "post actions are not connected"),
    ],
)
def test_what_cannot_be_connected_has_a_reason(source, target, reason):
    assert wiring().rejection_reason(source, target) == reason


def test_a_circle_and_a_second_line_are_refused():
    found = wiring("in>t t>u")

    assert found.rejection_reason("u", "t") == "the connection would make a cycle"
    assert found.rejection_reason("t", "u") == "they are connected already"


def test_a_stage_that_is_not_there_yet_is_validated_by_its_type():
    assert wiring().rejection_reason("in", "new", "transform") is None
    assert wiring().rejection_reason("in", "new", "postaction") == "post actions are not connected"


def test_a_condition_is_left_by_true_then_by_false():
    assert [way.label for way in wiring().list_branches("if")] == ["true", "false"]

    document = pipeline([stage("if", "condition", "Conditional"), stage("t", "transform", "X")])
    document["config"]["connections"] = [{"from": "if", "to": "t", "condition": "true"}]

    assert [way.label for way in ConnectionRules(read_document(document)).list_branches("if")] == [
        "false",
        "true",
    ]


def test_other_stages_are_left_in_one_way():
    assert wiring().list_branches("t") == [OutputBranch()]
    assert wiring().list_branches("split") == []


def test_connections_are_cut_one_by_one():
    connection = wiring("in>t").list_connections("t")[0]

    assert format_connection(connection) == "in → t"
    assert (disconnect_edit(connection).source, disconnect_edit(connection).target) == ("in", "t")


def test_a_free_name_has_the_lowest_number():
    assert find_free_name("File", set()) == "File"
    assert find_free_name("File", {"File", "File2"}) == "File3"
