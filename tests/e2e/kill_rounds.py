"""What goes on in an instance whose processes are killed, which there are, and what must hold then."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psutil

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.apps.model import AppRequest
from localcdap.datasets.sql import SqlRequest
from localcdap.engine.local.server import read_server_record
from localcdap.engine.messages.spool import RunStatus
from localcdap.host import Cdap
from localcdap.metadata.audit import AuditQuery
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.pipeline.method_calls import apply_recipe, build_recipe_stage
from localcdap.pipeline.service import PipelineRequest
from localcdap.processes.tree import list_descendants
from localcdap.rpc.host_record import read_host_record
from localcdap.runs.model import Run
from localcdap.runs.startup.processes import OUTPUT_FILE
from localcdap.schedules.model import ScheduleRequest, TimeTrigger
from tests.e2e.pipelines import csv_source, json_records, json_sink, pipeline, schema, stage
from tests.e2e.program import Program
from tests.sync.workplace import make_pipeline

MARK: Final = "LOCALCDAP_TESTED_INSTANCE"
"""The environment variable that tells the processes of the instance."""
ROWS: Final = 4
SINKS: Final = ("File", "Table", "Files")
EMITTED: Final = 12
DUE_S: Final = 60
"""The schedule is due each time that the clock shows a multiple of it: each minute."""
LEFT_S: Final = 60.0
"""Nothing is left of a killed process after so many seconds."""
_PAUSE_S: Final = 0.3
"""Between two calls; others have the processor then."""
_END_S: Final = 600.0
"""A run that takes longer has no end: Spark may start again for it, on a machine that has much to do."""
_FIRST: Final = 946_684_800_000
"""The logical start time of the run of round 0; that of each next round is a second later."""
_PLUGIN: Final = f"""
from localcdap.api import MetadataEntity, PluginConfig, Schema, Transform, field, plugin


@plugin(type="transform", name="Mark", description="Marks records with the time of their run.")
class Mark(Transform):
    class Config(PluginConfig):
        moment: str = field("The time.", macro=True)

    def configure(self, stage):
        stage.output_schema = Schema.record("row", [("row", Schema.STRING), ("id", Schema.INT)])

    def prepare_run(self, context):
        for number in range({EMITTED}):
            context.add_properties(MetadataEntity({{"jar": self.config.moment}}), {{"n": str(number)}})

    def transform(self, record, emit):
        emit({{"row": f"{{self.config.moment}}-{{record['id']}}", "id": record["id"]}})
