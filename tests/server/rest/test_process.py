"""The installed program: a server in the background, asked over its socket."""

from __future__ import annotations

import http.client
import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def run_program(home: Path, *arguments: str) -> tuple[int, Any]:
    """Return the exit code of ``localcdap server`` and what it printed."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "localcdap.cli",
            "server",
            *arguments,
            "--home",
            str(home),
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path, fresh_home) -> Iterator[Path]:
    home = fresh_home(tmp_path / "home")
    yield home
    run_program(home, "stop")


def ask(address: str, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


@pytest.mark.slow
def test_a_server_in_the_background(home):
    code, started = run_program(home, "start", "--port", "0")
    assert code == 0
    address, token = started["address"], started["token"]

    assert ask(address, "/ping") == (200, "OK.\n")
    assert ask(address, "/ping", Host="evil.example")[0] == 403
    assert ask(address, "/v3/namespaces", Origin="http://evil.example")[0] == 403
    assert ask(address, "/v3/namespaces")[0] == 401
    status, text = ask(address, "/v3/namespaces", Authorization=f"Bearer {token}")
    assert (status, [each["name"] for each in json.loads(text)]) == (200, ["default"])
    assert stat.S_IMODE((home / "server" / "token").stat().st_mode) == 0o600
    assert token not in (home / "server" / "server.log").read_text()

    assert run_program(home, "status") == (0, started)
    assert run_program(home, "start", "--port", "0")[0] == 1  # there is one
    port = address.rpartition(":")[2]
    other = home.parent / "other"
    code, answer = run_program(other, "start", "--port", port)
    assert code == 2
    assert f"TCP port {port} cannot be used" in answer["error"]["correctiveAction"]

    assert run_program(home, "stop")[1]["address"] == address
    assert run_program(home, "status") == (0, None)
    again = run_program(home, "start", "--port", "0", "--open")[1]
    assert again["token"] is None
    assert ask(again["address"], "/v3/namespaces", Authorization="Bearer ya29.x")[0] == 200
