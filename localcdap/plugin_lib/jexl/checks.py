"""Checks of expressions: unknown functions and methods, invalid patterns, and names that no column has.

The text alone shows the other problems, see :mod:`localcdap.plugin_lib.jexl.checks`. A problem is an error if
the expression fails for every row because of it, else a warning: comparisons and functions take the null of a
missing column, operators of arithmetic and methods do not.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.jexl.errors import Problem
from localcdap.plugin_lib.jexl.functions import FUNCTIONS, NAMESPACES
from localcdap.plugin_lib.jexl.parser import CHAINED, Node, find_plain_path, list_local_names
from localcdap.plugin_lib.jexl.types import find_field, infer_type
from localcdap.plugin_lib.jexl.value_methods import METHODS
from localcdap.plugin_lib.suggestions import suggest_name
from localcdap.text import nearest_name

_NOT_THERE = {"new": "Objects cannot be made", "function": "Functions cannot be declared"}
DEEPEST_LOOP: Final = 10
"""The most loops that may be nested. Python's own limit of nested blocks is 20."""

_METHODS_WITH_PATTERN = frozenset(("matches", "replaceAll", "replaceFirst", "split"))


def find_problems(root: Node) -> list[Problem]:
    """Return every problem of a tree, in the order of the text."""
    found: list[Problem] = []
    for node in root.walk():
        if node.kind == "call":
            found.extend(_call(node))
        elif node.kind == "method":
            found.extend(_check_method(node))
        if (node.kind == "binary" and node.value in ("=~", "!~")) or (
            node.kind == "method" and node.value[0] in _METHODS_WITH_PATTERN and len(node.parts) > 1
        ):
            found.extend(_check_pattern(node.parts[1]))
    found.extend(_check_loops(root))
    return sorted(found, key=lambda problem: (problem.line, problem.column))


def _call(node: Node) -> list[Problem]:
    namespace, name = node.value
    function = FUNCTIONS.get((namespace, name))
    if function is None:
        return [_check_function(node, namespace, name)]
    if not function.find_overloads(len(node.parts)):
        count = len(node.parts)
        message = f"{function.full_name} does not take {count} argument{'' if count == 1 else 's'}"
        return [Problem(message, node.line, node.column, f"Its usage is {function.usage}.")]
    return []


def _check_function(node: Node, namespace: str, name: str) -> Problem:
    place = (node.line, node.column)
    if not namespace and name in _NOT_THERE:
        return Problem(f"{_NOT_THERE[name]} ('{name}')", *place)
    if namespace and namespace not in NAMESPACES:
        known = (
            _suggest_function(namespace, NAMESPACES)
            or f"There are {', '.join(sorted(NAMESPACES))}."
        )
        return Problem(f"There is no function namespace '{namespace}'", *place, known)
    full = f"{namespace}:{name}" if namespace else name
    here = {n for space, n in FUNCTIONS if space == namespace}
    elsewhere = sorted(f"{space}:{n}" if space else n for space, n in FUNCTIONS if n == name)
    near = _suggest_function(name, here, namespace)
    hint = f"Did you mean {' or '.join(elsewhere)}?" if elsewhere else near
    return Problem(f"There is no function '{full}'", *place, hint)


def _check_method(node: Node) -> list[Problem]:
    """Find a method that no value has, whatever its type is."""
    name, count = node.value[0], len(node.parts) - 1
    forms = [method for (_, own), method in METHODS.items() if own == name]
    if any(method.find_overloads(count + 1) for method in forms):
        return []
    place = (node.line, node.column)
    if forms:
        message = f"The method '{name}' does not take {count} argument{'' if count == 1 else 's'}"
        return [Problem(message, *place)]
    near = nearest_name(name, (own for _, own in METHODS))
    return [
        Problem(f"There is no method '{name}'", *place, f"Did you mean '{near}'?" if near else None)
    ]


def _suggest_function(
    name: str, known: frozenset[str] | set[str], namespace: str = ""
) -> str | None:
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if not near:
        return None
    return f"Did you mean '{namespace + ':' if namespace else ''}{by_lower[near[0]]}'?"


def _check_pattern(node: Node) -> list[Problem]:
    if node.kind != "constant" or not isinstance(node.value, str):
        return []
    try:
        compile_regex(node.value)
    except RegexError as error:
        return [Problem(str(error), node.line, node.column)]
    return []


def _check_loops(root: Node) -> list[Problem]:
    """Find ``break`` and ``continue`` outside of a loop, and loops that are nested too deeply."""
    found: list[Problem] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        place = (node.line, node.column)
        if node.kind in ("break", "continue") and not depth:
            found.append(Problem(f"'{node.kind}' stands outside of a loop", *place))
        depth += node.kind in ("for_each", "while")
        if depth > DEEPEST_LOOP:
            found.append(Problem(f"More than {DEEPEST_LOOP} loops stand in one another", *place))
        else:
            waiting.extend((part, depth) for part in node.parts)
    return found


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
