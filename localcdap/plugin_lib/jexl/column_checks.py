"""Checks of an expression over known columns: names that no column has, and methods that a value lacks.

The text alone shows the other problems, see :mod:`localcdap.plugin_lib.jexl.checks`. A problem is an error if
the expression fails for every row because of it, else a warning: comparisons and functions take the null of a
missing column, operators of arithmetic and methods do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.plugin_lib.jexl.errors import Problem
from localcdap.plugin_lib.jexl.tree import CHAINED, Node, find_plain_path, list_local_names
from localcdap.plugin_lib.jexl.types import find_field, infer_type
from localcdap.plugin_lib.jexl.value_methods import METHODS
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.text import nearest_name

ROW: Final = "this"
"""The variable that holds the whole row."""
_ALWAYS_THERE: Final = (ROW, "ctx")
_ROW_METHODS: Final = ("get", "getValue")
"""The methods of a row whose argument names a column."""
_NULL_FAILS: Final = (*CHAINED, "<<", ">>")
"""The binary operators that fail if an operand is null."""
_KINDS: Final = {
    Type.STRING: "text",
    Type.ENUM: "text",
    Type.BOOLEAN: "boolean",
    Type.INT: "number",
    Type.LONG: "number",
    Type.FLOAT: "number",
    Type.DOUBLE: "number",
    Type.ARRAY: "list",
    Type.MAP: "map",
    Type.RECORD: "map",
}
"""The kinds of values, see :func:`.value_methods.get_kind`, by the types of schemas."""


def find_column_problems(
    root: Node, columns: Columns, variables: Collection[str] = (), *, must_exist: bool = False
) -> list[Problem]:
    """Return the problems that an expression has in each row of such columns, in the order of the text.

    :param variables: names that need no column, such as those of transient variables.
    :param must_exist: whether a name without a column is an error even where null would do, as in a
        precondition.
    """
    check = _ColumnCheck(root, columns, variables, must_exist=must_exist)
    found: dict[str, Problem] = {}
    for problem in check.find():
        first = found.setdefault(problem.message, problem)
        if first.is_warning and not problem.is_warning:
            found[problem.message] = problem
    return sorted(found.values(), key=lambda problem: (problem.line, problem.column))


class _ColumnCheck:
    """The check of one expression.

    The methods for nodes take ``certain``, whether every row evaluates the node, and ``operation``, what
    fails if the value of the node is null.
    """

    def __init__(
        self, root: Node, columns: Columns, variables: Collection[str], *, must_exist: bool
    ) -> None:
        self._root = root
        self._columns = columns
        self._known = {*variables, *_ALWAYS_THERE, *list_local_names(root)}
        typed = [(field.name, field.schema) for field in columns.record()]
        self._schema = Schema.record("row", [each for each in typed if each[0] not in self._known])
        self._must_exist = must_exist

    def find(self) -> Iterator[Problem]:
        is_single = len(self._root.parts) == 1
        for part in self._root.parts:
            yield from self._visit(part, is_single)

    def _visit(self, node: Node, certain: bool, operation: str = "") -> Iterator[Problem]:
        check = _CHECKS.get(node.kind)
        if check is not None:
            yield from check(self, node, certain, operation)
        else:  # elements of lists, and statements, of which each may stand after a return
            is_value = node.kind in ("list", "set", "map")
            for part in node.parts:
                yield from self._visit(part, certain and is_value)

    # -- names ------------------------------------------------------------------------------

    def _check_name(self, node: Node, certain: bool, operation: str) -> Iterator[Problem]:
        if self._is_missing(node.value):
            yield self._report_name(node, node.value, certain, operation)

    def _is_missing(self, name: str) -> bool:
        return name not in self._known and self._columns.is_missing(name)

    def _report_name(self, node: Node, name: str, certain: bool, operation: str) -> Problem:
        hint = suggest_name(name, self._columns)
        fails = certain and bool(operation or self._must_exist)
        message = f"There is no column '{name}'"
        if fails and operation:
            message += f", and {operation} fails without a value"
        return Problem(message, node.line, node.column, hint, not fails)

    def _check_member(self, node: Node, certain: bool, operation: str) -> Iterator[Problem]:
        """Check ``a.b``: a column of that name, a member of the column ``a``, or a column of the row."""
        owner, name = node.parts[0], node.value[0]
        path = find_plain_path(node)
        if path is not None and self._columns.find(path) is not None:
            return
        if owner.kind == "name" and owner.value == ROW:
            if self._is_missing(name):
                yield self._report_name(node, name, certain, operation)
            return
        yield from self._visit(owner, certain)
        yield from self._check_field(node, owner, name)

    def _check_index(self, node: Node, certain: bool, operation: str) -> Iterator[Problem]:
        owner, key = node.parts
        if key.kind != "constant" or not isinstance(key.value, str):
            yield from self._visit(owner, certain)
            yield from self._visit(key, certain)
        elif owner.kind == "name" and owner.value == ROW:
            if self._is_missing(key.value):
                yield self._report_name(key, key.value, certain, operation)
        else:
            yield from self._visit(owner, certain)
            yield from self._check_field(key, owner, key.value)

    def _check_field(self, place: Node, owner: Node, name: str) -> Iterator[Problem]:
        """Find a field that the record lacks. Its value is null."""
        schema = infer_type(owner, self._schema)
        if schema is None or schema.non_nullable.type is not Type.RECORD:
            return
        record = schema.non_nullable
        if find_field(record, name) is not None:
            return
        hint = suggest_name(name, record.field_names)
        yield Problem(
            f"The record has no field '{name}'", place.line, place.column, hint, is_warning=True
        )

    # -- operators --------------------------------------------------------------------------

    def _check_chain(self, node: Node, certain: bool, _: str) -> Iterator[Problem]:
        is_logic = node.value[0] in ("&&", "||")
        for at, part in enumerate(node.parts):
            symbol = node.value[max(at - 1, 0)]
            yield from self._visit(part, certain and not (is_logic and at), f"'{symbol}'")

    def _check_binary(self, node: Node, certain: bool, _: str) -> Iterator[Problem]:
        operation = f"'{node.value}'" if node.value in _NULL_FAILS else ""
        for part in node.parts:
            yield from self._visit(part, certain, operation)

    def _check_unary(self, node: Node, certain: bool, _: str) -> Iterator[Problem]:
        if node.value in ("empty", "size"):  # these swallow the errors of their operand
            yield from self._visit(node.parts[0], False)
        else:
            yield from self._visit(node.parts[0], certain, f"'{node.value}'")

    def _check_group(self, node: Node, certain: bool, operation: str) -> Iterator[Problem]:
        yield from self._visit(node.parts[0], certain, operation)

    def _check_choice(self, node: Node, certain: bool, _: str) -> Iterator[Problem]:
        """Check ``a ? b : c``, ``a ?: c`` and ``a ?? c``, in which a method of null gives null."""
        first = node.parts[0]
        yield from self._visit(first, certain and first.kind not in ("method", "name"))
        for part in node.parts[1:]:
            yield from self._visit(part, False)

    # -- calls ------------------------------------------------------------------------------

    def _check_call(self, node: Node, certain: bool, _: str) -> Iterator[Problem]:
        for part in node.parts:
            yield from self._visit(part, certain)

    def _check_method(self, node: Node, certain: bool, operation: str) -> Iterator[Problem]:
        name, is_null_safe = node.value
        owner, *arguments = node.parts
        if owner.kind == "name" and owner.value == ROW:
            yield from self._check_row_method(name, arguments, certain, operation)
        needs = "" if is_null_safe else f"'{name}'"
        yield from self._visit(owner, certain, needs)
        for part in arguments:
            yield from self._visit(part, certain and not is_null_safe)
        schema = infer_type(owner, self._schema)
        if schema is not None and owner.kind != "constant":
            yield from self._check_receiver(node, schema, certain and not is_null_safe)

    def _check_row_method(
        self, name: str, arguments: list[Node], certain: bool, operation: str
    ) -> Iterator[Problem]:
        key = arguments[0] if len(arguments) == 1 and name in _ROW_METHODS else None
        if key is None or key.kind != "constant" or not isinstance(key.value, str):
            return
        if self._is_missing(key.value):
            yield self._report_name(key, key.value, certain, operation)

    def _check_receiver(self, node: Node, schema: Schema, certain: bool) -> Iterator[Problem]:
        """Find a method that values of a known type lack."""
        kind, name, count = _find_kind(schema), node.value[0], len(node.parts)
        if kind is None:
            return
        found = METHODS.get((kind, name)) or METHODS.get(("any", name))
        if found is not None and found.find_overloads(count):
            return
        what = schema.non_nullable.display_name
        hint = None
        if found is None:
            message = f"Values of the type {what} have no method '{name}'"
            near = nearest_name(name, (each for own, each in METHODS if own in (kind, "any")))
            hint = f"Did you mean '{near}'?" if near else None
        else:
            plural = "" if count == 2 else "s"
            message = f"'{name}' of the type {what} does not take {count - 1} argument{plural}"
        yield Problem(message, node.line, node.column, hint, not certain)


def _find_kind(schema: Schema) -> str | None:
    """Return the kind of the values of a schema; None where it is not certain."""
    plain = schema.non_nullable
    if plain.logical_type is not None:
        return "number" if plain.logical_type is LogicalType.DECIMAL else "date"
    return _KINDS.get(plain.type)


_CHECKS: Final[dict[str, Callable[[Any, Node, bool, str], Iterator[Problem]]]] = {
    "name": _ColumnCheck._check_name,
    "member": _ColumnCheck._check_member,
    "index": _ColumnCheck._check_index,
    "chain": _ColumnCheck._check_chain,
    "binary": _ColumnCheck._check_binary,
    "unary": _ColumnCheck._check_unary,
    "group": _ColumnCheck._check_group,
    "ternary": _ColumnCheck._check_choice,
    "elvis": _ColumnCheck._check_choice,
    "coalesce": _ColumnCheck._check_choice,
    "call": _ColumnCheck._check_call,
    "method": _ColumnCheck._check_method,
}
