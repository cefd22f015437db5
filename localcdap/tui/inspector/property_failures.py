"""Failures of a stage, grouped by property, by element of a property, or for the whole stage."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from localcdap.api.failures import ARTIFACT_NOT_FOUND, ValidationFailure


class PropertyFailure(msgspec.Struct, frozen=True):
    """A failure or warning that the form shows at a property."""

    message: str
    corrective_action: str | None
    element: str | None
    """The element of a list property; None for the whole property."""
    is_warning: bool

    @property
    def glyph(self) -> str:
        return "!" if self.is_warning else "✗"


class StageFailures(msgspec.Struct):
    """All failures and warnings of a stage."""

    by_property: dict[str, list[PropertyFailure]]
    others: list[ValidationFailure]
    """Failures that do not belong to a property of the form."""
    remarks: list[ValidationFailure]
    """Warnings that do not belong to a property of the form."""
    missing: ValidationFailure | None
    """The failure of a missing plugin or artifact, which the form offers to repair."""


def group_failures(
    errors: Iterable[ValidationFailure],
    warnings: Iterable[ValidationFailure],
    properties: Collection[str] | None,
) -> StageFailures:
    """Group the failures and warnings of a stage.

    :param properties: the properties that the form shows; None while the form is being created and may
        show any.
    """
    found = StageFailures({}, [], [], None)
    for failures, is_warning in ((errors, False), (warnings, True)):
        for failure in failures:
            named = _list_properties(failure, properties)
            for name, element in named:
                shown = PropertyFailure(
                    failure.message, failure.corrective_action, element, is_warning
                )
                found.by_property.setdefault(name, []).append(shown)
            if failure.type == ARTIFACT_NOT_FOUND and found.missing is None:
                found.missing = failure
            elif not named:
                (found.remarks if is_warning else found.others).append(failure)
    return found


def _list_properties(
    failure: ValidationFailure, properties: Collection[str] | None
) -> list[tuple[str, str | None]]:
    """Return the properties and elements that a failure names, each once."""
    named: dict[tuple[str, str | None], None] = {}
    for cause in failure.causes:
        name = cause.attributes.get("stageConfig")
        if name is not None and (properties is None or name in properties):
            named[name, cause.attributes.get("configElement")] = None
    field = failure.field
    if not named and field is not None and (properties is None or field in properties):
        named[field, None] = None
    return list(named)
