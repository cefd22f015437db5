"""The directives of a namespace as version 2 lists them (wrangler ``proto.workspace.v2.DirectiveUsage``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_TYPES: Final = {
    "column": "COLUMN_NAME",
    "columns": "COLUMN_NAME_LIST",
    "text": "TEXT",
    "texts": "TEXT_LIST",
    "number": "NUMERIC",
    "numbers": "NUMERIC_LIST",
    "bool": "BOOLEAN",
    "bools": "BOOLEAN_LIST",
    "identifier": "IDENTIFIER",
    "expression": "EXPRESSION",
    "ranges": "RANGES",
    "properties": "PROPERTIES",
}
"""The ``TokenType`` of the original by the kind of an argument."""


def describe_directives(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the directives that the plugin Wrangler lists, in the original's JSON.

    Beyond the original, a directive has ``examples``, and a token ``description`` and ``choices``.
    """
    return [
        {**each, "arguments": _describe_usage(each["directive"], each["arguments"])}
        for each in found
    ]


def _describe_usage(directive: str, arguments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a directive takes (wrangler ``UsageDefinition``)."""
    return {
        "directive": directive,
        "tokens": [_describe_token(number, each) for number, each in enumerate(arguments)],
    }


def _describe_token(number: int, argument: Mapping[str, Any]) -> dict[str, Any]:
    label = argument["label"]
    return {
        "ordinal": number,
        "optional": not argument["required"],
        "name": argument["name"],
        "type": _TYPES[argument["kind"]],
        **({} if label is None else {"label": label}),
        "description": argument["description"],
        "choices": argument["choices"],
    }
