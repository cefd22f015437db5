"""MySQL and PostgreSQL by host and database, at Google Cloud SQL too: the plugins that CDAP has for each.

Where they are is all that tells them from the plugins for any database.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from localcdap.api import field, plugin

from .connecting import JdbcConfig
from .database_actions import DatabaseActionBase, StatementConfig
from .database_sink import DatabaseSinkBase, SinkConfig
from .database_source import DatabaseSourceBase, SourceConfig

_PRIVATE = "private"
_PLAIN = re.compile(r"\w+")


def _timeout() -> Any:
    return field(
        "Seconds to wait for the connection; without effect here.",
        default=None,
        macro=True,
        name="connectionTimeout",
        group="more",
    )


class _Server(JdbcConfig):
    """A database of a server."""

    _url: ClassVar[str]
    _port: ClassVar[int]

    host: str = field("Name of the server.", default="localhost", macro=True)
    port: int = field("Its port; that of such servers by default.", default=0, macro=True)
    database: str = field("Name of the database.", macro=True)
    timeout: str | None = _timeout()

    def url(self) -> str:
        return self._url.format(self.host.strip(), self.port or self._port, self.database.strip())


class PostgresTable(SinkConfig):
    """A table of PostgreSQL."""

    schema_name: str | None = field(
        "Schema of the table; without it, the one that the user has by default.",
        default=None,
        macro=True,
        name="dbSchemaName",
    )

    def table_name(self) -> str:
        """Quoted, as by CDAP, so that capitals count; PostgreSQL takes others for small letters."""
        parts = [each.strip() for each in (self.schema_name or "", self.table)]
        return ".".join(f'"{p}"' if _PLAIN.fullmatch(p) else p for p in parts if p)


class Mysql(_Server):
    _url, _port = "jdbc:mysql://{}:{}/{}", 3306


class Postgres(_Server):
    _url, _port = "jdbc:postgresql://{}:{}/{}", 5432


class _CloudSql(JdbcConfig):
    """A database of an instance of Cloud SQL.

    A public one is reached through Google's socket factory, whose jar must be with the driver's.
    """

    _public: ClassVar[str]
    _private: ClassVar[str]
    _port: ClassVar[int]

    connection_name: str = field(
        "The instance: project:region:name of a public one, the address of a private one.",
        macro=True,
        name="connectionName",
    )
    instance_type: str = field(
        "Whether the instance is public or private. A server of yours that stands for it is a private one.",
        default="public",
        choices=("public", _PRIVATE),
        macro=True,
        name="instanceType",
    )
    port: int = field(
        "Port of a private one; that of such servers by default.", default=0, macro=True
    )
    database: str = field("Name of the database.", macro=True)
    timeout: str | None = _timeout()

    def url(self) -> str:
        name, database = self.connection_name.strip(), self.database.strip()
        if self.instance_type.lower() == _PRIVATE:
            return self._private.format(name, self.port or self._port, database)
        return self._public.format(database, name)


class CloudSqlMysql(_CloudSql):
    _public = "jdbc:mysql:///{}?cloudSqlInstance={}&socketFactory=com.google.cloud.sql.mysql.SocketFactory"
    _private, _port = "jdbc:mysql://{}:{}/{}", 3306


class CloudSqlPostgres(_CloudSql):
    _public = (
        "jdbc:postgresql:///{}?cloudSqlInstance={}"
        "&socketFactory=com.google.cloud.sql.postgres.SocketFactory"
    )
    _private, _port = "jdbc:postgresql://{}:{}/{}", 5432


@plugin(type="batchsource", name="Mysql", description="Reads the rows of a query from MySQL.")
class MysqlSource(DatabaseSourceBase):
    class Config(SourceConfig, Mysql):
        """MySQL."""


@plugin(
    type="batchsink", name="Mysql", description="Adds each record as a row to a table of MySQL."
)
class MysqlSink(DatabaseSinkBase):
    class Config(SinkConfig, Mysql):
        """MySQL."""


@plugin(type="action", name="Mysql", description="Has MySQL carry out an SQL statement.")
class MysqlAction(DatabaseActionBase):
    class Config(StatementConfig, Mysql):
        """MySQL."""


@plugin(
    type="batchsource", name="Postgres", description="Reads the rows of a query from PostgreSQL."
)
class PostgresSource(DatabaseSourceBase):
    class Config(SourceConfig, Postgres):
        """PostgreSQL."""


@plugin(
    type="batchsink",
    name="Postgres",
    description="Adds each record as a row to a table of PostgreSQL.",
)
class PostgresSink(DatabaseSinkBase):
    class Config(PostgresTable, Postgres):
        """PostgreSQL."""


@plugin(type="action", name="Postgres", description="Has PostgreSQL carry out an SQL statement.")
class PostgresAction(DatabaseActionBase):
    class Config(StatementConfig, Postgres):
        """PostgreSQL."""


@plugin(
    type="batchsource",
    name="CloudSQLMySQL",
    description="Reads the rows of a query from MySQL at Cloud SQL.",
)
class CloudSqlMysqlSource(DatabaseSourceBase):
    class Config(SourceConfig, CloudSqlMysql):
        """MySQL at Cloud SQL."""


@plugin(
    type="batchsink",
    name="CloudSQLMySQL",
    description="Adds each record as a row to a table of MySQL at Cloud SQL.",
)
class CloudSqlMysqlSink(DatabaseSinkBase):
    class Config(SinkConfig, CloudSqlMysql):
        """MySQL at Cloud SQL."""


@plugin(
    type="action",
    name="CloudSQLMySQL",
    description="Has MySQL at Cloud SQL carry out an SQL statement.",
)
class CloudSqlMysqlAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlMysql):
        """MySQL at Cloud SQL."""


@plugin(
    type="batchsource",
    name="CloudSQLPostgreSQL",
    description="Reads the rows of a query from PostgreSQL at Cloud SQL.",
)
class CloudSqlPostgresSource(DatabaseSourceBase):
    class Config(SourceConfig, CloudSqlPostgres):
        """PostgreSQL at Cloud SQL."""


@plugin(
    type="batchsink",
    name="CloudSQLPostgreSQL",
    description="Adds each record as a row to a table of PostgreSQL at Cloud SQL.",
)
class CloudSqlPostgresSink(DatabaseSinkBase):
    class Config(PostgresTable, CloudSqlPostgres):
        """PostgreSQL at Cloud SQL."""


@plugin(
    type="action",
    name="CloudSQLPostgreSQL",
    description="Has PostgreSQL at Cloud SQL carry out an SQL statement.",
)
class CloudSqlPostgresAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlPostgres):
        """PostgreSQL at Cloud SQL."""
