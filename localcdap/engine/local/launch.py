"""The command and configuration with which the local Spark Connect server is started.

The Java process is started directly, not through Spark's shell scripts, so that the runtime that pip
installed works and the process id is that of the server. The options are those of Spark's own launcher.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from localcdap.api.errors import EngineError
from localcdap.engine.local.java_runtime import JavaRuntime
from localcdap.engine.local.lost_task_errors import LOG_PROPERTY

_OPENED_PACKAGES: Final = (
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
    # JDBC drivers convert timestamps by way of texts in this time zone.
    "user.timezone=UTC",
)
_COMPILATION: Final = (
    # HotSpot compiles with C2 what it interprets 5,000 times, by default: planning a small run alone keeps it
    # busy for 40 % of the processor time of the first 15 runs, on cores which those runs need. With ten times
    # the default thresholds these runs take 20 % less processor time and 10 % less time on two cores, and the
    # 60th run and one of 10 M records as much as before: their loops are compiled almost as early.
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=10000",
    "-XX:Tier4CompileThreshold=150000",
    # Code that waits for C2 does without the counters that C2 needs, which make it slower by 30 %.
    "-XX:Tier3DelayOn=0",
)
_PROPERTIES: Final = {
    "spark.ui.enabled": "false",
    # Spark's driver and block manager have ports that every user of the machine can connect to. In local
    # mode Spark makes the secret itself; with its own encryption no SASL with MD5 is offered.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    "spark.eventLog.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    # Otherwise each session has a class loader of its own, and Spark compiles the code of each pipeline
    # again in each run: 9 classes and 0.06 to 0.15 s for a run of four stages. All sessions share the classes
    # of JDBC drivers, see LocalServer.java.
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    # Spark's own form, 96 bits without a zone, is read neither by parquet-avro nor as an instant.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark would add blanks to texts that databases have without: those of char and enum in MySQL.
    "spark.sql.readSideCharPadding": "false",
    "spark.sql.adaptive.enabled": "true",
    # Bytes of bytecode. HotSpot never compiles longer methods, and the code of Wrangler recipes would
    # exceed it.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Above this number of paths Spark lists the files of each in a task: 2,000 paths took 12 s, without
    # tasks 1.5 s.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "localcdap.engine.local.worker_launcher",
    "spark.cleaner.periodicGC.interval": "10min",
    # The description of a plan, which nobody sees here, took 4 % of the processor time of small runs.
    "spark.sql.ui.explainMode": "simple",
    # By default Spark takes pages of 64 MB for 2 GB of memory: an aggregation of some records fills four of
    # them with zeros, and each is a reason for a garbage collection.
    "spark.buffer.pageSize": "4m",
}
_MAIN_CLASS: Final = "LocalServer"
_MAIN: Final = Path(__file__).with_name(f"{_MAIN_CLASS}.java")
"""The source of the main class of the server."""
_LOGGING: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.filePermissions = rw-------
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
"""


def find_spark_home() -> Path:
    """Return the folder of the installed PySpark without importing it.

    :raises EngineError: when it is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EngineError("PySpark is not installed.", "Run: pip install 'pyspark[connect]'")
    return Path(spec.origin).parent


def compute_program_digest() -> str:
    """Return the digest of the source of the server's main class."""
    return hashlib.sha256(_MAIN.read_bytes()).hexdigest()


def build_server_command(java: JavaRuntime, cores: str, memory: str, directory: Path) -> list[str]:
    """Return the command line of the server; secrets are in its environment and in files instead."""
    home = find_spark_home()
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
        *_COMPILATION,
        *modules,
        *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED_PACKAGES),
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
        # Part of Spark: compiles a source file in memory and runs its main method.
        "org.codehaus.janino.SimpleCompiler",
        "--name",
        "localcdap",
        "spark-internal",
        str(directory / _MAIN.name),
        _MAIN_CLASS,
    ]


def write_configuration(directory: Path, port: int, cores: str, memory: str) -> None:
    """Write the files that the server reads when it starts, readable by its user only."""
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
    lines = (f"{key} {_escape(value)}\n" for key, value in properties.items())
    _write_private(directory / "spark.properties", "".join(lines))
    _write_private(directory / _MAIN.name, _MAIN.read_text(encoding="utf-8"))
    log = _escape(str(directory / "spark.log"))
    _write_private(directory / "log4j2.properties", _LOGGING.format(file=log))


def build_server_environment(
    token: str, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of the server: this Python for its workers, no other Spark settings."""
    return _keep_environment(environment) | {
        "SPARK_HOME": str(find_spark_home()),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def build_worker_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of the server from which daemons of workers are forked.

    Python and its libraries find what they read only when they are loaded, as the server and Spark
    (``PythonWorkerFactory``, ``BasePythonRunner``) set it for a daemon.
    """
    return _keep_environment(environment) | {"PYTHONUNBUFFERED": "YES", "OMP_NUM_THREADS": "1"}


def _keep_environment(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {
        key: value
        for key, value in environment.items()
        if not key.startswith(("SPARK_", "PYSPARK_"))
    }
    return kept | _choose_locale(environment)


def _choose_locale(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a UTF-8 locale if there is none: Java can only open files whose names the locale can encode."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "C")
    is_complete = "utf-8" in locale.lower() or "utf8" in locale.lower()
    return {} if is_complete else {"LC_ALL": "C.UTF-8"}


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\")


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
