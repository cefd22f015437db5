"""The names of datasets outside of an instance, from the properties of the stages that read and write them.

The names are those of OpenLineage (``website/docs/spec/naming.md``; for databases the Java client's
``client/utils/jdbc``). They hold no user, no password and no argument of a connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec

from localcdap.api.errors import LocalcdapError

Resolve = Callable[[str], str]
"""Returns the path on this machine or cluster, see :meth:`localcdap.api.locations.Locations.resolve`."""
FILE: Final = "file"
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)(.*)", re.DOTALL)
_BUCKETS: Final = {"s3a": "s3", "s3n": "s3", "s3": "s3", "gs": "gs"}
_KINDS: Final = {
    "Postgres": "postgresql",
    "CloudSQLPostgreSQL": "postgresql",
    "Mysql": "mysql",
    "CloudSQLMySQL": "mysql",
}
"""The kind of database of plugins without a connection string."""
_PORTS: Final = {"postgresql": 5432, "mysql": 3306, "sqlserver": 1433, "oracle": 1521}
_SCHEMES: Final = {"postgresql": "postgres", "sqlserver": "mssql"}
"""The words of OpenLineage for kinds of databases, where they differ from those of JDBC."""
_DEFAULT_SCHEMAS: Final = {"postgresql": "public", "sqlserver": "dbo"}
_ORACLE: Final = re.compile(
    r"jdbc:oracle:thin:@(?://)?([^/:?]+)(?::(\d+))?[/:]([^/:?]+)", re.IGNORECASE
)
_ONE_TABLE: Final = re.compile(
    r"\s*select\s[^;()]*?\sfrom\s+([\w.\"`]+)(?:\s+(?:where|order\s+by|limit)\s[^;()]*)?;?\s*",
    re.IGNORECASE,
)
"""A query that reads exactly one table."""
_SECOND_TABLE: Final = re.compile(r"\b(?:join|union|intersect|except|select)\b", re.IGNORECASE)
_TABLE_PLACE: Final = "table "
_AUTO: Final = ("", "auto-detect")


class DatasetName(msgspec.Struct, frozen=True):
    """A dataset as OpenLineage names it."""

    namespace: str
    """Where it lies, such as ``file``, ``gs://sales`` or ``postgres://db.example:5432``."""
    name: str


def list_places(
    namespace: str, plugin: str, properties: Mapping[str, str], tables: Iterable[str]
) -> list[str]:
    """Return where a stage finds or leaves its data, as texts each of which stands for the same table.

    Files are left out: the path of a stage may be a folder, or a pattern, that several datasets share.

    :param namespace: of the tables of the instance that hold the data.
    """
    held = [format_table_place(namespace, table) for table in tables]
    names = _list_table_names(plugin, _strip(properties))
    return held + [f"{each.namespace} {each.name}" for each in names]


def format_table_place(namespace: str, table: str) -> str:
    """Return the place of a table of the instance."""
    return f"{_TABLE_PLACE}{namespace}.{table}"


def parse_table_place(place: str) -> tuple[str, str] | None:
    """Return the namespace and the name of the table that a place is; None for another place."""
    if not place.startswith(_TABLE_PLACE):
        return None
    namespace, _, table = place.removeprefix(_TABLE_PLACE).partition(".")
    return namespace, table


def list_dataset_names(
    plugin: str, properties: Mapping[str, str], resolve: Resolve
) -> list[DatasetName]:
    """Return the names of the dataset of a source or sink, first the one by which the pipeline knows it.

    A path in a bucket comes with the local path that stands for it. Nothing is returned when a property that
    is part of the name has a macro, or when the properties do not say where the data lies.

    :param plugin: the name of the plugin.
    :param properties: of the stage, with evaluated macros.
    """
    given = _strip(properties)
    return (
        _list_path_names(given["path"], resolve)
        if "path" in given
        else _list_table_names(plugin, given)
    )


def _strip(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: value.strip() for key, value in properties.items()}


def _list_table_names(plugin: str, given: Mapping[str, str]) -> list[DatasetName]:
    """Return the name of the table of BigQuery or of a database."""
    if "path" in given:
        return []
    if given.get("dataset") and given.get("table"):
        return _list_bigquery_names(given)
    if "connectionString" in given or plugin in _KINDS:
        name = _find_database_name(plugin, given)
        return [] if name is None else [name]
    return []


