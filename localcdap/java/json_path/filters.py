"""The steps of JSON paths, and their filters as Jayway's library reads them: ``(@.price < 10 && @.isbn)``."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json
from localcdap.java.numbers import is_number
from localcdap.java.regex import RegexError, compile_regex

Step = Callable[[Any, Any], Iterator[Any]]
"""Selects values in a value. The second argument is the document: the value that the path starts from."""
Predicate = Callable[[Any, Any], bool]
"""The condition of a filter on a value; the second argument is the document."""


class JsonPathError(ValueError):
    """A text is not a valid JSON path; the message says where."""


class NothingFoundError(ValueError):
    """A definite path selects nothing in a document."""


def build_error(path: str, reason: str) -> JsonPathError:
    """Return the error to raise for an invalid path."""
    return JsonPathError(f"'{path}' is not a JSON path: {reason}")


def build_field_step(name: str) -> Step:
    """Return the step into a member of an object."""

    def select_field(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return select_field


def build_fields_step(names: list[str], *, as_object: bool) -> Step:
    """Return the step into several members of an object.

    :param as_object: whether to select one object of these members, as at the end of a path, or each of their
        values, as before its end.
    """

    def select_fields(value: Any, _: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        found = {name: value[name] for name in names if name in value}
        if as_object:
            yield found
        else:
            yield from found.values()

    return select_fields


def build_index_step(indexes: list[int]) -> Step:
    """Return the step into elements of a list; a negative index counts from the end."""

    def select_elements(value: Any, _: Any) -> Iterator[Any]:
        if isinstance(value, list):
            for index in indexes:
                if -len(value) <= index < len(value):
                    yield value[index]

    return select_elements


def build_slice_step(part: slice) -> Step:
    """Return the step into a part of a list."""
    return lambda value, _: iter(value[part] if isinstance(value, list) else ())


def build_filter_step(predicate: Predicate) -> Step:
    """Return the step to the elements of a list, or to an object itself, for which a filter is true."""

    def select_matches(value: Any, document: Any) -> Iterator[Any]:
        if isinstance(value, dict | list):
            for each in value if isinstance(value, list) else [value]:
                if predicate(each, document):
                    yield each

    return select_matches


def select_children(value: Any, _: Any) -> Iterator[Any]:
    """Select all members of an object or elements of a list: the step ``*``."""
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def select_containers(value: Any, _: Any) -> Iterator[Any]:
    """Select a value and all values in it that are objects or lists, outer ones first: the step ``..``."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            yield each
            waiting.extend(reversed(list(select_children(each, None))))


def select_object(value: Any, _: Any) -> Iterator[Any]:
    """Select a value if it is an object."""
    if isinstance(value, dict):
        yield value


def _list_numbers(value: Any) -> list[float]:
    numbers = [
        float(each) for each in (value if isinstance(value, list) else ()) if is_number(each)
    ]
    if not numbers:
        raise NothingFoundError("the function of a JSON path has no numbers")
    return numbers


def _count_children(value: Any) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def _list_keys(value: Any) -> list[str] | None:
    return list(value) if isinstance(value, dict) else None


def _build_element_function(index: int) -> Callable[[Any], Any]:
    return lambda value: value[index] if isinstance(value, list) and value else None


FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "length": _count_children,
    "size": _count_children,
    "min": lambda value: min(_list_numbers(value)),
    "max": lambda value: max(_list_numbers(value)),
    "sum": lambda value: sum(_list_numbers(value)),
    "avg": lambda value: statistics.fmean(_list_numbers(value)),
    "stddev": lambda value: statistics.pstdev(_list_numbers(value)),
    "keys": _list_keys,
    "first": _build_element_function(0),
    "last": _build_element_function(-1),
}
"""The functions that may end a path, by name."""


_Compare = Callable[[Any, Any], bool]


class Missing(Enum):
    """The type of the value that an operand has where its path finds nothing."""

    MISSING = "missing"


