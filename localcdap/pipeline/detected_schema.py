"""The output schema that a stage finds in its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.pipeline.service import StageRequest, StudioService

SCHEMA: Final = "schema"
"""The property of the output schema, as CDAP's studio names it."""
_REFERENCE: Final = "referenceName"


class DetectedSchema(msgspec.Struct, frozen=True):
    """The schema that a stage found, or why it found none."""

    schema: Schema | None
    failure: ValidationFailure | None = None
    """The first reason why there is no schema."""


def detect_output_schema(
    studio: StudioService,
    stage: Mapping[str, Any],
    *,
    namespace: str = "default",
    arguments: Mapping[str, str],
) -> DetectedSchema:
    """Have a source look at its data, and return the schema that it finds.

    Its property ``schema`` is left out, which is what makes it look. A missing reference name, which only
    labels the lineage, keeps nothing from being found.

    :param stage: as a pipeline document holds it.
    :raises NotFoundError: when there is no such namespace.
    """
    plugin = dict(stage["plugin"])
    properties = dict(plugin.get("properties") or {})
    properties.pop(SCHEMA, None)
    properties.setdefault(_REFERENCE, "detection")
    request = StageRequest(
        {**stage, "plugin": {**plugin, "properties": properties}},
        resolve_macros_from_preferences=True,
        namespace=namespace,
        arguments=dict(arguments),
        connected=True,
    )
    result = studio.validate_stage(request)
    if result.spec is None:
        return DetectedSchema(None, result.errors[0] if result.errors else None)
    return DetectedSchema(result.spec.output_schema)
