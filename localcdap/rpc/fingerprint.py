"""What a process hands down to the processes that it starts, as one digest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import Final

from localcdap.processes.limits import read_user_umask

_UNIMPORTANT: Final = {b"_", b"PWD", b"OLDPWD", b"SHLVL", b"COLUMNS", b"LINES"}
"""Variables that a shell changes between two commands."""


def compute_fingerprint(settings: Path) -> str:
    """Return a digest of what a host takes over from the process that starts it, and reads when it starts.

    These are the settings, the environment, the working directory, the umask and the interpreter. A front
    end that finds another fingerprint in a host that nobody else uses replaces that host, so that a changed
    setting or variable takes effect with the next command.

    :param settings: the settings file of the instance; it need not exist.
    """
    digest = hashlib.sha256()
    for name, value in sorted(os.environb.items()):
        if name not in _UNIMPORTANT:
            digest.update(name + b"=" + value + b"\0")
    with contextlib.suppress(OSError):
        digest.update(settings.read_bytes())
    with contextlib.suppress(OSError):
        digest.update(os.fsencode(Path.cwd()))
    digest.update(f"\0{read_user_umask()}\0{sys.executable}".encode())
    return digest.hexdigest()
