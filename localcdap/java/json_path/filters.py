"""The filters of JSON paths, as Jayway's library reads them: ``(@.price < 10 && @.kind in ['a', 'b'])``."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json
from localcdap.java.json_path.comparisons import COMPARISONS, Missing, Pattern
from localcdap.java.json_path.errors import JsonPathError, no_path
from localcdap.java.json_path.steps import Test
from localcdap.java.regex import RegexError

_Operand = Callable[[Any, Any], Any]
ReadPath = Callable[[str], _Operand]

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


def read_filter(text: str, path: str, read_path: ReadPath) -> Test:
    """The test that a filter is.

    :param path: The whole path, to be named in errors.
    :param read_path: Reads the paths in the filter.
    :raises JsonPathError: when it is none.
    """
    if not text.startswith("("):
        raise no_path(path, "a filter is ?(…)")
    reader = _Reader(text, path, read_path)
    try:
        test = reader.either()
    except RecursionError:
        raise reader.error("filters are nested too deeply") from None
    if reader.at < len(text):
        raise reader.error(f"the filter is not understood from '{text[reader.at :][:20]}'")
    return test


class _Reader:
    def __init__(self, text: str, path: str, read_path: ReadPath) -> None:
        self.text = text
        self.path = path
        self.read_path = read_path
        self.at = 0
        self.depth = 0

    def error(self, what: str) -> JsonPathError:
        return no_path(self.path, what)

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
            compare, right = COMPARISONS[operator[1].lower()], self._operand()
            self._spaced()
            return lambda one, root: compare(left(one, root), right(one, root))
        if not is_path:
            raise self.error("a filter is not understood")
        return lambda one, root: left(one, root) is not Missing.MISSING

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
                return Pattern(found[1], found[2])
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
                return Missing.MISSING

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
