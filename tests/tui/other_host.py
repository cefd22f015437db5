"""A host of an instance in a process of its own, which tests can kill."""

from __future__ import annotations

import subprocess
import sys

from localcdap.home import Home

_HOST = """
import sys, time
from pathlib import Path
from localcdap.home import Home
from localcdap.host.cdap import Cdap
cdap = Cdap(Home(Path(sys.argv[1])), in_process=True)
assert cdap.is_host
print("ready", flush=True)
sys.stdin.read()
cdap.close()
"""


class OtherHost:
    """Another process that has the instance open as its host."""

    def __init__(self, home: Home) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HOST, str(home.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """As the system does that has no memory left."""
        self._process.kill()
        self._process.wait(60)

    def leave(self) -> None:
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(60)
