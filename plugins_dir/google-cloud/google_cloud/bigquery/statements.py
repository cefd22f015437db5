"""Translation of BigQuery's statements to DuckDB's, on the local tables with the names of BigQuery's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from localcdap.api.sql_names import quote_identifier, quote_literal
from localcdap.api.tables import CreatedTable, Partitioning

from .assignments import check_assignments
from .created import (
    check_created_columns,
    find_temporary_name,
    find_view_kind,
    list_names,
    refers_to_temporary,
    reject_temporary,
)
from .expressions import translate_expressions
from .refusals import refuse_tokens, refuse_unknown
from .sql import (
    INGESTION_TIMES,
    SqlError,
    describe_position,
    format_sql,
    parse_statements,
    reject_ingestion_times,
)
from .tables import get_table_name

_DUCKDB: Final = "duckdb"


class TranslatedStatement(msgspec.Struct, frozen=True):
    """A translated statement."""

    sql: str
    """In the SQL of DuckDB."""
    changes: str | None
    """Name of the table or view that the statement changes, creates or drops; None for a query and for a
    temporary table."""
    makes: CreatedTable | None = None
    """The table that a CREATE makes; None for a view or a temporary table."""
    is_query: bool = False


def translate_statements(text: str) -> list[TranslatedStatement]:
    """Translate the statements of a text, which are separated by semicolons.

    Projects are ignored. Clusters and options of tables and views have no effect. Temporary tables are
    temporary in DuckDB too: they end with the statements of one call.

    :raises SqlError: for the first expression that cannot be parsed or translated, with its position.
    """
    temporary: set[str] = set()
    statements = parse_statements(text)
    refuse_tokens(text)
    found = [
        _translate_statement(parsed, text, temporary) for parsed in statements if parsed is not None
    ]
    if not found:
        raise SqlError("There is no SQL.", "Write a statement, such as SELECT 1.")
    return found


def build_store_statements(query: TranslatedStatement, dataset: str, table: str) -> list[str]:
    """Return the statements that store a query's rows in a table, which must not exist or must be empty."""
    name = get_table_name(dataset, table)
    held = quote_identifier(name)
    message = quote_literal(f"Table '{name}' already exists and has rows")
    return [
        f"CREATE TABLE IF NOT EXISTS {held} AS FROM ({query.sql}) LIMIT 0",
        f"SELECT CASE WHEN count(*) > 0 THEN error({message}) END FROM {held}",  # noqa: S608
        f"CREATE OR REPLACE TABLE {held} AS {query.sql}",
        f"FROM {held}",
    ]


def _translate_statement(parsed: Any, text: str, temporary: set[str]) -> TranslatedStatement:
    """Translate a statement.

    :param temporary: the names of the temporary tables of the earlier statements; a CREATE adds its own.
    """
    from sqlglot import expressions as exp

    target = _find_target(parsed)
    _reject_unsupported(parsed, text)
    reject_ingestion_times(parsed, text)
    _mend_clauses(parsed)
    refuse_unknown(parsed, text)
    if isinstance(parsed, exp.Create):
        check_created_columns(parsed, text)
        if parsed.kind == "VIEW":
            reject_temporary(parsed, temporary, text)
        if parsed.find(exp.TemporaryProperty) is not None:
            temporary.add(find_temporary_name(target, text))
    is_temporary = target is not None and refers_to_temporary(target, temporary)
    changes, makes = None, None
    if target is not None and not is_temporary:
        _require_dataset(target, text)
        changes = get_table_name(target.db, target.name)
    if isinstance(parsed, exp.Create) and parsed.kind == "TABLE" and changes is not None:
        only_missing = bool(parsed.args.get("exists"))
        makes = CreatedTable(changes, _find_partitioning(parsed), only_missing)
    if target is None:
        _name_columns(parsed)
    dropped = target.name.lower() if is_temporary and isinstance(parsed, exp.Drop) else ""
    translate_clauses(parsed)
    translate_expressions(parsed, text)
    _rename_tables(parsed, target, text, temporary)
    check_assignments(parsed, target)
    temporary.discard(dropped)
    return TranslatedStatement(format_sql(parsed, _DUCKDB), changes, makes, is_query=target is None)


def _find_partitioning(parsed: Any) -> Partitioning | None:
    """Return the partitioning of a CREATE: by the first column of its PARTITION BY."""
    from sqlglot import expressions as exp

    clause = parsed.find(exp.PartitionedByProperty)
    column = clause.find(exp.Identifier) if clause is not None else None
    if clause is None or column is None:
        return None
    field = None if column.name.upper() in INGESTION_TIMES else column.name
    ranges = clause.this.sql(dialect="bigquery").upper().startswith("RANGE_BUCKET")
    return Partitioning("integer" if ranges else "time", field)


