"""Properties of databases by host and database name, on a server and at Google Cloud SQL.

They are the only difference between the plugins for one kind of database and those for any database.

The plugins share their configurations, so that each has what CDAP gives to some of them only.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from localcdap.api import field

from .jdbc import JdbcConfig

_CONNECTION: Final = "Here, a connection can supply the database to each plugin of databases."
_RENAMING: Final = "Here, each source of databases can rename columns."
_ISOLATION: Final = "Here, each source and sink of databases has an isolation level."

CONNECTION: Final = {"useConnection": _CONNECTION, "connection": _CONNECTION}
SERVER: Final = {
    "jdbcPluginType": "Here, each plugin of databases has it, without effect.",
    "enableAutoCommit": "Here, each plugin of databases can execute statements one by one.",
}
TIMEOUT: Final = {"connectionTimeout": "Here, each plugin of Cloud SQL has it, without effect."}
COLUMNS: Final = {"columns": "Here, each sink of databases can leave out fields."}
RENAMING: Final = {
    "columnNameCase": _RENAMING,
    "patternToReplace": _RENAMING,
    "replaceWith": _RENAMING,
}
ISOLATION: Final = {"transactionIsolationLevel": _ISOLATION}
SINK_CASE: Final = {"columnNameCase": "Here, each sink of databases has it, without effect."}

SOURCE: Final = RENAMING | ISOLATION
CLOUD_SOURCE: Final = SOURCE | TIMEOUT
SINK_WITH_ISOLATION: Final = COLUMNS | SINK_CASE
"""The additions of sinks whose originals have an isolation level."""
SINK: Final = SINK_WITH_ISOLATION | ISOLATION
MYSQL_SINK: Final = SINK | {
    "useAnsiQuotes": "Here, sources and sinks of MySQL have the same properties."
}
ORACLE_STATEMENT: Final = CONNECTION | {"role": "Here, each plugin of Oracle can have a role."}
ARGUMENT_SETTER: Final = CONNECTION | {"enableAutoCommit": SERVER["enableAutoCommit"]}
MULTI_TABLE: Final = CONNECTION | {
    "jdbcPluginType": SERVER["jdbcPluginType"],
    "connectionArguments": "Here, each plugin of databases can have arguments of the driver.",
}

_IN_CONNECTOR: Final = "Connectors share it with stages. In a connection it has no effect."
_OF_STAGES: Final = "Here, stages take it from their connection."
DATABASE_CONNECTOR: Final = dict.fromkeys(
    ("useConnection", "connection", "jdbcPluginType", "enableAutoCommit"), _IN_CONNECTOR
)
POSTGRES_CONNECTOR: Final = DATABASE_CONNECTOR | {"connectionTimeout": _IN_CONNECTOR}
MYSQL_CONNECTOR: Final = DATABASE_CONNECTOR | dict.fromkeys(
    (
        *("database", "autoReconnect", "useCompression", "sqlMode", "useSSL", "useAnsiQuotes"),
        *("clientCertificateKeyStoreUrl", "clientCertificateKeyStorePassword"),
        *("trustCertificateKeyStoreUrl", "trustCertificateKeyStorePassword"),
    ),
    _OF_STAGES,
)


_PRIVATE = "private"


def timeout_field() -> Any:
    """Return the property ``connectionTimeout``."""
    return field(
        "Seconds to wait for the connection; without effect.",
        default=None,
        macro=True,
        name="connectionTimeout",
        group="more",
    )


class ServerConfig(JdbcConfig, macros=True, additions=SERVER):
    """A database on a server."""

    _url: ClassVar[str]
    _port: ClassVar[int]

    host: str = field("Host name of the server.", default="localhost")
    port: int = field("Port of the server, by default the usual one of the database.", default=0)
    database: str = field("Name of the database.")

    def get_url(self) -> str:
        return self._url.format(self.host.strip(), self.port or self._port, self.database.strip())


class CloudSqlConfig(JdbcConfig, macros=True, rename="camel", additions=SERVER):
    """A database of a Cloud SQL instance.

    Google's socket factory connects to a public instance; its jar must be in the folder of the driver.
    """

    _public: ClassVar[str]
    _private: ClassVar[str]
    _port: ClassVar[int]

    connection_name: str = field(
        "Instance: project:region:name of a public one, the address of a private one.",
    )
    instance_type: str = field(
        "Whether the instance is public or private. A server of yours that replaces it is private.",
        default="public",
        choices=("public", _PRIVATE),
    )
    port: int = field(
        "Port of a private instance, by default the usual one of the database.", default=0
    )
    database: str = field("Name of the database.")
    timeout: str | None = timeout_field()

    def get_url(self) -> str:
        name, database = self.connection_name.strip(), self.database.strip()
        if self.instance_type.lower() == _PRIVATE:
            return self._private.format(name, self.port or self._port, database)
        return self._public.format(database, name)
