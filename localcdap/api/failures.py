"""Validation failures: what is wrong with a stage, in which property or field, and what to do.

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
"""The type of a warning, which does not make a pipeline invalid."""
ADDED_PROPERTY = "Added Property"
"""The type of a warning about a property that CDAP's plugin has not."""


class ArtifactId(msgspec.Struct, frozen=True, order=False):
    """The name, version and scope of an artifact."""

    name: str
    version: str
    scope: str
    """``SYSTEM`` or ``USER``."""


class Cause(msgspec.Struct):
    """The cause of a failure.

    Attribute keys are those of CDAP 6 ``CauseAttributes``: ``stageConfig``, ``configElement``,
    ``inputStage``, ``inputField``, ``outputPort``, ``outputField``, ``stacktrace``, ``pluginId`` …
    """

    attributes: dict[str, str]


class ValidationFailure(msgspec.Struct, rename="camel", omit_defaults=True):
    """One failure. The JSON has no ``stage`` or ``field`` when they do not apply."""

    type: str
    message: str
    corrective_action: str | None
    causes: list[Cause]
    stage: str | None = None
    field: str | None = None
    suggested_artifact: ArtifactId | None = None

    @property
    def full_message(self) -> str:
        """The text for users, with the stage and the corrective action, as CDAP 6 words it."""
        where = f"Stage '{self.stage}' encountered : " if self.stage else ""
        action = f" {self.corrective_action}" if self.corrective_action else ""
        return f"{where}{self.message}{action}"


class FailureBuilder:
    """Adds the causes of a failure; every method returns the builder."""

    def __init__(self, failure: ValidationFailure, input_stages: Sequence[str]) -> None:
        self.failure = failure
        self._input_stages = input_stages

    def with_config_property(self, name: str, element: str | None = None) -> FailureBuilder:
        """Add a property as the cause, or one ``element`` of a property that is a list."""
        attributes = {"stageConfig": name}
        if element is not None:
            attributes["configElement"] = element
        self.failure.causes.append(Cause(attributes))
        self.failure.type = INVALID_FIELD
        self.failure.field = self.failure.field or name
        return self

    def with_config_element(self, name: str, element: str) -> FailureBuilder:
        """Add one element of a property that is a list as the cause."""
        return self.with_config_property(name, element)

    def with_input_field(self, field: str, stage: str | None = None) -> FailureBuilder:
        """Add a field of the input schema as the cause, of one input stage or of all."""
        stages = [stage] if stage is not None else self._input_stages
        for each in stages:
            self.failure.causes.append(Cause({"inputField": field, "inputStage": each}))
        if not stages:
            self.failure.causes.append(Cause({"inputField": field}))
        return self

    def with_output_field(self, field: str, port: str | None = None) -> FailureBuilder:
        """Add a field of the output schema as the cause; for a splitter, of the schema of ``port``."""
        attributes = {"outputField": field}
        if port is not None:
            attributes["outputPort"] = port
        self.failure.causes.append(Cause(attributes))
        return self

    def with_stacktrace(self, frames: Sequence[str]) -> FailureBuilder:
        """Add a stack trace: a list of frames, innermost last."""
        self.failure.causes.append(Cause({"stacktrace": json.dumps(list(frames))}))
        return self


class FailureCollector:
    """Collects the failures of one stage without raising, so that all of them are reported.

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
        """Add a failure, and return the builder that adds its causes."""
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
