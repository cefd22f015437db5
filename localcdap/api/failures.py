"""Validation failures: what is wrong with a stage, which property or field, and what to do.

A failure has the united JSON form of the studio: the keys of the pipeline system application's
design (``type``, ``message``, ``stage``, ``field``, ``suggestedArtifact``) and those of the shipped
CDAP 6 ``ValidationFailure`` (``message``, ``correctiveAction``, ``causes``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import msgspec

INVALID_FIELD = "Invalid Field"
INVALID_STAGE = "Invalid Stage"
INVALID_PIPELINE = "Invalid Pipeline"
ARTIFACT_NOT_FOUND = "Artifact Not Found"
UNKNOWN_PROPERTY = "Unknown Property"
"""The type of a warning: it makes nothing invalid."""


class ArtifactId(msgspec.Struct, frozen=True, order=False):
    """An artifact as it is named in answers."""

    name: str
    version: str
    scope: str
    """``SYSTEM`` or ``USER``."""


class Cause(msgspec.Struct):
    """Where a failure comes from.

    Attribute keys are those of CDAP 6 ``CauseAttributes``: ``stageConfig``, ``configElement``,
    ``inputStage``, ``inputField``, ``outputPort``, ``outputField``, ``stacktrace``, ``pluginId`` …
    """

    attributes: dict[str, str]


class ValidationFailure(msgspec.Struct, rename="camel", omit_defaults=True):
    """One failure. ``stage`` and ``field`` are left out of the JSON where they do not apply."""

    type: str
    message: str
    corrective_action: str | None
    causes: list[Cause]
    stage: str | None = None
    field: str | None = None
    suggested_artifact: ArtifactId | None = None

    @property
    def full_message(self) -> str:
        """The text shown to a user, in the wording of CDAP 6."""
        where = f"Stage '{self.stage}' encountered : " if self.stage else ""
        action = f" {self.corrective_action}" if self.corrective_action else ""
        return f"{where}{self.message}{action}"


class FailureBuilder:
    """Says where a failure that was just added comes from; every method returns itself."""

    def __init__(self, failure: ValidationFailure, input_stages: Sequence[str]) -> None:
        self.failure = failure
        self._input_stages = input_stages

    def with_config_property(self, name: str, element: str | None = None) -> FailureBuilder:
        """Blame a property, or one ``element`` of a property that holds a list."""
        attributes = {"stageConfig": name}
        if element is not None:
            attributes["configElement"] = element
        self.failure.causes.append(Cause(attributes))
        self.failure.type = INVALID_FIELD
        self.failure.field = self.failure.field or name
        return self

    def with_config_element(self, name: str, element: str) -> FailureBuilder:
        """Blame one element of a property that holds a list."""
        return self.with_config_property(name, element)

    def with_input_field(self, field: str, stage: str | None = None) -> FailureBuilder:
        """Blame a field of the input schema, of every input stage unless one is named."""
        stages = [stage] if stage is not None else self._input_stages
        for each in stages:
            self.failure.causes.append(Cause({"inputField": field, "inputStage": each}))
        if not stages:
            self.failure.causes.append(Cause({"inputField": field}))
        return self

    def with_output_field(self, field: str, port: str | None = None) -> FailureBuilder:
        """Blame a field of the output schema, for a splitter of the schema of ``port``."""
        attributes = {"outputField": field}
        if port is not None:
            attributes["outputPort"] = port
        self.failure.causes.append(Cause(attributes))
        return self

    def with_stacktrace(self, frames: Sequence[str]) -> FailureBuilder:
        """Attach a stack trace, a list of frames, innermost last."""
        self.failure.causes.append(Cause({"stacktrace": json.dumps(list(frames))}))
        return self


class FailureCollector:
    """Collects the failures of one stage; nothing is raised, so that all are found.

    >>> failures = FailureCollector("hash")
    >>> builder = failures.add("Field 'x' does not exist.", "Choose a field of the input.")
    >>> builder.with_config_property("fields", element="x").failure.field
    'fields'
    """

    def __init__(self, stage: str | None = None, input_stages: Sequence[str] = ()) -> None:
        self._stage = stage
        self._input_stages = tuple(input_stages)
        self._failures: list[ValidationFailure] = []

    def add(self, message: str, corrective_action: str | None = None) -> FailureBuilder:
        """Add a failure, and say with the returned builder where it comes from."""
        failure = ValidationFailure(
            type=INVALID_STAGE,
            message=message,
            corrective_action=corrective_action,
            causes=[],
            stage=self._stage,
        )
        self._failures.append(failure)
        return FailureBuilder(failure, self._input_stages)

    def __iter__(self) -> Iterator[ValidationFailure]:
        return iter(self._failures)

    def __len__(self) -> int:
        return len(self._failures)