def _find_target(parsed: Any) -> Any:
    """Return the table that a statement changes; None for a query.

    :raises SqlError: for a kind of statement that is not supported.
    """
    from sqlglot import expressions as exp

    match parsed:
        case exp.Query():
            return None
        case exp.Delete() if not parsed.this and parsed.args.get("tables"):
            # BigQuery accepts DELETE without FROM, which sqlglot parses as a list of tables.
            parsed.set("this", parsed.args["tables"][0])
            parsed.set("tables", None)
            return parsed.this
        case exp.Insert() | exp.Update() | exp.Delete() | exp.Merge():
            return parsed.find(exp.Table)
        case exp.TruncateTable():
            return parsed.expressions[0]
        case exp.Create() | exp.Drop() | exp.Alter() if parsed.args.get("kind") == "TABLE":
            return parsed.find(exp.Table)
        case exp.Create() | exp.Drop() if parsed.args.get("kind") == "VIEW":
            if not find_view_kind(parsed):
                return parsed.find(exp.Table)
    raise _build_kind_error(parsed)


def _build_kind_error(parsed: Any) -> SqlError:
    """Return the error to raise for a kind of statement that is not supported."""
    from sqlglot import expressions as exp

    kind = None
    if isinstance(parsed, exp.Create | exp.Drop | exp.Alter):
        kind = parsed.args.get("kind")
    if kind:  # such as CREATE FUNCTION, without OR REPLACE
        more = find_view_kind(parsed) if kind == "VIEW" else ""
        shown = f"{type(parsed).__name__.upper()} {more}{kind}"
    else:
        shown = " ".join(parsed.sql(dialect="bigquery").split()[:2])
    action = (
        "Use CREATE OR REPLACE VIEW and DROP VIEW."
        if kind == "VIEW"
        else "Use SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, CREATE, ALTER and DROP of tables, or "
        "CREATE and DROP of views."
    )
    return SqlError(f"'{shown}' is not supported here.", action)


def _reject_unsupported(parsed: Any, text: str) -> None:
    """Raise an error for an expression that has another meaning in DuckDB.

    :raises SqlError: for the first one.
    """
    from sqlglot import expressions as exp

    for node in parsed.walk():
        match node:
            case exp.Table() if node.args.get("version"):
                message = "Earlier versions of tables are not stored here"
            case exp.Table() if isinstance(node.this, exp.Func):
                message = f"'{node.this.sql(dialect='bigquery')}' is not a table"
            case exp.Table() if "*" in node.name:
                message = f"Tables with wildcards, such as '{node.name}', are not supported here"
            case exp.Table() if "INFORMATION_SCHEMA" in f"{node.db}.{node.name}".upper():
                message = "There is no INFORMATION_SCHEMA of BigQuery here"
            case exp.Parameter():
                message = f"Parameter '{node.sql(dialect='bigquery')}' has no value"
            case exp.Expression() if _is_in_namespace(node):
                message = (
                    f"There is no function '{node.sql(dialect='bigquery').partition('(')[0]}' here"
                )
            case exp.ModelAttribute():
                message = "There are no models here"
            case _:
                continue
        raise SqlError(
            f"{message}{describe_position(text, node)}.", "Rewrite the statement without it."
        )


def _is_in_namespace(node: Any) -> bool:
    """Return whether a node is a function in a namespace, except ``SAFE.``, which sqlglot supports."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Dot):
        return isinstance(node.expression, exp.Func)
    return type(node).__name__ == "NetFunc"


def _rename_tables(parsed: Any, target: Any, text: str, temporary: set[str]) -> None:
    """Replace the names of BigQuery's tables by the names of the local tables."""
    from sqlglot import expressions as exp

    for column in list(parsed.find_all(exp.Column)):
        column.set("db", None)
        column.set("catalog", None)
    takes_alias = isinstance(parsed, exp.Update | exp.Delete | exp.Merge)
    for table in list(parsed.find_all(exp.Table)):
        if not table.db and table.name in _find_with_names(table):
            continue
        is_temporary = refers_to_temporary(table, temporary)
        if not is_temporary:
            _require_dataset(table, text)
        name = table.name if is_temporary else get_table_name(table.db, table.name)
        if not table.alias and (table is not target or takes_alias):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("this", exp.to_identifier(name, quoted=True))
        is_created = table is target and isinstance(parsed, exp.Create)
        place = ("main", "temp") if is_temporary and not is_created else (None, None)
        for part, value in zip(("db", "catalog"), place, strict=True):
            table.set(part, None if value is None else exp.to_identifier(value, quoted=True))


def _require_dataset(table: Any, text: str) -> None:
    """Check that a table has a dataset.

    :raises SqlError: when it has none.
    """
    if not table.db:
        raise SqlError(
            f"Table '{table.name}' must be qualified with a dataset{describe_position(text, table)}.",
            "Write dataset.table.",
        )


