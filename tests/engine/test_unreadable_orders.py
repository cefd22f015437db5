"""A run whose work order cannot be read ends, and its order is set aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import unpack
from localcdap.engine.commit import Staging
from localcdap.engine.driver.recovery import recover_run
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import ORDER, SPOOL, UNREADABLE_ORDER
from localcdap.engine.messages.spool import Failed, Message, RunStatus
from localcdap.messaging.consumer import SpoolReader


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "run-1"
    made.mkdir()
    (made / ORDER).write_text('{"run_id": "run-1", "namespace"')
    return made


def read_failure(directory: Path) -> Failed:
    messages = [unpack(data, Message) for _, data in SpoolReader(directory / SPOOL).read()]
    (found,) = [each for each in messages if isinstance(each, Failed)]
    return found


def test_what_it_had_staged_is_removed(directory: Path, tmp_path: Path) -> None:
    staging = Path(Staging(directory, "run-1").create_directory(str(tmp_path / "out")))
    (staging / "part").touch()

    assert recover_run(directory) is recover_run(directory) is RunStatus.FAILED
    assert not staging.exists()
    assert not (tmp_path / "out").exists()
    assert (directory / UNREADABLE_ORDER).read_text().startswith('{"run_id"')
    failed = read_failure(directory)
    assert f"The work order {directory / ORDER} cannot be read: " in failed.message
    assert f"The order is now {directory / UNREADABLE_ORDER}." in failed.message
    assert failed.corrective_action == "Run it again; nothing of it became visible."


def test_what_it_had_decided_to_write_is_named(directory: Path, tmp_path: Path) -> None:
    staging = Staging(directory, "run-1")
    place = staging.create_directory(str(tmp_path / "out"))
    load = TableLoad("default", "sales", Schema.record("r", [("n", Schema.INT)]), "n", "/rows")
    staging.commit([load])

    assert recover_run(directory) is RunStatus.FAILED
    action = read_failure(directory).corrective_action or ""
    assert f"'{place}' to '{tmp_path / 'out'}'" in action
    assert "not fill, perhaps: 'sales'." in action
