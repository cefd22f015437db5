"""The events of OpenLineage 2-0-2 (``spec/OpenLineage.json``) and the URLs of their schemas."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any, Final

import msgspec

from localcdap.api.errors import SchemaError
from localcdap.api.metadata import MetadataScope, ScopedMetadata
from localcdap.api.schema import Schema, Type
from localcdap.metadata.lineage.column_edges import ColumnEdge, DatasetField
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.runs.model import RunError
from localcdap.version import VERSION

SPEC: Final = "https://openlineage.io/spec"
PRODUCER: Final = f"urn:localcdap:{VERSION}"
"""The producer of all events."""
_EVENT_SCHEMA: Final = f"{SPEC}/2-0-2/OpenLineage.json#/$defs"
RUN_EVENT: Final = f"{_EVENT_SCHEMA}/RunEvent"
JOB_EVENT: Final = f"{_EVENT_SCHEMA}/JobEvent"
START: Final = "START"
_VERSIONS: Final = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "ErrorMessageRunFacet": "1-0-1",
    "DocumentationJobFacet": "1-1-0",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "JobTypeJobFacet": "2-0-4",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "ParentRunFacet": "1-2-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SchemaDatasetFacet": "1-2-0",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
    "TagsJobFacet": "1-0-0",
}
"""The versions of the facets that localcdap writes."""

Facet = dict[str, Any]
Facets = dict[str, Facet]


class Job(msgspec.Struct):
    """A pipeline."""

    namespace: str
    name: str
    facets: Facets = {}


class JobRun(msgspec.Struct, rename="camel"):
    """A run of a pipeline."""

    run_id: str
    facets: Facets = {}


class LineageDataset(msgspec.Struct, rename="camel", omit_defaults=True):
    """A dataset that a pipeline reads or writes."""

    namespace: str
    name: str
    facets: Facets = {}
    input_facets: Facets = {}
    output_facets: Facets = {}


class RunEvent(msgspec.Struct, rename={"event_time": "eventTime", "event_type": "eventType"}):
    """An event of the life of a run."""

    event_time: str
    event_type: str
    """START, COMPLETE, FAIL, or ABORT for a run that was stopped."""
    run: JobRun
    job: Job
    inputs: list[LineageDataset]
    outputs: list[LineageDataset]
    producer: str = PRODUCER
    schema_url: str = msgspec.field(default=RUN_EVENT, name="schemaURL")


class JobEvent(msgspec.Struct, rename={"event_time": "eventTime"}):
    """A deployed pipeline."""

    event_time: str
    job: Job
    inputs: list[LineageDataset]
    outputs: list[LineageDataset]
    producer: str = PRODUCER
    schema_url: str = msgspec.field(default=JOB_EVENT, name="schemaURL")


Event = RunEvent | JobEvent


def encode_event(event: Event) -> str:
    """Return the JSON of an event, without line breaks."""
    return msgspec.json.encode(event).decode()


def format_time(milliseconds: int) -> str:
    """Return a time in milliseconds since 1970 as ISO 8601, in UTC."""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def create_facet(schema: str, **values: Any) -> Facet:
    """Return a facet with the keys that every facet has.

    :param schema: the name of its schema, such as ``SchemaDatasetFacet``.
    """
    url = f"{SPEC}/facets/{_VERSIONS[schema]}/{schema}.json#/$defs/{schema}"
    return {"_producer": PRODUCER, "_schemaURL": url, **values}


INTEGRATION: Final = "LOCALCDAP"
PARENT_ARGUMENTS: Final = (
    "openlineage.parentJobNamespace",
    "openlineage.parentJobName",
    "openlineage.parentRunId",
)
"""The runtime arguments that name the job and the run that started a run, such as a task of Airflow. They are
the properties of OpenLineage's integration of Spark without ``spark.``."""
ROOT_ARGUMENTS: Final = (
    "openlineage.rootParentJobNamespace",
    "openlineage.rootParentJobName",
    "openlineage.rootParentRunId",
)
"""Those of the run in which everything began."""
_TAG_VALUE: Final = "true"
_MOST_SCHEMA_LEVELS: Final = 20

Names = Mapping[DatasetId, Sequence[tuple[str, str]]]
"""The namespaces and names of the datasets of an event."""


def create_job_facets(is_streaming: bool, description: str | None, known: ScopedMetadata) -> Facets:
    """Return what is said of a pipeline: its type, description and tags."""
    trigger = {"eventTrigger": "EVENT_BASED", "eventContentMode": "ACCUMULATIVE"}
    facets = {
        "jobType": create_facet(
            "JobTypeJobFacet",
            processingType="STREAMING" if is_streaming else "BATCH",
            integration=INTEGRATION,
            jobType="PIPELINE",
            emissionPattern=trigger,
        )
    }
    if description:
        facets["documentation"] = create_facet("DocumentationJobFacet", description=description)
    tags = list_tags(known)
    if tags:
        facets["tags"] = create_facet("TagsJobFacet", tags=tags)
    return facets


