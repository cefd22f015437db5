"""Plugins of MySQL, on a server and at Google Cloud SQL."""

from __future__ import annotations

from localcdap.api import plugin

from .database_actions import DatabaseActionBase, StatementConfig
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .servers import CloudSqlConfig, ServerConfig


class MysqlConfig(ServerConfig):
    """A MySQL server."""

    _url, _port = "jdbc:mysql://{}:{}/{}", 3306


class CloudSqlMysqlConfig(CloudSqlConfig):
    """MySQL at Cloud SQL."""

    _public = "jdbc:mysql:///{}?cloudSqlInstance={}&socketFactory=com.google.cloud.sql.mysql.SocketFactory"
    _private, _port = "jdbc:mysql://{}:{}/{}", 3306


@plugin(type="batchsource", name="Mysql", description="Reads the rows of a query from MySQL.")
class MysqlSource(DatabaseSourceBase):
    class Config(DatabaseSourceConfig, MysqlConfig):
        """MySQL."""


@plugin(
    type="batchsink",
    name="Mysql",
    description="Inserts each record as a row into a table of MySQL.",
)
class MysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, MysqlConfig):
        """MySQL."""


@plugin(type="action", name="Mysql", description="Executes an SQL statement in MySQL.")
class MysqlAction(DatabaseActionBase):
    class Config(StatementConfig, MysqlConfig):
        """MySQL."""


@plugin(
    type="batchsource",
    name="CloudSQLMySQL",
    description="Reads the rows of a query from MySQL at Cloud SQL.",
)
class CloudSqlMysqlSource(DatabaseSourceBase):
    class Config(DatabaseSourceConfig, CloudSqlMysqlConfig):
        """MySQL at Cloud SQL."""


@plugin(
    type="batchsink",
    name="CloudSQLMySQL",
    description="Inserts each record as a row into a table of MySQL at Cloud SQL.",
)
class CloudSqlMysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, CloudSqlMysqlConfig):
        """MySQL at Cloud SQL."""


@plugin(
    type="action",
    name="CloudSQLMySQL",
    description="Executes an SQL statement in MySQL at Cloud SQL.",
)
class CloudSqlMysqlAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlMysqlConfig):
        """MySQL at Cloud SQL."""
