"""The server in a process of its own, as the installed program starts it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class Server:
    """The server of an instance, in a process of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._command = [sys.executable, "-m", "localcdap.cli", "server"]
        self._options = ["--home", str(home), "--json"]
        started = subprocess.run(
            [*self._command, "start", "--port", "0", "--open", *self._options],
            capture_output=True,
            check=True,
        )
        self.host = json.loads(started.stdout)["address"].removeprefix("http://")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return the code and the value of an answer, over a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read()
            is_json = response.headers["content-type"] == "application/json"
            return response.status, json.loads(text) if is_json else text.decode()

    def stop(self) -> None:
        subprocess.run([*self._command, "stop", *self._options], capture_output=True, check=True)
