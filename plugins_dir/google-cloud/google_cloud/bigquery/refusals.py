"""Refusal by name of what has no translation: functions, arguments, types, operators and clauses.

sqlglot reads more than BigQuery's SQL, and writes what it does not know as it stands, so that DuckDB would
give it a meaning of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from .signatures import EXTRACTED, FUNCTIONS, UNITS, Signature
from .sql import SqlError, build_translation_error, describe_position, format_position, tokenize

_ACTION: Final = "Write it in another way; docs/data.md lists the functions that are translated."
_BINARY: Final = (
    "Add Sub Mul Div Mod IntDiv And Or EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ Is DPipe Escape "
    "BitwiseAnd BitwiseOr BitwiseXor BitwiseLeftShift BitwiseRightShift PropertyEQ Dot"
)
_UNARY: Final = (
    "Paren Not Neg BitwiseNot Where Having Qualify From Exists WeekStart RawString ByteString Boolean Var "
    "IgnoreNulls RespectNulls DataTypeParam Placeholder JSONPathKey JSONPathSubscript"
)
_NODES: Final = """
Alias this alias
Alter this kind actions exists options
AlterColumn this dtype drop default allow_null comment
AlterRename this
RenameColumn this to exists
Array expressions
AtTimeZone this zone
Between this low high
Bracket this expressions offset safe
CTE this alias
Case this ifs default
Cast this to
Column this table db catalog
ColumnConstraint this kind
ColumnDef this kind constraints exists position
Create this kind expression exists replace properties clone with
Clone this copy
CommentColumnConstraint this
DefaultColumnConstraint this
DataType this expressions nested
Delete this where tables alias
Distinct expressions
Drop this kind exists expressions tables
Except this expression distinct order limit offset with
Extract this expression
Group expressions rollup all
HavingMax this expression max
Identifier this quoted
If this true false
In this expressions query unnest
Insert this expression alias
Intersect this expression distinct order limit offset with
Interval this unit
Join this kind side on using
JSONPath expressions
JSONPathRoot
Like this expression negate
Limit this expression
Literal this is_string
Merge this using on whens with
NotNullColumnConstraint allow_null
Null
Offset expression
Order this expressions
Ordered this desc nulls_first
ParseJSON this is_literal
Pivot this alias columns expressions fields unpivot include_nulls
PivotAlias this alias
PrimaryKeyColumnConstraint
Rollup expressions
SafeFunc this
Schema this expressions
Select with kind distinct expressions from joins where group having qualify windows order limit offset
Star except replace
Struct expressions
Subquery this alias pivots order limit offset with
Table this alias db catalog pivots joins
TableAlias this columns
TruncateTable expressions
TryCast this to
Tuple expressions
Union this expression distinct order limit offset with
Unnest expressions alias offset
Update this expressions from where
Values expressions
When matched source condition then
Whens expressions
Window this partition_by order spec alias over
WindowSpec kind start start_side end end_side
With expressions recursive
TsOrDsToDate this
TsOrDsToDatetime this
TsOrDsToTime this
TsOrDsToTimestamp this
"""
"""The nodes of sqlglot that have a translation, with the names of what may be in them; functions have
signatures instead."""


def _read_nodes() -> dict[str, frozenset[str]]:
    known = {name: frozenset(("this", "expression", "quoted")) for name in _BINARY.split()}
    known |= {name: frozenset(("this",)) for name in _UNARY.split()}
    known |= {name: frozenset(keys) for name, *keys in map(str.split, _NODES.strip().splitlines())}
    return known


_KNOWN_NODES: Final = _read_nodes()
_MADE: Final = frozenset(
    str.split(
        "big_int binary coalesce date_part_boundary default_year empty_if_group_missing explode_array "
        "group ignore_nulls is_bytes is_casefold is_left is_string length nested null_if_no_match "
        "null_if_pos_overflow null_propagation pivot_column_naming position_text "
        "prefixed_pivot_columns safe scale scalar_only struct_name_inheritance with_tz"
    )
)
"""What sqlglot adds to nodes itself."""
_NAMES: Final = {
    "ApproxDistinct": "APPROX_COUNT_DISTINCT",
    "Ceil": "CEIL",
    "Chr": "CHR",
    "CurrentDate": "CURRENT_DATE",
    "CurrentDatetime": "CURRENT_DATETIME",
    "CurrentTime": "CURRENT_TIME",
    "CurrentTimestamp": "CURRENT_TIMESTAMP",
    "Floor": "FLOOR",
    "GroupConcat": "STRING_AGG",
    "If": "IF",
    "Initcap": "INITCAP",
    "MD5": "TO_HEX(MD5)",
    "Normalize": "NORMALIZE",
    "StrToDate": "PARSE_DATE",  # of CAST … AS DATE FORMAT
    "StrToTime": "PARSE_TIMESTAMP",
    "Struct": "STRUCT",
    "Substring": "SUBSTRING",
    "Translate": "TRANSLATE",
    "Trim": "TRIM",
}
"""The names of functions that sqlglot reads in a way of its own, by the classes of their nodes."""
_WORDS: Final = frozenset(
    str.split(
        "ALL AND ANY ARRAY AS BETWEEN BY CASE CAST CLUSTER CUBE DISTINCT ELSE EXCEPT EXISTS EXTRACT "
        "FROM GROUPING HAVING IN INSERT INTERVAL INTERSECT INTO IS JOIN LIKE LIMIT NOT OFFSET ON "
        "OPTIONS OR ORDER ORDINAL OVER PARTITION PIVOT QUALIFY RANGE_BUCKET ROLLUP SAFE_CAST "
        "SAFE_OFFSET SAFE_ORDINAL SELECT SET SETS SOME THEN UNION UNNEST UNPIVOT USING VALUES WEEK "
        "WHEN WHERE WITH BIGNUMERIC BYTES DECIMAL NUMERIC BIGDECIMAL GENERATE_ARRAY KEY REPLACE "
        "RENAME"
    )
)
"""Words of statements and types that a parenthesis may follow."""
_NO_FUNCTION_BEFORE: Final = frozenset(
    ("DOT", "EXISTS", "FROM", "INTO", "JOIN", "MERGE", "R_PAREN", "STAR", "TABLE", "UPDATE", "VIEW")
)
"""The tokens after which a name with a parenthesis is not a function, as in ``* REPLACE (a AS b)``."""
_REFUSED_TOKENS: Final = frozenset(
    str.split(
        "ARROW AT_GT CARET_AT DARROW DCOLON DIV DPIPE_SLASH GLOB HASH_ARROW ILIKE IRLIKE LAMBDA "
        "OVERLAPS RLIKE SIMILAR_TO"
    )
)
_TYPES: Final = frozenset(
    str.split(
        "BIGINT INT SMALLINT TINYINT MEDIUMINT DOUBLE FLOAT DECIMAL BOOLEAN TEXT VARCHAR BINARY "
        "VARBINARY BLOB DATE DATETIME TIMESTAMP TIMESTAMPTZ TIME ARRAY STRUCT JSON INTERVAL"
    )
)
_TYPE_NAMES: Final = frozenset(
    str.split(
        "INT64 INT INTEGER BIGINT SMALLINT TINYINT BYTEINT FLOAT64 NUMERIC DECIMAL BOOL BOOLEAN "
        "STRING BYTES DATE DATETIME TIMESTAMP TIME ARRAY STRUCT JSON INTERVAL"
    )
)


def refuse_unknown(parsed: Any, text: str) -> None:
    """Refuse the first part of a statement that has no translation.

    :raises SqlError: with its name and position.
    """
    from sqlglot import expressions as exp

    for node in _walk_known(parsed):
        if isinstance(node, exp.Property | exp.Properties):
            continue
        signature = find_signature(node)
        if signature is not None:
            _check_arguments(node, signature, text)
        else:
            _check_node(node, text)


def refuse_tokens(text: str) -> None:
    """Refuse what sqlglot drops or reads too: operators, functions and types that only other databases have,
    and arguments that functions do not have.

    :raises SqlError: for the first one.
    """
    tokens = tokenize(text)
    foreign = _list_foreign_functions()
    for at, token in enumerate(tokens):
        before = tokens[at - 1].token_type.name if at else ""
        name, kind = token.text.upper(), token.token_type.name
        is_call = _is_kind(tokens, at + 1, "L_PAREN") and kind not in (
            "STRING",
            "IDENTIFIER",
            "NUMBER",
        )
        is_call = is_call and before not in _NO_FUNCTION_BEFORE
        if kind in _REFUSED_TOKENS or (is_call and name in foreign):
            raise SqlError(
                f"'{token.text}' is not translated{format_position(text, token.start)}.", _ACTION
            )
        if before == "ALIAS" and _is_foreign_type(tokens, at):
            raise SqlError(
                f"'{token.text}' is not a type of BigQuery{format_position(text, token.start)}.",
                f"Use one of {', '.join(sorted(_TYPE_NAMES))}.",
            )
        most = FUNCTIONS[name].most if is_call and name in FUNCTIONS else None
        number = 0 if most is None else _count_arguments(tokens[at:])
        if most is not None and number > most:
            raise SqlError(
                f"'{name}' with {number} arguments is not translated"
                f"{format_position(text, token.start)}.",
                _ACTION,
            )


def _is_kind(tokens: Sequence[Any], at: int, kind: str) -> bool:
    return at < len(tokens) and tokens[at].token_type.name == kind


def _count_arguments(tokens: Sequence[Any]) -> int:
    """Return the number of arguments of the call with which tokens begin."""
    if _is_kind(tokens, 2, "R_PAREN"):
        return 0
    depth, number, is_type = 0, 1, False
    for before, token in itertools.pairwise(tokens):
        kind = token.token_type.name
        # The commas of STRUCT<a INT64, b STRING> are in angle brackets.
        is_type = is_type or (kind == "LT" and before.token_type.name in ("STRUCT", "ARRAY"))
        depth += (kind in ("L_PAREN", "L_BRACKET")) - (kind in ("R_PAREN", "R_BRACKET"))
        if is_type and kind in ("GT", "RSHIFT", "R_PAREN"):
            is_type = False
        if depth == 0:
            break
        number += kind == "COMMA" and depth == 1 and not is_type
    return number


def _list_foreign_functions() -> frozenset[str]:
    """Return the names of functions that sqlglot knows, and that have no translation."""
    from sqlglot.dialects.dialect import Dialect

    parser = Dialect.get_or_raise("bigquery").parser_class
    names = {*parser.FUNCTIONS, *parser.FUNCTION_PARSERS}
    return frozenset(names - set(FUNCTIONS) - _WORDS - _TYPE_NAMES)


def _is_foreign_type(tokens: Sequence[Any], at: int) -> bool:
    """Return whether the token after an AS is a type of a CAST that BigQuery lacks, such as DOUBLE."""
    if tokens[at].text.upper() in _TYPE_NAMES:
        return False
    depth = 0
    for start in range(at - 2, 0, -1):
        kind = tokens[start].token_type.name
        depth += (kind == "R_PAREN") - (kind == "L_PAREN")
        if depth < 0:
            return tokens[start - 1].text.upper() in ("CAST", "SAFE_CAST")
        if depth == 0 and kind in ("SELECT", "COMMA"):
            return False
    return False


def _walk_known(parsed: Any) -> Iterator[Any]:
    """Yield the nodes of a statement, without what is in properties, which have no effect."""
    from sqlglot import expressions as exp

    return iter(
        parsed.walk(
            prune=lambda node: isinstance(node, exp.Property | exp.Properties | exp.JSONPath)
        )
    )


def find_signature(node: Any) -> Signature | None:
    """Return the signature of a function; None for what is none, or has no translation."""
    from sqlglot import expressions as exp

    if not isinstance(node, exp.Func) or isinstance(node, exp.Cast | exp.Case | exp.Array):
        return None
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        return None
    return FUNCTIONS.get(get_function_name(node))


def get_function_name(node: Any) -> str:
    """Return the name of a function as BigQuery has it; empty when it is not known."""
    from sqlglot import expressions as exp

    if isinstance(node, exp.Anonymous):
        return str(node.name).upper() if isinstance(node.this, str) else ""
    if isinstance(node, exp.MD5):  # sqlglot has one node for the two functions
        return _NAMES["MD5"]
    given = node.meta.get("bigquery_name") or node.meta.get("name") or ""
    return str(given).upper() or _NAMES.get(type(node).__name__, "")


def list_values(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is in a node, with its name; not what sqlglot adds itself."""
    from sqlglot import expressions as exp

    for key, value in node.args.items():
        name = key.rstrip("_")
        for each in value if isinstance(value, list) else [value]:
            if (
                each is None
                or each is False
                or (name in _MADE and not isinstance(each, exp.Column))
            ):
                continue
            yield (key if key == "from_" and "to" in node.args else name), each


