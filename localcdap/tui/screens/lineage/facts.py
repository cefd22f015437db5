"""What is known of a node of the lineage area: metadata, the last write, operations, runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.metadata import MetadataEntity, ScopedMetadata
from localcdap.host.cdap import Cdap
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_lineage import FieldLineageDetails
from localcdap.metadata.lineage.relations import DatasetId, ProgramId
from localcdap.metadata.lineage.service import DatasetDescription
from localcdap.metadata.system_metadata import EXPLORE
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import as_properties
from localcdap.runs.model import Run
from localcdap.tui.screens.lineage.graph import Node, get_dataset

FIELD: Final = "field"
_REFERENCE: Final = "referenceName"
_NAME: Final = "name"


@dataclass(frozen=True)
class NodeFacts:
    """What the services know of a node.

    :param run: the run that has written a dataset last, or the last run of a pipeline.
    :param written: the records that this run has written into the dataset; None when it is not known.
    :param is_deployed: whether a pipeline is deployed; a run of a file leaves lineage too.
    """

    node: Node
    metadata: ScopedMetadata
    description: DatasetDescription | None = None
    operations: FieldLineageDetails | None = None
    run: Run | None = None
    written: int | None = None
    is_deployed: bool = False

    @property
    def is_table(self) -> bool:
        """Whether SQL can read the dataset."""
        return isinstance(self.node, DatasetId) and EXPLORE in self.metadata.system.tags


def get_entity(node: Node) -> MetadataEntity:
    """Return the entity of a node; of all fields of a dataset, the dataset."""
    dataset = get_dataset(node)
    if dataset is None:
        assert isinstance(node, ProgramId)
        return MetadataEntity.of_application(node.application, node.namespace)
    entity = dataset.to_entity()
    if isinstance(node, DatasetField) and node.field is not None:
        return entity.append(FIELD, node.field)
    return entity


def read_facts(cdap: Cdap, node: Node) -> NodeFacts:
    """Read what is known of a node."""
    try:
        metadata = cdap.metadata.get(get_entity(node))
    except NotFoundError:
        metadata = ScopedMetadata()  # a pipeline that only ran from a file
    dataset = get_dataset(node)
    if isinstance(node, ProgramId):
        runs = cdap.runs.list_runs(node.namespace, node.application, limit=1)
        deployed = cdap.applications.has_application(node.namespace, node.application)
        return NodeFacts(node, metadata, run=next(iter(runs), None), is_deployed=deployed)
    assert dataset is not None
    operations = None
    if isinstance(node, DatasetField) and node.field is not None:
        operations = cdap.lineage.get_field_operations(dataset.to_entity(), node.field)
    description = cdap.lineage.describe(dataset.to_entity())
    run = _read_last_run(cdap, description)
    written = _count_written(cdap, run, dataset.dataset) if run is not None else None
    return NodeFacts(node, metadata, description, operations, run, written)


def _read_last_run(cdap: Cdap, description: DatasetDescription) -> Run | None:
    last = description.last_write
    if last is None:
        return None
    try:
        return cdap.runs.get(last.namespace, last.run)
    except NotFoundError:
        return None  # removed since


def _count_written(cdap: Cdap, run: Run, dataset: str) -> int | None:
    """Return how many records went into the sinks of a run that name a dataset."""
    try:
        text = cdap.runs.get_document(run.run)
        stages = list(_find_stages(read_document(text).stages, dataset))
    except LocalcdapError:
        return None
    counts = [run.stages[name].records_in for name in stages if name in run.stages]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _find_stages(stages: Any, dataset: str) -> Iterator[str]:
    for stage in stages:
        properties: Mapping[str, str] = as_properties(stage.plugin.properties)
        named = properties.get(_REFERENCE) or properties.get(_NAME)
        if "sink" in stage.plugin.type and named == dataset:
            yield stage.name
