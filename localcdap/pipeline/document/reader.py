"""Reads pipeline documents of CDAP 3.2 to 6 in all of their forms.

A document is the export of a studio (``{"artifact", "config"}``), a bare configuration (also what hub
packages hold), a stored draft around either, or an application detail whose ``configuration`` is JSON
text. A 3.x configuration (``source``, ``transforms``, ``sinks``) is converted as CDAP 6 does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.errors import DocumentError
from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.legacy import is_legacy, is_realtime, upgrade
from localcdap.pipeline.document.model import Path, PipelineDocument, PipelineType, PluginUse
from localcdap.pipeline.document.source import decode_json, decode_text, describe_source
from localcdap.pipeline.document.stages import read_connections, read_plugin, read_stages
from localcdap.pipeline.document.values import (
    as_bool,
    as_int,
    as_properties,
    as_resources,
    as_text,
    describe_kind,
)

STREAMING_ARTIFACTS: Final = frozenset(("cdap-data-streams", "cdap-etl-realtime", "etlrealtime"))
BATCH_ARTIFACTS: Final = frozenset(("cdap-data-pipeline", "cdap-etl-batch", "etlbatch"))
"""Names of application artifacts, those of CDAP 3 included, in lower case."""

_PIPELINE_KEYS: Final = ("stages", "source", "config", "configuration")
_STREAMING_SOURCES: Final = frozenset(("streamingsource", "realtimesource"))
_MAX_DEPTH: Final = 4
"""The most envelopes around a configuration; a draft of an exported application has the most known."""


def read_document(document: Any, file: str | None = None) -> PipelineDocument:
    """Return the typed document of JSON text, UTF-8 bytes, or decoded JSON.

    Call it once in each process; inside a process, pass the typed document on.

    :param file: where it came from, named in errors.
    :raises DocumentError: when it is not valid JSON or not a pipeline. A mistake inside a pipeline is not an
        error but one of the document's ``problems``.
    """
    try:
        document = decode_text(document, file)
        source = decode_json(document, file)
        found = _Envelope(source, file)
        return _create_document(source, found, document if isinstance(document, str) else None)
    except RecursionError:
        raise DocumentError(
            f"{describe_source(file)} is nested too deeply to be a pipeline.", file=file
        ) from None


class _Envelope:
    """The envelope of a configuration: its labels, and the path to the configuration."""

    def __init__(self, source: Any, file: str | None) -> None:
        self.labels: dict[str, Any] = {}
        """Name, description, artifact and template; the innermost envelope wins."""
        path: list[str | int] = []
        node = source
        for _ in range(_MAX_DEPTH):
            if not isinstance(node, Mapping) or not any(key in node for key in _PIPELINE_KEYS):
                raise _create_not_a_pipeline_error(node, path, file)
            if "stages" in node or not _is_envelope(node):
                break
            keys = ("name", "description", "artifact", "template", "artifactName", "version")
            self.labels |= {key: node[key] for key in keys if node.get(key) is not None}
            key = "config" if "config" in node else "configuration"
            node = decode_json(node[key], file, part=key)
            path.append(key)
            if key == "config" and isinstance(node, Mapping) and not _is_envelope(node):
                break  # a configuration without stages, which a structure rule reports
        if not isinstance(node, Mapping):
            raise _create_not_a_pipeline_error(node, path, file)
        self.path: Path = tuple(path)
        self.config: Mapping[str, Any] = node


def _is_envelope(node: Mapping[str, Any]) -> bool:
    return "config" in node or "configuration" in node


def _create_not_a_pipeline_error(
    node: Any, path: list[str | int], file: str | None
) -> DocumentError:
    found = describe_kind(node)
    if isinstance(node, Mapping):
        keys = [str(key) for key in list(node)[:8]]
        more = " …" if len(node) > len(keys) else ""
        found = f"an object with {', '.join(keys)}{more}" if keys else "an empty object"
    where = f" under '{'.'.join(map(str, path))}'" if path else ""
    return DocumentError(
        f"{describe_source(file)} is not a pipeline: it holds {found}{where}.",
        "A pipeline is an object with 'config' (what CDAP exports) or 'stages'; "
        "one of CDAP 3 has 'source' and 'sinks'.",
        file=file,
    )


def _create_document(source: Any, found: _Envelope, text: str | None) -> PipelineDocument:
    config, problems = found.config, list[ValidationFailure]()
    artifact_name, app = _read_application(found.labels, config, problems)
    if is_legacy(config):
        config = upgrade(config, app is PipelineType.STREAMING, problems)
    stages = read_stages(config, "stages", problems)
    post_actions = read_stages(config, "postActions", problems, default_type="postaction")
    engine = (as_text(config.get("engine")) or "").upper()
    return PipelineDocument(
        source=source,
        text=text,
        config_path=found.path,
        type=app,
        artifact_name=artifact_name,
        name=as_text(found.labels.get("name", config.get("name"))),
        description=as_text(found.labels.get("description", config.get("description"))),
        stages=stages,
        connections=read_connections(config, problems),
        post_actions=post_actions,
        problems=problems,
        engine=engine if engine in ("MAPREDUCE", "SPARK") else "MAPREDUCE",
        schedule=as_text(config.get("schedule")),
        properties=as_properties(config.get("properties")),
        resources=as_resources(config.get("resources")),
        driver_resources=as_resources(config.get("driverResources")),
        client_resources=as_resources(config.get("clientResources")),
        stage_logging_enabled=as_bool(config.get("stageLoggingEnabled"), True),
        process_timing_enabled=as_bool(config.get("processTimingEnabled"), True),
        num_of_records_preview=as_int(config.get("numOfRecordsPreview"), 100) or 100,
        artifact_version=_read_version(found.labels),
        max_concurrent_runs=as_int(config.get("maxConcurrentRuns"), None),
        sql_engine=_read_sql_engine(config),
    )


def _read_sql_engine(config: Mapping[str, Any]) -> PluginUse | None:
    """Return the plugin of ``transformationPushdown`` when ``pushdownEnabled`` is true."""
    pushdown = config.get("transformationPushdown")
    if not as_bool(config.get("pushdownEnabled"), False) or not isinstance(pushdown, Mapping):
        return None
    plugin = pushdown.get("plugin")
    return read_plugin(plugin) if isinstance(plugin, Mapping) else None


def _read_version(labels: Mapping[str, Any]) -> str | None:
    artifact = labels.get("artifact")
    version = as_text(artifact.get("version")) if isinstance(artifact, Mapping) else None
    return version if version and version[0].isdigit() else None


def _read_application(
    labels: Mapping[str, Any], config: Mapping[str, Any], problems: list[ValidationFailure]
) -> tuple[str | None, PipelineType]:
    """Return the artifact's name and the type of the pipeline, guessed for a bare configuration."""
    artifact = labels.get("artifact")
    if isinstance(artifact, Mapping):
        name = as_text(artifact.get("name")) or ""
        if not name:
            problems.append(
                create_structural_failure(
                    "Invalid artifact in pipeline request: Artifact name must be specified.",
                    f"Set the name of 'artifact' to '{PipelineType.BATCH.value}'.",
                )
            )
            return None, _guess_type(config)
    else:
        name = as_text(artifact) or as_text(labels.get("template")) or ""
    if not name:
        return None, _guess_type(config)
    if name.lower() in STREAMING_ARTIFACTS:
        return name, PipelineType.STREAMING
    if name.lower() not in BATCH_ARTIFACTS:
        first, second = PipelineType.BATCH.value, PipelineType.STREAMING.value
        problems.append(
            create_structural_failure(
                f"Invalid artifact '{name}'. Must be '{first}' or '{second}'.",
                f"Set the name of 'artifact' to '{first}'.",
            )
        )
    return name, PipelineType.BATCH


def _guess_type(config: Mapping[str, Any]) -> PipelineType:
    if is_legacy(config):
        return PipelineType.STREAMING if is_realtime(config) else PipelineType.BATCH
    stages = config.get("stages")
    types = [
        as_text(stage["plugin"].get("type"))
        for stage in (stages if isinstance(stages, list) else [])
        if isinstance(stage, Mapping) and isinstance(stage.get("plugin"), Mapping)
    ]
    streaming = "batchInterval" in config or not _STREAMING_SOURCES.isdisjoint(types)
    return (
        PipelineType.STREAMING if streaming and "batchsource" not in types else PipelineType.BATCH
    )
