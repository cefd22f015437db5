"""Warnings about old paths of localcdap that the code of artifacts uses, as the plugin workers find them."""

from __future__ import annotations

from pathlib import Path

from localcdap.artifacts.model import ArtifactDetail
from localcdap.artifacts.service import ArtifactService
from tests.artifacts.authoring import capable, project, source, write
from tests.artifacts.conftest import Instance

LOOKUP = "localcdap.api.lookup, which has moved to localcdap.api.tables"
ORDER = "localcdap.api.tables.Order, which has moved to localcdap.api.tables.SortField"
ADVICE = "; change it, because the next version of localcdap does not have the old path."


def get_artifact(service: ArtifactService, name: str) -> ArtifactDetail:
    (found,) = [each for each in service.list_artifacts("default") if each.name == name]
    return found


def test_each_line_that_imports_an_old_path_is_a_warning(instance: Instance):
    folder = instance.plugins / "old-names"
    files = {
        "old/__init__.py": "",
        "old/first.py": "import localcdap.api.lookup as lookup\n" + source("First"),
        "old/second.py": "from localcdap.api import lookup\nfrom localcdap.api.tables import Order\n"
        + source("Second"),
    }
    project(folder, "old-names", "1.0.0", files)

    found = get_artifact(instance.synced(), "old-names")
    assert found.error is None
    assert sorted(each.name for each in found.plugins) == ["First", "Second"]
    assert found.warnings == [
        f"old/first.py:1 uses {LOOKUP}{ADVICE}",
        f"old/second.py:1 uses {LOOKUP}{ADVICE}",
        f"old/second.py:2 uses {ORDER}{ADVICE}",
    ]


def test_the_warnings_are_stored_and_end_with_the_import(instance: Instance):
    file = write(instance.plugins / "old-1.0.py", "import localcdap.api.rows\n" + source("Old"))
    warnings = get_artifact(instance.synced(), "old").warnings
    assert len(warnings) == 1
    assert "old-1.0.py:1 uses localcdap.api.rows, which has moved to" in warnings[0]

    reopened = instance.open()
    assert get_artifact(reopened, "old").warnings == warnings

    write(file, source("Old"))
    reopened.sync()
    assert get_artifact(reopened, "old").warnings == []


def test_an_import_inside_a_method_is_no_warning_before_it_runs(instance: Instance):
    body = "        from localcdap.api import lookup\n        emit(record)"
    text = source("Late").replace("        emit(record)", body)
    write(instance.plugins / "late-1.0.py", text)

    assert get_artifact(instance.synced(), "late").warnings == []


def test_a_broken_artifact_has_its_error_and_no_other_warnings(instance: Instance):
    text = "from localcdap.api.lookup import Nothing\n" + source("Broken")
    write(instance.plugins / "broken-1.0.py", text)

    found = get_artifact(instance.synced(), "broken")
    assert found.error is not None
    assert "cannot import name 'Nothing' from 'localcdap.api.tables'" in found.error


def test_warnings_about_capabilities_are_apart(instance: Instance):
    text = "import localcdap.api.lookup\n" + capable("Odd", '@capability("odd")')
    write(instance.plugins / "odd-1.0.py", text)

    service = instance.synced(known=["pii"])
    moved, capabilities = get_artifact(service, "odd").warnings
    assert "localcdap.api.lookup" in moved
    assert service.list_capability_warnings("default") == [capabilities]


def test_other_artifacts_have_no_warnings(instance: Instance, tmp_path: Path):
    write(instance.plugins / "old-1.0.py", "import localcdap.api.lookup\n" + source("Old"))
    write(instance.plugins / "new-1.0.py", source("New"))

    assert get_artifact(instance.synced(), "new").warnings == []
