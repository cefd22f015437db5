"""Expectations in documents: where they are kept, and what validation says about them."""

from __future__ import annotations

import json

from localcdap.pipeline.document.reader import read_document, upgrade_document
from localcdap.pipeline.editing.edits import (
    AddStage,
    DuplicateStage,
    RenameStage,
    SetProperty,
    Undo,
)
from tests.pipeline.editing.sessions import Bench
from tests.pipeline.pipelines import config, record, stage
from tests.pipeline.shelf import resolved

ABC = {"schema": record("a", "b", "c")}
NOT_NULL = {"rule": "not-null", "column": "a"}
TO_ERROR = {"rule": "not-null", "column": "b", "action": "error"}


def with_rules(node: dict, **rules: list) -> dict:
    for each in node["stages"]:
        if each["name"] in rules:
            each["expectations"] = rules[each["name"]]
    return node


def small(**rules: list) -> dict:
    return with_rules(config("source:s transform:t sink:z", "s>t t>z", s=ABC), **rules)


def found(node: dict) -> list[tuple[str | None, str, str | None]]:
    answer = resolved(read_document(node))
    return [(f.stage, f.message, f.corrective_action) for f in answer.errors]


def test_a_document_keeps_expectations():
    node = small(t=[NOT_NULL, {"rule": "unheard", "more": [1]}], z=[NOT_NULL])
    document = read_document({"name": "p", "config": node})

    assert json.loads(document.to_json())["config"] == node
    assert upgrade_document(document)["config"] == node
    assert [len(each.expectations) for each in document.stages] == [0, 1, 1]


def test_rules_are_compared_with_the_records_that_leave_the_stage_or_reach_the_sink():
    wrong = {"rule": "not-null", "column": "aa"}
    assert found(small(s=[NOT_NULL], t=[NOT_NULL], z=[NOT_NULL])) == []
    assert found(small(s=[wrong], t=[wrong], z=[wrong])) == [
        (
            name,
            "Expectations: 'aa is not null': There is no column 'aa'.",
            "Did you mean 'a'?",
        )
        for name in "stz"
    ]
    ((name, message, action),) = found(small(t=[{"rule": "not-nul", "column": "a"}]))
    assert (name, message) == ("t", "Expectation 1: there is no rule 'not-nul'.")
    assert action == "Did you mean 'not-null'?"


def test_stages_without_common_records_have_no_expectations():
    node = with_rules(
        config("source:s split:p sink:z", "s>p p.non-null>z", s=ABC, p={"field": "a"}), p=[NOT_NULL]
    )
    messages = [message for name, message, _ in found(node) if name == "p"]
    assert "Expectations: Stages of type 'splittertransform' cannot have expectations." in messages


def test_records_are_sent_to_error_only_where_a_stage_can():
    ((name, message, _),) = found(small(z=[TO_ERROR]))
    assert name == "z"
    assert "stages of type 'batchsink' emit none" in message

    answer = resolved(read_document(small(t=[TO_ERROR])), warn=True)
    (warning,) = answer.warnings
    assert (warning.stage, warning.field) == ("t", "expectations")
    assert "no stage reads the error records" in warning.message

    node = config("source:s transform:t errors:e sink:z", "s>t t>z t>e e>z", s=ABC)
    assert resolved(read_document(with_rules(node, t=[TO_ERROR])), warn=True).warnings == []


def test_an_editing_session_checks_rules_again_when_the_schema_changes():
    bench = Bench(small(t=[NOT_NULL]))
    assert bench.last.valid
    bench.apply(SetProperty("s", "schema", record("b", "c")))
    assert "There is no column 'a'" in bench.stages["t"].errors[0].message
    bench.apply(Undo())
    bench.apply(RenameStage("t", "u"))
    bench.apply(DuplicateStage("u"))
    bench.apply(AddStage(stage("transform", "v") | {"expectations": [{"rule": "x"}]}))
    assert any("no rule 'x'" in f.message for f in bench.stages["v"].errors)
    bench.check()
