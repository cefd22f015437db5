"""The umask of the user, in processes that create private files themselves.

A host gives the files of an instance to its user only. The processes that it starts run code of users, whose
files outside the instance keep the umask of the user. The module imports nothing of localcdap.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_PRIVATE: Final = 0o077
_user_umasks: Final[list[int]] = []
"""The umask that :func:`protect_new_files` found; empty when it was not called."""


def protect_new_files() -> None:
    """Let only the user read what this process creates from now on. Call it before threads are started."""
    _user_umasks.append(os.umask(_PRIVATE))


def read_user_umask() -> int:
    """Return the umask that processes with code of users get: that of this process before it was changed.

    It is read from the kernel's status file, because the system call returns it only by setting it. Without
    such a file (macOS) the result is the usual umask, 022.
    """
    if _user_umasks:
        return _user_umasks[0]
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0o022
    found = next((line for line in text.splitlines() if line.startswith("Umask:")), "Umask: 0022")
    return int(found.split()[1], 8)
