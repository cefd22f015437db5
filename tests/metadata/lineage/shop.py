"""The lineage of a shop, as the runs of three pipelines leave it: orders are cleaned, joined, reported."""

from __future__ import annotations

import json

from localcdap.api.lineage import EdgeKind
from localcdap.api.metadata import WORKFLOW, WORKFLOW_NAME, MetadataEntity
from localcdap.engine.messages.spool import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.metadata.accesses import AccessRecorder, DatasetUse, keep_external_datasets
from localcdap.metadata.audit import AuditLog
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField, Influence
from localcdap.metadata.lineage.field_lineage import FieldLineageInfo
from localcdap.metadata.lineage.relations import DatasetId, ProgramId, ProgramRunId
from localcdap.runs.model import Run
from tests.metadata.lineage.samples import end, read, transform, write
from tests.runs.stored_runs import write_run

FIELDS = {
    "orders": "id price note",
    "people": "id name country",
    "clean": "id price",
    "sales": "id price name",
    "report": "name total",
}
USES = {
    "tidy": (["orders"], "clean"),
    "enrich": (["clean", "people"], "sales"),
    "summary": (["sales"], "report"),
}


def write_shop(cdap: Cdap, namespace: str = "default") -> dict[str, Run]:
    """Store the lineage, in the host of this process; return the run of each pipeline."""
    lineage = cdap.lineage._lineage
    topics = cdap.messaging._topics
    recorder = AccessRecorder(lineage, cdap.metadata._metadata, AuditLog(topics))
    runs = {}
    for pipeline, (sources, sink) in USES.items():
        run = runs[pipeline] = write_run(cdap, pipeline, RunStatus.COMPLETED, namespace=namespace)
        uses = [DatasetUse(name, False, _schema(name)) for name in sources]
        uses.append(DatasetUse(sink, True, _schema(sink)))
        with lineage._store.transaction() as tx:
            for kind, name in keep_external_datasets(tx, namespace, uses):
                topics.publish_entity_event(tx, kind, MetadataEntity.of_dataset(name, namespace))
            recorder.record(tx, namespace, pipeline, run.run, "ada", uses)
            lineage.replace_edges(tx, namespace, pipeline, _list_edges(pipeline, namespace))
    tidy = ProgramRunId(ProgramId(namespace, "tidy", WORKFLOW, WORKFLOW_NAME), runs["tidy"].run)
    with lineage._store.transaction() as tx:
        lineage.add_operations(tx, tidy, FieldLineageInfo(_OPERATIONS, namespace))
    return runs


_OPERATIONS = [
    read("Orders.Read", end("orders"), "id", "price", "note"),
    transform("Round.Round price", ["Orders.Read.price"], "price"),
    write("Clean.Write", end("clean"), "Orders.Read.id", "Round.Round price.price"),
]


def _schema(name: str) -> str:
    fields = [{"name": each, "type": "string"} for each in FIELDS[name].split()]
    return json.dumps({"type": "record", "name": name, "fields": fields})


def _list_edges(pipeline: str, namespace: str) -> list[ColumnEdge]:
    def edge(source: str, target: str, kind: EdgeKind, **more: bool) -> ColumnEdge:
        return ColumnEdge(field(source), field(target), Influence(kind, **more))

    def field(text: str) -> DatasetField:
        dataset, name = text.split(".")
        return DatasetField(DatasetId(namespace, dataset), None if name == "*" else name)

    return {
        "tidy": [
            edge("orders.id", "clean.id", EdgeKind.IDENTITY),
            edge("orders.price", "clean.price", EdgeKind.TRANSFORMATION),
        ],
        "enrich": [
            edge("clean.id", "sales.id", EdgeKind.IDENTITY),
            edge("clean.price", "sales.price", EdgeKind.IDENTITY),
            edge("people.name", "sales.name", EdgeKind.TRANSFORMATION, assumed=True, masking=True),
            edge("clean.id", "sales.*", EdgeKind.JOIN),
            edge("people.id", "sales.*", EdgeKind.JOIN),
        ],
        "summary": [
            edge("sales.price", "report.total", EdgeKind.AGGREGATION),
            edge("sales.name", "report.name", EdgeKind.IDENTITY),
            edge("sales.name", "report.*", EdgeKind.GROUP_BY),
        ],
    }[pipeline]
