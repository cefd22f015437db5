"""The line above an open pipeline."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.model import get_now
from localcdap.runs.preview.model import Preview, PreviewStatus
from localcdap.tui.pipeline.title_bar import _format_activity
from tests.runs.stored_runs import write_run


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (RunStatus.PENDING, "◌ run: starting Spark, 7 s"),
        (RunStatus.STARTING, "◌ run: preparing, 7 s"),
        (RunStatus.RUNNING, "▶ run running"),
    ],
)
def test_the_phases_before_a_run_reads_have_a_time(cdap, status, shown):
    run = write_run(cdap, status=status)
    began = msgspec.structs.replace(run, starting=get_now() - 7_100)
    assert _format_activity(began).plain.startswith(shown)


def test_a_run_that_waits_has_a_position(cdap):
    run = write_run(cdap, status=RunStatus.PENDING)
    waits = msgspec.structs.replace(run, starting=get_now() - 7_100, position=3)
    assert _format_activity(waits).plain.startswith("◌ run: queued, position 3, 7 s")


def test_so_have_those_of_a_preview():
    preview = Preview("p", "default", "sales", PreviewStatus.INIT, get_now() - 3_100)
    assert _format_activity(preview).plain.startswith("◌ preview: starting Spark, 3 s")