def _check_arguments(node: Any, signature: Signature, text: str) -> None:
    """Check the names of the arguments of a function."""
    given = {key for key, value in list_values(node) if not isinstance(value, str | bool)}
    needed = {
        key for key, each in signature.arguments.items() if not (each.is_optional or each.is_list)
    }
    if given - set(signature.arguments) or needed - given:
        raise _build_error(node, text)
    units, unit = UNITS.get(get_function_name(node)), node.args.get("unit")
    if units is not None and unit is not None and _name_unit(unit, node) not in units:
        shown = unit.sql(dialect="bigquery").strip("'")
        raise SqlError(
            f"'{get_function_name(node)}' with {shown} is not translated"
            f"{describe_position(text, node)}.",
            f"Use one of {', '.join(sorted(units))}.",
        )


def _name_unit(unit: Any, node: Any) -> str:
    """Return the name of a unit; a WEEK that begins on a day is a WEEK, except where weeks are added."""
    from sqlglot import expressions as exp

    if isinstance(unit, exp.WeekStart):
        return (
            "" if "expression" in node.args and not node.args.get("date_part_boundary") else "WEEK"
        )
    return str(unit.name).upper()


def _check_node(node: Any, text: str) -> None:
    from sqlglot import expressions as exp

    known = _KNOWN_NODES.get(type(node).__name__)
    if known is None:
        raise _build_error(node, text)
    for key, value in list_values(node):
        if key not in known:
            shown = value if isinstance(value, exp.Expression) else node
            raise _build_error(shown, text)
    if _has_refused_kind(node):
        raise _build_error(node, text)


