"""Which tables the statements of a caller may read."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

import msgspec

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.errors import UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission
from localcdap.security.access import SwitchedAuthorizer
from localcdap.security.principals import current_principal
from localcdap.store import dataset_catalog
from localcdap.store.query_tables import QueryTable
from localcdap.store.store import Transaction

STRUCTURED: Final = "structured"
"""The schema of the structured tables of system applications in queries."""


def refuse_unreadable(
    tx: Transaction, tables: Iterable[QueryTable], authorizer: SwitchedAuthorizer
) -> list[QueryTable]:
    """Return the tables; those that the caller may not read have the refusal.

    A statement that reads one of them fails, in whatever way it names it; it sees their names.
    """
    if not authorizer.is_enabled:
        return list(tables)
    known = dataset_catalog.list_names(tx)
    return [
        msgspec.structs.replace(each, refusal=_refuse(each, known, authorizer)) for each in tables
    ]


def _refuse(
    table: QueryTable, known: Set[tuple[str, str]], authorizer: SwitchedAuthorizer
) -> UnauthorizedError | None:
    namespace = SYSTEM_NAMESPACE if table.schema == STRUCTURED else table.schema
    try:
        entity = MetadataEntity.of_dataset(_find_dataset(table, known), namespace)
        authorizer.enforce(current_principal(), entity, [Permission.READ])
    except UnauthorizedError as error:
        return error
    return None


def _find_dataset(table: QueryTable, known: Set[tuple[str, str]]) -> str:
    """Return the dataset of a table, which is called ``DATASET`` or ``DATASET.NAME``."""
    name = table.name
    while (table.schema, name) not in known and "." in name:
        name = name.rpartition(".")[0]
    return name if (table.schema, name) in known else table.name
