"""The exit codes of run processes, and what they say about a process that ended before its run did."""

from __future__ import annotations

import signal
from typing import Final

REPORTED: Final = (0, 1, 143)
"""The exit codes of run processes that have reported how they ended."""
EXIT_FILE: Final = "exit-code"
"""The file in the directory of a run to which the fork server writes any other exit code of its process."""


def describe_exit(code: int | None) -> str:
    """Return a sentence that says how a process ended; empty when that is not known.

    :param code: as of :attr:`subprocess.Popen.returncode`: negative for a signal.
    """
    if code is None:
        return ""
    if code >= 0:
        return f"It exited with code {code}."
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    cause = ", as a user or a system without free memory does" if -code == signal.SIGKILL else ""
    return f"It was killed by {name}{cause}."
