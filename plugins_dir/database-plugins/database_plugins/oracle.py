"""Plugins of Oracle Database."""

from __future__ import annotations

from localcdap.api import StageConfigurer, field, plugin

from . import servers
from .column_types import ORACLE
from .database_actions import (
    DatabaseActionBase,
    DatabasePostActionBase,
    PostStatementConfig,
    StatementConfig,
)
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .jdbc import to_isolation_level
from .servers import ServerConfig

_SID, _SERVICE, _TNS = "sid", "service", "TNS"
_NORMAL = "normal"


class OracleConfig(ServerConfig):
    """An Oracle server; properties as CDAP's (database-plugins,
    ``io/cdap/plugin/oracle/OracleConstants.java``, ``OracleConnectorConfig.java``).
    """

    _port = 1521

    connection_type: str = field(
        "What 'database' is: a SID, a service name, or a whole descriptor of TNS.",
        choices=(_SID, _SERVICE, _TNS),
        name="connectionType",
        macro=False,
    )
    role: str = field(
        "Role of the user: 'normal', or 'sysdba' and the like.", default=_NORMAL, group="account"
    )
    batch: int | None = field(
        "Rows that are sent at once; without effect: Spark decides.",
        default=None,
        name="defaultBatchValue",
        group="more",
    )

    def get_url(self) -> str:
        database = self.database.strip()
        if self.connection_type == _TNS:
            return f"jdbc:oracle:thin:@{database}"
        place = f"{self.host.strip()}:{self.port or self._port}"
        if self.connection_type == _SERVICE:
            return f"jdbc:oracle:thin:@//{place}/{database}"
        return f"jdbc:oracle:thin:@{place}:{database}"

    def get_driver_arguments(self) -> dict[str, str]:
        return {"internal_logon": self.role} if self.role.lower() != _NORMAL else {}


class OracleTableConfig(DatabaseSinkConfig, OracleConfig, additions=servers.SINK_WITH_ISOLATION):
    """A table of Oracle."""

    def get_table_name(self) -> str:
        """Return the table's name in quotes, as CDAP does: Oracle folds other names to upper case."""
        parts = (each.strip() for each in (self.schema_name or "", self.table))
        return ".".join(f'"{each}"' for each in parts if each)

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        super().check(stage)
        known = not self.contains_macro("transactionIsolationLevel")
        if known and to_isolation_level(self.isolation) not in ("SERIALIZABLE", "READ_COMMITTED"):
            stage.failures.add(
                f"Oracle has no isolation level '{self.isolation}'.",
                "Use TRANSACTION_SERIALIZABLE or TRANSACTION_READ_COMMITTED.",
            ).with_config_property("transactionIsolationLevel")

    def get_isolation(self) -> str:
        """Return the isolation level; READ_COMMITTED for roles such as sysdba (ORA-08178)."""
        level = super().get_isolation()
        return "READ_COMMITTED" if level != "NONE" and self.role.lower() != _NORMAL else level


@plugin(name="Oracle", description="Reads the rows of a query from Oracle Database.")
class OracleSource(DatabaseSourceBase):
    column_types = ORACLE

    class Config(DatabaseSourceConfig, OracleConfig, additions=servers.RENAMING):
        """Oracle."""

        prefetch: int | None = field(
            "Rows to fetch at once; without effect: 'fetchSize' says it.",
            default=None,
            name="defaultRowPrefetch",
            macro=True,
            group="more",
        )


@plugin(name="Oracle", description="Inserts each record as a row into a table of Oracle Database.")
class OracleSink(DatabaseSinkBase):
    class Config(OracleTableConfig):
        """Oracle."""


@plugin(name="Oracle", description="Executes an SQL statement in Oracle Database.")
class OracleAction(DatabaseActionBase):
    class Config(StatementConfig, OracleConfig, additions=servers.ORACLE_STATEMENT):
        """Oracle."""


@plugin(
    name="Oracle",
    description="Executes an SQL statement in Oracle Database when the run has ended.",
)
class OraclePostAction(DatabasePostActionBase):
    class Config(PostStatementConfig, OracleConfig, additions=servers.ORACLE_STATEMENT):
        """Oracle."""
