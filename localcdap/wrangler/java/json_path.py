"""JSONPath as Jayway's library reads it, on plain values (dict, list, text, number, bool, None).

``$.store.book[0].title``, ``$['a b']``, ``$..author``, ``$.list[*].set.*``, ``[1:3]``, ``[0,-1]``,
``[?(@.price < 10 && @.isbn)]``, ``.length()``. A path that can select one thing at most gives it, or None
where it is not; any other gives a list.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from localcdap.wrangler.java.regex import compile_regex

_Step = Callable[[Any], Iterator[Any]]
_Test = Callable[[Any, Any], bool]

_NAME: Final = re.compile(r"\.(\.?)(?:([\w$@-]+)(\(\))?|(\*)|(?=\[))")
_TEXTS: Final = re.compile(r"\s*'((?:[^'\\]|\\.)*)'\s*(?:,|$)|\s*\"((?:[^\"\\]|\\.)*)\"\s*(?:,|$)")
_SLICE: Final = re.compile(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*")
_INDEXES: Final = re.compile(r"\s*-?\d+\s*(?:,\s*-?\d+\s*)*")
_OPERAND: Final = (
    r"([@$][\w.\[\]'\"$*-]*|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
    r"|/(?:[^/\\]|\\.)*/i?|[\w.+-]+)"
)
_FILTER: Final = re.compile(
    rf"\s*(?:(\()|(!)|{_OPERAND}\s*(?:(==|!=|<=|>=|<|>|=~)\s*{_OPERAND})?)\s*"
)


class JsonPathError(ValueError):
    """A text is no path."""


def select(value: Any, path: str) -> Any:
    """What the path selects in a value.

    :raises JsonPathError: when the path is none.
    """
    steps, definite = _compiled(path)
    found = [value]
    for step in steps:
        found = [inner for one in found for inner in step(one)]
    if definite:
        return found[0] if found else None
    return found


@functools.lru_cache(maxsize=512)
def _compiled(path: str) -> tuple[list[_Step], bool]:
    text = path.strip()
    if not text.startswith("$"):
        text = "$" + (text if text.startswith("[") else f".{text}")
    at, steps, definite = 1, list[_Step](), True
    while at < len(text):
        if text[at] == "[":
            step, single, at = _bracket(text, at, path)
            steps.append(step)
        else:
            found = _NAME.match(text, at)
            if found is None:
                raise JsonPathError(
                    f"'{path}' is no JSON path: not understood from '{text[at:][:20]}'"
                )
            deep, name, call, star = found.groups()
            at = found.end()
            if deep:
                steps.append(_descendants)
            if name or star:
                steps.append(_function(name, path) if call else _child(name) if name else _children)
            single = not deep and not star
        definite = definite and single
    return steps, definite


def _bracket(text: str, at: int, path: str) -> tuple[_Step, bool, int]:
    """The step in brackets, whether it selects one thing at most, and where it ends."""
    end = _closing(text, at)
    if end < 0:
        raise JsonPathError(f"'{path}' is no JSON path: a bracket is not closed")
    inner = text[at + 1 : end].strip()
    if inner == "*":
        return _children, False, end + 1
    if inner[:1] in ("'", '"'):
        names = [a or b for a, b in _TEXTS.findall(inner)]
        return _fields(names), len(names) == 1, end + 1
    if inner.startswith("?"):
        return _filtered(_test(inner[1:].strip(), path)), False, end + 1
    if _INDEXES.fullmatch(inner):
        indexes = [int(part) for part in inner.split(",")]
        return _elements(indexes), len(indexes) == 1, end + 1
    if found := _SLICE.fullmatch(inner):
        first, last = (int(part) if part else None for part in found.groups())
        return _sliced(slice(first, last)), False, end + 1
    raise JsonPathError(f"'{path}' is no JSON path: '[{inner}]' is not understood")


def _closing(text: str, at: int) -> int:
    depth, quote = 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[(":
            depth += 1
        elif char in "])":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


def _child(name: str) -> _Step:
    return _fields([name])


def _fields(names: list[str]) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        if len(names) > 1:
            yield {name: value[name] for name in names if name in value}
        elif names and names[0] in value:
            yield value[names[0]]

    return step


def _elements(indexes: list[int]) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for index in indexes:
                if -len(value) <= index < len(value):
                    yield value[index]

    return step


def _sliced(part: slice) -> _Step:
    return lambda value: iter(value[part] if isinstance(value, list) else ())


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _descendants(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            yield one
            waiting.extend(reversed(list(_children(one))))


_FUNCTIONS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "length": len,
    "min": min,
    "max": max,
    "sum": sum,
    "avg": lambda numbers: sum(numbers) / len(numbers),
}


def _function(name: str, path: str) -> _Step:
    run = _FUNCTIONS.get(name)
    if run is None:
        raise JsonPathError(f"'{path}' is no JSON path: there is no function {name}()")

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and (value or name == "length"):
            numbers = (
                value if name == "length" else [v for v in value if isinstance(v, int | float)]
            )
            yield run(numbers)

    return step


def _filtered(test: _Test) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        candidates = value if isinstance(value, list) else [value]
        for one in candidates:
            if test(one, value):
                yield one

    return step


def _test(text: str, path: str) -> _Test:
    """A filter: ``(@.a == 1 && (@.b || !@.c))``."""
    test, at = _either(text, 0, path)
    if at < len(text):
        raise JsonPathError(
            f"'{path}' is no JSON path: the filter is not understood from '{text[at:]}'"
        )
    return test


def _either(text: str, at: int, path: str) -> tuple[_Test, int]:
    tests: list[_Test] = []
    while True:
        test, at = _all(text, at, path)
        tests.append(test)
        if not text.startswith("||", at):
            return (lambda one, root: any(t(one, root) for t in tests)), at
        at += 2


def _all(text: str, at: int, path: str) -> tuple[_Test, int]:
    tests: list[_Test] = []
    while True:
        test, at = _one(text, at, path)
        tests.append(test)
        if not text.startswith("&&", at):
            return (lambda one, root: all(t(one, root) for t in tests)), at
        at += 2


def _one(text: str, at: int, path: str) -> tuple[_Test, int]:
    found = _FILTER.match(text, at)
    if found is None:
        raise JsonPathError(f"'{path}' is no JSON path: a filter is not understood")
    opening, negated, left, operator, right = found.groups()
    if opening:
        test, at = _either(text, found.end(), path)
        if not text.startswith(")", at):
            raise JsonPathError(f"'{path}' is no JSON path: a filter is not closed")
        rest = re.compile(r"\)\s*").match(text, at)
        return test, rest.end() if rest else at + 1
    if negated:
        test, at = _one(text, found.end(), path)
        return (lambda one, root: not test(one, root)), at
    return _comparison(left, operator, right), found.end()


def _comparison(left: str, operator: str | None, right: str | None) -> _Test:
    if operator is None or right is None:
        return lambda one, _: _operand(left, one) is not None
    if operator == "=~":
        pattern = right.strip("/") if not right.endswith("/i") else f"(?i){right[1:-2]}"
        return lambda one, _: compile_regex(pattern).matches(str(_operand(left, one)))
    return lambda one, _: _compares(_operand(left, one), operator, _operand(right, one))


def _compares(left: Any, operator: str, right: Any) -> bool:
    if operator in ("==", "!="):
        return bool((left == right) == (operator == "=="))
    try:
        results = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    except TypeError:
        return False
    return bool(results[operator])


def _operand(text: str, one: Any) -> Any:
    if text[0] == "@":
        return one if text == "@" else select(one, "$" + text[1:])
    if text[0] in "'\"":
        return text[1:-1]
    constants = {"true": True, "false": False, "null": None}
    if text in constants:
        return constants[text]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
