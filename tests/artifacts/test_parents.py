"""Which applications an artifact is for."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.version import find_supported_apps
from tests.artifacts.authoring import project, source, write

BOTH = {"cdap-data-pipeline", "cdap-data-streams"}


@pytest.mark.parametrize(
    ("parents", "apps"),
    [
        ([], BOTH),
        (["cdap-data-pipeline[6.0.0,7.0.0)"], {"cdap-data-pipeline"}),
        (["system:cdap-data-pipeline[6.0.0-SNAPSHOT,7.0.0-SNAPSHOT)"], {"cdap-data-pipeline"}),
        (["cdap-data-pipeline[6,7)", "cdap-data-streams[6,7)"], BOTH),
        (["cdap-data-pipeline[5.0.0,6.0.0)", "cdap-data-streams(6,7)"], {"cdap-data-streams"}),
        (["default:cdap-data-pipeline[6,7)"], set()),
        (["core-plugins[1,9)"], set()),
    ],
)
def test_applications(parents, apps):
    assert find_supported_apps(parents) == apps


@pytest.mark.parametrize("text", ["", "x", "[1,2)", "a:b:c[1,2)", "x[1,2", "x[2,1]", "x 1.0"])
def test_no_parent(text):
    with pytest.raises(BadRequestError, match="Invalid parent|Invalid version range"):
        find_supported_apps([text])


def folder(instance, parents: str) -> None:
    project(instance.plugins / "h", "hasher", "1.0.0", {"h.py": source()})
    with (instance.plugins / "h" / "pyproject.toml").open("a") as stream:
        stream.write(f"[tool.localcdap]\nparents = {parents}\n")


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        (
            '["cdap-data-pipeline[7.0.0,8.0.0)"]',
            (
                "None of its parents exists: cdap-data-pipeline[7.0.0,8.0.0). Existing "
                "parents are cdap-data-pipeline and cdap-data-streams, both in version 6.10.0."
            ),
        ),
        ('["cdap-data-pipeline"]', "Invalid parent 'cdap-data-pipeline'. Write one such as"),
        ('["cdap-data-pipeline[7,6]"]', "Lower version 7 is greater than upper version 6."),
        ('"cdap-data-pipeline[6,7)"', "pyproject.toml: 'parents' is not a list of texts."),
        ("[1]", "pyproject.toml: 'parents' is not a list of texts."),
    ],
)
def test_parents_that_keep_an_artifact_out(instance, parents, problem):
    folder(instance, parents)
    service = instance.synced()

    assert problem in service.list_artifacts("default")[0].error
    assert service.list_plugins("default") == []


def test_last_good_content_stays_when_the_new_one_is_for_another_application(instance):
    folder(instance, '["cdap-data-pipeline[6.0.0,7.0.0)"]')
    service = instance.synced()
    folder(instance, '["cdap-data-pipeline[7.0.0,8.0.0)"]')
    service.sync()

    (detail,) = service.list_artifacts("default", errors=True)
    assert "None of its parents" in detail.error
    assert [p.name for p in service.list_plugins("default")] == ["Hasher"]


def test_parents_in_a_single_file(instance):
    head = "# /// script\n# dependencies = []\n#\n# [tool.localcdap]\n# parents = [{}]\n# ///\n"
    file = write(
        instance.plugins / "hasher-1.0.0.py",
        head.format('"cdap-data-streams[6.0.0,7.0.0)"') + source(),
    )
    service = instance.synced()
    assert service.list_artifacts("default")[0].parents == ["cdap-data-streams[6.0.0,7.0.0)"]

    file.write_text(head.format("1") + source())
    service.sync()

    assert "'parents' is not a list of texts" in service.list_artifacts("default")[0].error
