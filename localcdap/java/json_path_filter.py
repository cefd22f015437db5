"""The filters of JSON paths, as Jayway's library reads them: ``(@.price < 10 && @.kind in ['a', 'b'])``."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json
from localcdap.java.regex import RegexError, compile_regex

Test = Callable[[Any, Any], bool]
"""Of a value, and of the value in which the whole path selects."""
_Operand = Callable[[Any, Any], Any]
_ReadPath = Callable[[str], _Operand]

_SPACE: Final = re.compile(r"\s*")
_TEXT: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_PATTERN: Final = re.compile(r"/((?:[^/\\]|\\.)*)/([idmsuxU]*)", re.DOTALL)
_PLAIN: Final = re.compile(r"(true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])")
_PATH_PART: Final = re.compile(r"[^\s()\[\]=!<>&|,'\"]+(?:\(\s*\))?")
_OPERATOR: Final = re.compile(
    r"(===|!==|==|!=|<=|>=|=~|<|>"
    r"|(?:in|nin|all|contains|size|empty|subsetof|anyof|noneof)(?![\w]))",
    re.IGNORECASE,
)
_DEEPEST: Final = 50
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class JsonPathError(ValueError):
    """A text is no path."""


class _Missing(Enum):
    MISSING = "what a path finds where nothing is"


def read_filter(text: str, path: str, read_path: _ReadPath) -> Test:
    """The test that a filter is.

    :param path: The whole path, to be named in errors.
    :param read_path: Reads the paths in the filter.
    :raises JsonPathError: when it is none.
    """
    if not text.startswith("("):
        raise JsonPathError(f"'{path}' is no JSON path: a filter is ?(…)")
    reader = _Reader(text, path, read_path)
    try:
        test = reader.either()
    except RecursionError:
        raise reader.error("filters are nested too deeply") from None
    if reader.at < len(text):
        raise reader.error(f"the filter is not understood from '{text[reader.at :][:20]}'")
    return test


class _Reader:
    def __init__(self, text: str, path: str, read_path: _ReadPath) -> None:
        self.text = text
        self.path = path
        self.read_path = read_path
        self.at = 0
        self.depth = 0

    def error(self, what: str) -> JsonPathError:
        return JsonPathError(f"'{self.path}' is no JSON path: {what}")

    def either(self) -> Test:
        tests = [self._both()]
        while self._skips("||"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda one, root: any(t(one, root) for t in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._skips("&&"):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda one, root: all(t(one, root) for t in tests)

    def _one(self) -> Test:
        if self._skips("!"):
            negated = self._deeper(self._one)
            return lambda one, root: not negated(one, root)
        if self._skips("("):
            test = self._deeper(self.either)
            if not self._skips(")"):
                raise self.error("a filter is not closed")
            return test
        is_path = self.text[self.at : self.at + 1] in ("@", "$")
        left = self._operand()
        operator = _OPERATOR.match(self.text, self._spaced())
        if operator is not None:
            self.at = operator.end()
            compare, right = _COMPARISONS[operator[1].lower()], self._operand()
            self._spaced()
            return lambda one, root: compare(left(one, root), right(one, root))
        if not is_path:
            raise self.error("a filter is not understood")
        return lambda one, root: left(one, root) is not _Missing.MISSING

    def _deeper(self, read: Callable[[], Test]) -> Test:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("a filter is nested too deeply")
        test = read()
        self.depth -= 1
        return test

    def _operand(self) -> _Operand:
        at = self._spaced()
        if self.text[at : at + 1] in ("@", "$"):
            return self._path_operand()
        value = self._literal()
        return lambda _one, _root: value

    def _literal(self) -> Any:
        if found := _TEXT.match(self.text, self.at):
            self.at = found.end()
            quoted = found[1] if found[1] is not None else found[2]
            return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        if found := _PLAIN.match(self.text, self.at):
            self.at = found.end()
            plain = found[1]
            return _CONSTANTS[plain] if plain in _CONSTANTS else Decimal(plain)
        if found := _PATTERN.match(self.text, self.at):
            self.at = found.end()
            try:
                return _Pattern(found[1], found[2])
            except RegexError as error:
                raise self.error(str(error)) from None
        if self.text[self.at : self.at + 1] in ("[", "{"):
            return self._json()
        raise self.error("a filter is not understood")

    def _json(self) -> Any:
        start = self.at
        self.at = self._closed(start)
        try:
            return read_json(self.text[start : self.at])
        except JsonError as error:
            raise self.error(str(error)) from None

    def _path_operand(self) -> _Operand:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self.at = self._closed(self.at)
            elif found := _PATH_PART.match(self.text, self.at):
                self.at = found.end()
            else:
                break
        read = self.read_path(self.text[start : self.at])

        def operand(one: Any, root: Any) -> Any:
            try:
                return read(one, root)
            except ValueError:
                return _Missing.MISSING

        return operand

    def _closed(self, at: int) -> int:
        """Where a bracket's end is."""
        depth = 0
        while at < len(self.text):
            char = self.text[at]
            if char in "'\"" and (found := _TEXT.match(self.text, at)):
                at = found.end()
                continue
            depth += (char in "[{(") - (char in "]})")
            at += 1
            if depth == 0:
                return at
        raise self.error("a bracket is not closed")

    def _skips(self, expected: str) -> bool:
        if not self.text.startswith(expected, self._spaced()):
            return False
        self.at += len(expected)
        self._spaced()
        return True

    def _spaced(self) -> int:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at


