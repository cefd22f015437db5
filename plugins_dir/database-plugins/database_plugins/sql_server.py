"""Plugins of Microsoft SQL Server."""

from __future__ import annotations

from typing import Any

from localcdap.api import field, plugin
from localcdap.api.sql_names import quote_literal

from . import servers
from .column_types import SQL_SERVER
from .database_actions import (
    DatabaseActionBase,
    DatabasePostActionBase,
    PostStatementConfig,
    StatementConfig,
)
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .servers import ServerConfig

_ACTIVE_DIRECTORY = "ActiveDirectoryPassword"
_LOGIN = "SQL Login"


def _driver_field(description: str, name: str, former: str | None = None) -> Any:
    return field(
        description,
        default=None,
        macro=True,
        name=name,
        group="connection",
        former_names=(former,) if former else (),
    )


class SqlServerConfig(ServerConfig):
    """A SQL Server; properties as CDAP's (database-plugins,
    ``io/cdap/plugin/mssql/SqlServerConstants.java``).

    The driver gets the authentication as ``authentication``, the name that it knows; the original writes
    ``authenticationType``.
    """

    _url, _port = "jdbc:sqlserver://{}:{};databaseName={}", 1433

    instance: str | None = _driver_field(
        "Name of the instance on the server, instead of the default one.", "instanceName"
    )
    authentication: str = field(
        f"How the user is known: '{_LOGIN}', or '{_ACTIVE_DIRECTORY}' for Azure.",
        default=_LOGIN,
        name="authenticationType",
        macro=True,
        group="account",
    )
    query_timeout: int = field(
        "Seconds after which a query fails; -1 for no limit.",
        default=-1,
        macro=True,
        name="queryTimeout",
        group="connection",
    )
    connect_timeout: int | None = _driver_field(
        "Seconds to wait for the connection; 0 for the driver's 15 seconds.",
        "loginTimeout",
        former="connectTimeout",
    )
    column_encryption: bool | None = _driver_field(
        "Whether the driver encrypts the values of encrypted columns.",
        "columnEncryptionSetting",
        former="columnEncryption",
    )
    encrypt: bool | None = _driver_field("Whether the connection is encrypted.", "encrypt")
    trust: bool | None = _driver_field(
        "Whether any certificate of the server is trusted.", "trustServerCertificate"
    )
    workstation: str | None = _driver_field(
        "Name of this machine in the server's logs.", "workstationID", former="workstationId"
    )
    failover: str | None = _driver_field(
        "Server that takes over when the first one fails.", "failoverPartner"
    )
    packet_size: int | None = _driver_field(
        "Bytes of a network packet; -1 for the server's default.", "packetSize"
    )
    language: str | None = _driver_field(
        "Language of the session, which decides how the server reads dates in statements.",
        "currentLanguage",
    )

    def get_driver_arguments(self) -> dict[str, str]:
        """Return the arguments as CDAP ``SqlServerUtil`` does."""
        encryption = {True: "Enabled", False: "Disabled"}.get(self.column_encryption or False)
        given: dict[str, object] = {
            "instanceName": self.instance,
            "authentication": self.authentication
            if self.authentication == _ACTIVE_DIRECTORY
            else None,
            "loginTimeout": self.connect_timeout,
            "columnEncryptionSetting": None if self.column_encryption is None else encryption,
            "encrypt": self.encrypt,
            "trustServerCertificate": self.trust,
            "workstationID": self.workstation,
            "failoverPartner": self.failover,
            "packetSize": self.packet_size,
            "queryTimeout": self.query_timeout,
        }
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
            if value is not None and value != ""
        }

    def get_first_statement(self) -> str | None:
        return f"SET LANGUAGE {quote_literal(self.language)};" if self.language else None


class SqlServerStatementConfig(StatementConfig, SqlServerConfig, additions=servers.CONNECTION):
    """A statement in SQL Server."""

    intent: str | None = field(
        "What the connection is for: 'ReadWrite' or 'ReadOnly'.",
        default=None,
        macro=True,
        name="applicationIntent",
        group="connection",
    )

    def get_driver_arguments(self) -> dict[str, str]:
        intent = {"applicationIntent": self.intent} if self.intent else {}
        return super().get_driver_arguments() | intent


@plugin(name="SqlServer", description="Reads the rows of a query from SQL Server.")
class SqlServerSource(DatabaseSourceBase):
    column_types = SQL_SERVER

    class Config(DatabaseSourceConfig, SqlServerConfig, additions=servers.SOURCE):
        """SQL Server."""


@plugin(name="SqlServer", description="Inserts each record as a row into a table of SQL Server.")
class SqlServerSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, SqlServerConfig, additions=servers.SINK):
        """SQL Server."""


@plugin(name="SqlServer", description="Executes an SQL statement in SQL Server.")
class SqlServerAction(DatabaseActionBase):
    class Config(SqlServerStatementConfig):
        """SQL Server."""


@plugin(
    name="SqlServer",
    description="Executes an SQL statement in SQL Server when the run has ended.",
)
class SqlServerPostAction(DatabasePostActionBase):
    class Config(PostStatementConfig, SqlServerStatementConfig):
        """SQL Server."""
