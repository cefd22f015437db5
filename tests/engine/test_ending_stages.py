"""A run that breaks off between its commit and the actions behind its sinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import unpack
from localcdap.engine.commit import Staging
from localcdap.engine.driver.progress_report import create_status
from localcdap.engine.driver.recovery import recover_run
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.orders import SPOOL, WorkOrder, write_order
from localcdap.engine.messages.spool import Committed, Failed, Message, RunStatus, TableLoads
from localcdap.messaging.consumer import SpoolReader, SpoolWriter


@pytest.mark.parametrize(
    ("ends_run", "end"), [(True, RunStatus.COMPLETED), (False, RunStatus.FAILED)]
)
def test_what_was_committed_stays_and_the_end_is_truthful(
    tmp_path: Path, ends_run: bool, end: RunStatus
):
    directory = tmp_path / "run"
    directory.mkdir()
    load = TableLoad("default", "t", Schema.record("r", [("n", Schema.INT)]), "n", "/rows")
    write_order(
        directory,
        WorkOrder("run-1", "default", "p", "{}", {}, {}, 0, "sc://x", str(tmp_path)),
    )
    staging = Staging(directory, "run-1")
    (Path(staging.create_directory(str(tmp_path / "out"))) / "part").touch()
    staging.commit([load], ends_run=ends_run)
    with SpoolWriter(directory / SPOOL) as spool:
        spool.append(create_status(RunStatus.RUNNING))

    assert recover_run(directory) is end
    assert recover_run(directory) is end

    said = [unpack(data, Message) for _, data in SpoolReader(directory / SPOOL).read()]
    kinds = [type(message) for message in said]
    assert (tmp_path / "out" / "part").exists()
    assert (kinds.count(TableLoads), kinds.count(Committed)) == (1, 1)
    reported = [message.message for message in said if isinstance(message, Failed)]
    assert bool(reported) is not ends_run