class Pattern:
    """A regular expression such as ``/a.*/i``, the operand of ``=~``."""

    def __init__(self, text: str, flags: str) -> None:
        self.regex = compile_regex(f"(?{flags}){text}" if flags else text)

    def matches(self, value: Any) -> bool:
        """Return whether the pattern matches a whole value, or any element of a list."""
        if isinstance(value, list):
            return any(self.matches(each) for each in value)
        number = _to_number(value)
        if isinstance(value, bool):
            text = str(value).lower()
        else:
            text = value if isinstance(value, str) else "" if number is None else str(number)
        return self.regex.matches(text)


def _to_number(value: Any) -> Decimal | None:
    if not is_number(value):
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return number if number.is_finite() else None


def _to_comparable_pair(left: Any, right: Any) -> tuple[Any, Any] | None:
    """Return two numbers or two texts to compare; None for others. A number beside a text becomes a text."""
    numbers = _to_number(left), _to_number(right)
    if None not in numbers:
        return numbers
    texts = [str(n) if n is not None else v for v, n in zip((left, right), numbers, strict=True)]
    return (texts[0], texts[1]) if all(isinstance(text, str) for text in texts) else None


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, str) != isinstance(right, str) and (
        pair := _to_comparable_pair(left, right)
    ):
        return _is_equal_as_numbers(*pair)
    numbers = _to_number(left), _to_number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if Missing.MISSING in (left, right) or isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _is_equal_as_numbers(left: str, right: str) -> bool:
    try:
        return Decimal(left) == Decimal(right)
    except ArithmeticError:
        return False


def _is_strictly_equal(left: Any, right: Any) -> bool:
    return isinstance(left, str) == isinstance(right, str) and _is_equal(left, right)


def _build_order(is_ordered: Callable[[Any, Any], bool]) -> _Compare:
    def compare(left: Any, right: Any) -> bool:
        pair = _to_comparable_pair(left, right)
        return pair is not None and is_ordered(*pair)

    return compare


def _matches_pattern(left: Any, right: Any) -> bool:
    if isinstance(left, Pattern) == isinstance(right, Pattern):
        return False
    pattern, value = (left, right) if isinstance(left, Pattern) else (right, left)
    return bool(pattern.matches(value))


def _is_in(left: Any, right: Any) -> bool:
    return isinstance(right, list) and any(_is_equal(left, each) for each in right)


def _are_all_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and all(_is_in(each, among) for each in values)


def _is_any_in(values: Any, among: Any) -> bool:
    return isinstance(values, list) and any(_is_in(each, among) for each in values)


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return _is_in(right, left)


def _has_size(left: Any, right: Any) -> bool:
    return isinstance(left, str | list) and _to_number(right) == len(left)


def _is_empty(left: Any, right: Any) -> bool:
    return isinstance(left, str | list | dict) and (not left) is right


COMPARISONS: Final[dict[str, _Compare]] = {
    "==": _is_equal,
    "!=": lambda left, right: not _is_equal(left, right),
    "===": _is_strictly_equal,
    "!==": lambda left, right: not _is_strictly_equal(left, right),
    "<": _build_order(lambda left, right: bool(left < right)),
    "<=": _build_order(lambda left, right: bool(left <= right)),
    ">": _build_order(lambda left, right: bool(left > right)),
    ">=": _build_order(lambda left, right: bool(left >= right)),
    "=~": _matches_pattern,
    "in": _is_in,
    "nin": lambda left, right: not _is_in(left, right),
    "all": lambda left, right: isinstance(left, list) and _are_all_in(right, left),
    "contains": _contains,
    "size": _has_size,
    "empty": _is_empty,
    "subsetof": _are_all_in,
    "anyof": _is_any_in,
    "noneof": lambda left, right: isinstance(left, list) and not _is_any_in(left, right),
}


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
