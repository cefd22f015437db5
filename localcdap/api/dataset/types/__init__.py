"""The built-in dataset types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.types.cube import CubeDefinition
from localcdap.api.dataset.types.external import ExternalDatasetDefinition
from localcdap.api.dataset.types.file_sets import (
    FileSetDefinition,
    PartitionedFileSetDefinition,
    TimePartitionedFileSetDefinition,
)
from localcdap.api.dataset.types.objects import (
    IndexedObjectStoreDefinition,
    ObjectMappedTableDefinition,
    ObjectStoreDefinition,
)
from localcdap.api.dataset.types.tables import (
    CounterTimeseriesTableDefinition,
    IndexedTableDefinition,
    KeyValueTableDefinition,
    TableDefinition,
    TimeseriesTableDefinition,
)

BUILT_IN_TYPES: Final[Mapping[str, DatasetDefinition]] = {
    each.name: each()
    for each in (
        TableDefinition,
        KeyValueTableDefinition,
        IndexedTableDefinition,
        ObjectStoreDefinition,
        IndexedObjectStoreDefinition,
        ObjectMappedTableDefinition,
        TimeseriesTableDefinition,
        CounterTimeseriesTableDefinition,
        CubeDefinition,
        FileSetDefinition,
        PartitionedFileSetDefinition,
        TimePartitionedFileSetDefinition,
        ExternalDatasetDefinition,
    )
}
"""By name."""
