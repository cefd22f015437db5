"""Failures sorted by what they are about: a property, one of its elements, or the stage as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from localcdap.api.failures import ARTIFACT_NOT_FOUND, ValidationFailure


class PropertyFailure(msgspec.Struct, frozen=True):
    """A failure or warning that stands beside a property."""

    message: str
    corrective_action: str | None
    element: str | None
    """The element of a list that it is about; None for the whole property."""
    is_warning: bool

    @property
    def glyph(self) -> str:
        return "!" if self.is_warning else "✗"


class StageFailures(msgspec.Struct):
    """All failures and warnings of a stage."""

    by_property: dict[str, list[PropertyFailure]]
    others: list[ValidationFailure]
    """Failures of no property that the form shows."""
    remarks: list[ValidationFailure]
    """The warnings, in the same form."""
    missing: ValidationFailure | None
    """That the plugin or its artifact is not there, which the form offers to repair."""


def group_failures(
    errors: Iterable[ValidationFailure],
    warnings: Iterable[ValidationFailure],
    properties: Collection[str] | None,
) -> StageFailures:
    """:param properties: those that the form shows; None while it is being made, when it may have any."""
    found = StageFailures({}, [], [], None)
    for failures, is_warning in ((errors, False), (warnings, True)):
        for failure in failures:
            places = _places(failure, properties)
            for name, element in places:
                blame = PropertyFailure(
                    failure.message, failure.corrective_action, element, is_warning
                )
                found.by_property.setdefault(name, []).append(blame)
            if failure.type == ARTIFACT_NOT_FOUND and found.missing is None:
                found.missing = failure
            elif not places:
                (found.remarks if is_warning else found.others).append(failure)
    return found


def _places(
    failure: ValidationFailure, properties: Collection[str] | None
) -> list[tuple[str, str | None]]:
    """The properties and elements that a failure names, each once."""
    named: dict[tuple[str, str | None], None] = {}
    for cause in failure.causes:
        name = cause.attributes.get("stageConfig")
        if name is not None and (properties is None or name in properties):
            named[name, cause.attributes.get("configElement")] = None
    field = failure.field
    if not named and field is not None and (properties is None or field in properties):
        named[field, None] = None
    return list(named)