"""
_PLUGIN_WORKERS: Final = "localcdap.sandbox.fork_server"
_MOMENT: Final = "${logicalStartTime(yyyyMMddHHmmss)}"


def format_moment(milliseconds: int) -> str:
    """A logical start time as the pipeline writes it."""
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(milliseconds / 1000))


class BusyInstance:
    """The folder of an instance with two pipelines of three sinks, one of them due all the time, with an
    application, and with a folder to synchronize.
    """

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        self.program = program
        self.home = program.home
        self.out = folder / "out"
        self.synced = folder / "synced"
        self.given = folder / "in.csv"
        self.snapshots = self.home / "filesets" / "default" / "snapshots"

    def fill(self, cdap: Cdap) -> None:
        """Deploy what works in each round."""
        self.given.write_text("".join(f"{number}\n" for number in range(ROWS)))
        plugins = self.home / "plugins"
        (plugins / "system").mkdir(parents=True)
        (plugins / "mark-1.0.0.py").write_text(_PLUGIN)
        application = Path(__file__).parents[1] / "apps" / "catalogue.py"
        shutil.copyfile(application, plugins / "system" / "catalogue-1.0.0.py")
        cdap.artifacts.sync()
        for name in ("asked", "due"):
            self.deploy(cdap, self.build_pipeline(name))
        often = TimeTrigger("0 * * * * ?", "UTC")
        cdap.schedules.add("default", "due", "often", ScheduleRequest(often, constraints=[]))

    def deploy(self, cdap: Cdap, document: dict[str, Any]) -> None:
        answer = cdap.applications.deploy(DeployRequest(document))
        assert answer.application, answer.errors

    def build_pipeline(self, name: str) -> dict[str, Any]:
        """A pipeline whose three sinks say for which time it ran."""
        sinks = [
            json_sink("File", self.out / _MOMENT),
            stage("Table", "batchsink", "Table", name="rows", schema__row__field="row"),
            stage("Files", "batchsink", "SnapshotText", name="snapshots"),
        ]
        mark = {"type": "transform", "name": "Mark", "properties": {"moment": _MOMENT}}
        stages = [csv_source("In", self.given, schema(id="int")), {"name": "Mark", "plugin": mark}]
        to_sinks = [("Mark", each["name"]) for each in sinks]
        return pipeline([*stages, *sinks], ("In", "Mark"), *to_sinks) | {"name": name}


class Processes:
    """The processes of an instance, by what they do."""

    def __init__(self, home: Path, mark: str) -> None:
        self._home = home
        self._engine = home / "engine"
        self._mark = mark

    def list_all(self) -> list[psutil.Process]:
        """All of them, also those that nobody knows any more."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                is_this = process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE
                if not is_this and process.environ().get(MARK) == self._mark:
                    found.append(process)
        return found

    def list_strays(self) -> list[psutil.Process]:
        """Those that neither the host nor the Spark server has below it, older than a minute."""
        known = set[int]()
        record, engine = read_host_record(self._home), read_server_record(self._engine)
        for pid in (record and record.pid, engine and engine.supervisor):
            if pid:
                known |= {pid, *list_descendants(pid)}
        before = time.time() - LEFT_S
        strays = []
        for each in self.list_all():
            with contextlib.suppress(psutil.Error):
                if each.pid not in known and each.create_time() < before:
                    strays.append(each)
        return strays

    def find(self, kind: str) -> list[int]:
        """The processes of a kind of :data:`VICTIMS` that there are now."""
        host, engine = read_host_record(self._home), read_server_record(self._engine)
        finders: dict[str, Callable[[], list[int]]] = {
            "host": lambda: [host.pid] if host else [],
            "run": lambda: [each.pid for each in self.list_all() if self._is_run(each)],
            "host and run": lambda: [*self.find("host"), *self.find("run")],
            "plugin worker": lambda: self._find_forks(_PLUGIN_WORKERS),
            "fork server of plugin workers": lambda: _find_children(
                host and host.pid, _PLUGIN_WORKERS
            ),
            "application": lambda: self._find_command("localcdap.apps.child"),
            "Spark": lambda: [engine.server] if engine else [],
            "supervisor of Spark": lambda: [engine.supervisor] if engine else [],
            "fork server of runs": lambda: _find_children(
                engine and engine.supervisor, "localcdap.engine.fork_server"
            ),
            "worker of Spark": lambda: self._find_forks("localcdap.engine.worker_server"),
            "sync command": lambda: self._find_command("localcdap.cli\0sync\0"),
            "run command": lambda: self._find_command("localcdap.cli\0run\0"),
        }
        return finders[kind]()

    def _is_run(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            runs = f"{self._home / 'runs'}{os.sep}"
            opened = [each.path for each in process.open_files()]
            return any(each.startswith(runs) and each.endswith(OUTPUT_FILE) for each in opened)
        return False

    def _find_command(self, part: str) -> list[int]:
        return [each.pid for each in self.list_all() if part in _read_command(each)]

    def _find_forks(self, part: str) -> list[int]:
        """Those whose parents have the same command."""
        servers = self._find_command(part)
        return [each.pid for server in servers for each in _list_children(server)]


def _find_children(parent: int | None, part: str) -> list[int]:
    return [each.pid for each in _list_children(parent) if part in _read_command(each)]


def _list_children(pid: int | None) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children() if pid else []
    return []


def _read_command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return "\0".join(process.cmdline())
    return ""


VICTIMS: Final = {
    "host": 8,
    "run": 8,
    "host and run": 6,
    "plugin worker": 6,
    "fork server of plugin workers": 2,
    "application": 6,
    "worker of Spark": 3,
    "fork server of runs": 2,
    "sync command": 3,
    "run command": 2,
    "Spark": 2,
    "supervisor of Spark": 1,
}
"""How often each kind of process is killed, compared with the others."""
HARMLESS: Final = frozenset(
    (
        "host",
        "plugin worker",
        "fork server of plugin workers",
        "application",
        "fork server of runs",
        "sync command",
        "run command",
    )
)
"""Kinds of processes that a run does without once it has begun."""


class Round:
    """What works during a round, in threads, and what it was told.

    :param number: of the round.
    """

    def __init__(self, instance: BusyInstance, cdap: Cdap, number: int) -> None:
        self.number = number
        self.logical_start = _FIRST + number * 1000
        self.moment = format_moment(self.logical_start)
        self.created: list[str] = []
        """The experiments that the application says to have."""
        self.counted = 0
        """The times that the application says to have counted."""
        self.unsure = 0
        """The times of which nobody knows."""
        self.said: dict[str, Any] = {}
        """What the command ``run`` said of its run."""
        self.is_synced = False
        self.tagged = False
        self.problems: list[str] = []
        self._instance, self._cdap = instance, cdap
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._try, args=(each,))
            for each in (self._run, self._sync, self._call, self._prepare)
        ]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def describe(self) -> str:
        """What became of the run and of the calls."""
        error = (self.said.get("error") or {}).get("message", "")
        return f"{self.said.get('status', self.said)} {error[:80]}, {len(self.created)} calls"

    def is_over(self) -> bool:
        """Whether the commands have ended."""
        return not any(each.is_alive() for each in self._threads[:2])

    def finish(self) -> None:
        """Wait until nothing works any more."""
        for each in self._threads[:2]:
            each.join()
        self._over.set()
        for each in self._threads:
            each.join()

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a thread reports it
            self.problems.append(f"{work.__name__}: {type(error).__name__}: {error}")

    def _run(self) -> None:
        given = f"{LOGICAL_START_TIME}={self.logical_start}"
        process = self._instance.program.start("run", "asked", "-a", given, "--json")
        out, err = process.communicate(timeout=_END_S)
        if process.returncode in (0, 1) and out:
            self.said = json.loads(out)
        elif process.returncode == 3 or "Traceback" in err:
            self.problems.append(f"run: exit code {process.returncode}: {err}")

    def _sync(self) -> None:
        """Synchronize after a change of both sides."""
        name = f"p{self.number % 5}"
        folder = self._instance.synced / "pipelines"
        folder.mkdir(parents=True, exist_ok=True)
        document = make_pipeline(f"theirs-{name}", description=f"round {self.number}")
        (folder / f"theirs-{name}.json").write_text(json.dumps(document))
        process = self._instance.program.start("sync", str(self._instance.synced), "--yes")
        out, err = process.communicate(timeout=_END_S)
        self.is_synced = process.returncode == 0
        if process.returncode == 3 or "Traceback" in err:
            self.problems.append(f"sync: exit code {process.returncode}: {out}{err}")

    def _call(self) -> None:
        """Have the application create experiments, and count."""
        path = "/contexts/default/experiments"
        for number in itertools.count():
            if self._over.wait(_PAUSE_S):
                return
            id = f"{self.moment}-{number}"
            with contextlib.suppress(LocalcdapError):
                answer = self._send("POST", path, {"id": id})
                assert answer.status == 201, answer
                self.created.append(id)
            try:
                if number == 0:
                    self._cdap.metadata.add(self._entity, {"round": str(self.number)})
                    self.tagged = True
                assert self._send("PUT", f"{path}/{self.moment}-0/runs").status == 200
                self.counted += 1
            except LocalcdapError:
                self.unsure += 1

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        return self._cdap.apps.call("catalogue", AppRequest(method, path, {}, body))

    @property
    def _entity(self) -> MetadataEntity:
        return MetadataEntity({"jar": f"called-{self.moment}"})

    def _prepare(self) -> None:
        """Validate with a worker, and apply a recipe to a file in another one, again and again."""
        document = self._instance.build_pipeline("asked")
        for number in itertools.count():
            if self._over.wait(_PAUSE_S):
                return
            document["config"]["stages"][0]["plugin"]["properties"]["referenceName"] = f"r{number}"
            with contextlib.suppress(LocalcdapError):
                found = self._cdap.studio.validate_pipeline(PipelineRequest(document))
                assert found.errors == []
            result = self._instance.folder / "prepared" / f"{self.moment}-{number}.csv"
            file = {"path": str(self._instance.given), "format": "text"}
            task = {"input": file, "output": str(result), "output_format": "csv"}
            result.parent.mkdir(exist_ok=True)
            with contextlib.suppress(LocalcdapError):
                recipe = build_recipe_stage("copy :body :twice")
                *_, last = apply_recipe(self._cdap.methods, recipe, task, "default")
                assert last["is_done"]
                assert len(result.read_text().splitlines()) == ROWS + 1
            if result.exists():
                assert len(result.read_text().splitlines()) == ROWS + 1, result

    def check(self) -> Iterator[str]:
        """What is wrong with what was acknowledged in this round, but for its runs."""
        yield from self.problems
        query = {"limit": "10000", "after": self.moment}
        path = "/contexts/default/experiments"
        answer = self._cdap.apps.call("catalogue", AppRequest("GET", path, query))
        runs = {each["id"]: each["runs"] for each in answer.body["experiments"]}
        if missing := set(self.created) - set(runs):
            yield f"the application has lost {sorted(missing)}"
        counted = runs.get(f"{self.moment}-0", 0)
        if not self.counted <= counted <= self.counted + self.unsure:
            yield f"the application has counted {counted}: {self.counted} and {self.unsure} unsure"
        if self.tagged and not self._cdap.metadata.get(self._entity).user.properties:
            yield "metadata of a call are lost"
        if "run" in self.said:
            run = self._cdap.runs.get("default", self.said["run"])
            if run.status.name != self.said["status"]:
                yield f"run {run.run} was said to be {self.said['status']}, and is {run.status.name}"
        if self.is_synced:
            text = self._cdap.applications.export("default", f"theirs-p{self.number % 5}")
            if json.loads(text)["config"]["description"] != f"round {self.number}":
                yield "what was synchronized is not deployed"


