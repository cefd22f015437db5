"""PostgreSQL and MariaDB servers of a test's own, each in a temporary folder and for this machine only."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

PASSWORD: Final = "a'secret;word"
_JARS: Final = Path("/usr/share/java")
_START_S: Final = 30.0


class Server(NamedTuple):
    """A server with the database ``shop``, for the user ``app`` with :data:`PASSWORD`."""

    plugin: str
    """Name of the plugins for it."""
    cloud_plugin: str
    port: int
    driver: Path
    client: list[str]
    """The command that reads SQL and prints rows."""

    def sql(self, text: str) -> str:
        """What the server's own client prints for statements."""
        done = subprocess.run(
            self.client, input=text.encode(), capture_output=True, timeout=_START_S
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode(errors="backslashreplace").strip()


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    driver = _require_jar("postgresql.jar")
    initdb, daemon, client = _require_command("initdb", "postgres", "psql")
    user = "postgres" if os.geteuid() == 0 else getpass.getuser()
    with _folder(user) as folder:
        data, port = folder / "data", _free_port()
        _check([initdb, "-D", str(data), "-U", "admin", "-A", "scram-sha-256", "--no-sync",
                "-E", "UTF8", "--no-locale", "--pwfile", _password_file(folder, user)], user)  # fmt: skip
        address = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder)]
        settings = ["-c", "fsync=off", "-c", "timezone=Asia/Tokyo"]
        environment = f"PGPASSWORD={PASSWORD}"
        ask = [client, "-h", "127.0.0.1", "-p", str(port), "-v", "ON_ERROR_STOP=1", "-AtqX"]
        command = ["env", environment, *ask, "-U"]
        admin = [*command, "admin", "postgres"]
        server = Server("Postgres", "CloudSQLPostgreSQL", port, driver, [*command, "app", "shop"])
        with _running([daemon, "-D", str(data), *address, *settings], user, admin):
            escaped = PASSWORD.replace("'", "''")
            made = f"CREATE ROLE app LOGIN PASSWORD '{escaped}'; CREATE DATABASE shop OWNER app;"
            server._replace(client=admin).sql(made)
            yield server


@contextlib.contextmanager
def mariadb() -> Iterator[Server]:
    driver = _require_jar("mariadb-java-client.jar")
    install, daemon, client = _require_command("mariadb-install-db", "mariadbd", "mariadb")
    user = getpass.getuser()
    with _folder(user) as folder:
        data, port, at = folder / "data", _free_port(), folder / "socket"
        common = ["--no-defaults", f"--datadir={data}", f"--user={user}"]
        _check([install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"])
        address = ["--bind-address=127.0.0.1", f"--port={port}", f"--socket={at}"]
        settings = ["--innodb-flush-log-at-trx-commit=0", "--default-time-zone=+09:00"]
        command = [client, "--no-defaults", f"--socket={at}", "-uroot", "-N", "-B"]
        server = Server("Mysql", "CloudSQLMySQL", port, driver, [*command, "shop"])
        with _running([daemon, *common, *address, *settings], user, command):
            escaped = PASSWORD.replace("'", "''")
            made = (
                f"CREATE DATABASE shop; CREATE USER app@'127.0.0.1' IDENTIFIED BY '{escaped}';"
                "GRANT ALL ON shop.* TO app@'127.0.0.1';"
            )
            server._replace(client=command).sql(made)
            yield server


def _require_command(*programs: str) -> list[str]:
    """Where programs are; skips the test where one is not."""
    folders = [
        os.environ["PATH"],
        "/usr/sbin",
        *map(str, Path("/usr/lib/postgresql").glob("*/bin")),
    ]
    found = {name: shutil.which(name, path=os.pathsep.join(folders)) for name in programs}
    if lacking := [name for name, place in found.items() if place is None]:
        pytest.skip(f"{lacking[0]} is not on this machine")
    return [place for place in found.values() if place is not None]


def _require_jar(name: str) -> Path:
    if not (_JARS / name).is_file():
        pytest.skip(f"the JDBC driver {_JARS / name} is not on this machine")
    return _JARS / name


@contextlib.contextmanager
def _folder(user: str) -> Iterator[Path]:
    """A folder that belongs to the user. Its path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="db-", ignore_cleanup_errors=True) as name:
        shutil.chown(name, user)
        yield Path(name)


def _password_file(folder: Path, user: str) -> str:
    file = folder / "password"
    file.write_text(PASSWORD)
    shutil.chown(file, user)
    return str(file)


def _check(command: Sequence[str], user: str | None = None) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_START_S, user=_other(user), cwd="/"
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def _running(command: Sequence[str], user: str, client: Sequence[str]) -> Iterator[None]:
    """A server, from when it answers its client."""
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, user=_other(user), stdout=quiet, stderr=quiet, cwd="/")
    try:
        end = time.monotonic() + _START_S
        while subprocess.run(client, input=b"SELECT 1;", stdout=quiet, stderr=quiet).returncode:
            assert server.poll() is None, f"{command[0]} ended"
            assert time.monotonic() < end, f"{command[0]} does not answer"
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _other(user: str | None) -> str | None:
    """The user, where it is not the one who runs the tests."""
    return None if user in (None, getpass.getuser()) else user


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
