"""Plugins of MySQL, on a server and at Google Cloud SQL."""

from __future__ import annotations

from typing import Any

from localcdap.api import field, plugin

from . import servers
from .column_types import MYSQL
from .database_actions import (
    DatabaseActionBase,
    DatabasePostActionBase,
    PostStatementConfig,
    StatementConfig,
)
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .jdbc import UTC_SESSION, parse_arguments
from .servers import CloudSqlConfig, ServerConfig


def _driver_field(description: str, name: str, *, secret: bool = False) -> Any:
    return field(
        description, default=None, macro=True, name=name, secret=secret, group="connection"
    )


class MysqlConfig(ServerConfig):
    """A MySQL server."""

    _url, _port = "jdbc:mysql://{}:{}/{}", 3306

    auto_reconnect: bool | None = _driver_field(
        "Whether the driver connects again when a connection was lost.", "autoReconnect"
    )
    use_compression: bool | None = _driver_field(
        "Whether the connection is compressed.", "useCompression"
    )
    sql_mode: str | None = _driver_field(
        "Modes of the session, such as STRICT_ALL_TABLES, instead of the server's.", "sqlMode"
    )
    use_ssl: str | None = _driver_field(
        "Whether the connection is encrypted: 'Yes', 'No', or 'If available'.", "useSSL"
    )
    use_ansi_quotes: bool | None = _driver_field(
        "Whether double quotes enclose names and not texts.", "useAnsiQuotes"
    )
    client_store: str | None = _driver_field(
        "URL of the key store with the client's certificate.", "clientCertificateKeyStoreUrl"
    )
    client_store_password: str | None = _driver_field(
        "Password of this key store.", "clientCertificateKeyStorePassword", secret=True
    )
    trust_store: str | None = _driver_field(
        "URL of the key store with the trusted certificates.", "trustCertificateKeyStoreUrl"
    )
    trust_store_password: str | None = _driver_field(
        "Password of this key store.", "trustCertificateKeyStorePassword", secret=True
    )

    def get_driver_arguments(self) -> dict[str, str]:
        """Return the arguments as CDAP ``MysqlUtil`` does; the modes are set with each session."""
        given: dict[str, object] = {
            "autoReconnect": self.auto_reconnect,
            "useCompression": self.use_compression,
            "useSSL": {"Yes": True, "No": False}.get(self.use_ssl or ""),
            "clientCertificateKeyStoreUrl": self.client_store,
            "clientCertificateKeyStorePassword": self.client_store_password,
            "trustCertificateKeyStoreUrl": self.trust_store,
            "trustCertificateKeyStorePassword": self.trust_store_password,
            "sessionVariables": self._build_session_variables(),
        }
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
            if value is not None and value != ""
        }

    def _build_session_variables(self) -> str | None:
        mode = None
        if self.use_ansi_quotes:
            mode = "CONCAT(@@sql_mode,',ANSI_QUOTES')"
        if self.sql_mode:
            quoted = self.sql_mode.replace("\\", "\\\\").replace("'", "\\'")
            mode = f"'{quoted}'"
        others = parse_arguments(self.arguments).get("sessionVariables", UTC_SESSION)
        return None if mode is None else f"sql_mode={mode},{others}"


class CloudSqlMysqlConfig(CloudSqlConfig):
    """MySQL at Cloud SQL."""

    _public = "jdbc:mysql:///{}?cloudSqlInstance={}&socketFactory=com.google.cloud.sql.mysql.SocketFactory"
    _private, _port = "jdbc:mysql://{}:{}/{}", 3306


@plugin(name="Mysql", description="Reads the rows of a query from MySQL.")
class MysqlSource(DatabaseSourceBase):
    column_types = MYSQL

    class Config(DatabaseSourceConfig, MysqlConfig, additions=servers.SOURCE):
        """MySQL."""


@plugin(name="Mysql", description="Inserts each record as a row into a table of MySQL.")
class MysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, MysqlConfig, additions=servers.MYSQL_SINK):
        """MySQL."""


@plugin(name="Mysql", description="Executes an SQL statement in MySQL.")
class MysqlAction(DatabaseActionBase):
    class Config(StatementConfig, MysqlConfig, additions=servers.CONNECTION):
        """MySQL."""


@plugin(name="Mysql", description="Executes an SQL statement in MySQL when the run has ended.")
class MysqlPostAction(DatabasePostActionBase):
    class Config(PostStatementConfig, MysqlConfig, additions=servers.CONNECTION):
        """MySQL."""


@plugin(name="CloudSQLMySQL", description="Reads the rows of a query from MySQL at Cloud SQL.")
class CloudSqlMysqlSource(DatabaseSourceBase):
    column_types = MYSQL

    class Config(DatabaseSourceConfig, CloudSqlMysqlConfig, additions=servers.CLOUD_SOURCE):
        """MySQL at Cloud SQL."""


@plugin(
    name="CloudSQLMySQL",
    description="Inserts each record as a row into a table of MySQL at Cloud SQL.",
)
class CloudSqlMysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, CloudSqlMysqlConfig, additions=servers.SINK_WITH_ISOLATION):
        """MySQL at Cloud SQL."""


@plugin(name="CloudSQLMySQL", description="Executes an SQL statement in MySQL at Cloud SQL.")
class CloudSqlMysqlAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlMysqlConfig, additions=servers.CONNECTION):
        """MySQL at Cloud SQL."""