class _Pattern:
    def __init__(self, text: str, flags: str) -> None:
        self.regex = compile_regex(f"(?{flags}){text}" if flags else text)

    def matches(self, value: Any) -> bool:
        if isinstance(value, list):
            return any(self.matches(one) for one in value)
        number = _number(value)
        if isinstance(value, bool):
            text = str(value).lower()
        else:
            text = value if isinstance(value, str) else "" if number is None else str(number)
        return self.regex.matches(text)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else None


def _pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Two numbers or two texts: numbers beside texts are compared as texts."""
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers
    texts = [str(n) if n is not None else v for v, n in zip((left, right), numbers, strict=True)]
    return (texts[0], texts[1]) if all(isinstance(text, str) for text in texts) else None


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str) and (pair := _pair(left, right)):
        return _equal_numbers(*pair)
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if _Missing.MISSING in (left, right) or isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _equal_numbers(left: str, right: str) -> bool:
    try:
        return Decimal(left) == Decimal(right)
    except ArithmeticError:
        return False


def _same_kind(left: Any, right: Any) -> bool:
    return isinstance(left, str) == isinstance(right, str) and _same(left, right)


def _ordered(is_so: Callable[[Any, Any], bool]) -> Test:
    def compare(left: Any, right: Any) -> bool:
        pair = _pair(left, right)
        return pair is not None and is_so(*pair)

    return compare


def _matches(left: Any, right: Any) -> bool:
    if isinstance(left, _Pattern) == isinstance(right, _Pattern):
        return False
    pattern, value = (left, right) if isinstance(left, _Pattern) else (right, left)
    return bool(pattern.matches(value))


def _in(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_same(left, one) for one in right)


def _all_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and all(_in(one, among) for one in values)


def _any_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and any(_in(one, among) for one in values)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _in(right, left)


def _has_size(left: Any, right: Any) -> bool:
    return isinstance(left, str | list) and _number(right) == len(left)


def _is_empty(left: Any, right: Any) -> bool:
    return isinstance(left, str | list | dict) and (not left) is right


_COMPARISONS: Final[dict[str, Test]] = {
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "===": _same_kind,
    "!==": lambda left, right: not _same_kind(left, right),
    "<": _ordered(lambda left, right: bool(left < right)),
    "<=": _ordered(lambda left, right: bool(left <= right)),
    ">": _ordered(lambda left, right: bool(left > right)),
    ">=": _ordered(lambda left, right: bool(left >= right)),
    "=~": _matches,
    "in": _in,
    "nin": lambda left, right: not _in(left, right),
    "all": lambda left, right: isinstance(left, list) and _all_in(right, left),
    "contains": _contains,
    "size": _has_size,
    "empty": _is_empty,
    "subsetof": _all_in,
    "anyof": _any_in,
    "noneof": lambda left, right: isinstance(left, list) and not _any_in(left, right),
}
