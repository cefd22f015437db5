"""The directives of a stage made where they run: from the calls of its recipe, which can be sent anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from localcdap.api.directive import Directive
from localcdap.plugin_lib.wrangler.language import Call, Code
from localcdap.plugin_lib.wrangler.recipe import precondition
from localcdap.plugin_lib.wrangler.recipe.registry import Registry, shipped
from localcdap.plugin_lib.wrangler.recipe.steps import build_step

FindDirective = Callable[[str, str], Any]
"""The class of a plugin by its type (``directive``) and name; None when there is none."""


class Source(msgspec.Struct):
    """What a stage does with records, as plain values."""

    calls: list[Call]
    """The precondition first, if there is one, then the recipe's directives."""
    loaded: list[str] = []
    """Names of the user-defined directives."""


def precondition_call(text: str) -> Call:
    """A precondition as the call that runs before all others."""
    arguments = {"condition": Code(text, 1, 1)}
    return Call(precondition.NAME, arguments, 1, 1, f"precondition {text}")


def registry_with(loaded: Sequence[str], find: FindDirective) -> Registry:
    """The shipped directives and those user-defined ones that are there."""
    found = (find("directive", name) for name in loaded)
    return shipped().with_loaded([cls for cls in found if cls is not None])


class Builder:
    """Makes the directives of a part of a source. Can be pickled where ``find`` can."""

    def __init__(self, source: Source, find: FindDirective, first: int, last: int) -> None:
        self._source = source
        self._find = find
        self._part = (first, last)

    def __call__(self) -> list[Directive]:
        registry = registry_with(self._source.loaded, self._find)
        first, last = self._part
        return [built(call, registry) for call in self._source.calls[first:last]]


def built(call: Call, registry: Registry) -> Directive:
    """The directive of a call that was checked before."""
    if call.name == precondition.NAME:
        registry = Registry({precondition.NAME: precondition.Precondition})
    step = build_step(call, registry, [])
    assert step.directive is not None
    return step.directive
