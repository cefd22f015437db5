"""Formats recipes in the current syntax, one directive a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localcdap.api.directive.argument import Argument, ArgumentKind, NumberRange
from localcdap.plugin_lib.wrangler.language.model import DirectiveCall, ExpressionSource, Recipe
from localcdap.plugin_lib.wrangler.language.parser import parse_recipe


def format_recipe(recipe: Recipe, declared: Mapping[str, Sequence[Argument]]) -> str:
    """Return a text with the meaning of the recipe, without comments and directives that have errors."""
    lines = []
    if recipe.version is not None:
        lines.append(f"#pragma version {recipe.version};")
    if recipe.loads:
        lines.append(f"#pragma load-directives {', '.join(load.name for load in recipe.loads)};")
    lines += [format_call(call, declared.get(call.name)) for call in recipe.calls]
    return "\n".join(lines)


def format_call(call: DirectiveCall, declared: Sequence[Argument] | None) -> str:
    """Return a directive as text; its source where the current syntax cannot express it."""
    if declared is None or call.macros or not call.is_declared:
        return call.source
    parts = [call.name]
    for argument in declared:
        if argument.attribute in call.arguments:
            part = _format_argument(argument.kind, call.arguments[argument.attribute])
            if part is None:
                return call.source
            parts.append(part)
    text = " ".join(parts) + ";"
    return text if _has_meaning(text, call, declared) else call.source


def _has_meaning(text: str, call: DirectiveCall, declared: Sequence[Argument]) -> bool:
    """Whether a text is parsed as the call: quotes and braces in an expression may change the meaning."""
    calls = parse_recipe(text, {call.name: declared}).calls
    return len(calls) == 1 and _list_values(calls[0]) == _list_values(call)


def _list_values(call: DirectiveCall) -> dict[str, Any]:
    return {
        name: value.text if isinstance(value, ExpressionSource) else value
        for name, value in call.arguments.items()
    }


def _format_argument(kind: ArgumentKind, value: Any) -> str | None:
    match kind:
        case ArgumentKind.COLUMN:
            return f":{value}"
        case ArgumentKind.COLUMNS:
            return ",".join(f":{name}" for name in value)
        case ArgumentKind.TEXT:
            return _quote_directive_text(value)
        case ArgumentKind.BOOL:
            return str(value).lower()
        case ArgumentKind.EXPRESSION:
            return f"exp:{{{value.text}}}"
        case ArgumentKind.TEXTS | ArgumentKind.NUMBERS | ArgumentKind.BOOLS:
            return _join([_format_scalar(member) for member in value])
        case ArgumentKind.RANGES:
            return _join([_format_range(each) for each in value])
        case ArgumentKind.PROPERTIES:
            pairs = [(name, _format_scalar(member)) for name, member in value.items()]
            inner = _join([text and f"{name}={text}" for name, text in pairs])
            return None if inner is None else f"prop:{{{inner}}}"
        case _:
            return str(value)


def _quote_directive_text(text: str) -> str | None:
    for quote in "'\"":
        if quote not in text and not text.endswith("\\") and "\n" not in text:
            return f"{quote}{text}{quote}"
    return None


def _format_scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return _quote_directive_text(value) if isinstance(value, str) else str(value)


def _format_range(each: NumberRange) -> str | None:
    value = _quote_directive_text(each.value)
    return None if value is None else f"{each.start}:{each.end}={value}"


def _join(parts: Sequence[str | None]) -> str | None:
    return None if None in parts else ",".join(part for part in parts if part is not None)