def name_path(path: str) -> DatasetName | None:
    """Return the name of an absolute path or a URL; None for another text."""
    if path.startswith("/"):
        return DatasetName(FILE, path.rstrip("/") or "/")
    url = _URL.fullmatch(path)
    if url is None:
        return None
    scheme, authority, rest = url[1].lower(), url[2].rpartition("@")[2], url[3]
    if scheme == FILE:
        return DatasetName(FILE, f"/{rest.strip('/')}")
    if scheme in ("abfs", "abfss", "wasb", "wasbs"):
        authority = url[2]  # the part before @ is the container
    rest = rest.partition("?")[0] if scheme in ("http", "https") else rest
    name = rest.strip("/") or "/"
    if scheme in _BUCKETS:
        return DatasetName(f"{_BUCKETS[scheme]}://{authority}", name)
    return DatasetName(f"{scheme}://{authority}", f"/{name.lstrip('/')}")


def _list_path_names(path: str, resolve: Resolve) -> list[DatasetName]:
    if not path or _has_macro(path):
        return []
    try:
        local = name_path(resolve(path))
    except LocalcdapError:  # there is no folder that stands for it
        local = None
    foreign = name_path(path) if "://" in path else None
    found = [foreign] if foreign is not None and foreign.namespace != FILE else []
    return list(dict.fromkeys(each for each in (*found, local) if each is not None))


def _list_bigquery_names(given: Mapping[str, str]) -> list[DatasetName]:
    """Return the name of a table of BigQuery; none without a project, which only Google would know."""
    projects = (given.get("datasetProject", ""), given.get("project", ""))
    project = next((each for each in projects if each not in _AUTO), None)
    if project is None or _has_macro(project, given["dataset"], given["table"]):
        return []
    return [DatasetName("bigquery", f"{project}.{given['dataset']}.{given['table']}")]


def _find_database_name(plugin: str, given: Mapping[str, str]) -> DatasetName | None:
    table = _find_table(given)
    if table is None:
        return None
    if plugin in _KINDS:
        kind, database = _KINDS[plugin], given.get("database", "")
        host = given.get("host") or given.get("connectionName") or "localhost"
        port = given.get("port", "")
        return _name_table(kind, host, port, database, table, public=":" in host)
    url = given["connectionString"]
    if _has_macro(url) or not url.lower().startswith("jdbc:"):
        return None
    if (oracle := _ORACLE.match(url)) is not None:
        return _name_table("oracle", oracle[1], oracle[2] or "", oracle[3], table)
    kind = url.split(":")[1].lower()
    address = url[len("jdbc:") :]
    if kind == "sqlserver":
        return _name_sql_server(address, table)
    try:
        parts = urlsplit(address)
        server, number = parts.hostname, parts.port
    except ValueError:
        return None
    if server is None:  # a database in a file, or one of this process
        return None
    return _name_table(kind, server, str(number or ""), parts.path.strip("/"), table)


def _name_sql_server(address: str, table: list[str]) -> DatasetName | None:
    """Return the name of a table of ``sqlserver://host:port;databaseName=shop``."""
    server, *arguments = address.partition("://")[2].split(";")
    values = {key.lower(): value for key, _, value in (each.partition("=") for each in arguments)}
    host, _, port = server.partition(":")
    database = values.get("databasename", values.get("database", ""))
    return _name_table("sqlserver", host, port, database, table) if host else None


def _name_table(
    kind: str, host: str, port: str, database: str, table: list[str], *, public: bool = False
) -> DatasetName | None:
    """Return the name of a table.

    :param public: whether the host is a public instance of Cloud SQL, which has no port.
    """
    if not database or _has_macro(host, port, database, *table):
        return None
    number = port if port not in ("", "0") else str(_PORTS.get(kind, ""))
    address = host if public or not number else f"{host}:{number}"
    if len(table) == 1 and kind in _DEFAULT_SCHEMAS:
        table = [_DEFAULT_SCHEMAS[kind], *table]
    if len(table) == 1 or kind != "mysql":
        table = [database, *table]
    return DatasetName(f"{_SCHEMES.get(kind, kind)}://{address}", ".".join(table))


def _find_table(given: Mapping[str, str]) -> list[str] | None:
    """Return the parts of the name of the table that is written, or the only one that a query reads."""
    named = given.get("tableName")
    if named:
        schema = given.get("dbSchemaName", "")
        return _split_identifier(f"{schema}.{named}" if schema else named)
    query = given.get("importQuery", "").replace("$CONDITIONS", "1")
    found = _ONE_TABLE.fullmatch(query)
    if found is None or "," in query[found.end(1) :].partition("where")[0]:
        return None
    others = query[: found.start(1)].lower().replace("select", "", 1) + query[found.end(1) :]
    return None if _SECOND_TABLE.search(others) else _split_identifier(found[1])


def _split_identifier(text: str) -> list[str]:
    return [part.strip().strip('"`') for part in text.split(".")]


def _has_macro(*texts: str) -> bool:
    return any("${" in text for text in texts)
