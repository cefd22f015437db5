"""The folder of a run process and its removal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from localcdap.engine.messages.orders import EXIT_FILE
from localcdap.processes.identity import ProcessIdentity
from localcdap.runs.startup.processes import remove_process


def test_an_exit_code_that_comes_during_the_removal_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    process = subprocess.Popen([sys.executable, "-c", ""])
    identity = ProcessIdentity(process.pid, psutil.Process(process.pid).create_time())
    process.wait()
    folder = tmp_path / "run"
    folder.mkdir()
    remove, calls = shutil.rmtree, []

    def remove_late(path: Path, **more: bool) -> None:
        remove(path, **more)
        calls.append(path)
        if len(calls) == 1:  # as a fork server that is as late
            path.mkdir()
            (path / EXIT_FILE).write_text("0")

    monkeypatch.setattr(shutil, "rmtree", remove_late)
    remove_process(identity, folder)

    assert calls == [folder, folder]
    assert not folder.exists()
