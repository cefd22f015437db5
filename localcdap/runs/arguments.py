"""What a run of a pipeline would be given: the values that its macros ask for, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.errors import MacroError
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.macros.parser import list_macros

GIVEN: Final = "given"
"""The origin of a value that was given for a run; others are levels of preferences."""
_CALL: Final = re.compile(r"\w+\(.*\)", re.DOTALL)


class ArgumentSource(msgspec.Struct, frozen=True):
    """A property that asks for a value."""

    stage: str
    """Or post action."""
    property: str


class RequiredArgument(msgspec.Struct):
    """A value that a pipeline asks for."""

    name: str
    value: str | None
    """None where there is none: a run without it fails."""
    origin: str | None
    """``given``, ``pipeline``, ``namespace`` or ``instance``; None where there is no value."""
    places: list[ArgumentSource]
    """Who asks for it; none where the value of another argument does."""


class Arguments(msgspec.Struct):
    """All that the macros of a pipeline ask for."""

    arguments: list[RequiredArgument]
    """In the order of the stages; then those that are given or preferred and that nobody asks for."""
    functions: list[str]
    """The calls of macro functions, such as ``secure(key)``."""


def list_arguments(
    document: PipelineDocument, values: Mapping[str, str], origins: Mapping[str, str]
) -> Arguments:
    """Return the arguments that a pipeline needs. Malformed macros are skipped; validation reports them.

    :param values: of arguments, asked for or not.
    :param origins: of these values.
    """
    places: dict[str, list[ArgumentSource]] = {}
    functions: dict[str, None] = {}
    for stage in (*document.stages, *document.post_actions):
        _collect_macros(stage, places, functions)
    waiting = list(places)
    for name in waiting:  # it grows: values may hold macros themselves
        for macro in reversed(_list_macros(values.get(name, ""))):
            if _CALL.fullmatch(macro):
                functions.setdefault(macro)
            elif macro not in places:
                places[macro] = []
                waiting.append(macro)
    names = dict.fromkeys((*places, *values))
    arguments = [
        RequiredArgument(name, values.get(name), origins.get(name), places.get(name, []))
        for name in names
    ]
    return Arguments(arguments, list(functions))


def _collect_macros(
    stage: StageUse, places: dict[str, list[ArgumentSource]], functions: dict[str, None]
) -> None:
    for key, value in stage.plugin.properties.items():
        for macro in reversed(_list_macros(value)):
            if _CALL.fullmatch(macro):
                functions.setdefault(macro)
            else:
                found = places.setdefault(macro, [])
                if (place := ArgumentSource(stage.name, key)) not in found:
                    found.append(place)


def _list_macros(text: str) -> list[str]:
    try:
        return list_macros(text)
    except MacroError:
        return []
