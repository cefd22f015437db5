"""Recipes written: the present form of every directive, one on each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localcdap.api.directive.argument import Argument, ArgumentKind, NumberRange
from localcdap.plugin_lib.wrangler.language.model import Call, Code, Recipe
from localcdap.plugin_lib.wrangler.language.parser import parse


def print_recipe(recipe: Recipe, declared: Mapping[str, Sequence[Argument]]) -> str:
    """The recipe as text that means the same. Comments and directives with errors are not in it."""
    lines = []
    if recipe.version is not None:
        lines.append(f"#pragma version {recipe.version};")
    if recipe.loads:
        lines.append(f"#pragma load-directives {', '.join(load.name for load in recipe.loads)};")
    lines += [print_call(call, declared.get(call.name)) for call in recipe.calls]
    return "\n".join(lines)


def print_call(call: Call, declared: Sequence[Argument] | None) -> str:
    """A directive as text. One that the present form cannot express stays as it was written."""
    if declared is None or call.macros or not call.is_declared:
        return _as_written(call)
    parts = [call.name]
    for argument in declared:
        if argument.attribute in call.arguments:
            part = _written(argument.kind, call.arguments[argument.attribute])
            if part is None:
                return _as_written(call)
            parts.append(part)
    text = " ".join(parts) + ";"
    return text if _says(text, call, declared) else _as_written(call)


def _says(text: str, call: Call, declared: Sequence[Argument]) -> bool:
    """Whether a text is read as the call: quotes and braces in an expression may be read otherwise."""
    calls = parse(text, {call.name: declared}).calls
    return len(calls) == 1 and _plain(calls[0]) == _plain(call)


def _plain(call: Call) -> dict[str, Any]:
    return {
        name: value.text if isinstance(value, Code) else value
        for name, value in call.arguments.items()
    }


def _as_written(call: Call) -> str:
    return call.source


def _written(kind: ArgumentKind, value: Any) -> str | None:
    match kind:
        case ArgumentKind.COLUMN:
            return f":{value}"
        case ArgumentKind.COLUMNS:
            return ",".join(f":{name}" for name in value)
        case ArgumentKind.TEXT:
            return _quoted(value)
        case ArgumentKind.BOOL:
            return str(value).lower()
        case ArgumentKind.EXPRESSION:
            return f"exp:{{{value.text}}}"
        case ArgumentKind.TEXTS | ArgumentKind.NUMBERS | ArgumentKind.BOOLS:
            return _joined([_scalar(member) for member in value])
        case ArgumentKind.RANGES:
            return _joined([_range(each) for each in value])
        case ArgumentKind.PROPERTIES:
            pairs = [(name, _scalar(member)) for name, member in value.items()]
            inner = _joined([text and f"{name}={text}" for name, text in pairs])
            return None if inner is None else f"prop:{{{inner}}}"
        case _:
            return str(value)


def _quoted(text: str) -> str | None:
    for quote in "'\"":
        if quote not in text and not text.endswith("\\") and "\n" not in text:
            return f"{quote}{text}{quote}"
    return None


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


def _range(each: NumberRange) -> str | None:
    value = _quoted(each.value)
    return None if value is None else f"{each.start}:{each.end}={value}"


def _joined(parts: Sequence[str | None]) -> str | None:
    return None if None in parts else ",".join(part for part in parts if part is not None)