class RunOracle:
    """Says what is wrong with the runs of an instance, and with what they have written."""

    def __init__(self, instance: BusyInstance, cdap: Cdap) -> None:
        self._instance, self._cdap = instance, cdap
        self._checked: dict[str, Run] = {}
        """The runs that have ended, by logical start time."""

    def check(self) -> Iterator[str]:
        """What is wrong with the runs that have ended since the last check."""
        listed = self._cdap.runs.list_runs("default")
        runs = [each for each in listed if format_start(each) not in self._checked]
        ended = [self._cdap.runs.wait_for_end(each.run, _END_S) for each in runs]
        tables = {name: self._count_rows(name) for name in ("rows", "snapshots")}
        for run in ended:
            moment = format_start(run)
            before = self._checked.setdefault(moment, run)
            problems = [*self._check_run(run, tables)]
            if before.run != run.run:
                problems.append(f"run {before.run} is of the same time")
            for problem in problems:
                yield f"run {run.run} of {moment}, {run.status.name}: {problem}"

    def _check_run(self, run: Run, tables: dict[str, dict[str, int]]) -> Iterator[str]:
        moment = format_start(run)
        if not run.status.is_end:
            yield f"it has no end after {_END_S:g} s"
        is_whole = run.status is RunStatus.COMPLETED
        for name, rows in tables.items():
            if rows.get(moment, 0) != ROWS * is_whole:
                yield f"{rows.get(moment, 0)} rows in {name}"
        for folder in (self._instance.out / moment, self._get_snapshot(run)):
            if folder.exists() != is_whole:
                yield f"{folder} is {'missing' if is_whole else 'there'}"
        if is_whole and len(json_records(self._instance.out / moment)) != ROWS:
            yield "its files have other records"
        if is_whole and {each.records_in for each in map(run.stages.get, SINKS) if each} != {ROWS}:
            yield f"it has counted {run.stages}"
        yield from self._check_emitted(moment, is_whole=is_whole)

    def _check_emitted(self, moment: str, *, is_whole: bool) -> Iterator[str]:
        """Emissions take effect in their order, a moment after they are made."""
        deadline = time.monotonic() + LEFT_S
        while True:
            query = AuditQuery(MetadataEntity({"namespace": "default", "jar": moment}), limit=1000)
            found = self._cdap.audit.list_messages(query)
            added = [each.payload["additions"]["USER"]["properties"]["n"] for each in found][::-1]
            if added != [str(number) for number in range(len(added))]:
                yield f"its emissions are {added}"
                return
            if not is_whole or len(added) == EMITTED:
                return
            if time.monotonic() > deadline:
                yield f"it has {len(added)} emissions of {EMITTED}"
                return
            time.sleep(0.1)

    def _get_snapshot(self, run: Run) -> Path:
        return self._instance.snapshots / run.arguments[LOGICAL_START_TIME]

    def _count_rows(self, table: str) -> dict[str, int]:
        """The rows of a table, or of the listed partitions, by the time of their run."""
        listed = {each.name for each in self._cdap.sql.list_tables("default")}
        if table not in listed:
            return {}
        query = f"SELECT split_part(\"row\", '-', 1), count(*) FROM {table} GROUP BY 1"
        found = self._cdap.sql.query(SqlRequest(query, limit=100_000)).to_table().to_pylist()
        return dict(tuple(each.values()) for each in found)

    def check_all(self, since: int, until: int) -> Iterator[str]:
        """What is wrong with the whole: with what no run has written, with times, and with what is left.

        :param since: when the schedule was enabled, in seconds since 1970.
        :param until: when it was suspended.
        """
        whole = {m for m, each in self._checked.items() if each.status is RunStatus.COMPLETED}
        starts = {self._checked[each].arguments[LOGICAL_START_TIME] for each in whole}
        for folder, known in ((self._instance.out, whole), (self._instance.snapshots, starts)):
            if others := {each.name for each in folder.glob("*")} - known:
                yield f"{folder} has {sorted(others)}"
        for name in ("rows", "snapshots"):
            if others := set(self._count_rows(name)) - whole:
                yield f"{name} has rows of {sorted(others)}"
        due = {format_moment(each * 1000) for each in range(since, until) if each % DUE_S == 0}
        if missed := due - set(self._checked):
            yield f"the schedule has missed {sorted(missed)}"

    def describe(self) -> dict[str, int]:
        """The ended runs, by status."""
        return dict(Counter(each.status.name for each in self._checked.values()))


def format_start(run: Run) -> str:
    """The logical start time of a run, as it writes it."""
    return format_moment(int(run.arguments[LOGICAL_START_TIME]))
