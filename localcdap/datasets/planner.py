"""The datasets that pipelines declare: what a deployment or a run creates and updates.

A stage declares the rows that it writes. A dataset must hold them: it gets the fields that it lacks, and
keeps the nullable fields that the stage does not write. A pipeline that is deployed again must still write
every field that its last version wrote, unless another pipeline writes it: otherwise the field was dropped or
renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.dataset.declaration import DatasetChange, DatasetDeclaration
from localcdap.api.dataset.definition import DatasetDefinition
from localcdap.api.dataset.schema_evolution import (
    COMPATIBILITY_RULE,
    fit_schema,
    format_field_type,
)
from localcdap.api.dataset.specification import SCHEMA, DatasetSpecification
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import (
    DatasetPropertiesError,
    IncompatibleUpdateError,
    LocalcdapError,
    SchemaError,
)
from localcdap.api.failures import INVALID_STAGE, ValidationFailure
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.security import Authorizer, Permission
from localcdap.datasets.folders import FolderChanges
from localcdap.datasets.specifications import compare, get_given_properties, lay_out
from localcdap.datasets.storage import NamespaceStorage
from localcdap.pipeline.validation.datasets import DatasetPlan, StageDataset, list_causes
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store import dataset_catalog as catalog
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

_DECLARED_TYPES: Final = ("table", "keyValueTable", "indexedTable", "externalDataset")
"""The types without files: a transaction of a deployment creates their data."""
_SAME_ROWS: Final = {"table", "keyValueTable"}
"""Types whose tables may be alike."""


class PipelineDatasets:
    """Plans and applies the declarations of pipelines. Threads may share it."""

    def __init__(self, store: Store, authorizer: Authorizer = ALLOW_ALL) -> None:
        """Build the planner.

        :param authorizer: decides which datasets the user of a deployment or run may create and change.
        """
        self._store = store
        self._authorizer = authorizer

    def plan(
        self, namespace: str, datasets: Sequence[StageDataset], application: str | None
    ) -> DatasetPlan:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        if not datasets:
            return DatasetPlan()
        failures, changes = [], []
        with self._store.snapshot() as tx:
            for each in datasets:
                try:
                    found = _specify(tx, namespace, each, datasets, application)
                except LocalcdapError as error:
                    failures += list(_to_failures(each, error))
                    continue
                change = compare(*found)
                if not change.is_empty:
                    changes.append((each, change))
        return DatasetPlan(failures, changes)

    def apply(
        self,
        tx: Transaction,
        namespace: str,
        datasets: Sequence[StageDataset],
        application: str | None,
    ) -> list[DatasetChange]:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        # Declared types have no folders.
        storage = NamespaceStorage(tx, FolderChanges(Path()), namespace, Path())
        changes = []
        for each in datasets:
            definition, old, new = _specify(tx, namespace, each, datasets, application)
            change = compare(definition, old, new)
            if change.is_empty:
                continue
            entity = MetadataEntity.of_dataset(new.name, namespace)
            self._authorizer.enforce(current_principal(), entity, [Permission.ADMIN])
            admin = definition.get_admin(storage, new)
            if old is None:
                admin.create()
            else:
                admin.update(old)
            catalog.save_dataset(tx, namespace, new)
            changes.append(change)
        if application is not None:
            self.forget(tx, namespace, application)
            _store_declarations(tx, namespace, application, [each.declaration for each in datasets])
        return changes

    def forget(self, tx: Transaction, namespace: str, application: str) -> None:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        tx.execute(
            "DELETE FROM dataset_declarations WHERE namespace = ? AND application = ?",
            (namespace, application),
        )


def _specify(
    tx: Transaction,
    namespace: str,
    dataset: StageDataset,
    datasets: Sequence[StageDataset],
    application: str | None,
) -> tuple[DatasetDefinition, DatasetSpecification | None, DatasetSpecification]:
    """Return the type, the existing specification and the new one of a declared dataset.

    :param datasets: all that the pipeline declares; several stages may write one dataset.
    :raises LocalcdapError: when the dataset cannot be as it is declared.
    """
    declaration = dataset.declaration
    if declaration.type not in _DECLARED_TYPES:
        known = format_available(declaration.type, _DECLARED_TYPES)
        raise DatasetPropertiesError(
            f"A stage cannot create a dataset of type '{declaration.type}'; available: {known}."
        )
    held = catalog.find_dataset(tx, namespace, declaration.name)
    if held is None:
        definition = BUILT_IN_TYPES[declaration.type]
        made = definition.configure(declaration.name, declaration.properties)
        return definition, None, _keep_given(made, declaration.properties)
    old = held.specification
    if declaration.type != old.type and not {declaration.type, old.type} <= _SAME_ROWS:
        raise IncompatibleUpdateError(
            f"Existing dataset '{old.name}' of type '{old.type}' may not be updated to type "
            f"'{declaration.type}'",
            "Write into another dataset, or delete this one.",
        )
    definition = BUILT_IN_TYPES[old.type]
    properties = {**get_given_properties(old), **declaration.properties}
    if old.type == "keyValueTable":
        properties.pop("schema.row.field", None)
    same = [each.declaration for each in datasets if each.declaration.name == old.name]
    dropped = _list_dropped(tx, namespace, old, same, application)
    schema = _fit_rows(old, declaration, dropped)
    if schema is not None:
        properties[SCHEMA] = schema
    new = definition.reconfigure(old.name, properties, old)
    new = msgspec.structs.replace(new, description=old.description)
    return definition, old, _keep_given(new, properties)


def _fit_rows(
    old: DatasetSpecification, declaration: DatasetDeclaration, dropped: Sequence[str]
) -> str | None:
    """Return the schema of a dataset that also holds the rows of a stage; None when there is none.

    :param dropped: other reasons why there cannot be one.
    :raises IncompatibleUpdateError: when there cannot be one.
    """
    written = _parse(declaration.properties.get(SCHEMA))
    table = lay_out(old).tables.get(old.name)
    given = get_given_properties(old).get(SCHEMA)
    if written is None or table is None:
        return given
    schema, reasons = fit_schema(table.schema, written, old.name)
    if reasons or dropped:
        raise IncompatibleUpdateError(
            reasons=[*reasons, *dropped], corrective_action=COMPATIBILITY_RULE, property=SCHEMA
        )
    return str(schema) if given is None or schema != table.schema else given


def _list_dropped(
    tx: Transaction,
    namespace: str,
    old: DatasetSpecification,
    declarations: Sequence[DatasetDeclaration],
    application: str | None,
) -> list[str]:
    """Return a reason for each field that only this pipeline has written, and does not write any more."""
    schemas = [_parse(each.properties.get(SCHEMA)) for each in declarations]
    if application is None or None in schemas:
        return []
    written = {name for schema in schemas if schema is not None for name in schema.field_names}
    rows = tx.execute(
        "SELECT application, schema FROM dataset_declarations WHERE namespace = ? AND dataset = ?",
        (namespace, old.name),
    )
    declared: dict[bool, set[str]] = {True: set(), False: set()}
    for owner, text in rows:
        schema = _parse(text)
        declared[owner == application] |= set(schema.field_names if schema else ())
    dropped = declared[True] - declared[False] - written
    table = lay_out(old).tables.get(old.name)
    return [
        f"Dataset '{old.name}': field '{each.name}' ({format_field_type(each.schema)}) cannot be dropped or "
        "renamed: the last version of this pipeline has written it."
        for each in (table.schema if table is not None else ())
        if each.name in dropped
    ]


def _parse(text: str | None) -> Schema | None:
    if text is None:
        return None
    try:
        return Schema.parse(text)
    except SchemaError as error:
        raise DatasetPropertiesError(
            f"Property '{SCHEMA}' is not a schema: {error}", property=SCHEMA
        ) from error


def _keep_given(
    specification: DatasetSpecification, properties: Mapping[str, str]
) -> DatasetSpecification:
    return msgspec.structs.replace(specification, original_properties=dict(properties))


def _store_declarations(
    tx: Transaction, namespace: str, application: str, declarations: Sequence[DatasetDeclaration]
) -> None:
    tx.execute_many(
        "INSERT INTO dataset_declarations VALUES (?, ?, ?, ?)",
        [(namespace, application, each.name, each.properties.get(SCHEMA)) for each in declarations],
    )


def _to_failures(dataset: StageDataset, error: LocalcdapError) -> Iterator[ValidationFailure]:
    """Yield a failure for each reason of an error, with stage and property."""
    reasons = error.reasons if isinstance(error, IncompatibleUpdateError) else [error.message]
    for reason in reasons:
        yield ValidationFailure(
            INVALID_STAGE,
            reason,
            error.corrective_action,
            list_causes(dataset),
            stage=dataset.stage,
            field=dataset.declaration.config_property,
        )
