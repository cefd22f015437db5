"""Plugins of PostgreSQL, on a server and at Google Cloud SQL."""

from __future__ import annotations

import re

from localcdap.api import field, plugin

from . import servers
from .column_types import POSTGRES
from .database_actions import (
    DatabaseActionBase,
    DatabasePostActionBase,
    PostStatementConfig,
    StatementConfig,
)
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .keyed_writes import UPDATE, UPSERT
from .servers import CloudSqlConfig, ServerConfig, timeout_field

_PLAIN = re.compile(r"\w+")


class PostgresConfig(ServerConfig):
    """A PostgreSQL server."""

    _url, _port = "jdbc:postgresql://{}:{}/{}", 5432

    timeout: str | None = timeout_field()


class CloudSqlPostgresConfig(CloudSqlConfig):
    """PostgreSQL at Cloud SQL."""

    _public = (
        "jdbc:postgresql:///{}?cloudSqlInstance={}"
        "&socketFactory=com.google.cloud.sql.postgres.SocketFactory"
    )
    _private, _port = "jdbc:postgresql://{}:{}/{}", 5432


class PostgresTableConfig(DatabaseSinkConfig):
    """A table of PostgreSQL."""

    operation: str = field(
        "Operation. 'update' and 'upsert' need the right to create a table in the schema of the table.",
        default="insert",
        choices=("insert", UPDATE, UPSERT),
        macro=True,
        name="operationName",
    )
    table_key: list[str] = field(
        "Fields that identify a row, for 'update' and 'upsert'; an upsert needs a unique index of them.",
        default=[],
        macro=True,
        name="relationTableKey",
        form="{input-field},",
    )

    def get_table_name(self) -> str:
        """Return the table's name in quotes, as CDAP does: PostgreSQL folds other names to lower case."""
        parts = [each.strip() for each in (self.schema_name or "", self.table)]
        return ".".join(f'"{p}"' if _PLAIN.fullmatch(p) else p for p in parts if p)


@plugin(name="Postgres", description="Reads the rows of a query from PostgreSQL.")
class PostgresSource(DatabaseSourceBase):
    column_types = POSTGRES

    class Config(DatabaseSourceConfig, PostgresConfig, additions=servers.SOURCE):
        """PostgreSQL."""


@plugin(
    name="Postgres",
    description="Inserts, updates or upserts each record as a row of a table of PostgreSQL.",
)
class PostgresSink(DatabaseSinkBase):
    class Config(PostgresTableConfig, PostgresConfig, additions=servers.SINK):
        """PostgreSQL."""


@plugin(name="Postgres", description="Executes an SQL statement in PostgreSQL.")
class PostgresAction(DatabaseActionBase):
    class Config(StatementConfig, PostgresConfig, additions=servers.CONNECTION):
        """PostgreSQL."""


@plugin(
    name="Postgres", description="Executes an SQL statement in PostgreSQL when the run has ended."
)
class PostgresPostAction(DatabasePostActionBase):
    class Config(PostStatementConfig, PostgresConfig, additions=servers.CONNECTION):
        """PostgreSQL."""


@plugin(
    name="CloudSQLPostgreSQL", description="Reads the rows of a query from PostgreSQL at Cloud SQL."
)
class CloudSqlPostgresSource(DatabaseSourceBase):
    column_types = POSTGRES

    class Config(DatabaseSourceConfig, CloudSqlPostgresConfig, additions=servers.CLOUD_SOURCE):
        """PostgreSQL at Cloud SQL."""


@plugin(
    name="CloudSQLPostgreSQL",
    description="Inserts, updates or upserts each record as a row of a table of PostgreSQL at Cloud SQL.",
)
class CloudSqlPostgresSink(DatabaseSinkBase):
    class Config(
        PostgresTableConfig, CloudSqlPostgresConfig, additions=servers.SINK_WITH_ISOLATION
    ):
        """PostgreSQL at Cloud SQL."""


@plugin(
    name="CloudSQLPostgreSQL", description="Executes an SQL statement in PostgreSQL at Cloud SQL."
)
class CloudSqlPostgresAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlPostgresConfig, additions=servers.CONNECTION):
        """PostgreSQL at Cloud SQL."""
