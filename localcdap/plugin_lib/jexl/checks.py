"""Checks of a tree: unknown functions and methods, wrong numbers of arguments, invalid patterns."""

from __future__ import annotations

import difflib
from typing import Final

from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.jexl.errors import Problem
from localcdap.plugin_lib.jexl.functions import FUNCTIONS, NAMESPACES
from localcdap.plugin_lib.jexl.tree import Node
from localcdap.plugin_lib.jexl.value_methods import METHODS
from localcdap.text import nearest_name

_NOT_THERE = {
    "new": "Objects cannot be made",
    "function": "Functions cannot be declared",
}
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
