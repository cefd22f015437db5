"""Packages of the hub."""

from __future__ import annotations

from typing import Any

import pytest

from localcdap.api.errors import DocumentError
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.hub import create_packaged_document, is_package, read_package
from tests.pipeline.pipelines import config

ARTIFACT = {"name": "cdap-data-pipeline", "version": "6.1.0", "scope": "SYSTEM"}


def action(type: str = "create_pipeline", **arguments: Any) -> dict[str, Any]:
    listed = [{"name": k, "value": v, "canModify": False} for k, v in arguments.items()]
    return {"type": type, "label": "A pipeline", "arguments": listed}


def package(*actions: Any, **more: Any) -> dict[str, Any]:
    return {"specVersion": "1.0", "label": "Orders", "actions": list(actions), **more}


def test_pipelines_and_drafts_are_found_and_the_rest_is_reported():
    source = package(
        action(artifact=ARTIFACT, name="a", config="a.json"),
        action("create_pipeline_draft", artifact=ARTIFACT, name="b", config="b.json"),
        action("one_step_deploy_plugin", name="p", jar="p.jar"),
        cdapVersion="[5.0.0,6.2.0)",
    )
    assert is_package(source)
    found = read_package(source, "spec.json")

    assert [(p.name, p.file, p.is_draft) for p in found.pipelines] == [
        ("a", "a.json", False),
        ("b", "b.json", True),
    ]
    assert found.notes == [
        "The package's action 'one_step_deploy_plugin' is not done here.",
        "The package is for CDAP [5.0.0,6.2.0); localcdap stands for 6.10.0.",
    ]
    small = config("source:s sink:z", "s>z")
    document = read_document(create_packaged_document(found.pipelines[0], small))
    assert (document.name, document.artifact_name) == ("a", "cdap-data-pipeline")
    wrapped = create_packaged_document(
        found.pipelines[0], {"name": "x", "config": small, "mine": 1}
    )
    assert wrapped == {"name": "a", "config": small, "mine": 1}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (package(), "makes no pipeline; its actions: none"),
        (package(action("load_datapack")), "its actions: load_datapack"),
        (package("x", None), r"its actions: \?, \?"),
        (package(action(name="a")), "without the argument 'config'"),
        (package(action(config="a.json")), "without the argument 'name'"),
        (package(action(name="a", config="../a.json")), "which is not in its folder"),
        (package(action(name="a", config="..\\a")), "which is not in its folder"),
        ({"specVersion": 1, "actions": 7}, "its actions: none"),
    ],
)
def test_packages_that_cannot_be_used_are_refused(source: Any, message: str):
    with pytest.raises(DocumentError, match=message):
        read_package(source, "spec.json")
