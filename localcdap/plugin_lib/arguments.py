"""Arguments of a run from a JSON document, in the form of CDAP's argument setters.

``{"arguments": [{"name": "in", "type": "string", "value": "x"}]}``; types are string, int, short, float,
double, char, array, map and schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from localcdap.api import ActionContext, Schema


def set_arguments(context: ActionContext, text: str, source: str) -> None:
    """Set the arguments that a JSON document lists.

    :param place: where it is from, for messages.
    :raises StageError: when the document is invalid; the arguments before the invalid one are set.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise context.fail(f"'{source}' cannot be read as JSON: {error}.") from None
    found = document.get("arguments") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise context.fail(
            f"'{source}' has no list of arguments.",
            'Write {"arguments": [{"name": …, "value": …}, …]}.',
        )
    for number, argument in enumerate(found, 1):
        try:
            name, value = argument["name"], _format_argument(argument)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            message = f"argument {number} of '{source}' is wrong: {error}."
            raise context.fail(
                message, "Give it a name, a type, and a value of that type."
            ) from None
        context.set_argument(str(name), value)


def _format_argument(argument: dict[str, Any]) -> str:
    """Return the value of an argument as the text that macros insert.

    :raises ValueError: when the argument has no value, or an unknown type.
    :raises TypeError: (or KeyError, AttributeError) when the value is not of its type.
    """
    type, value = str(argument.get("type", "string")).lower(), argument.get("value")
    if value is None:
        raise ValueError("it has no value")
    make = _TEXTS.get(type)
    if make is None:
        raise ValueError(f"'{type}' is not a type; there are {', '.join(_TEXTS)}")
    return make(value)


def _format_plain(value: Any) -> str:
    if isinstance(value, list | dict):
        raise TypeError("a list or an object is not a single value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_schema(fields: list[dict[str, Any]]) -> str:
    """Return a record schema as text; a field is nullable unless its ``nullable`` is false."""
    made = []
    for each in fields:
        type = _FIELD_TYPES.get(str(each["type"]).lower(), Schema.STRING)
        made.append((each["name"], type.as_nullable if each.get("nullable", True) else type))
    return str(Schema.record("record", made))


_FIELD_TYPES: Final = {
    "double": Schema.DOUBLE,
    "float": Schema.FLOAT,
    "long": Schema.LONG,
    "int": Schema.INT,
    "short": Schema.INT,
}
"""Every other type is a string, as in the original."""
_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "string": _format_plain,
    "int": lambda value: str(int(value)),
    "short": lambda value: str(int(value)),
    "float": lambda value: str(float(value)),
    "double": lambda value: str(float(value)),
    "char": lambda value: _format_plain(value)[:1],
    "array": lambda value: "\n".join(_format_plain(each) for each in value),
    "map": lambda value: ";".join(f"{key}={_format_plain(each)}" for key, each in value.items()),
    "schema": _format_schema,
}
