"""The actions Database and DatabaseArgumentSetter, and the post action DatabaseQuery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Action,
    ActionContext,
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column

from . import servers
from .jdbc import (
    DatabaseConfig,
    JdbcConfig,
    call_database,
    execute_statement,
    make_reader,
)

if TYPE_CHECKING:
    from pyspark.sql import Row


class StatementConfig(JdbcConfig):
    """The property of plugins that execute a statement."""

    query: str = field("SQL statement; its result rows are dropped.", macro=True, syntax="sql")


class DatabaseActionBase(Action):
    """The base of actions that execute a statement."""

    config: StatementConfig

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: ActionContext) -> None:
        execute_statement(context, self.config, self.config.query)


@plugin(
    name="Database",
    description="Executes an SQL statement in a database, with a JDBC driver that you supply.",
)
class DatabaseAction(DatabaseActionBase):
    class Config(StatementConfig, DatabaseConfig, additions=servers.CONNECTION):
        """Any database."""


class PostStatementConfig(StatementConfig, PostActionConfig):
    """The properties of post actions that execute a statement."""


class DatabasePostActionBase(PostAction):
    """The base of post actions that execute a statement."""

    config: PostStatementConfig

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: PostActionContext) -> None:
        execute_statement(context, self.config, self.config.query)


@plugin(
    name="DatabaseQuery",
    description="Executes an SQL statement in a database when the run has ended.",
)
class DatabaseQuery(DatabasePostActionBase):
    class Config(PostStatementConfig, DatabaseConfig, additions=servers.CONNECTION):
        """Any database."""


_ONE: Final = "The argument selection conditions must match only one record."
_REQUIRED: Final = {
    "databaseName": ("Invalid database.", "Valid database must be specified."),
    "tableName": ("Invalid table.", "Valid table must be specified."),
    "argumentSelectionConditions": (
        "Invalid conditions.",
        "Filter conditions must be specified.",
    ),
    "argumentsColumns": (
        "Invalid arguments columns.",
        "Arguments column names must be specified.",
    ),
}


@plugin(
    name="DatabaseArgumentSetter",
    description="Sets arguments of the run to the values of a row in a database.",
)
class DatabaseArgumentSetter(Action):
    """Properties and failures are those of CDAP's plugin (database-plugins,
    ``io/cdap/plugin/db/action/ArgumentSetterConfig.java``, ``AbstractDBArgumentSetter.java``).

    A user and a password are not required here, and validation asks the database for nothing. A column that
    is null sets no argument, and the log says so.
    """

    class Config(DatabaseConfig, macros=True, rename="camel", additions=servers.ARGUMENT_SETTER):
        database_name: str = field(
            "Name of the database. It is without effect: the connection string names it.",
            default="",
        )
        table_name: str = field("The table with the arguments.", default="")
        argument_selection_conditions: str = field(
            "Conditions that exactly one row matches, as feed='marketing';date=20200427", default=""
        )
        arguments_columns: list[str] = field(
            "The columns that become arguments of the same names, comma-separated.", default=[]
        )

        def build_query(self) -> str:
            """Return the query of the row."""
            conditions = " AND ".join(self.argument_selection_conditions.split(";"))
            columns = ",".join(self.arguments_columns)
            return f"SELECT {columns} FROM {self.table_name} WHERE {conditions}"  # noqa: S608

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self.config.check(stage)
        values: dict[str, Any] = {
            each.property: getattr(self.config, each.attribute)
            for each in self.config.get_fields().values()
        }
        for name, (message, action) in _REQUIRED.items():
            if not values[name] and not self.config.contains_macro(name):
                stage.failures.add(message, action).with_config_property(name)

    def configure_connected(self, stage: StageConfigurer) -> None:
        self.config.check_driver(stage)

    def run(self, context: ActionContext) -> None:
        row = self._read(context)
        for name, value in zip(self.config.arguments_columns, row, strict=True):
            if value is None:
                context.logger.warning("Column '%s' is null; it sets no argument.", name)
            else:
                context.set_argument(name, value)

    def _read(self, context: Any) -> Row:
        """Return the row, whose values are the texts that the driver gives (``ResultSet.getString``).

        :raises StageError: when there is no such row, or more than one.
        """
        options = self.config.build_options(context) | {"query": self.config.build_query()}

        def read() -> list[Row]:
            names = make_reader(context, options).load().columns
            texts = {"customSchema": ", ".join(f"{quote_column(name)} string" for name in names)}
            rows: list[Row] = make_reader(context, options | texts).load().limit(2).collect()
            return rows

        rows = call_database(context, options["url"], read)
        if not rows:
            raise context.fail("No record found.", _ONE)
        if len(rows) > 1:
            raise context.fail("More than one records found.", _ONE)
        row: Row = rows[0]
        return row