def create_run_facets(arguments: Mapping[str, str], error: RunError | None) -> Facets:
    """Return what is said of a run: its engine, the run that started it, and why it failed."""
    facets = {
        "processing_engine": create_facet(
            "ProcessingEngineRunFacet",
            name="Spark",
            version=metadata.version("pyspark"),
            openlineageAdapterVersion=VERSION,
        )
    }
    parent = _read_job_run(arguments, PARENT_ARGUMENTS)
    if parent is not None:
        root = _read_job_run(arguments, ROOT_ARGUMENTS)
        facets["parent"] = create_facet(
            "ParentRunFacet", **parent, **({} if root is None else {"root": root})
        )
    if error is not None:
        facets["errorMessage"] = _create_error_facet(error)
    return facets


def create_schema_facet(document: str | None) -> Facet | None:
    """Return the fields of a schema; None for a document that is not that of a record."""
    try:
        schema = Schema.parse_record(document or "")
    except SchemaError:
        return None
    return create_facet("SchemaDatasetFacet", fields=_list_fields(schema, _MOST_SCHEMA_LEVELS))


def list_tags(known: ScopedMetadata, field: str | None = None) -> list[dict[str, str]]:
    """Return the tags of both scopes, and the properties that users wrote.

    Tags of CDAP have no value: theirs is ``true``. The source is USER, or INTEGRATION for what localcdap
    itself writes.
    """
    of_field = {} if field is None else {"field": field}
    user, system = known.get(MetadataScope.USER), known.get(MetadataScope.SYSTEM)
    pairs = [(tag, _TAG_VALUE, "INTEGRATION") for tag in sorted(system.tags)]
    pairs += [(tag, _TAG_VALUE, "USER") for tag in sorted(user.tags)]
    pairs += [(key, value, "USER") for key, value in sorted(user.properties.items())]
    return [
        {"key": key, "value": value, "source": source, **of_field} for key, value, source in pairs
    ]


def create_column_lineage_facet(edges: Iterable[ColumnEdge], names: Names) -> Facet | None:
    """Return what the fields of a dataset are computed from; None without edges.

    :param edges: those that end at the dataset.
    :param names: of the datasets where the edges begin; edges from others are left out.
    """
    fields: dict[str, dict[tuple[str, str, str], list[dict[str, Any]]]] = {}
    whole: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for edge in edges:
        target = whole if edge.target.field is None else fields.setdefault(edge.target.field, {})
        for place in names.get(edge.source.dataset, ()):
            target.setdefault((*place, _get_name(edge.source)), []).append(
                _describe_influence(edge)
            )
    found = {field: inputs for field, inputs in fields.items() if inputs}
    if not found and not whole:
        return None
    of_fields = {field: {"inputFields": _list_inputs(found[field])} for field in sorted(found)}
    of_dataset = {"dataset": _list_inputs(whole)} if whole else {}
    return create_facet("ColumnLineageDatasetFacet", fields=of_fields, **of_dataset)


def _list_inputs(
    inputs: Mapping[tuple[str, str, str], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    return [
        {"namespace": namespace, "name": name, "field": field, "transformations": transformations}
        for (namespace, name, field), transformations in sorted(inputs.items())
    ]


def _describe_influence(edge: ColumnEdge) -> dict[str, Any]:
    influence = edge.influence
    described = {
        "type": influence.kind.type.value,
        "subtype": influence.kind.value,
        "masking": influence.masking,
    }
    if influence.assumed:
        described["description"] = "Assumed: nothing is known of a stage between the two fields."
    return described


def _get_name(field: DatasetField) -> str:
    assert field.field is not None  # a ColumnEdge refuses another one
    return field.field


def _list_fields(schema: Schema, levels: int) -> list[dict[str, Any]]:
    fields = []
    for position, field in enumerate(schema, start=1):
        described: dict[str, Any] = {
            "name": field.name,
            "type": field.schema.non_nullable.display_name,
            "ordinal_position": position,
        }
        inner = _find_record(field.schema)
        if inner is not None and levels:
            described["fields"] = _list_fields(inner, levels - 1)
        fields.append(described)
    return fields


def _find_record(schema: Schema) -> Schema | None:
    """Return the record in a nullable record, or in an array of records."""
    plain = schema.non_nullable
    if plain.type is Type.ARRAY and plain.items is not None:
        plain = plain.items.non_nullable
    return plain if plain.type is Type.RECORD and plain.fields is not None else None


def _create_error_facet(error: RunError) -> Facet:
    prefix = f"Stage '{error.stage}'"
    known = error.stage is None or re.match(rf"(?i){re.escape(prefix)}\b", error.message)
    message = error.message if known else f"{prefix}: {error.message}"
    trace = {"stackTrace": "\n".join(error.trace)} if error.trace else {}
    return create_facet(
        "ErrorMessageRunFacet", message=message, programmingLanguage="PYTHON", **trace
    )


def _read_job_run(
    arguments: Mapping[str, str], names: tuple[str, str, str]
) -> dict[str, Any] | None:
    """Return the job and the run that arguments name; None when one is missing or malformed."""
    namespace, name, run = (arguments.get(each, "").strip() for each in names)
    try:
        run_id = str(uuid.UUID(run))
    except ValueError:
        return None
    if not namespace or not name:
        return None
    return {"run": {"runId": run_id}, "job": {"namespace": namespace, "name": name}}
