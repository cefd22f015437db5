"""The events of OpenLineage 2-0-2 (``spec/OpenLineage.json``) and the URLs of their schemas."""

from __future__ import annotations

import datetime
from typing import Any, Final

import msgspec

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
