"""The test kit for dataset types, on whole instances."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.errors import NotFoundError, PluginError
from localcdap.datasets.sql import SqlRequest
from localcdap.host import connect
from localcdap.testing import DatasetTester, TemporaryInstance

TYPE = """
from localcdap.api.app import SystemApplication, application
from localcdap.api.dataset.definition import DatasetDefinition, dataset_type
from localcdap.api.dataset.specification import StorageLayout, TableLayout
from localcdap.api.schema import Schema


@application(name="counters", description="Counts.")
class Counters(SystemApplication): ...


@dataset_type("counts", description="Counts by name.")
class Counts(DatasetDefinition):
    def lay_out(self, specification):
        names = ["count", *specification.properties.get("more", "").split()]
        fields = [(name, Schema.LONG.as_nullable) for name in names]
        schema = Schema.record("counts", [("name", Schema.STRING), *fields])
        return StorageLayout({specification.name: TableLayout(schema, "name")})
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "counters-1.0.0.py"
    file.write_text(TYPE)
    return file


def test_an_application_artifact_has_dataset_types(
    cdap_instance: TemporaryInstance, file: Path
) -> None:
    tested = DatasetTester(cdap_instance, file, "counts", {}, owner="system")
    cdap = cdap_instance.cdap
    assert "counters" in {each.application.name for each in cdap.artifacts.list_applications()}
    assert tested.field_names == ["name", "count"]
    change = tested.update({"more": "errors"})
    assert [each.field for each in change.fields] == ["errors"]
    [reason] = _list_update_reasons(tested)
    assert "errors" in reason

    tested.truncate()
    (cdap_instance.home.path / "plugins" / "system" / file.name).unlink()
    cdap.artifacts.sync()
    found = cdap.sql.query(SqlRequest("SELECT name, count, errors FROM tested", "default"))
    assert [each.name for each in found.columns] == ["name", "count", "errors"]
    with pytest.raises(NotFoundError, match=file.name):
        tested.upgrade()
    cdap_instance.close()
    with connect(cdap_instance.home) as other:
        detail = other.datasets.describe("default", "tested")
        assert file.name in (detail.problem or "")
        other.datasets.drop("default", "tested")
        assert other.datasets.list_datasets("default") == []


def _list_update_reasons(tested: DatasetTester) -> list[str]:
    """Return the reasons of an update that would drop a column, which only the data can tell."""
    from localcdap.api.errors import IncompatibleUpdateError

    with pytest.raises(IncompatibleUpdateError) as error:
        tested.update({"more": ""})
    return list(error.value.reasons)


def test_a_broken_artifact_says_why(cdap_instance: TemporaryInstance, file: Path) -> None:
    file.write_text("raise ValueError('no code')")
    with pytest.raises(PluginError, match="no code"):
        DatasetTester(cdap_instance, file, "counts", {})
