"""Properties that some plugins of databases have here and not in CDAP, with the reasons.

The plugins share their configurations, so that each has what CDAP gives to some of them only.
"""

from __future__ import annotations

from typing import Final

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
