"""Finding processes that tests kill."""

from __future__ import annotations

import contextlib

import psutil

from localcdap.runs.startup.processes import OUTPUT_FILE


def run_process(run: str) -> psutil.Process:
    """The process of a run, no matter who started it: its output is the run's."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(file.path.endswith(f"{run}/{OUTPUT_FILE}") for file in process.open_files()):
                return process
    raise AssertionError("the run has no process")
