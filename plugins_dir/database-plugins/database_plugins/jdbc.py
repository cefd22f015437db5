"""Common parts of the database plugins: properties, the JDBC driver, and access with Spark's JDBC reader."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from localcdap.api import PluginConfig, StageConfigurer, field

from . import connection_arguments as arguments
from .drivers import Driver, DriverNotFoundError, copy_for_spark, find_driver
from .errors import call_database

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_ISOLATION: Final = "TRANSACTION_"
LEVELS: Final = ("NONE", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE")
_ONE_ROW: Final = {
    "oracle": "SELECT 1 AS one FROM DUAL",
    "derby": "SELECT 1 AS one FROM SYSIBM.SYSDUMMY1",
    "db2": "SELECT 1 AS one FROM SYSIBM.SYSDUMMY1",
    "hsqldb": "SELECT 1 AS one FROM (VALUES (0))",
    "sap": "SELECT 1 AS one FROM DUMMY",
}
"""A query of one row, by the kind of database."""
_FIRST: Final = "sessionInitStatement"
_READING: Final = {"preferTimestampNTZ": "true", "pushDownPredicate": "false"}
"""Options of Spark's reader. A condition of a later stage would have the database's meaning: many do not
distinguish case or blanks at the end, and a backslash in a literal of MySQL is an escape."""
_LOADABLE: Final = re.compile(r"[\w./@+,=~-]+")


class JdbcContext(Protocol):
    """The parts of a stage context that database plugins use; contexts of actions have them too."""

    spark: SparkSession
    is_remote: bool

    def resolve_path(self, path: str) -> str: ...

    def fail(self, message: str, corrective_action: str | None = None) -> Exception: ...

    def read_error_text(self, error: Exception) -> str: ...


class JdbcConfig(PluginConfig, macros=True):
    """The properties of a database connection. A subclass defines the connection string."""

    use_connection: bool = field(
        "Whether a connection of the instance supplies the driver, the database and the user.",
        default=False,
        name="useConnection",
        group="more",
        macro=False,
    )
    connection: str | None = field("The connection, as ${conn(name)}.", default=None, group="more")
    driver: str = field(
        "Name of the JDBC driver. Its jar is 'jdbc/NAME.jar' in the instance's folder, or the one that "
        '[locations] in localcdap.toml names: "jdbc://NAME" = "driver.jar".',
        name="jdbcPluginName",
        macro=False,
    )
    driver_type: str = field(
        "Type of the driver's plugin in CDAP; without effect.",
        default="jdbc",
        name="jdbcPluginType",
        group="more",
        macro=False,
    )
    user: str | None = field("User name.", default=None, group="account")
    password: str | None = field(
        "Password of the user.", default=None, secret=True, group="account"
    )
    arguments: str | None = field(
        "Arguments of the driver, as useSSL=false;connectTimeout=5000.",
        default=None,
        name="connectionArguments",
        group="more",
    )
    auto_commit: bool = field(
        "Whether each statement is a separate transaction.",
        default=False,
        name="enableAutoCommit",
        group="more",
    )

    def get_url(self) -> str:
        """Return the connection string."""
        raise NotImplementedError

    def get_driver_arguments(self) -> dict[str, str]:
        """Return the arguments of the driver that properties of their own set."""
        return {}

    def get_first_statement(self) -> str | None:
        """Return the statement with which each session begins that reads, or executes a statement."""
        return None

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        if not self.contains_macro("connectionArguments"):
            for each in arguments.split_arguments(self.arguments):
                if not each.partition("=")[1]:
                    stage.failures.add(
                        f"'{each}' is not a connection argument.", "Write 'name=value'."
                    ).with_config_property("connectionArguments", element=each)

    def check_driver(self, stage: StageConfigurer) -> None:
        """Add a failure if the driver does not exist. Call it in ``configure_connected``."""
        known = self.driver and not self.contains_macro("jdbcPluginName")
        if stage.locations is None or stage.locations.remote or not known:
            return
        try:
            find_driver(self.driver, stage.resolve_path)
        except DriverNotFoundError as error:
            stage.failures.add(str(error), error.action).with_config_property("jdbcPluginName")

    def build_options(self, context: JdbcContext) -> dict[str, str]:
        """Load the driver into Spark, and return the options of Spark's JDBC reader and writer.

        A cluster must have the driver already.

        :raises StageError: when the driver does not exist.
        """
        driver = None if context.is_remote else self._load(context)
        name = driver.class_name if driver is not None else None
        url = self.get_url()
        url, rest = arguments.add_to_url(
            url,
            arguments.add_defaults(
                url, arguments.parse_arguments(self.arguments) | self.get_driver_arguments()
            ),
            name,
        )
        given = {
            "user": self.user or None,
            "password": self.password,
            "driver": name,
            _FIRST: self.get_first_statement(),
        }
        account = {key: value for key, value in given.items() if value is not None}
        return {"url": url} | _READING | rest | account

    def _load(self, context: JdbcContext) -> Driver:
        """Load the driver into Spark and return it."""
        try:
            driver = find_driver(self.driver, context.resolve_path)
        except DriverNotFoundError as error:
            raise context.fail(str(error), error.action) from None
        # Java keeps a driver until the server ends. Later sessions would not find the classes of a driver
        # that was an artifact of an earlier session.
        folder = Path(str(context.spark.conf.get("spark.local.dir"))) / "drivers"
        for jar in driver.jars:
            path = str(copy_for_spark(Path(jar), folder))
            if not _LOADABLE.fullmatch(path):
                raise context.fail(
                    f"Spark cannot load '{path}': its path contains blanks or special characters.",
                    "Set engine.directory in localcdap.toml to a path without them.",
                )
            context.spark.sql(f"ADD JAR '{path}'")
        return driver


class DatabaseConfig(JdbcConfig):
    """The properties of a database of any kind, with its connection string."""

    connection_string: str = field(
        "JDBC connection string, as jdbc:mysql://localhost:3306/shop.",
        macro=True,
        name="connectionString",
    )

    def get_url(self) -> str:
        return self.connection_string.strip()

    def check(self, stage: StageConfigurer) -> None:
        text = self.connection_string
        known = text is not None and not self.contains_macro("connectionString")
        if known and not text.strip().lower().startswith("jdbc:"):
            stage.failures.add(
                f"'{text}' is not a JDBC connection string.",
                "Begin it with 'jdbc:', as jdbc:mysql://localhost:3306/shop.",
            ).with_config_property("connectionString")
        super().check(stage)


def get_one_row_query(kind: str) -> str:
    """Return a query of one row, by the kind of database."""
    return _ONE_ROW.get(kind, "SELECT 1 AS one")


def make_reader(context: JdbcContext, options: dict[str, str]) -> DataFrameReader:
    return context.spark.read.format("jdbc").options(**options)


def execute_statement(context: Any, config: JdbcConfig, statement: str) -> None:
    """Execute any statement in the database; its result rows are dropped.

    :param context: a :class:`JdbcContext`.
    :raises StageError: when the database reports an error.
    """
    # Spark cannot execute only a statement, but it executes one before it reads.
    options = config.build_options(context)
    rows = {
        "query": get_one_row_query(arguments.get_database_kind(options["url"])),
        _FIRST: "\n".join(filter(None, [options.get(_FIRST), statement])),
    }
    call_database(
        context, options["url"], lambda: make_reader(context, options | rows).load().collect()
    )


def get_column_types(df: DataFrame) -> dict[str, str]:
    """Return Spark's types by column name."""
    return dict(df.dtypes)


def to_isolation_level(text: str) -> str:
    """Return Spark's name of an isolation level such as ``TRANSACTION_SERIALIZABLE``."""
    return text.strip().upper().removeprefix(_ISOLATION)


def check_isolation(stage: StageConfigurer, config: PluginConfig, text: str) -> None:
    """Add a failure for an unknown isolation level."""
    name = "transactionIsolationLevel"
    if not config.contains_macro(name) and to_isolation_level(text) not in LEVELS:
        stage.failures.add(
            f"There is no isolation level '{text}'.",
            f"Use one of {', '.join(_ISOLATION + level for level in LEVELS)}.",
        ).with_config_property(name)
