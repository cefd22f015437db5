"""Documents of older forms, converted to the form of CDAP 6."""

from __future__ import annotations

from typing import Any, Final

from localcdap.artifacts.version import APP_VERSION
from localcdap.pipeline.document.changes import copy_configuration
from localcdap.pipeline.document.legacy import is_legacy, upgrade
from localcdap.pipeline.document.model import PipelineDocument, PipelineType

_OLD_PARTS: Final = ("source", "sink", "sinks", "transforms", "actions")
_ENVELOPE: Final = ("name", "description", "artifact", "config", "configuration", "template")


def upgrades(document: PipelineDocument) -> list[str]:
    """Return the old forms in a document, and how they are read; one sentence each."""
    config, found = copy_configuration(document), []
    if is_legacy(config):
        parts = " and ".join(f"'{part}'" for part in _OLD_PARTS if config.get(part))
        count = len(document.stages)
        found.append(
            f"The parts of CDAP 3, {parts}, are read as {count} stages and their connections."
        )
    keys = document.config_path
    if "configuration" in keys:
        found.append("The configuration is the JSON text of an application's 'configuration'.")
    if len(keys) > 1:
        found.append(f"The pipeline is taken out of its envelope: {'.'.join(map(str, keys))}.")
    name = document.artifact_name
    if name is not None and name != document.type.value:
        found.append(f"The application '{name}' is '{document.type.value}' now.")
    return found


def upgrade_document(document: PipelineDocument) -> dict[str, Any]:
    """Return the document as CDAP 6 exports it: name, artifact and configuration with stages.

    Keys of the configuration and of the outermost envelope that are not known stay.
    """
    config = copy_configuration(document)
    if is_legacy(config):
        new = upgrade(config, document.type is PipelineType.STREAMING, [])
        config = {key: value for key, value in new.items() if key not in _OLD_PARTS}
    source = document.source if document.config_path else {}
    artifact = {"name": document.type.value, "version": APP_VERSION.text, "scope": "SYSTEM"}
    if document.artifact_name == document.type.value and isinstance(source.get("artifact"), dict):
        artifact = source["artifact"]
    return {
        "name": document.name,
        "description": document.description,
        "artifact": artifact,
        "config": config,
        **{key: value for key, value in source.items() if key not in _ENVELOPE},
    }
