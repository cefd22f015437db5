"""What the exit code of a process says."""

from __future__ import annotations

import pytest

from localcdap.engine.messages.orders import describe_exit


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, ""),
        (3, "It exited with code 3."),
        (-11, "It was killed by SIGSEGV."),
        (-9, "It was killed by SIGKILL, as a user or a system without free memory does."),
        (-200, "It was killed by signal 200."),
    ],
)
def test_how_a_process_ended_is_said(code, said):
    assert describe_exit(code) == said
