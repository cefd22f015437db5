"""The properties of the source MultiTableDatabase."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import StageConfigurer, field
from localcdap.api.rules import check_reference_name

from . import additions
from .jdbc import DatabaseConfig, check_isolation

ALLOW, BLOCK, STATEMENTS = "allow-list", "block-list", "sql-statements"
SKIP, SEND, FAIL = "skip-table", "send-to-error-port", "fail-pipeline"
_TABLES: Final = "tables"
_SEPARATOR: Final = re.compile(r"(?<!\\);")


class MultiTableConfig(
    DatabaseConfig, macros=True, rename="camel", additions=additions.MULTI_TABLE
):
    """Properties as CDAP's (multi-table-plugins, ``io/cdap/plugin/format/MultiTableConf.java``)."""

    reference_name: str = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    mode: str = field(
        "What is read: the tables on the allow list, or all of them; all but those on the block list; or SQL "
        "statements.",
        default=ALLOW,
        choices=(ALLOW, BLOCK, STATEMENTS),
        name="dataSelectionMode",
    )
    schema_pattern: str | None = field(
        "Pattern of SQL for the schemas of the tables; without effect for MySQL.",
        default=None,
        name="schemaNamePattern",
        group=_TABLES,
    )
    table_pattern: str | None = field(
        "Pattern of SQL for the names of the tables.",
        default=None,
        name="tableNamePattern",
        group=_TABLES,
    )
    allowed: list[str] = field(
        "The tables to read; by default all of them.", default=[], name="whiteList", group=_TABLES
    )
    blocked: list[str] = field(
        "The tables not to read.", default=[], name="blackList", group=_TABLES
    )
    where_clause: str | None = field(
        "Condition for the rows of each table, as: where updated_at > '2018-08-20'.",
        default=None,
        syntax="sql",
        group=_TABLES,
    )
    splits: int = field(
        "Number of parts of each table that are read in parallel, at most 8. A table is split by its primary "
        "key, if that is one column of numbers.",
        default=1,
        name="splitsPerTable",
        group=_TABLES,
    )
    statements: str = field(
        "SELECT statements, separated by ';'. A semicolon in a statement is written '\\;'.",
        default="",
        name="sqlStatements",
        syntax="sql",
        group="SQL statements",
    )
    aliases: str = field(
        "Table names of the records of each statement, separated by ';'; by default sql_statement_1 and so "
        "on.",
        default="",
        name="tableAliases",
        group="SQL statements",
    )
    name_field: str = field(
        "Field for the name of the table, which must not be the name of a column.",
        default="tablename",
        name="tableNameField",
        macro=False,
    )
    on_error: str = field(
        "What happens when a table cannot be read: the run fails, the table is left out, or there is an "
        "error record. A row that cannot be fetched always fails the run.",
        default=FAIL,
        choices=(SKIP, SEND, FAIL),
        name="errorHandlingMode",
        macro=False,
    )
    fetch_size: int | None = field(
        "Number of rows that the driver fetches at once.", default=None, group="more"
    )
    timeout: int | None = field(
        "Time limit of a query in seconds.",
        default=None,
        name="queryTimeoutSeconds",
        group="more",
        macro=False,
    )
    isolation: str = field(
        "Isolation level; without effect, because reading uses the database's default.",
        default="TRANSACTION_SERIALIZABLE",
        name="transactionIsolationLevel",
        group="more",
    )

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        super().check(stage)
        check_reference_name(stage, self.reference_name)
        check_isolation(stage, self, self.isolation)
        if (
            self.splits is not None
            and self.splits < 1
            and not self.contains_macro("splitsPerTable")
        ):
            stage.failures.add(
                f"Invalid number of splits '{self.splits}'.", "It must be at least 1."
            ).with_config_property("splitsPerTable")
        if self.mode == STATEMENTS and not self.contains_macro("sqlStatements"):
            self._check_statements(stage)

    def _check_statements(self, stage: StageConfigurer) -> None:
        statements, aliases = self.list_statements(), split_texts(self.aliases)
        if not statements:
            stage.failures.add(
                "There is no SQL statement.", "Write one, or choose tables."
            ).with_config_property("sqlStatements")
        elif len(aliases) < len(statements) and not self.contains_macro("tableAliases"):
            stage.warnings.add(
                "Not every SQL statement has an alias: Spark does not tell the tables of a statement, so "
                "that the names of the others are sql_statement_1 and so on.",
                "Write an alias for each statement.",
            ).with_config_property("tableAliases")

    def list_statements(self) -> list[tuple[str, str]]:
        """Return the statements with the names of their tables."""
        aliases = split_texts(self.aliases)
        return [
            (aliases[n] if n < len(aliases) else f"sql_statement_{n + 1}", statement)
            for n, statement in enumerate(split_texts(self.statements))
        ]

    def is_selected(self, table: str) -> bool:
        """Return whether a table is to be read; both lists count in both modes, as in CDAP."""
        return table not in self.blocked and (not self.allowed or table in self.allowed)

    def build_condition(self, split: str) -> str:
        """Return the WHERE clause of a part of a table."""
        given = re.sub(r"^\s*where\b", "", self.where_clause or "", flags=re.IGNORECASE).strip()
        return f"WHERE ({given}) AND {split}" if given else f"WHERE {split}"


def split_texts(text: str) -> list[str]:
    r"""Split texts that ``;`` separates, and ``\;`` does not.

    >>> split_texts(r"a; b\;c;")
    ['a', 'b;c']
    """
    parts = (part.replace("\\;", ";").strip() for part in _SEPARATOR.split(text or ""))
    return [part for part in parts if part]
