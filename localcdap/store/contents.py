"""What a database holds, as people name it: its entities, and the moment of its last change.

A repair compares what is left of a database with its backups by it, and says what is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from localcdap.api.sql_names import quote_identifier
from localcdap.store.backup import list_tables
from localcdap.store.database_file import open_read_only
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.store.driver import duckdb


class _Kind(NamedTuple):
    """A kind of entities, and the table that has a row for each version of one."""

    noun: str
    table: str
    key: tuple[str, ...]
    version: str = ""
    """A column of whole numbers, the greatest of which is that of the newest version."""


_KINDS: Final = (
    _Kind("namespace", "namespaces", ("name",)),
    _Kind("pipeline", "applications", ("namespace", "name"), "number"),
    _Kind("draft", "drafts", ("namespace", "owner", "id"), "revision"),
    _Kind("plugin template", "plugin_templates", ("namespace", "type", "name")),
    _Kind(
        "connection",
        "app_connections_store",
        ("namespace", "connection_id"),
        "updatedtimemillis",
    ),
    _Kind("preference", "preferences", ("namespace", "application", "program"), "sequence"),
    _Kind("secure key", "secure_keys", ("namespace", "name"), "modified"),
    _Kind("schedule", "schedules", ("namespace", "application", "name"), "updated"),
    _Kind("dataset", "dataset_instances", ("namespace", "name"), "updated"),
    _Kind("table", "dataset_tables", ("namespace", "name")),
    _Kind("topic", "topics", ("namespace", "name")),
    _Kind("entity with metadata", "metadata", ("entity",), "revision"),
    _Kind("document of a client", "client_documents", ("namespace", "kind", "name"), "updated"),
    _Kind("run", "runs", ("run",)),
)
"""Each is shown with its noun; a plural of more than one word is in :data:`_PLURALS`."""
_PLURALS: Final = {
    "entity with metadata": "entities with metadata",
    "document of a client": "documents of clients",
}
_MOMENTS: Final = (
    ("audit", "time"),
    ("messages", "time"),
    ("run_logs", "time"),
    ("runs", "starting"),
    ("runs", "finish"),
    ("applications", "created"),
    ("drafts", "created"),
    ("draft_revisions", "updated"),
    ("schedules", "updated"),
    ("secure_keys", "modified"),
    ("dataset_instances", "updated"),
)
"""Tables, and columns of them with times in the past, in milliseconds."""
_MOST_NAMES: Final = 3
"""The most lost entities of a kind that are named."""

Entities: TypeAlias = Mapping[tuple[str, ...], int]
"""The newest version of each entity of a kind, by its key."""


class DatabaseContents(NamedTuple):
    """What a database holds."""

    entities: Mapping[str, Entities]
    """By the noun of the kind."""
    rows: int
    """The rows of all tables, catalogs included."""
    moment: int
    """The time of the last change that is recorded, in milliseconds; 0 when there is none."""


def read_contents(path: Path) -> DatabaseContents:
    """Read what a closed, intact database holds. It may be of an earlier version, or empty.

    :raises StoreError: when it cannot be read.
    """
    with open_read_only(path) as connection:
        columns = _list_columns(connection)
        entities = {
            kind.noun: _read_entities(connection, kind, columns[kind.table])
            for kind in _KINDS
            if columns.get(kind.table, frozenset()) >= set(kind.key)
        }
        moments = [
            _read_number(connection, f"SELECT coalesce(max({column}), 0) FROM {table}")  # noqa: S608
            for table, column in _MOMENTS
            if column in columns.get(table, ())
        ]
        rows = sum(
            _read_number(connection, f"SELECT count(*) FROM {quote_identifier(*table)}")  # noqa: S608
            for table in list_tables(connection)
        )
    return DatabaseContents(entities, rows, max(moments, default=0))


def count_missing(
    contents: DatabaseContents, other: DatabaseContents, tables: Set[str] | None = None
) -> int:
    """Return how many entities another database has that this one lacks, or has in an older version.

    :param tables: count only those that are kept in these tables; None: all.
    """
    kinds = [kind.noun for kind in _KINDS if tables is None or kind.table in tables]
    return sum(len(_find_missing(contents, other, noun)) for noun in kinds)


def describe_missing(contents: DatabaseContents, other: DatabaseContents) -> Iterator[str]:
    """Yield a text for each kind of which another database has entities that this one lacks, or has in an
    older version, such as ``2 pipelines (default/orders, default/sales)``.
    """
    for kind in _KINDS:
        missing = _find_missing(contents, other, kind.noun)
        if missing:
            names = ["/".join(filter(None, key)) for key in missing[:_MOST_NAMES]]
            more = ", …" if len(missing) > _MOST_NAMES else ""
            yield f"{_count(len(missing), kind.noun)} ({', '.join(names)}{more})"


def _find_missing(
    contents: DatabaseContents, other: DatabaseContents, noun: str
) -> list[tuple[str, ...]]:
    mine, theirs = contents.entities.get(noun, {}), other.entities.get(noun, {})
    return sorted(key for key, version in theirs.items() if mine.get(key, -1) < version)


def _count(count: int, noun: str) -> str:
    if count != 1 and noun in _PLURALS:
        return f"{count:,} {_PLURALS[noun]}"
    return plural(count, noun)


def _list_columns(connection: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Return the columns of the tables of localcdap."""
    columns: dict[str, set[str]] = {}
    rows = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal AND database_name = current_database()"
    ).fetchall()
    for table, column in rows:
        columns.setdefault(table, set()).add(column)
    return columns


def _read_entities(
    connection: duckdb.DuckDBPyConnection, kind: _Kind, columns: Set[str]
) -> Entities:
    version = f"coalesce(max({kind.version}), 0)" if kind.version in columns else "0"
    key = ", ".join(f"coalesce({column}::VARCHAR, '')" for column in kind.key)
    query = f"SELECT {key}, {version} FROM {kind.table} GROUP BY ALL"  # noqa: S608
    return {tuple(key): number for *key, number in connection.execute(query).fetchall()}


def _read_number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    number: int = connection.execute(query).fetchall()[0][0]
    return number
