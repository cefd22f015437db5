"""Shorthands for tests of the plugins for databases."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcdap.api.schema import Schema
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult, configure_stage
from localcdap.testing import artifact_ref

ARTIFACT = Path(__file__).parents[3] / "plugins_dir" / "database-plugins"
DATABASE = {
    "jdbcPluginName": "derby",
    "connectionString": f"jdbc:derby:memory:{uuid.uuid4().hex};create=true",
}
"""A database of Derby in the memory of Spark's server."""


def configure(
    type: str,
    name: str,
    properties: Mapping[str, str],
    *,
    given: Schema | None = None,
    macros: Sequence[str] = (),
) -> ConfigureResult:
    request = ConfigureRequest(
        artifact_ref(ARTIFACT, type, name),
        "stage",
        dict(properties),
        macros=list(macros),
        input_schemas={"in": given} if given is not None else {},
    )
    return configure_stage(request)


def messages(result: ConfigureResult) -> list[str]:
    return [failure.message for failure in result.failures]
