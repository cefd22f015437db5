"""MySQL and PostgreSQL by host and database, and at Cloud SQL."""

from __future__ import annotations

import pytest
from database_plugins.jdbc import JdbcConfig, add_defaults, add_to_url, parse_arguments
from database_plugins.mysql import CloudSqlMysqlConfig, MysqlConfig
from database_plugins.oracle import OracleConfig, OracleTableConfig
from database_plugins.postgresql import CloudSqlPostgresConfig, PostgresConfig
from database_plugins.sql_server import SqlServerConfig, SqlServerStatementConfig

from localcdap.api.failures import FailureCollector
from localcdap.api.schema import Schema
from tests.plugins.database.support import configure, messages

ROW = Schema.record("r", [("id", Schema.INT)])
CLOUD = {"connectionName": "p:eu:shop"}
FACTORY = "&socketFactory=com.google.cloud.sql"


@pytest.mark.parametrize(
    ("config", "properties", "expected"),
    [
        (MysqlConfig, {}, "jdbc:mysql://localhost:3306/db"),
        (MysqlConfig, {"host": " h ", "port": "1"}, "jdbc:mysql://h:1/db"),
        (PostgresConfig, {"host": "h"}, "jdbc:postgresql://h:5432/db"),
        (
            CloudSqlMysqlConfig,
            CLOUD,
            f"jdbc:mysql:///db?cloudSqlInstance=p:eu:shop{FACTORY}.mysql.SocketFactory",
        ),
        (
            CloudSqlPostgresConfig,
            CLOUD,
            f"jdbc:postgresql:///db?cloudSqlInstance=p:eu:shop{FACTORY}.postgres.SocketFactory",
        ),
        (
            CloudSqlMysqlConfig,
            {"connectionName": "10.0.0.7", "instanceType": "Private", "port": "3307"},
            "jdbc:mysql://10.0.0.7:3307/db",
        ),
        (
            CloudSqlPostgresConfig,
            {"connectionName": "10.0.0.7", "instanceType": "private"},
            "jdbc:postgresql://10.0.0.7:5432/db",
        ),
        (SqlServerConfig, {}, "jdbc:sqlserver://localhost:1433;databaseName=db"),
        (OracleConfig, {"connectionType": "sid"}, "jdbc:oracle:thin:@localhost:1521:db"),
        (
            OracleConfig,
            {"connectionType": "service", "host": "h", "port": "1"},
            "jdbc:oracle:thin:@//h:1/db",
        ),
        (OracleConfig, {"connectionType": "tns"}, "jdbc:oracle:thin:@db"),
    ],
)
def test_where_they_are(config: type[JdbcConfig], properties: dict[str, str], expected: str):
    collector = FailureCollector("s")
    given = {"jdbcPluginName": "x", "database": "db"} | properties
    assert config.build(given, collector).get_url() == expected
    assert list(collector) == []


@pytest.mark.parametrize(
    "name",
    ["Mysql", "Postgres", "CloudSQLMySQL", "CloudSQLPostgreSQL", "SqlServer", "Oracle"],
)
def test_they_are_as_the_plugins_for_any_database(name: str):
    place = {"jdbcPluginName": "x", "database": "db", "referenceName": "r"} | CLOUD
    place |= {"connectionType": "sid"} if name == "Oracle" else {}
    source = place | {"importQuery": "SELECT 1", "schema": str(ROW), "numSplits": "2"}
    assert messages(configure("batchsource", name, source)) == [
        "Import Query must contain the string '$CONDITIONS' if Number of Splits is not 1.",
        "Split-By Field Name must be specified if Number of Splits is not set to 1.",
        "Bounding Query must be specified if Number of Splits is not set to 1.",
    ]
    sink = place | {"tableName": "t", "columns": "no"}
    assert messages(configure("batchsink", name, sink, given=ROW)) == [
        "Column 'no' is not a field of the input schema."
    ]
    refused = (
        "Table key must be set if the operation is 'Update' or 'Upsert'."
        if "Postgre" in name
        else "Property 'operationName' must be one of insert, not 'upsert'."
    )
    assert messages(configure("batchsink", name, sink | {"operationName": "upsert"})) == [refused]
    for type in ("action", "postaction"):
        if type == "action" or not name.startswith("Cloud"):
            (lacking,) = messages(configure(type, name, place | {"runCondition": "success"}))
            assert lacking == "Required property 'query' has no value."


UTC = "sessionVariables=time_zone='+00:00'"
MARIADB = "org.mariadb.jdbc.Driver"


