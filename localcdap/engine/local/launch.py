"""The command and configuration with which the local Spark Connect server is started.

The Java process is started directly, not through Spark's shell scripts, so that the runtime that pip
installed works and process ids are ours. The options are those that Spark's own launcher gives.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from localcdap.api.errors import EngineError
from localcdap.engine.local.java import Java
from localcdap.engine.local.lost_task_errors import LOG_PROPERTY

_OPENED: Final = (
    *(
        f"java.base/java.{package}"
        for package in (
            "lang",
            "lang.invoke",
            "lang.reflect",
            "io",
            "net",
            "nio",
            "util",
            "util.concurrent",
            "util.concurrent.atomic",
        )
    ),
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_SYSTEM_PROPERTIES: Final = (
    "io.netty.tryReflectionSetAccessible=true",
    "io.netty.allocator.type=pooled",
    "io.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    # JDBC drivers turn moments into texts of this time zone and back.
    "user.timezone=UTC",
)
_PROPERTIES: Final = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    # HotSpot never compiles longer methods; recipes of Wrangler would become such and be slower.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Spark would list the files of each of many paths in a task of its own: 2,000 took 12 s, without 1.5 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "localcdap.engine.local.worker_daemon",
    "spark.cleaner.periodicGC.interval": "10min",
}
_LOGGING: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


def spark_home() -> Path:
    """The folder of the installed PySpark, found without importing it.

    :raises EngineError: when it is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EngineError("PySpark is not installed.", "Run: pip install 'pyspark[connect]'")
    return Path(spec.origin).parent


def server_command(java: Java, cores: str, memory: str, directory: Path) -> list[str]:
    """The command line of the server; its secrets are in the environment and in files."""
    home = spark_home()
    modules = ["--add-modules=jdk.incubator.vector"] if java.has_vector else []
    if java.version >= 24:
        modules += ["--sun-misc-unsafe-memory-access=allow", "--enable-native-access=ALL-UNNAMED"]
    return [
        java.executable,
        "-cp",
        f"{home / 'jars'}/*",
        f"-Xmx{memory}",
        "-Xshare:auto",
        "-XX:+IgnoreUnrecognizedVMOptions",
        *modules,
        *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED),
        *(f"-D{entry}" for entry in _SYSTEM_PROPERTIES),
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
        f"-Djava.io.tmpdir={directory / 'tmp'}",
        f"-Dderby.system.home={directory / 'tmp'}",
        "org.apache.spark.deploy.SparkSubmit",
        "--master",
        f"local[{cores}]",
        "--properties-file",
        str(directory / "spark.properties"),
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--name",
        "localcdap",
        "spark-internal",
    ]


def write_configuration(directory: Path, port: int, cores: str, memory: str) -> None:
    """Write what the server reads when it starts, readable by its user only."""
    threads = (os.cpu_count() or 1) if cores == "*" else int(cores)
    properties = _PROPERTIES | {
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": memory,
        "spark.local.dir": str(directory / "tmp"),
        LOG_PROPERTY: str(directory / "spark.log"),
        "spark.sql.warehouse.dir": str(directory / "tmp" / "warehouse"),
        "spark.sql.shuffle.partitions": str(max(2, threads)),
    }
    (directory / "tmp").mkdir(parents=True, exist_ok=True)
    lines = (f"{key} {_escaped(value)}\n" for key, value in properties.items())
    _write_private(directory / "spark.properties", "".join(lines))
    log = _escaped(str(directory / "spark.log"))
    _write_private(directory / "log4j2.properties", _LOGGING.format(file=log))


def server_environment(token: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of the server: this Python for its workers, no stray Spark settings."""
    kept = {
        key: value
        for key, value in environment.items()
        if not key.startswith(("SPARK_", "PYSPARK_"))
    }
    return kept | {
        **_file_name_encoding(environment),
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _file_name_encoding(environment: Mapping[str, str]) -> dict[str, str]:
    """Java can name only those files whose names the locale can write."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "C")
    is_complete = "utf-8" in locale.lower() or "utf8" in locale.lower()
    return {} if is_complete else {"LC_ALL": "C.UTF-8"}


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