def _find_with_names(node: Any) -> Iterator[str]:
    """Yield the names that the WITH clauses around a node define."""
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        if clause is not None:
            yield from (each.alias for each in clause.expressions)
        node = node.parent


def _mend_clauses(parsed: Any) -> None:
    """Replace what sqlglot reads as a function or column that it is not, in place; remove keys of tables,
    which BigQuery does not enforce.
    """
    from sqlglot import expressions as exp

    for node in list(parsed.walk()):
        match node:
            case exp.Schema() if isinstance(parsed, exp.Create):
                keys = exp.PrimaryKey | exp.ForeignKey | exp.Constraint
                columns = [each for each in node.expressions if not isinstance(each, keys)]
                node.set("expressions", columns)
            case exp.Insert() if _lacks_columns(node):
                node.set("expression", exp.Tuple(expressions=node.this.expressions[0].expressions))
                node.set("this", None)
            case exp.Update():
                for assigned in node.expressions:
                    if _is_default(assigned.expression):
                        assigned.set("expression", exp.var("DEFAULT"))


def translate_clauses(parsed: Any) -> None:
    """Replace clauses that DuckDB writes differently, in place."""
    from sqlglot import expressions as exp

    if isinstance(parsed, exp.Create):
        _translate_copy(parsed)
    for node in list(parsed.walk()):
        match node:
            case exp.Insert() if node.this == exp.var("ROW"):
                node.set("this", exp.Star())
            case exp.Update():
                for assigned in node.expressions:
                    # Only columns of the changed table can be assigned, so that the qualifier is redundant.
                    if isinstance(assigned.this, exp.Column):
                        assigned.this.set("table", None)
            case exp.Select() if node.args.get("kind") == "STRUCT" and node.is_star:
                _select_row(node)
            case exp.Unnest() if isinstance(node.args.get("offset"), exp.Identifier):
                _count_from_zero(node.find_ancestor(exp.Select), node.args["offset"].name)


def _lacks_columns(insert: Any) -> bool:
    """Return whether sqlglot has read the VALUES of a MERGE's INSERT without columns as a function."""
    from sqlglot import expressions as exp

    columns = insert.this.expressions if isinstance(insert.this, exp.Tuple) else []
    return (
        len(columns) == 1 and isinstance(columns[0], exp.Anonymous) and columns[0].name == "VALUES"
    )


def _is_default(value: Any) -> bool:
    from sqlglot import expressions as exp

    if not isinstance(value, exp.Column) or value.table or value.this.args.get("quoted"):
        return False
    return bool(value.name.upper() == "DEFAULT")


def _name_columns(query: Any) -> None:
    """Name the columns of a query's result that have no name, as BigQuery does: ``f0_``, ``f1_`` …"""
    from sqlglot import expressions as exp

    first = query
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select) or first.args.get("kind"):
        return
    number = 0
    for column in list(first.expressions):
        if isinstance(column, exp.Alias | exp.Column | exp.Dot | exp.Star):
            continue
        column.replace(exp.alias_(column.copy(), f"f{number}_"))
        number += 1


def _select_row(select: Any) -> None:
    """Make a SELECT AS STRUCT with a star select the rows of a query, each of which is a struct."""
    from sqlglot import expressions as exp

    inner = select.copy()
    inner.set("kind", None)
    rows = exp.alias_(exp.Subquery(this=inner), "row_of_struct", table=True)
    select.replace(exp.select("row_of_struct").from_(rows))


def _translate_copy(create: Any) -> None:
    """Replace LIKE, COPY and CLONE by a query of the rows; remove the properties, except TEMP."""
    from sqlglot import expressions as exp

    like, clone = create.find(exp.LikeProperty), create.args.get("clone")
    if like is not None or clone is not None:
        query = exp.select("*").from_((like or clone).this.copy())
        create.set("expression", query.limit(0) if like is not None else query)
        create.set("clone", None)
    temporary = create.find(exp.TemporaryProperty)
    create.set("properties", temporary and exp.Properties(expressions=[temporary.copy()]))
    if create.kind == "VIEW" and isinstance(create.this, exp.Schema):
        # The elements can be definitions with options.
        names = [exp.to_identifier(name, quoted=True) for name in list_names(create.this)]
        create.this.set("expressions", names)


def _count_from_zero(select: Any, offset: str) -> None:
    """Make offsets of elements begin with 0, as in BigQuery; DuckDB's ordinalities begin with 1."""
    from sqlglot import expressions as exp

    for column in list(select.find_all(exp.Column)) if select is not None else ():
        if column.name != offset or column.table:
            continue
        number = exp.paren(exp.Sub(this=column.copy(), expression=exp.Literal.number(1)))
        shown = column.parent is select and column.arg_key == "expressions"
        column.replace(exp.alias_(number, offset) if shown else number)