@pytest.mark.parametrize(
    ("url", "given", "driver", "expected"),
    [
        (
            "jdbc:mysql://h/db",
            "permitMysqlScheme=true",
            MARIADB,
            f"jdbc:mysql://h/db?{UTC}&permitMysqlScheme=true",
        ),
        (
            "jdbc:mysql://h/db?a=1",
            "",
            "com.mysql.cj.jdbc.Driver",
            "jdbc:mysql://h/db?a=1&sessionVariables=time_zone%3D%27%2B00%3A00%27",
        ),
        (
            "jdbc:mysql://h/db",
            "serverTimezone=Asia/Tokyo",
            MARIADB,
            "jdbc:mysql://h/db?serverTimezone=Asia/Tokyo",
        ),
        (
            "jdbc:postgresql://h/db",
            " connectTimeout = 5 ;",
            None,
            "jdbc:postgresql://h/db?stringtype=unspecified&connectTimeout=5",
        ),
        ("jdbc:postgresql://h/db?stringtype=varchar", None, None, None),
        (
            "jdbc:sqlserver://h;databaseName=db",
            "loginTimeout=5",
            None,
            "jdbc:sqlserver://h;databaseName=db;loginTimeout=5",
        ),
    ],
)
def test_drivers_get_arguments_in_the_url(
    url: str, given: str | None, driver: str | None, expected: str | None
):
    assert add_to_url(url, add_defaults(url, parse_arguments(given)), driver) == (
        expected or url,
        {},
    )


def test_arguments_without_a_place_in_the_url_are_passed_separately():
    url = "jdbc:oracle:thin:@//h/db"
    assert add_to_url(url, add_defaults(url, {"a.b": "1"}), None) == (url, {"a.b": "1"})


def test_properties_of_mysql_become_arguments_of_its_driver():
    collector = FailureCollector("s")
    given = {
        "jdbcPluginName": "x",
        "database": "db",
        "autoReconnect": "true",
        "useSSL": "No",
        "trustCertificateKeyStoreUrl": "file:/x",
        "sqlMode": "ANSI",
        "connectionArguments": "connectTimeout=5",
    }
    config = MysqlConfig.build(given, collector)
    assert config.get_driver_arguments() == {
        "autoReconnect": "true",
        "useSSL": "false",
        "trustCertificateKeyStoreUrl": "file:/x",
        "sessionVariables": "sql_mode='ANSI',time_zone='+00:00'",
    }
    others = {"connectionArguments": "sessionVariables=time_zone='+01:00'", "useAnsiQuotes": "true"}
    more = MysqlConfig.build(given | {"sqlMode": ""} | others, collector)
    assert more.get_driver_arguments()["sessionVariables"] == (
        "sql_mode=CONCAT(@@sql_mode,',ANSI_QUOTES'),time_zone='+01:00'"
    )
    plain = MysqlConfig.build({"jdbcPluginName": "x", "database": "db"}, collector)
    assert (plain.get_driver_arguments(), list(collector)) == ({}, [])


def test_properties_of_sql_server_become_arguments_of_its_driver():
    collector = FailureCollector("s")
    given = {
        "jdbcPluginName": "x",
        "database": "db",
        "query": "SELECT 1",
        "instanceName": "sales",
        "authenticationType": "ActiveDirectoryPassword",
        "applicationIntent": "ReadOnly",
        "loginTimeout": "5",
        "columnEncryptionSetting": "false",
        "encrypt": "true",
        "currentLanguage": "us_'english",
    }
    config = SqlServerStatementConfig.build(given, collector)
    assert config.get_driver_arguments() == {
        "instanceName": "sales",
        "authentication": "ActiveDirectoryPassword",
        "applicationIntent": "ReadOnly",
        "loginTimeout": "5",
        "columnEncryptionSetting": "Disabled",
        "encrypt": "true",
        "queryTimeout": "-1",
    }
    assert config.get_first_statement() == "SET LANGUAGE 'us_''english';"
    former = {"connectTimeout": "7", "columnEncryption": "true", "workstationId": "here"}
    others = {"jdbcPluginName": "x", "database": "db"}
    assert SqlServerConfig.build(others | former, collector).get_driver_arguments() == {
        "loginTimeout": "7",
        "columnEncryptionSetting": "Enabled",
        "workstationID": "here",
        "queryTimeout": "-1",
    }
    plain = SqlServerConfig.build({"jdbcPluginName": "x", "database": "db"}, collector)
    assert plain.get_driver_arguments() == {"queryTimeout": "-1"}
    assert plain.get_first_statement() is None
    assert list(collector) == []


def test_tables_of_oracle_are_quoted_and_its_isolation_follows_the_role():
    collector = FailureCollector("s")
    given = {
        "jdbcPluginName": "x",
        "database": "db",
        "connectionType": "sid",
        "referenceName": "r",
        "tableName": "Orders",
        "dbSchemaName": "shop",
    }
    config = OracleTableConfig.build(given, collector)
    assert (config.get_table_name(), config.get_isolation()) == ('"shop"."Orders"', "SERIALIZABLE")
    assert config.get_driver_arguments() == {}
    admin = OracleTableConfig.build(given | {"role": "sysdba"}, collector)
    assert admin.get_isolation() == "READ_COMMITTED"
    assert admin.get_driver_arguments() == {"internal_logon": "sysdba"}
    assert list(collector) == []
    wrong = given | {"transactionIsolationLevel": "TRANSACTION_REPEATABLE_READ"}
    assert messages(configure("batchsink", "Oracle", wrong)) == [
        "Oracle has no isolation level 'TRANSACTION_REPEATABLE_READ'."
    ]
    assert messages(configure("batchsink", "Oracle", given | {"connectionType": ""})) == [
        "Required property 'connectionType' has no value."
    ]
