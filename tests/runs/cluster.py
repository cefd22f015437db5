"""A Spark Connect server that is not localcdap's: its own folder, its own Python without localcdap.

It stands for a cluster on another machine. Its workers have what a cluster has: Spark's own packages and what
those need, nothing else.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from localcdap.engine.local.launch import build_server_command, find_java, find_spark_home

TOKEN = "a-secret-of-the-cluster"
_OF_SPARK = ("pyspark", "py4j", "pyarrow", "pandas", "numpy", "dateutil", "pytz", "tzdata")
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c{{1}}: %m%n%ex
"""


@contextlib.contextmanager
def cluster(directory: Path) -> Iterator[str]:
    """A server of its own for the time of a block.

    :returns: its URL, with the token.
    """
    directory.mkdir(parents=True)
    port = free_port()
    _configure(directory, port)
    with (directory / "output").open("wb") as output:
        server = subprocess.Popen(
            _command(directory),
            cwd=directory,
            env=_environment(directory),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait(server, port, directory)
        yield f"sc://localhost:{port}/;token={TOKEN}"
    finally:
        server.kill()
        server.wait()


def _command(directory: Path) -> list[str]:
    """The server as Spark itself starts it on a cluster, with its own main class."""
    command = build_server_command(find_java(), "2", "1g", directory)
    main = command.index("--class")
    own = "org.apache.spark.sql.connect.service.SparkConnectServer"
    return [*command[: main + 1], own, "--name", "cluster", "spark-internal"]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _configure(directory: Path, port: int) -> None:
    (directory / "tmp").mkdir()
    properties = {
        "spark.ui.enabled": "false",
        # Each task has a Python worker of its own, which has imported nothing yet.
        "spark.python.worker.reuse": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(directory / "tmp"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    lines = "".join(f"{key} {value}\n" for key, value in properties.items())
    (directory / "spark.properties").write_text(lines)
    (directory / "log4j2.properties").write_text(_LOGGING.format(file=directory / "spark.log"))


def _environment(directory: Path) -> dict[str, str]:
    """Nothing of this process's environment but what finds programs."""
    python = str(_python(directory))
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "SPARK_HOME": str(find_spark_home()),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": TOKEN,
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": python,
    }


def _python(directory: Path) -> Path:
    """An interpreter that finds the packages of Spark and no others."""
    packages = directory / "packages"
    packages.mkdir()
    for name in _OF_SPARK:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        place = origin.parent if origin.name == "__init__.py" else origin
        (packages / place.name).symlink_to(place)
    for libraries in packages.joinpath("numpy").resolve().parent.glob("*.libs"):
        (packages / libraries.name).symlink_to(libraries)
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    wrapper = directory / "python"
    path = shlex.quote(str(packages))
    # -S: no site-packages, and so neither localcdap nor any library of its own.
    wrapper.write_text(
        f'#!/bin/sh\nPYTHONPATH={path}:"$PYTHONPATH" exec {shlex.quote(str(base))} -S "$@"\n'
    )
    wrapper.chmod(0o755)
    return wrapper


def _wait(server: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert server.poll() is None, (directory / "output").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise AssertionError("the second Spark server does not listen")
