"""Queries of documents, as MongoDB has them: conditions for fields, with the usual operators."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from localcdap.java.numbers import is_number

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda held, given: held > given,
    "$gte": lambda held, given: held >= given,
    "$lt": lambda held, given: held < given,
    "$lte": lambda held, given: held <= given,
}
_NUMBERS: Final = ("$numberInt", "$numberLong", "$numberDouble", "$numberDecimal")
_LISTS: Final = ("$and", "$or", "$nor")
_OPERATORS: Final = ("$eq", "$ne", "$in", "$nin", "$exists", "$not", *_COMPARISONS)
_MISSING: Final = object()


class QueryError(ValueError):
    """A query is invalid, or has an operator that is not supported here."""


def parse_query(text: str | None) -> dict[str, Any]:
    """Parse a query in JSON, with extended JSON for ids, numbers and dates.

    :raises QueryError: when it is invalid.
    """
    if not text or not text.strip():
        return {}
    try:
        query = _simplify(json.loads(text))
    except ValueError as error:
        raise QueryError(f"The query is not JSON: {error}.") from None
    if not isinstance(query, dict):
        raise QueryError("The query is not a JSON object.")
    _check(query)
    return query


def _simplify(value: Any) -> Any:
    """Return a value of extended JSON as the form that documents have here."""
    if isinstance(value, list):
        return [_simplify(each) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name == "$oid":
            return str(inner).lower()
        if name in _NUMBERS:
            return float(inner) if name in _NUMBERS[2:] else int(inner)
        if name == "$date":
            return _simplify(inner)
    return {name: _simplify(inner) for name, inner in value.items()}


def _check(query: Mapping[str, Any]) -> None:
    for name, wanted in query.items():
        if name in _LISTS:
            if not isinstance(wanted, list) or not all(isinstance(e, dict) for e in wanted):
                raise QueryError(f"'{name}' needs a list of queries.")
            for each in wanted:
                _check(each)
        elif name.startswith("$"):
            known = ", ".join(_LISTS)
            raise QueryError(f"There is no operator '{name}' here; those of queries: {known}.")
        elif _has_operators(wanted):
            _check_operators(wanted)


def _check_operators(wanted: Mapping[str, Any]) -> None:
    for operator, value in wanted.items():
        if operator not in _OPERATORS:
            known = ", ".join(_OPERATORS)
            raise QueryError(f"There is no operator '{operator}' here; those of fields: {known}.")
        if operator in ("$in", "$nin") and not isinstance(value, list):
            raise QueryError(f"'{operator}' needs a list.")
        if operator == "$not":
            if not _has_operators(value):
                raise QueryError("'$not' needs operators.")
            _check_operators(value)


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, dict) and any(name.startswith("$") for name in wanted)


def meets_query(document: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
    """Return whether a document meets all conditions of a query."""
    return all(_meets(document, name, wanted) for name, wanted in query.items())


def _meets(document: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name == "$and":
        return all(meets_query(document, each) for each in wanted)
    if name in ("$or", "$nor"):
        return any(meets_query(document, each) for each in wanted) is (name == "$or")
    held = _find(document, name.split("."))
    if not _has_operators(wanted):
        return _is_equal(held, wanted)
    return _meets_operators(held, wanted)


def _meets_operators(held: Any, wanted: Mapping[str, Any]) -> bool:
    return all(_meets_operator(held, operator, value) for operator, value in wanted.items())


def _meets_operator(held: Any, operator: str, wanted: Any) -> bool:
    match operator:
        case "$eq":
            return _is_equal(held, wanted)
        case "$ne":
            return not _is_equal(held, wanted)
        case "$in":
            return any(_is_equal(held, each) for each in wanted)
        case "$nin":
            return not any(_is_equal(held, each) for each in wanted)
        case "$exists":
            return (held is not _MISSING) is bool(wanted)
        case "$not":
            return not _meets_operators(held, wanted)
    compare = _COMPARISONS[operator]
    values = held if isinstance(held, list) else [held]
    return any(_is_alike(value, wanted) and compare(value, wanted) for value in values)


def _find(value: Any, path: list[str]) -> Any:
    """Return the value at a path; that of a list are the values of its documents."""
    for at, name in enumerate(path):
        if isinstance(value, list):
            found = [_find(each, path[at:]) for each in value]
            return [each for each in found if each is not _MISSING] or _MISSING
        if not isinstance(value, Mapping) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _is_equal(held: Any, wanted: Any) -> bool:
    if wanted is None:
        return held is _MISSING or held is None
    if isinstance(held, list) and not isinstance(wanted, list):
        return any(_is_equal(each, wanted) for each in held)
    return (
        type(held) is type(wanted) and held == wanted
        if isinstance(wanted, bool)
        else held == wanted
    )


def _is_alike(held: Any, wanted: Any) -> bool:
    """Return whether two values have an order: both numbers, or both texts."""
    return (is_number(held) and is_number(wanted)) or (
        isinstance(held, str) and isinstance(wanted, str)
    )
