"""What a stage's declaration of a dataset means: the call of its type that creates or updates it.

A stage declares the rows that it writes. A dataset must hold them: it gets the fields that it lacks, and
keeps the nullable fields that the stage does not write. A pipeline that is deployed again must still write
every field that its last version wrote, unless another pipeline writes it: otherwise the field was dropped or
renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localcdap.api.dataset.declaration import DatasetDeclaration
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
    DatasetPropertiesError,
    IncompatibleUpdateError,
    SchemaError,
)
from localcdap.api.schema import Schema
from localcdap.datasets.specifications import (
    get_given_properties,
    get_row_schema,
    holds_nothing,
    lay_out,
)
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.sandbox.dataset_calls import DatasetAction, DatasetCall
from localcdap.store import dataset_catalog as catalog
from localcdap.store.store import Transaction
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
