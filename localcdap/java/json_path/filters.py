"""The filters of JSON paths, as Jayway's library reads them: ``(@.price < 10 && @.kind in ['a', 'b'])``."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json
from localcdap.java.json_path.comparisons import COMPARISONS, Missing, Pattern
from localcdap.java.json_path.steps import JsonPathError, Predicate, build_error
from localcdap.java.regex import RegexError

Operand = Callable[[Any, Any], Any]
"""Gives the value of an operand, from the tested value and the document; ValueError where there is none."""
ParseOperand = Callable[[str], Operand]

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
_MAX_DEPTH: Final = 50
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


def parse_filter(text: str, path: str, parse_operand: ParseOperand) -> Predicate:
    """Parse a filter.

    :param path: the whole path, for errors.
    :param parse_operand: parses the paths in the filter.
    :raises JsonPathError: when the filter is invalid.
    """
    if not text.startswith("("):
        raise build_error(path, "a filter is ?(…)")
    parser = _FilterParser(text, path, parse_operand)
    try:
        predicate = parser.parse_or()
    except RecursionError:
        raise parser.build_error("filters are nested too deeply") from None
    if parser.at < len(text):
        raise parser.build_error(f"the filter is not understood from '{text[parser.at :][:20]}'")
    return predicate


class _FilterParser:
    """A recursive descent parser of one filter."""

    def __init__(self, text: str, path: str, parse_operand: ParseOperand) -> None:
        self.text: Final = text
        self.path: Final = path
        self.parse_operand: Final = parse_operand
        self.at = 0
        """The offset up to which the text is parsed."""
        self.depth = 0

    def build_error(self, reason: str) -> JsonPathError:
        return build_error(self.path, reason)

    def parse_or(self) -> Predicate:
        terms = [self._parse_and()]
        while self._skip("||"):
            terms.append(self._parse_and())
        if len(terms) == 1:
            return terms[0]
        return lambda value, document: any(term(value, document) for term in terms)

    def _parse_and(self) -> Predicate:
        terms = [self._parse_term()]
        while self._skip("&&"):
            terms.append(self._parse_term())
        if len(terms) == 1:
            return terms[0]
        return lambda value, document: all(term(value, document) for term in terms)

    def _parse_term(self) -> Predicate:
        if self._skip("!"):
            negated = self._parse_nested(self._parse_term)
            return lambda value, document: not negated(value, document)
        if self._skip("("):
            inner = self._parse_nested(self.parse_or)
            if not self._skip(")"):
                raise self.build_error("a filter is not closed")
            return inner
        is_path = self.text[self.at : self.at + 1] in ("@", "$")
        left = self._parse_operand()
        operator = _OPERATOR.match(self.text, self._skip_space())
        if operator is not None:
            self.at = operator.end()
            compare, right = COMPARISONS[operator[1].lower()], self._parse_operand()
            self._skip_space()
            return lambda value, document: compare(left(value, document), right(value, document))
        if not is_path:
            raise self.build_error("a filter is not understood")
        return lambda value, document: left(value, document) is not Missing.MISSING

    def _parse_nested(self, parse: Callable[[], Predicate]) -> Predicate:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.build_error("a filter is nested too deeply")
        predicate = parse()
        self.depth -= 1
        return predicate

    def _parse_operand(self) -> Operand:
        at = self._skip_space()
        if self.text[at : at + 1] in ("@", "$"):
            return self._parse_path()
        value = self._parse_literal()
        return lambda _value, _document: value

    def _parse_literal(self) -> Any:
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
                raise self.build_error(str(error)) from None
        if self.text[self.at : self.at + 1] in ("[", "{"):
            return self._parse_json()
        raise self.build_error("a filter is not understood")

    def _parse_json(self) -> Any:
        start = self.at
        self.at = self._find_bracket_end(start)
        try:
            return read_json(self.text[start : self.at])
        except JsonError as error:
            raise self.build_error(str(error)) from None

    def _parse_path(self) -> Operand:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self.at = self._find_bracket_end(self.at)
            elif found := _PATH_PART.match(self.text, self.at):
                self.at = found.end()
            else:
                break
        read = self.parse_operand(self.text[start : self.at])

        def read_or_missing(value: Any, document: Any) -> Any:
            try:
                return read(value, document)
            except ValueError:
                return Missing.MISSING

        return read_or_missing

    def _find_bracket_end(self, at: int) -> int:
        """Return the offset after the bracket that closes the one at an offset."""
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
        raise self.build_error("a bracket is not closed")

    def _skip(self, expected: str) -> bool:
        """Skip a text and the white space around it; return whether it was there."""
        if not self.text.startswith(expected, self._skip_space()):
            return False
        self.at += len(expected)
        self._skip_space()
        return True

    def _skip_space(self) -> int:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at
