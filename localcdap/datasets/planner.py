"""The datasets that pipelines declare: what a deployment or a run creates and updates.

A declaration becomes the call of the dataset's type that creates or updates it. A stage declares the rows
that it writes. A dataset must hold them: it gets the fields that it lacks, and keeps the nullable fields that
the stage does not write. A pipeline that is deployed again must still write every field that its last version
wrote, unless another pipeline writes it: otherwise the field was dropped or renamed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.dataset.definition import (
    DatasetChange,
    DatasetDeclaration,
    DatasetFiles,
    PartitionChange,
)
from localcdap.api.dataset.schema_evolution import (
    COMPATIBILITY_RULE,
    find_field_changes,
    fit_schema,
    format_field_type,
    list_reasons,
)
from localcdap.api.dataset.specification import (
    ROW_FIELD,
    SCHEMA,
    DatasetSpecification,
    locate_folder,
)
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.api.dataset.types.file_sets import (
    BASE_PATH,
    FORMAT,
    POSSESS_EXISTING,
    USE_EXISTING,
)
from localcdap.api.errors import (
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    LocalcdapError,
    SchemaError,
)
from localcdap.api.failures import INVALID_STAGE, ValidationFailure
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.security import Authorizer, Permission
from localcdap.datasets.accesses import DatasetOwners
from localcdap.datasets.partitions import (
    PublishPartitions,
    adopt_partitions,
    change_partition,
    create_event,
    describe_files,
    ignore_partitions,
)
from localcdap.datasets.specifications import (
    compare,
    get_given_properties,
    get_row_schema,
    holds_nothing,
    lay_out,
    list_folders,
)
from localcdap.datasets.storage import NamespaceStorage, join_transaction, refuse_shared_folder
from localcdap.datasets.types import DatasetTypes, PreparedChange
from localcdap.pipeline.validation.datasets import (
    DatasetPlan,
    StageDataset,
    create_update_failures,
    list_causes,
)
from localcdap.sandbox.dataset_calls import DatasetAction, DatasetCall
from localcdap.security.access import of_dataset, requires
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.security.principals import current_principal
from localcdap.store import dataset_catalog as catalog
from localcdap.store.store import Store, Transaction
from localcdap.text import format_available

DECLARED_TYPES: Final = (
    "table",
    "keyValueTable",
    "indexedTable",
    "fileSet",
    "partitionedFileSet",
    "timePartitionedFileSet",
    "cube",
    EXTERNAL_TYPE,
)
_SAME_ROWS: Final = {"table", "keyValueTable"}
"""Types whose tables may be alike."""


def create_type_error(type: str) -> DatasetPropertiesError:
    known = format_available(type, DECLARED_TYPES)
    return DatasetPropertiesError(
        f"A stage cannot create a dataset of type '{type}'; available: {known}, and types of modules."
    )


def create_call(
    tx: Transaction,
    root: Path,
    namespace: str,
    dataset: StageDataset,
    datasets: Sequence[StageDataset],
    application: str | None,
) -> DatasetCall:
    """Return the call of a type that creates or updates a declared dataset.

    :param root: the folder of the file sets of all namespaces.
    :param datasets: all that the pipeline declares; several stages may write one dataset.
    :raises LocalcdapError: when the dataset cannot be as it is declared.
    """
    declaration = dataset.declaration
    if declaration.type in BUILT_IN_TYPES and declaration.type not in DECLARED_TYPES:
        raise create_type_error(declaration.type)
    held = catalog.find_dataset(tx, namespace, declaration.name)
    if held is None or (holds_nothing(held.specification) and declaration.type != EXTERNAL_TYPE):
        _refuse_unlike(dataset, datasets)
        given = _use_existing_folder(root / namespace, declaration)
        action = DatasetAction.CREATE
        return DatasetCall(action, declaration.type, declaration.name, properties=given)
    old = held.specification
    if declaration.type != old.type and not {declaration.type, old.type} <= _SAME_ROWS:
        raise IncompatibleUpdateError(
            f"Existing dataset '{old.name}' of type '{old.type}' may not be updated to type "
            f"'{declaration.type}'",
            "Write into another dataset, or delete this one.",
        )
    properties = {**get_given_properties(old), **declaration.properties}
    _refuse_other_format(old, declaration)
    if old.type == "keyValueTable":
        properties.pop(ROW_FIELD, None)
    same = [each.declaration for each in datasets if each.declaration.name == old.name]
    dropped = _list_dropped(tx, namespace, old, same, application)
    schema = _fit_rows(old, declaration, dropped)
    if schema is not None:
        properties[SCHEMA] = schema
    return DatasetCall(DatasetAction.UPDATE, old.type, old.name, old, properties)


def _refuse_unlike(dataset: StageDataset, datasets: Sequence[StageDataset]) -> None:
    """Check that a new dataset can be as two stages declare it.

    :raises IncompatibleUpdateError: when it cannot hold the rows of the first stage and of this one.
    """
    new = dataset.declaration
    first = next((each for each in datasets if each.declaration.name == new.name), dataset)
    old = first.declaration
    if first.stage == dataset.stage:
        return
    reasons = []
    for property in ("type", ROW_FIELD, FORMAT):
        texts = [
            each.type if property == "type" else each.properties.get(property)
            for each in (old, new)
        ]
        if None not in texts and texts[0] != texts[1] and not {*texts} <= _SAME_ROWS:
            reasons.append(
                f"Dataset '{new.name}': its {property} is '{texts[0]}', not '{texts[1]}'."
            )
    held, written = (_parse(each.properties.get(SCHEMA)) for each in (old, new))
    if held is not None and written is not None:
        schema, missing = fit_schema(held, written, new.name)
        reasons += [*missing, *list_reasons(find_field_changes(held, schema), new.name)]
    if reasons:
        raise IncompatibleUpdateError(
            reasons=[f"{each} Stage '{first.stage}' creates it." for each in reasons],
            corrective_action=f"Write what stage '{first.stage}' writes, or write into another dataset.",
        )


def _fit_rows(
    old: DatasetSpecification, declaration: DatasetDeclaration, dropped: Sequence[str]
) -> str | None:
    """Return the schema of a dataset that also holds the rows of a stage; None when there is none.

    :param dropped: other reasons why there cannot be one.
    :raises IncompatibleUpdateError: when there cannot be one.
    """
    written = _parse(declaration.properties.get(SCHEMA))
    held = get_row_schema(old, lay_out(old))
    given = get_given_properties(old).get(SCHEMA)
    if written is None or held is None:
        return given
    schema, reasons = fit_schema(held, written, old.name)
    if reasons or dropped:
        raise IncompatibleUpdateError(
            reasons=[*reasons, *dropped], corrective_action=COMPATIBILITY_RULE, property=SCHEMA
        )
    return str(schema) if given is None or schema != held else given


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
    held = get_row_schema(old, lay_out(old))
    return [
        f"Dataset '{old.name}': field '{each.name}' ({format_field_type(each.schema)}) cannot be dropped or "
        "renamed: the last version of this pipeline has written it."
        for each in (held or ())
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


def _use_existing_folder(root: Path, declaration: DatasetDeclaration) -> dict[str, str]:
    """Return the properties of a new dataset; a folder that exists is used as it is.

    That of the dataset's name becomes its own. The files of another one are never deleted.

    :param root: the folder of the namespace's file sets.
    """
    given = dict(declaration.properties)
    definition = BUILT_IN_TYPES.get(declaration.type)
    if definition is None:
        return given
    folder = definition.lay_out(definition.configure(declaration.name, given)).folder
    if folder is not None and not folder.must_exist and locate_folder(root, folder).is_dir():
        given[USE_EXISTING if BASE_PATH in given else POSSESS_EXISTING] = "true"
    return given


def _refuse_other_format(old: DatasetSpecification, declaration: DatasetDeclaration) -> None:
    """:raises IncompatibleUpdateError: when a stage writes files that the others of a file set are unlike."""
    held, written = old.properties.get(FORMAT), declaration.properties.get(FORMAT)
    if held and written and held != written:
        reason = (
            f"Dataset '{old.name}' has files of the format '{held}'; the stage writes '{written}'."
        )
        raise IncompatibleUpdateError(
            reasons=[reason], corrective_action="Write into another file set.", property=FORMAT
        )


_MOST_PREPARED: Final = 100
"""The most answers of custom types that are kept."""


class PipelineDatasets:
    """Plans and applies the declarations of pipelines. Threads may share it."""

    def __init__(
        self,
        store: Store,
        root: Path,
        authorizer: Authorizer = ALLOW_ALL,
        types: DatasetTypes | None = None,
        owners: DatasetOwners | None = None,
        publish: PublishPartitions = ignore_partitions,
    ) -> None:
        """Build the planner.

        :param root: the folder of the file sets of all namespaces.
        :param authorizer: decides which datasets the user of a deployment or run may create and change.
        :param types: the dataset types; None for the built-in ones only.
        :param owners: decides who may be named as an owner; None: anybody.
        :param publish: publishes events about partitions, as part of a transaction.
        """
        self._publish = publish
        self._owners = owners
        self._store = store
        self._root = root
        self._authorizer = authorizer
        self._types = types or DatasetTypes(store, root)
        self._prepared: dict[str, PreparedChange] = {}
        """What custom types answered to plans, for transactions that apply these."""

    def plan(
        self, namespace: str, datasets: Sequence[StageDataset], application: str | None
    ) -> DatasetPlan:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        if not datasets:
            return DatasetPlan()
        failures, changes, calls = [], [], []
        with self._store.snapshot() as tx:
            for each in datasets:
                try:
                    call = create_call(tx, self._root, namespace, each, datasets, application)
                    calls.append((each, call))
                except LocalcdapError as error:
                    failures += list(_to_failures(each, error))
        for each, call in calls:
            try:
                made = self._prepare(namespace, call)
            except LocalcdapError as error:
                failures += list(_to_failures(each, error))
                continue
            change = compare(call.held, made.specification, made.ignored)
            if not change.is_empty:
                changes.append((each, change))
        return DatasetPlan(failures, changes)

    def apply(
        self,
        tx: Transaction,
        namespace: str,
        datasets: Sequence[StageDataset],
        application: str | None,
        principal: str | None = None,
    ) -> list[DatasetChange]:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        if self._owners is not None:
            self._owners.check_new_owner(namespace, principal)
        folders = join_transaction(self._store, tx, self._root)
        storage = NamespaceStorage(tx, folders, namespace, self._root / namespace)
        changes = []
        for each in datasets:
            call = create_call(tx, self._root, namespace, each, datasets, application)
            made = self._find_prepared(namespace, call)
            new = made.specification
            change = compare(call.held, new, made.ignored)
            if change.is_empty:
                continue
            entity = MetadataEntity.of_dataset(new.name, namespace)
            self._authorizer.enforce(current_principal(), entity, [Permission.ADMIN])
            refuse_shared_folder(tx, self._root, namespace, new)
            made.apply(storage)
            tx.on_commit(made.discard)
            catalog.save_dataset(tx, namespace, new, principal)
            if change.is_new:
                left_out = adopt_partitions(tx, self._root, namespace, new)
                change = msgspec.structs.replace(change, warnings=[*change.warnings, *left_out])
            changes.append(change)
        if application is not None:
            self.forget(tx, namespace, application)
            _store_declarations(tx, namespace, application, [each.declaration for each in datasets])
        return changes

    def change_partitions(self, tx: Transaction, changes: Sequence[PartitionChange]) -> None:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        folders = join_transaction(self._store, tx, self._root)
        for each in changes:
            change_partition(tx, folders, self._root, each)
        added = Counter((e.namespace, e.dataset) for e in changes if e.path is not None)
        for (namespace, dataset), count in added.items():
            self._publish(tx, create_event(namespace, dataset, count))

    def forget(self, tx: Transaction, namespace: str, application: str) -> None:
        """See :class:`localcdap.pipeline.validation.datasets.DatasetPlanner`."""
        tx.execute(
            "DELETE FROM dataset_declarations WHERE namespace = ? AND application = ?",
            (namespace, application),
        )

    def _prepare(self, namespace: str, call: DatasetCall) -> PreparedChange:
        """Call the type of a declared dataset, and keep the answer of a custom one."""
        made = self._types.prepare(namespace, call)
        if made.depends_on_data:
            made.discard()
            raise ConflictError(
                f"Dataset '{call.name}' of type '{call.type}' rewrites its rows or files when it is updated.",
                f"Update it before: localcdap datasets update '{call.name}'",
            )
        if list_folders(made.specification):
            with self._store.snapshot() as tx:
                refuse_shared_folder(tx, self._root, namespace, made.specification)
        if call.type not in BUILT_IN_TYPES:
            self._keep(_make_key(namespace, call), made)
        return made

    def _keep(self, key: str, made: PreparedChange) -> None:
        replaced = self._prepared.pop(key, None)
        self._prepared[key] = made
        if len(self._prepared) > _MOST_PREPARED:
            replaced = self._prepared.pop(next(iter(self._prepared)))
        if replaced is not None:
            replaced.discard()

    def _find_prepared(self, namespace: str, call: DatasetCall) -> PreparedChange:
        """Return the answer of a type; that of a custom type was given to the plan.

        :raises ConflictError: when there is none, since the dataset has changed after the plan.
        """
        if call.type in BUILT_IN_TYPES:
            return self._types.prepare(namespace, call)
        made = self._prepared.get(_make_key(namespace, call))
        if made is None:
            raise ConflictError(
                f"Dataset '{call.name}' of type '{call.type}' has changed since the pipeline was checked.",
                "Try again.",
            )
        return made


def _make_key(namespace: str, call: DatasetCall) -> str:
    return f"{namespace} {msgspec.json.encode(call).decode()}"


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


class RunDatasets:
    """The datasets that sinks create while they run. Threads may share it."""

    def __init__(self, store: Store, root: Path, planner: PipelineDatasets) -> None:
        """:param root: the folder of the file sets of all namespaces."""
        self._store = store
        self._root = root
        self._planner = planner

    @requires(of_dataset("namespace", "declaration.name"), Permission.WRITE)
    def declare(
        self, namespace: str, stage: str, declaration: DatasetDeclaration
    ) -> DatasetFiles | None:
        """Create a dataset for the sink of a run, unless it exists and is as the sink declares it.

        :returns: its files; None when it has no folder.
        :raises IncompatibleUpdateError: when it exists and is not.
        """
        declared = [StageDataset(stage, declaration)]
        plan = self._planner.plan(namespace, declared, None)
        failures = [*plan.failures, *create_update_failures(plan)]
        if failures:
            raise IncompatibleUpdateError(
                reasons=[each.message for each in failures],
                corrective_action=failures[0].corrective_action,
            )
        if plan.changes:
            with self._store.transaction() as tx:
                self._planner.apply(tx, namespace, declared, None)
        with self._store.snapshot() as tx:
            return describe_files(tx, self._root, namespace, declaration.name)
