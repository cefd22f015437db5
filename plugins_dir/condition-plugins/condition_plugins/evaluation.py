"""The value of an expression (JEXL's arithmetic: texts become numbers beside numbers)."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .expression import ExpressionError

_WORDS: Final = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "div": "/",
    "mod": "%",
}
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "=~": lambda text, pattern: re.fullmatch(pattern, text) is not None,
    "!~": lambda text, pattern: re.fullmatch(pattern, text) is None,
    "=^": str.startswith,
    "=$": str.endswith,
}
_METHODS: Final[dict[tuple[str, int], Callable[..., Any]]] = {
    ("contains", 1): operator.contains,
    ("startsWith", 1): str.startswith,
    ("endsWith", 1): str.endswith,
    ("equals", 1): operator.eq,
    ("equalsIgnoreCase", 1): lambda text, other: text.casefold() == other.casefold(),
    ("toLowerCase", 0): str.lower,
    ("toUpperCase", 0): str.upper,
    ("trim", 0): str.strip,
    ("length", 0): len,
    ("isEmpty", 0): lambda text: not text,
    ("matches", 1): lambda text, pattern: re.fullmatch(pattern, text) is not None,
}
_MATH: Final[dict[tuple[str, int], Callable[..., Any]]] = {
    ("abs", 1): abs,
    ("ceil", 1): math.ceil,
    ("floor", 1): math.floor,
    ("round", 1): lambda number: math.floor(number + 0.5),
    ("sqrt", 1): math.sqrt,
    ("max", 2): max,
    ("min", 2): min,
    ("pow", 2): math.pow,
}


def evaluate(tree: Any, variables: Mapping[str, Any]) -> Any:
    """The value of a syntax tree: a number, text, boolean, map or None.

    :raises ExpressionError: when it has none.
    """
    try:
        return _Evaluation(variables).value(tree)
    except (ArithmeticError, re.error, TypeError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise ExpressionError(f"{error}.") from None


class _Evaluation:
    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables: Final = variables

    def value(self, node: Any) -> Any:
        return getattr(self, f"_{node.data}")(*node.children)

    def _number(self, token: Any) -> float:
        text = token.rstrip("lLfFdDbBhH")
        return int(text) if text.isdigit() else float(text)

    def _text(self, token: Any) -> Any:
        # Line ends stand for themselves in JEXL.
        return ast.literal_eval(token.replace("\n", "\\n").replace("\r", "\\r"))

    def _true(self) -> bool:
        return True

    def _false(self) -> bool:
        return False

    def _null(self) -> None:
        return None

    def _variable(self, name: Any) -> Any:
        if name not in self._variables:
            raise ExpressionError(
                f"variable '{name}' is not defined; there are {', '.join(self._variables)}. A text stands "
                "in quotes."
            )
        return self._variables[name]

    def _item(self, whole: Any, key: Any) -> Any:
        return self._part(whole, self.value(key))

    def _member(self, whole: Any, name: Any) -> Any:
        return self._part(whole, str(name))

    def _part(self, node: Any, key: Any) -> Any:
        whole = self.value(node)
        if not isinstance(whole, Mapping):
            raise ExpressionError(f"{whole!r} has no part {key!r}.")
        if key in whole:
            return whole[key]
        if whole is self._variables.get("runtime"):
            return None
        raise ExpressionError(f"there is no {key!r}; there is: {', '.join(map(str, whole))}.")

    def _choose(self, condition: Any, yes: Any, no: Any) -> Any:
        return self.value(yes if _truth(self.value(condition)) else no)

    def _either_or(self, first: Any, other: Any) -> Any:
        return self.value(first) or self.value(other)

    def _either(self, left: Any, right: Any) -> bool:
        return _truth(self.value(left)) or _truth(self.value(right))

    def _both(self, left: Any, right: Any) -> bool:
        return _truth(self.value(left)) and _truth(self.value(right))

    def _negated(self, node: Any) -> bool:
        return not _truth(self.value(node))

    def _minus(self, node: Any) -> Any:
        return -_number(self.value(node))

    def _compare(self, left: Any, sign: Any, right: Any) -> bool:
        sign = _WORDS.get(sign, str(sign))
        one, other = self.value(left), self.value(right)
        if sign in ("==", "!="):
            return _equal(one, other) is (sign == "==")
        if sign in _TEXTS:
            return _TEXTS[sign](str(one), str(other))
        if not (isinstance(one, str) and isinstance(other, str)):
            one, other = _number(one), _number(other)
        return _ORDER[sign](one, other)

    def _arithmetic(self, left: Any, sign: Any, right: Any) -> Any:
        one, other = self.value(left), self.value(right)
        sign = _WORDS.get(sign, str(sign))
        if sign == "+" and any(isinstance(v, str) and not _is_number(v) for v in (one, other)):
            return f"{_shown(one)}{_shown(other)}"
        one, other = _number(one), _number(other)
        match sign:
            case "+":
                return one + other
            case "-":
                return one - other
            case "*":
                return one * other
        if not other:
            raise ExpressionError("a division by zero.")
        if not (isinstance(one, int) and isinstance(other, int)):
            return math.fmod(one, other) if sign == "%" else one / other
        # Whole numbers divide as in Java: towards zero.
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return one - quotient * other if sign == "%" else quotient

    def _function(self, name: Any, *nodes: Any) -> Any:
        values = [self.value(node) for node in nodes if node is not None]
        if len(values) == 1 and name == "size":
            return 0 if values[0] is None else len(values[0])
        if len(values) == 1 and name == "empty":
            return not values[0]
        raise ExpressionError(f"there is no function {name} of {len(values)} values.")

    def _empty(self, node: Any) -> bool:
        return not self.value(node)

    def _namespaced(self, namespace: Any, name: Any, *nodes: Any) -> Any:
        values = [_number(self.value(node)) for node in nodes if node is not None]
        function = _MATH.get((str(name), len(values))) if namespace == "math" else None
        if function is None:
            raise ExpressionError(
                f"there is no function {namespace}:{name} of {len(values)} values."
            )
        return function(*values)

    def _method(self, node: Any, name: Any, *nodes: Any) -> Any:
        whole = self.value(node)
        values = [self.value(each) for each in nodes if each is not None]
        method = _METHODS.get((str(name), len(values))) if isinstance(whole, str) else None
        if method is None:
            raise ExpressionError(f"{whole!r} has no method '{name}' of {len(values)} values.")
        return method(whole, *values)


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    raise ExpressionError(f"{value!r} is neither true nor false.")


def _equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, bool) or isinstance(other, bool):
        return _shown(one).lower() == _shown(other).lower()
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    if isinstance(one, str) or isinstance(other, str):
        return _is_number(one) and _is_number(other) and _number(one) == _number(other)
    return bool(one == other)


def _is_number(value: Any) -> bool:
    try:
        _number(value)
    except ExpressionError:
        return False
    return True


def _number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return int(value) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", value) else float(value)
        except ValueError:
            pass
    raise ExpressionError(
        f"{_shown(value)!r} is no number." if value is not None else "null is no number."
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
