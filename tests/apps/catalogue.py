"""A system application that uses all that there is for one, as an artifact of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from localcdap.api import Schema
from localcdap.api.app import (
    ConflictError,
    EntityDeleted,
    FieldType,
    NamespaceSummary,
    NotFoundError,
    StructuredTableSpecification,
    SystemApplication,
    SystemEventListener,
    SystemService,
    TransactionContext,
    application,
    delete,
    get,
    namespaced_table,
    post,
    put,
)

EXPERIMENTS = namespaced_table(
    "experiments",
    fields={"id": FieldType.STRING, "note": FieldType.STRING, "runs": FieldType.LONG},
    primary_key=["id"],
)
DELETIONS = StructuredTableSpecification(
    "deletions",
    fields={"namespace": FieldType.STRING, "times": FieldType.LONG},
    primary_key=["namespace"],
)


class NewExperiment(msgspec.Struct):
    id: str
    note: str = ""


class Experiment(NewExperiment):
    runs: int = 0


class Page(msgspec.Struct):
    experiments: list[Experiment]
    next: str | None = None


class Experiments(SystemService):
    name = "experiments"
    tables = [EXPERIMENTS, DELETIONS]

    @get("/contexts/{context}/experiments")
    def page(self, context: NamespaceSummary, limit: int = 2, after: str | None = None) -> Page:
        """A page of the experiments, by id."""
        range = context.rows(after and {"id": after})

        def read(tx: TransactionContext) -> list[Experiment]:
            rows = tx.table("experiments").scan(range, limit=limit)
            return [Experiment(row["id"], row["note"], row["runs"] or 0) for row in rows]

        found = self.context.transactions.run(read)
        return Page(found, found[-1].id if len(found) == limit else None)

    @post("/contexts/{context}/experiments", status=201)
    def create(self, context: NamespaceSummary, body: NewExperiment) -> Experiment:
        def write(tx: TransactionContext) -> None:
            key = context.key | {"id": body.id}
            if tx.table("experiments").read(key) is not None:
                raise ConflictError(f"Experiment '{body.id}' exists already.")
            tx.table("experiments").upsert(key | {"note": body.note})

        self.context.transactions.run(write)
        return Experiment(body.id, body.note)

    @get("/contexts/{context}/experiments/{id}")
    def read(self, context: NamespaceSummary, id: str) -> Experiment:
        key = context.key | {"id": id}
        row = self.context.transactions.run(lambda tx: tx.table("experiments").read(key))
        if row is None:
            raise NotFoundError(f"There is no experiment '{id}'.")
        return Experiment(id, row["note"], row["runs"] or 0)

    @put("/contexts/{context}/experiments/{id}/runs")
    def count(self, context: NamespaceSummary, id: str) -> None:
        key = context.key | {"id": id}
        self.context.transactions.run(lambda tx: tx.table("experiments").increment(key, "runs", 1))

    @delete("/contexts/{context}/experiments/{id}")
    def remove(self, context: NamespaceSummary, id: str) -> None:
        key = context.key | {"id": id}
        self.context.transactions.run(lambda tx: tx.table("experiments").delete(key))

    @post("/contexts/{context}/shout")
    def shout(self, context: NamespaceSummary, body: list[str]) -> list[str]:
        """Use the plugin 'Shout' that a user put into the namespace."""
        macros = {"mark": "${mark}"}
        properties = self.context.evaluate_macros(context.name, macros, {"mark": "!"})
        plugin = self.context.plugin(context.name, "transform", "Shout", properties)
        schema = Schema.record("words", [("word", Schema.STRING)])
        assert plugin.configure({"in": schema}).failures == []
        done = plugin.transform([{"word": word} for word in body], schema)
        assert plugin.call("describe", 1) == ["!", 1]
        return [record["word"] for record in done.records]

    @get("/deletions")
    def deletions(self) -> dict[str, int]:
        def read(tx: TransactionContext) -> dict[str, int]:
            return {row["namespace"]: row["times"] for row in tx.table("deletions").scan()}

        return self.context.transactions.run(read)

    def initialize(self) -> None:
        self.started = time.monotonic()

    @get("/escaped")
    def escape(self) -> int:
        """Start a process whose parent has ended and that has a session of its own; return its id."""
        inner = "subprocess.Popen(['sleep', '600'], stdout=-3, start_new_session=True)"
        code = f"import subprocess; print({inner}.pid)"
        command = [sys.executable, "-c", code]
        return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    @get("/pid")
    def pid(self) -> int:
        return os.getpid()

    @get("/copied")
    def copied(self) -> bool:
        """Whether this is the copy."""
        return os.fork() == 0

    @get("/waiting")
    def wait(self, begun: str, end: str) -> int:
        """Say that the call has begun, wait for the end, and return the process."""
        Path(begun).touch()
        while not Path(end).exists():
            time.sleep(0.01)
        return os.getpid()

    @get("/asleep")
    def asleep(self) -> None:
        time.sleep(60)

    @get("/rows")
    def rows(self) -> int:
        """Rows of all generations."""
        return self.context.transactions.run(lambda tx: tx.table("experiments").count())

    @get("/spaces")
    def spaces(self) -> dict[str, list[str]]:
        names = [each.name for each in self.context.list_namespaces()]
        assert self.context.namespace_exists("default")
        return {
            name: [each.artifact.name for each in self.context.list_artifacts(name)]
            for name in names
        }

    @post("/messages/{topic}")
    def publish_changes(self, topic: str, body: list[int]) -> list[int]:
        self.context.create_topic("default", topic)
        self.context.create_topic("default", topic)
        self.context.publish("default", topic, *body)
        return [each.payload for each in self.context.fetch("default", topic)]

    @get("/preferences/{context}")
    def preferences(self, context: NamespaceSummary, own: bool = False) -> dict[str, str]:
        return self.context.get_preferences(context.name, resolved=not own)

    @post("/contexts/{context}/half-done")
    def half_done(self, context: NamespaceSummary, body: list[str]) -> None:
        """Write, and be killed before the transaction ends."""

        def write(tx: TransactionContext) -> None:
            for id in body:
                tx.table("experiments").upsert(context.key | {"id": id, "note": "half done"})
            os.kill(os.getpid(), signal.SIGKILL)

        self.context.transactions.run(write)

    @get("/broken")
    def broken(self) -> None:
        raise ZeroDivisionError("a bug")


class CountDeletions(SystemEventListener[TransactionContext]):
    name = "catalogue-deletions"
    events = (EntityDeleted,)

    def on_event(self, event: EntityDeleted, tx: TransactionContext) -> None:
        if event.entity.type == "namespace":
            tx.table("deletions").increment([event.entity.namespace], "times", 1)


@application(name="catalogue", description="Keeps experiments.")
class Catalogue(SystemApplication):
    services = [Experiments]
    listeners = [CountDeletions]
