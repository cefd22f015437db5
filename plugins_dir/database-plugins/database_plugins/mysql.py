"""MySQL by host and database, at Google Cloud SQL too."""

from __future__ import annotations

from localcdap.api import plugin

from .database_actions import DatabaseActionBase, StatementConfig
from .database_sink import DatabaseSinkBase, DatabaseSinkConfig
from .database_source import DatabaseSourceBase, DatabaseSourceConfig
from .servers import CloudSqlConfig, ServerConfig


class MysqlConfig(ServerConfig):
    _url, _port = "jdbc:mysql://{}:{}/{}", 3306


class CloudSqlMysqlConfig(CloudSqlConfig):
    _public = "jdbc:mysql:///{}?cloudSqlInstance={}&socketFactory=com.google.cloud.sql.mysql.SocketFactory"
    _private, _port = "jdbc:mysql://{}:{}/{}", 3306


@plugin(type="batchsource", name="Mysql", description="Reads the rows of a query from MySQL.")
class MysqlSource(DatabaseSourceBase):
    class Config(DatabaseSourceConfig, MysqlConfig):
        """MySQL."""


@plugin(
    type="batchsink", name="Mysql", description="Adds each record as a row to a table of MySQL."
)
class MysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, MysqlConfig):
        """MySQL."""


@plugin(type="action", name="Mysql", description="Has MySQL carry out an SQL statement.")
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
    description="Adds each record as a row to a table of MySQL at Cloud SQL.",
)
class CloudSqlMysqlSink(DatabaseSinkBase):
    class Config(DatabaseSinkConfig, CloudSqlMysqlConfig):
        """MySQL at Cloud SQL."""


@plugin(
    type="action",
    name="CloudSQLMySQL",
    description="Has MySQL at Cloud SQL carry out an SQL statement.",
)
class CloudSqlMysqlAction(DatabaseActionBase):
    class Config(StatementConfig, CloudSqlMysqlConfig):
        """MySQL at Cloud SQL."""
