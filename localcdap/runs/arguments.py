"""The arguments that a run of a pipeline needs: the names in its macros, their values and origins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.errors import MacroError
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME, list_macros

GIVEN: Final = "given"
"""The origin of a runtime argument; the other origins are levels of preferences."""
_CALL: Final = re.compile(r"\w+\(.*\)", re.DOTALL)


class ArgumentSource(msgspec.Struct, frozen=True):
    """A property with a macro that needs an argument."""

    stage: str
    """The name of a stage or a post action."""
    property: str


class RequiredArgument(msgspec.Struct):
    """An argument that a pipeline needs or that has a value."""

    name: str
    value: str | None
    """None for a missing value, without which a run fails."""
    origin: str | None
    """``given``, ``pipeline``, ``namespace`` or ``instance``; None for a missing value."""
    places: list[ArgumentSource]
    """The properties that need it; empty when only values of other arguments do."""


class Arguments(msgspec.Struct):
    """The arguments and functions in the macros of a pipeline."""

    arguments: list[RequiredArgument]
    """In the order of the stages, followed by arguments with values that no macro needs."""
    functions: list[str]
    """The calls of macro functions, such as ``secure(key)``."""


def list_arguments(
    document: PipelineDocument, values: Mapping[str, str], origins: Mapping[str, str]
) -> Arguments:
    """Return the arguments that a pipeline needs. Malformed macros are skipped; validation reports them.

    :param values: the values of arguments, also of those that no macro needs.
    :param origins: the origins of these values.
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
    if LOGICAL_START_TIME not in values:
        places.pop(LOGICAL_START_TIME, None)  # each run has one
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
