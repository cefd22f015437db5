"""Datasets of the type ``externalDataset`` for what runs read and write by a reference name.

CDAP creates one when a program first uses a reference name (``ExternalDatasets.registerLineage``). Here it
also has the schema of the records, and the table of the instance that holds the data, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from localcdap.api.app.events import EntityCreated, EntityEvent, EntityUpdated
from localcdap.api.dataset.specification import SCHEMA
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.dataset.types.external import EXTERNAL_TYPE, TABLE
from localcdap.store import dataset_catalog, table_catalog
from localcdap.store.store import Transaction


class DatasetUse(msgspec.Struct, frozen=True):
    """A dataset that a run has read or written."""

    dataset: str
    is_write: bool
    document: str | None = None
    """The schema of its records; None when it is not known."""
    tables: tuple[str, ...] = ()
    """The tables of the instance that hold the data."""


def keep_external_datasets(
    tx: Transaction, namespace: str, uses: Iterable[DatasetUse]
) -> list[tuple[type[EntityEvent], str]]:
    """Create an external dataset for each used name that neither a table nor a dataset has.

    One whose table has changed its schema, or is another one, follows it. Others stay as they are.

    :returns: the names that were created or updated.
    """
    changes: list[tuple[type[EntityEvent], str]] = []
    names = table_catalog.list_names(tx, namespace)
    for use in {each.dataset: each for each in uses if each.dataset not in names}.values():
        held = dataset_catalog.find_dataset(tx, namespace, use.dataset)
        properties = _make_properties(tx, namespace, use)
        if held is not None:
            given = held.specification.properties
            if held.specification.type != EXTERNAL_TYPE or TABLE not in properties:
                continue
            properties = {**given, **properties}
            if properties == given:
                continue
        specification = BUILT_IN_TYPES[EXTERNAL_TYPE].configure(use.dataset, properties)
        dataset_catalog.save_dataset(tx, namespace, specification)
        changes.append((EntityCreated if held is None else EntityUpdated, use.dataset))
    return changes


def _make_properties(tx: Transaction, namespace: str, use: DatasetUse) -> dict[str, str]:
    entry = table_catalog.find_entry(tx, namespace, use.tables[0]) if len(use.tables) == 1 else None
    if entry is not None:
        return {SCHEMA: entry.document, TABLE: entry.name}
    return {} if use.document is None else {SCHEMA: use.document}
