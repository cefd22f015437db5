"""Common parts of the database plugins: properties, the JDBC driver, and access with Spark's JDBC reader.

The driver ``mysql`` is the jar ``jdbc/mysql.jar``, the jars in the folder ``jdbc/mysql``, or a jar with a
JSON file of the same name, as CDAP deploys it: ``{"plugins": [{"name": "mysql", "type": "jdbc", "className":
"com.mysql.jdbc.Driver"}]}``. The line ``"jdbc://mysql" = "path"`` of ``[locations]`` names another jar or
folder.

Spark Connect's reader makes the names of its options lower-case, so that drivers would not know
sessionVariables or connectTimeout. Arguments are therefore added to the connection string if its syntax
allows.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from localcdap.api import (
    ErrorDetails,
    PluginConfig,
    ProgramFailureError,
    StageConfigurer,
    StageError,
    field,
)
from localcdap.files.atomic import write_internal_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession


_CAUSE: Final = re.compile(
    r"^(?:Caused by: )?((?:\w+\.)+[\w$]+): (.+?)(?=\n\s+at |\n\t|\nCaused by|\Z)",
    re.MULTILINE | re.DOTALL,
)
_FAILED_TASK: Final = re.compile(r"executor [\w.-]+\): (?:[\w.$]+: )?(.*)")
_OTHER_STAGE: Final = re.compile("localcdap-(?:failure|stage):")
"""What marks the failure of a stage in an error of Spark."""
_BATCH: Final = "BatchUpdateException"
_BATCH_ENTRY: Final = re.compile(
    r"Batch entry \d+ INSERT INTO [^(]+\((.*?)\)\s+VALUES \((.*)\) was aborted", re.DOTALL
)
_COLUMN_NAME: Final = re.compile(r'"((?:[^"]|"")+)"|([^",\s]+)')
_COLUMN_VALUE: Final = re.compile(r"\((?:('(?:[^']|'')*')(?:::[\w .\"]+)?|NULL)\)")
_MOST_VALUE: Final = 60
_POSITION: Final = re.compile(r"\s+Position: \d+$")
_HOST: Final = re.compile(r"//(?:[^/@]*@)?([^/?;&]+)|cloudSqlInstance=([^&;]+)")
_UNREACHABLE: Final = re.compile(
    r"java\.net\.\w+Exception|Communications link failure|connection attempt failed"
)
_DENIED: Final = re.compile(
    r"authentication failed|Access denied for user|no pg_hba\.conf entry|role \".*\" does not exist"
    r"|no password was provided|InvalidAuthorization"
)


class ErrorContext(Protocol):
    """The parts of a stage context that error handling uses."""

    def read_error_text(self, error: Exception) -> str: ...

    def fail(self, message: str, corrective_action: str | None = None) -> Exception: ...


def call_database(context: ErrorContext, url: str, ask: Callable[[], Any]) -> Any:
    """Call a function that accesses the database, and return its result.

    :param url: the connection string.
    :raises StageError: with the message of the database when the call fails.
    """
    from pyspark.errors import PySparkException

    try:
        return ask()
    except PySparkException as error:
        text = context.read_error_text(error)
        condition = error.getCondition() or ""
        if _OTHER_STAGE.search(text) or (condition and "JDBC" not in condition):
            raise  # what computes the records has failed
        # The records of a batch have reached the database; other errors may be those of a source.
        cause = None if _BATCH in text else error
    server, reason = _describe_server(url), _find_reason(text)
    if _DENIED.search(text):
        action = "Correct 'user' and 'password', or grant the user access to the database."
        raise context.fail(f"the database{server} denies access: {reason}", action)
    if _UNREACHABLE.search(text):
        action = "Start the server, or correct its host and port."
        raise context.fail(f"the database{server} cannot be reached: {reason}", action)
    row = _find_row(text)
    raise context.fail(f"the database{server} reports an error: {reason}{row}") from cause


def explain_database_error(error: BaseException) -> ProgramFailureError | None:
    """Return what an error of a driver says while rows are read (CDAP's ``DBErrorDetailsProvider``).

    :returns: None for an error that is not one of JDBC.
    """
    text = str(error)
    if not any("SQL" in name for name, _ in _CAUSE.findall(text)):
        return None
    return ProgramFailureError(
        f"the database reports an error: {_find_reason(text)}",
        details=ErrorDetails(
            category="Plugin", reason="the database reported an error", type="USER", dependency=True
        ),
    )


def _describe_server(url: str) -> str:
    """Return the server of a connection string, without secrets, for a message; empty if there is none."""
    found = _HOST.search(url)
    return f" at {found[1] or found[2]}" if found else ""


def _find_row(text: str) -> str:
    r"""Return the row of a batch that a database has refused, as PostgreSQL's driver tells it; else nothing.

    >>> _find_row('Batch entry 1 INSERT INTO t ("id","a") VALUES ((\'2\'::int4),(NULL)) was aborted: no')
    " Row: id = '2', a = NULL."
    """
    found = _BATCH_ENTRY.search(text)
    if found is None:
        return ""
    names = [name or plain for name, plain in _COLUMN_NAME.findall(found[1])]
    values = [text or "NULL" for text in _COLUMN_VALUE.findall(found[2])]
    if len(names) != len(values):
        return ""
    pairs = ", ".join(
        f"{name} = {value if len(value) <= _MOST_VALUE else value[:_MOST_VALUE] + '…'}"
        for name, value in zip(names, values, strict=True)
    )
    return f" Row: {pairs}."


def _find_reason(text: str) -> str:
    """Return the driver's message in the text of Spark's error with its causes."""
    causes: list[tuple[str, str]] = _CAUSE.findall(text)
    messages = [message for name, message in causes if "SQL" in name] or [m for _, m in causes]
    failed = _FAILED_TASK.search(text)
    line = messages[-1] if messages else failed[1] if failed else text.strip().partition("\n")[0]
    return " ".join(_POSITION.sub("", line).split()).rstrip(".") + "."


_SERVICES: Final = "META-INF/services/java.sql.Driver"
_FOLDER: Final = "jdbc"


class Driver(NamedTuple):
    """The jars and the class of a JDBC driver."""

    jars: list[str]
    class_name: str | None
    """None if the jars do not declare it; Java then searches for it by the connection string."""


class DriverNotFoundError(Exception):
    """A driver was not found. The message lists the existing ones; ``action`` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.action = action


def find_driver(name: str, resolve: Callable[[str], str]) -> Driver:
    """Return the driver with a name.

    :param resolve: returns the local path of a path in a pipeline document.
    :raises DriverNotFoundError: when there is no such driver.
    """
    try:
        named = Path(resolve(f"jdbc://{name}"))
    except StageError:
        return _find_in_folder(name, Path(resolve(_FOLDER)))
    jars = _list_jars(named)
    if not jars:
        raise DriverNotFoundError(
            f"'{named}', which [locations] names for JDBC driver '{name}', is neither a jar nor a folder "
            "with jars.",
            f'Change the line "jdbc://{name}" under [locations] in localcdap.toml.',
        )
    return Driver(jars, _find_class_name(jars))


def copy_for_spark(jar: Path, folder: Path) -> Path:
    """Copy a jar into a folder of the Spark server, named after its content, and return the copy.

    Spark does not load a second jar with the same file name. The server is shared by instances with different
    jars ``postgresql.jar``, and a jar may be replaced while the server runs.
    """
    content = jar.read_bytes()
    path = folder / f"{hashlib.sha256(content).hexdigest()}.jar"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_internal_file(path, content, is_synced=False)
    return path


def _find_in_folder(name: str, folder: Path) -> Driver:
    for path in (folder / f"{name}.jar", folder / name):
        if jars := _list_jars(path):
            return Driver(jars, _find_class_name(jars))
    declared = dict(_read_declared(folder))
    if name in declared:
        return declared[name]
    there = sorted({*declared, *(each.stem for each in folder.glob("*.jar"))})
    raise DriverNotFoundError(
        f"There is no JDBC driver '{name}'; available: {', '.join(there) or 'none'}.",
        f"Put its jar into '{folder / name}.jar', or name it under [locations] in localcdap.toml: "
        f'"jdbc://{name}" = "path/of/the/driver.jar"',
    )


def _list_jars(path: Path) -> list[str]:
    if path.is_dir():
        return sorted(str(each) for each in path.glob("*.jar"))
    return [str(path)] if path.is_file() else []


def _read_declared(folder: Path) -> Iterator[tuple[str, Driver]]:
    """Yield the drivers that JSON files next to jars declare."""
    for jar in sorted(folder.glob("*.jar")):
        try:
            document: Any = json.loads(jar.with_suffix(".json").read_bytes())
            for plugin in document["plugins"]:
                if plugin["type"] == "jdbc":
                    yield plugin["name"], Driver([str(jar)], plugin["className"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _find_class_name(jars: list[str]) -> str | None:
    """Return the driver class that the jars register; None if there is none."""
    for jar in jars:
        try:
            with zipfile.ZipFile(jar) as archive:
                lines = archive.read(_SERVICES).decode().splitlines()
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            continue
        names = [line.partition("#")[0].strip() for line in lines]
        if any(names):
            return next(filter(None, names))
    return None


_SYNTAX: Final = {
    "mysql": "?&",
    "mariadb": "?&",
    "postgresql": "?&",
    "sqlserver": ";;",
    "derby": ";;",
    "h2": ";;",
}
"""The separators before the first and before each other argument, by the kind of database."""
UTC_SESSION: Final = "time_zone='+00:00'"
"""The session variable of MySQL with which timestamps are sent in UTC."""
_ZONES: Final = ("sessionVariables", "serverTimezone", "connectionTimeZone", "timezone")


def get_database_kind(connection_string: str) -> str:
    """Return the kind of database: ``mysql`` of ``jdbc:mysql://…``."""
    return connection_string.split(":")[1].lower()


def split_arguments(arguments: str | None) -> list[str]:
    """Split ``a=1;b=2`` into its elements."""
    return [each for each in (arguments or "").split(";") if each.strip()]


def parse_arguments(arguments: str | None) -> dict[str, str]:
    """Parse ``a=1;b=2`` into values by name."""
    parts = (each.partition("=") for each in split_arguments(arguments))
    return {name.strip(): value.strip() for name, _, value in parts}


def add_defaults(url: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments, and the defaults of the kind of database for those that the user does not set."""
    given = " ".join([url, *arguments])
    usual = {}
    match get_database_kind(url):
        case "postgresql" if "stringtype" not in given:
            # Strings can be written into columns of types such as uuid and json.
            usual = {"stringtype": "unspecified"}
        case "mysql" | "mariadb" if not any(name in given for name in _ZONES):
            # Timestamps are sent as texts in the session's time zone, and Spark's time zone is UTC.
            usual = {"sessionVariables": UTC_SESSION}
    return usual | dict(arguments)


def add_to_url(
    url: str, arguments: Mapping[str, str], driver: str | None
) -> tuple[str, dict[str, str]]:
    """Return the connection string with the arguments, and the arguments that its syntax does not allow.

    :param driver: the driver's class; None if it is not known.
    """
    signs = _SYNTAX.get(get_database_kind(url))
    if signs is None:
        return url, dict(arguments)
    # The drivers of MySQL and PostgreSQL decode values, MariaDB's driver does not.
    is_decoded = signs == "?&" and "mariadb" not in (driver or "")
    for name, value in arguments.items():
        sign = signs[1] if signs[0] in url else signs[0]
        url += f"{sign}{name}={quote(value, safe='') if is_decoded else value}"
    return url, {}


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
            for each in split_arguments(self.arguments):
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
        url, rest = add_to_url(
            url,
            add_defaults(url, parse_arguments(self.arguments) | self.get_driver_arguments()),
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
        "query": get_one_row_query(get_database_kind(options["url"])),
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
