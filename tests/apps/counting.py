"""A system application with jobs on Spark, as an artifact of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from localcdap.api.app import (
    FieldType,
    JobContext,
    JobDetail,
    JobEnded,
    JobLogLine,
    JobRequest,
    NamespaceSummary,
    SystemApplication,
    SystemEventListener,
    SystemJob,
    SystemService,
    TransactionContext,
    application,
    get,
    namespaced_table,
    post,
)

TOTALS = namespaced_table(
    "totals", fields={"name": FieldType.STRING, "rows": FieldType.LONG}, primary_key=["name"]
)
ENDS = namespaced_table(
    "ends", fields={"id": FieldType.STRING, "status": FieldType.STRING}, primary_key=["id"]
)


class CountRows(SystemJob):
    name = "count"

    def run(self, context: JobContext) -> Any:
        context.logger.info("counting for %s", context.arguments["name"])
        context.report("counting", 0.5)
        count = context.read_input().count()
        (context.open_folder() / "count.txt").write_text(str(count))
        row = context.namespace.key | {"name": context.arguments["name"], "rows": count}
        context.transactions.run(lambda tx: tx.table("totals").upsert(row))
        return {"rows": count, "stages": context.count_input()}


class Misbehave(SystemJob):
    name = "misbehave"

    def run(self, context: JobContext) -> Any:
        match context.arguments["how"]:
            case "raise":
                raise ValueError("no luck")
            case "divide":
                context.spark.sql("SELECT 1 / id AS part FROM range(1)").collect()
            case "exit":
                os._exit(3)
            case "memory":
                return len(bytearray(8 * 2**30))
            case "wait":  # in Spark, until it is stopped
                context.report("waiting", None)
                Path(context.arguments["file"]).touch()
                while True:
                    context.spark.range(1).count()
        return None


class Jobs(SystemService):
    name = "jobs"
    tables = [TOTALS, ENDS]

    @post("/contexts/{context}/jobs/{job}")
    def submit(self, context: NamespaceSummary, job: str, body: dict[str, Any]) -> str:
        pipeline = body.pop("pipeline", None)
        memory = body.pop("memory", None)
        return self.context.submit(
            JobRequest(context.name, job, body, pipeline=pipeline, memory_mb=memory)
        )

    @get("/contexts/{context}/jobs")
    def list_jobs(self, context: NamespaceSummary) -> list[JobDetail]:
        return self.context.list_jobs(context.name)

    @get("/contexts/{context}/jobs/{id}/log")
    def read_log(self, context: NamespaceSummary, id: str) -> list[JobLogLine]:
        return self.context.read_job_log(context.name, id)

    @post("/contexts/{context}/jobs/{id}/stop")
    def stop(self, context: NamespaceSummary, id: str) -> None:
        self.context.stop_job(context.name, id)

    @get("/contexts/{context}/totals")
    def list_totals(self, context: NamespaceSummary) -> dict[str, int]:
        return self.context.transactions.run(
            lambda tx: {row["name"]: row["rows"] for row in tx.table("totals").scan(context.rows())}
        )

    @get("/contexts/{context}/ends")
    def list_ends(self, context: NamespaceSummary) -> dict[str, str]:
        return self.context.transactions.run(
            lambda tx: {row["id"]: row["status"] for row in tx.table("ends").scan(context.rows())}
        )


class NoteEnds(SystemEventListener[TransactionContext]):
    name = "note-ends"
    events = (JobEnded,)

    def on_event(self, event: JobEnded, tx: TransactionContext) -> None:
        key = {"namespace": event.namespace, "generation": event.generation, "id": event.id}
        tx.table("ends").upsert(key | {"status": event.status})


@application(name="counting", description="Counts rows.")
class Counting(SystemApplication):
    services = [Jobs]
    listeners = [NoteEnds]
    jobs = [CountRows, Misbehave]