def _has_refused_kind(node: Any) -> bool:
    """Return whether a type, join or set operation is one that BigQuery does not have."""
    from sqlglot import expressions as exp

    match node:
        case exp.DataType():
            return node.this.name not in _TYPES
        case exp.Extract():
            return node.this.sql(dialect="bigquery").upper().partition("(")[0] not in EXTRACTED
        case exp.Join():
            return (node.kind or "INNER") not in ("INNER", "CROSS", "OUTER")
        case exp.Except() | exp.Intersect():
            return not node.args.get("distinct")
        case exp.Rollup():
            return not node.expressions
        case exp.Pivot():
            # DuckDB has the names before the values.
            select = node.find_ancestor(exp.Select)
            return bool(node.args.get("unpivot")) and (select is None or select.is_star)
        case exp.Unnest():
            return not isinstance(node.parent, exp.From | exp.Join | exp.In)
        case exp.Values():
            return not isinstance(node.parent, exp.Insert)
    return False


def _build_error(node: Any, text: str) -> SqlError:
    """Return the error for a node: a function by its name, otherwise its text."""
    from sqlglot import expressions as exp

    name = get_function_name(node) if isinstance(node, exp.Func) else ""
    name = "FILTER" if isinstance(node, exp.Filter) else name
    if not name:
        return build_translation_error(node, text, _ACTION)
    return SqlError(f"'{name}' is not translated{describe_position(text, node)}.", _ACTION)
