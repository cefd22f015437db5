"""Connectors of databases by JDBC: Spark reads their catalogue and their rows, as it does in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseRequest,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SampleType,
    Schema,
    SpecificationRequest,
    StageConfigurer,
    plugin,
)
from localcdap.api.connector import format_connection_macro
from localcdap.api.errors import BadRequestError, NotFoundError

from . import servers
from .catalogue import HIDDEN, LISTED, quote_names, quote_text
from .jdbc import (
    DatabaseConfig,
    DriverNotFoundError,
    JdbcConfig,
    find_driver,
    get_database_kind,
    get_one_row_query,
)
from .mysql import MysqlConfig
from .postgresql import PostgresConfig

_MOST_TABLES: Final = 10_000
_MYSQL: Final = ("mysql", "mariadb")
_COLUMNS: Final = Schema.record(
    "columns",
    [
        ("column_name", Schema.STRING.as_nullable),
        ("data_type", Schema.STRING.as_nullable),
        ("digits", Schema.STRING.as_nullable),
        ("scale", Schema.STRING.as_nullable),
    ],
)
_TABLES: Final = Schema.record(
    "tables",
    [
        ("table_schema", Schema.STRING.as_nullable),
        ("table_name", Schema.STRING.as_nullable),
        ("table_type", Schema.STRING.as_nullable),
    ],
)
_ROW: Final = "sampled_row"
_COUNT: Final = "number_of_rows"
_COUNTED: Final = Schema.record("counted", [(_COUNT, Schema.LONG.as_nullable)])
_RANDOM_ORDERS: Final = {
    "postgresql": "md5({row}::text || ':{seed}')",
    "mysql": "RAND({seed})",
    "mariadb": "RAND({seed})",
}
"""By the kind of database, an order of the rows that the seed alone decides."""
_ONE: Final = Schema.record("one", [("one", Schema.INT.as_nullable)])
_TYPES: Final = {
    **dict.fromkeys(("int", "integer", "smallint", "mediumint", "tinyint"), Schema.INT),
    "bigint": Schema.LONG,
    **dict.fromkeys(("boolean", "bit"), Schema.BOOLEAN),
    "real": Schema.FLOAT,
    **dict.fromkeys(("double", "double precision", "float"), Schema.DOUBLE),
    "date": Schema.DATE,
    **dict.fromkeys(("timestamp", "timestamp with time zone"), Schema.TIMESTAMP),
    **dict.fromkeys(
        ("timestamp without time zone", "datetime", "datetime2", "smalldatetime"), Schema.DATETIME
    ),
    **dict.fromkeys(("time", "time without time zone"), Schema.TIME),
    **dict.fromkeys(("bytea", "blob", "longblob", "binary", "varbinary"), Schema.BYTES),
}
"""The types of columns, by the names in ``information_schema.columns``; any other is a text."""
_DECIMALS: Final = ("numeric", "decimal")


class DatabaseConnectorBase(Connector):
    """Browses schemas and tables: ``/schema/table``."""

    config: JdbcConfig
    source: ClassVar[str]
    """The name of the source of the database."""

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def test(self, context: ConnectorContext) -> None:
        try:
            find_driver(self.config.driver, context.resolve_path)
        except DriverNotFoundError as error:
            context.failures.add(str(error), error.action).with_config_property("jdbcPluginName")
            return
        kind = get_database_kind(self.config.get_url())
        list(self._query(context, get_one_row_query(kind), 1, _ONE).records)

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        owner, _, table = (request.path or "").strip("/").partition("/")
        tables = self._list_tables(context)
        if not owner:
            names = sorted({schema for schema, _ in tables})
            return BrowseDetail(
                [BrowseEntity(name, f"/{name}", "schema", can_browse=True) for name in names]
            )
        found = [
            BrowseEntity(name, f"/{schema}/{name}", type, can_sample=True)
            for (schema, name), type in sorted(tables.items())
            if schema == owner and table in ("", name)
        ]
        if not found:
            raise NotFoundError(f"There is nothing at '{request.path}'.", "Browse for its name.")
        return BrowseDetail(found)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        if request.sampling_type is SampleType.RANDOM:
            return self._read_random(context, request)
        schema = self._read_schema(context, request.path)
        query = f"SELECT * FROM {self._quote(*_split(request.path))}"  # noqa: S608 - it is quoted
        return self._query(context, query, request.limit, schema)

    def _read_random(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        """Have the database choose records of the whole table: the same ones for the same seed.

        :raises BadRequestError: when the kind of database cannot do that.
        """
        kind = get_database_kind(self.config.get_url())
        order = _RANDOM_ORDERS.get(kind)
        if order is None:
            raise BadRequestError(
                f"Databases of the kind '{kind}' give no random records that a seed repeats; those that do: "
                f"{', '.join(_RANDOM_ORDERS)}.",
                "Take the first records.",
            )
        schema = self._read_schema(context, request.path)
        table, alias = self._quote(*_split(request.path)), self._quote(_ROW)
        chosen = order.format(row=alias, seed=int(request.seed or 0))
        query = (
            f"SELECT * FROM {table} AS {alias} ORDER BY {chosen} "  # noqa: S608 - it is quoted
            f"LIMIT {int(request.limit)}"
        )
        counting = f"SELECT COUNT(*) AS {self._quote(_COUNT)} FROM {table}"  # noqa: S608 - it is quoted
        (counted,) = _records(self._query(context, counting, 1, _COUNTED))
        stream = self._query(context, query, request.limit, schema)
        stream.is_sampled, stream.total = True, counted[_COUNT]
        return stream

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        schema = self._read_schema(context, request.path)
        owner, table = _split(request.path)
        properties = self._get_account(context) | {
            "referenceName": f"{owner}.{table}",
            "importQuery": f"SELECT * FROM {self._quote(owner, table)}",  # noqa: S608 - it is quoted
            "schema": str(schema),
        }
        return ConnectorSpec([RelatedPlugin(self.source, "batchsource", properties)], schema)

    def _list_tables(self, context: ConnectorContext) -> dict[tuple[str, str], str]:
        """Return the types of tables and views, by schema and name."""
        self._require_catalogue()
        found = self._query(
            context,
            f"SELECT {self._alias('table_schema')}, {self._alias('table_name')}, "  # noqa: S608
            f"{self._alias('table_type')} FROM information_schema.tables",
            _MOST_TABLES,
            _TABLES,
        )
        return {
            (each["table_schema"], each["table_name"]): (
                "view" if "VIEW" in (each["table_type"] or "").upper() else "table"
            )
            for each in _records(found)
            if (each["table_schema"] or "").lower() not in HIDDEN
        }

    def _read_schema(self, context: ConnectorContext, path: str | None) -> Schema:
        """Return the columns of a table, as Spark reads them."""
        self._require_catalogue()
        owner, table = _split(path)
        kind = get_database_kind(self.config.get_url())
        found = self._query(
            context,
            f"SELECT {self._alias('column_name')}, {self._get_type()}, "  # noqa: S608
            f"{self._cast('numeric_precision', 'digits')}, {self._cast('numeric_scale', 'scale')} "
            f"FROM information_schema.columns WHERE table_schema = {quote_text(kind, owner)} "
            f"AND table_name = {quote_text(kind, table)} ORDER BY ordinal_position",
            _MOST_TABLES,
            _COLUMNS,
        )
        columns = [(each["column_name"], _to_type(each).as_nullable) for each in _records(found)]
        if not columns:
            raise NotFoundError(f"There is no table at '{path}'.", "Browse for its name.")
        return Schema.record(table, columns)

    def _require_catalogue(self) -> None:
        kind = get_database_kind(self.config.get_url())
        if kind not in LISTED:
            raise BadRequestError(
                f"Databases of the kind '{kind}' cannot be browsed; those that can: "
                f"{', '.join(LISTED)}.",
                "Use the source Database in a pipeline.",
            )

    def _query(
        self, context: ConnectorContext, query: str, limit: int, schema: Schema
    ) -> RecordStream:
        properties = self._get_account(context) | {"referenceName": "sample", "importQuery": query}
        return context.read_source(self.source, properties, limit, schema)

    def _get_account(self, context: ConnectorContext) -> dict[str, str]:
        """Return the properties of the database, through the connection if it has a name already."""
        driver = {"jdbcPluginName": self.config.driver}
        if context.connection:
            macro = format_connection_macro(context.connection)
            return driver | {"useConnection": "true", "connection": macro}
        values = {
            name: (getattr(self.config, declared.attribute), declared.default)
            for name, declared in type(self.config).get_fields().items()
        }
        texts = {
            name: str(value)
            for name, (value, default) in values.items()
            if value not in (None, "", default) and name not in servers.DATABASE_CONNECTOR
        }
        return texts | {"useConnection": "false"} | driver

    def _quote(self, *names: str) -> str:
        return quote_names(get_database_kind(self.config.get_url()), *names)

    def _alias(self, column: str) -> str:
        return f"{column} AS {self._quote(column)}"

    def _get_type(self) -> str:
        """Return the expression of a column's type; MySQL's ``boolean`` is a ``tinyint(1)``."""
        if get_database_kind(self.config.get_url()) not in _MYSQL:
            return self._alias("data_type")
        choice = "CASE column_type WHEN 'tinyint(1)' THEN 'boolean' ELSE data_type END"
        return f"{choice} AS {self._quote('data_type')}"

    def _cast(self, column: str, alias: str) -> str:
        kind = get_database_kind(self.config.get_url())
        text = "CHAR(20)" if kind in _MYSQL else "VARCHAR(20)"
        return f"CAST({column} AS {text}) AS {self._quote(alias)}"


@plugin(name="Database", description="Browses and samples a database, with a JDBC driver.")
class DatabaseConnector(DatabaseConnectorBase):
    class Config(DatabaseConfig, additions=servers.DATABASE_CONNECTOR):
        """Any database."""

    source = "Database"


@plugin(name="PostgreSQL", description="Browses and samples a PostgreSQL server.")
class PostgresConnector(DatabaseConnectorBase):
    class Config(PostgresConfig, additions=servers.POSTGRES_CONNECTOR):
        """PostgreSQL."""

    source = "Postgres"


@plugin(name="MySQL", description="Browses and samples a MySQL server.")
class MysqlConnector(DatabaseConnectorBase):
    class Config(MysqlConfig, additions=servers.MYSQL_CONNECTOR):
        """MySQL."""

    source = "Mysql"


def _records(stream: RecordStream) -> list[Mapping[str, Any]]:
    return [each for each in stream.records if isinstance(each, Mapping)]


def _to_type(column: Mapping[str, Any]) -> Schema:
    name = (column["data_type"] or "").lower()
    if name in _DECIMALS and column["digits"]:
        return Schema.decimal(int(column["digits"]), int(column["scale"] or 0))
    return _TYPES.get(name, Schema.STRING)


def _split(path: str | None) -> tuple[str, str]:
    schema, slash, table = (path or "").strip("/").partition("/")
    if not slash or not table:
        raise BadRequestError(f"'{path}' is not a table.", "Write /schema/table.")
    return schema, table
