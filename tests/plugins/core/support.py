"""Shorthands for tests of the plugins of the artifact core-plugins."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult, configure_stage
from localcdap.testing import artifact_ref

ARTIFACT = Path(__file__).parents[3] / "plugins_dir" / "core-plugins"


@functools.cache
def plugin_ref(type: str, name: str) -> PluginRef:
    home = ARTIFACT.parent / "trash-plugin" if name == "Trash" else ARTIFACT
    return artifact_ref(home, type, name)


def record(**fields: Any) -> Schema:
    """A record schema; a field is a type's name, a schema document, or a list for a union."""
    return Schema.parse(
        {
            "type": "record",
            "name": "r",
            "fields": [{"name": n, "type": t} for n, t in fields.items()],
        }
    )


def schema_text(**fields: Any) -> str:
    return json.dumps(record(**fields).to_json())


def configure(
    type: str,
    name: str,
    properties: Mapping[str, str],
    *,
    given: Schema | None = None,
    macros: Sequence[str] = (),
    connected: bool = False,
    locations: Mapping[str, str] | None = None,
    tables: Mapping[str, TableShape] | None = None,
) -> ConfigureResult:
    """Configure a stage, whose input is ``in`` unless it is a source."""
    request = ConfigureRequest(
        plugin_ref(type, name),
        "stage",
        dict(properties),
        macros=list(macros),
        input_schemas={} if type == "batchsource" else {"in": given},
        locations=Locations(dict(locations or {}), "/") if connected else None,
        tables=dict(tables or {}),
    )
    return configure_stage(request)


def messages(result: ConfigureResult) -> list[str]:
    return [failure.message for failure in result.failures]
