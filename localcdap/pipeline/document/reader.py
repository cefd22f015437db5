"""Reads pipeline documents of CDAP 3.2 to 6 in all of their forms, and converts them to that of CDAP 6.

A document is the export of a studio (``{"artifact", "config"}``), a bare configuration (also what hub
packages hold), a stored draft around either, or an application detail whose ``configuration`` is JSON
text. In a 3.x configuration, ``source``, ``transforms``, ``sinks`` and ``actions`` become stages. The
rules are those of CDAP 6 ``ETLConfig.convertStages`` and, for 3.2 stages without a ``plugin`` object,
of its upgrade from version 0: names get a running number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.api.errors import DocumentError
from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StageConnection
from localcdap.artifacts.version import APP_VERSION
from localcdap.expectations.rules import KEY, Expectation, read_rules
from localcdap.pipeline.document.model import (
    Path,
    PipelineDocument,
    PipelineType,
    PluginUse,
    StageUse,
    copy_configuration,
    create_structural_failure,
)
from localcdap.pipeline.document.values import (
    as_bool,
    as_int,
    as_properties,
    as_resources,
    as_selector,
    as_text,
    decode_json,
    decode_text,
    describe_kind,
    describe_source,
    encode_json,
)

TEMPLATE_MARK: Final = "pluginTemplate"
"""The key under which CDAP's studio stores, in a stage or its plugin, the plugin template in use."""
_NAME_IT = "Give it a name that no other stage has."


def read_stages(
    config: Mapping[str, Any],
    key: str,
    problems: list[ValidationFailure],
    default_type: str = "",
) -> list[StageUse]:
    """Return the stages under a key, in order; what is not a stage is left out and added to ``problems``.

    Stages with the same name and plugin count as one stage (CDAP 6 ``ETLConfig``: a set).

    :param default_type: the plugin type of a stage that does not state one.
    """
    nodes = _read_list(config, key, problems)
    found: dict[tuple[Any, ...], StageUse] = {}
    for index, node in enumerate(nodes):
        path = _get_path(node, key, index)
        stage = _read_stage(node, path, f"{key}[{index}]", problems, default_type)
        if stage is not None:
            use = stage.plugin
            same = (stage.name, use.type, use.name, use.artifact, *sorted(use.properties.items()))
            found.setdefault(same, stage)
    return list(found.values())


def read_stage(node: Any) -> tuple[StageUse | None, list[ValidationFailure]]:
    """Return a single stage, None when it has no name, and what is wrong with its form."""
    problems: list[ValidationFailure] = []
    return _read_stage(node, (), "stage", problems, ""), problems


def _get_path(node: Any, key: str, index: int) -> Path:
    """Return the path of a stage in the configuration; a converted stage knows its original path."""
    return node.path if isinstance(node, MovedStage) else (key, index)


class MovedStage(dict[str, Any]):
    """A converted stage, with its path in the original configuration."""

    def __init__(self, node: Mapping[str, Any], path: Path) -> None:
        super().__init__(node)
        self.path = path


def _read_list(config: Mapping[str, Any], key: str, problems: list[ValidationFailure]) -> list[Any]:
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        problems.append(
            create_structural_failure(
                f"'{key}' must be a list, not {describe_kind(value)}.", "Put it in brackets."
            )
        )
        return []
    return value


def _read_stage(
    node: Any, path: Path, label: str, problems: list[ValidationFailure], default_type: str
) -> StageUse | None:
    if not isinstance(node, Mapping):
        message = f"Invalid stage '{label}': it must be an object, not {describe_kind(node)}."
        problems.append(
            create_structural_failure(message, "Write name and plugin of the stage, or remove it.")
        )
        return None
    name = as_text(node.get("name")) or ""
    if not name:
        message = f"Invalid stage '{label}': name must be specified."
        problems.append(create_structural_failure(message, _NAME_IT))
    raw = node.get("plugin")
    if not isinstance(raw, Mapping):
        message = f"Invalid stage '{name or label}': plugin must be specified."
        action = "Set 'plugin' to an object with name, type and properties."
        problems.append(create_structural_failure(message, action, stage=name or None))
        raw = {}
        plugin = PluginUse("", "", {})
    else:
        plugin = read_plugin(raw, default_type, node)
        _check_plugin(plugin, raw, name or None, problems)
    rules = _read_expectations(node, name or None, problems)
    return StageUse(name, plugin, path, _read_noted_schema(node), rules) if name else None


def _read_expectations(
    node: Mapping[str, Any], stage: str | None, problems: list[ValidationFailure]
) -> tuple[Expectation, ...]:
    rules, found = read_rules(node.get(KEY))
    problems += [
        create_structural_failure(each.message, each.action, stage=stage, property=KEY)
        for each in found
    ]
    return tuple(rules)


def _read_noted_schema(node: Mapping[str, Any]) -> str | None:
    """Return the output schema that CDAP's studio stores: a text, an object, or a list of named schemas."""
    noted = node.get("outputSchema")
    if isinstance(noted, list) and noted and isinstance(noted[0], Mapping):
        noted = noted[0].get("schema")
    if isinstance(noted, Mapping):
        return encode_json(noted)
    return noted if isinstance(noted, str) else None


def read_plugin(
    node: Mapping[str, Any], default_type: str = "", stage: Mapping[str, Any] | None = None
) -> PluginUse:
    """Return the plugin of a stage; name and type are empty where they are missing."""
    marks = [(each or {}).get(TEMPLATE_MARK) for each in (node, stage)]
    return PluginUse(
        type=as_text(node.get("type")) or default_type,
        name=as_text(node.get("name")) or "",
        properties=as_properties(node.get("properties")),
        artifact=as_selector(node.get("artifact")),
        template=next((mark for mark in marks if isinstance(mark, str) and mark), None),
    )


def _check_plugin(
    plugin: PluginUse, raw: Mapping[str, Any], stage: str | None, problems: list[ValidationFailure]
) -> None:
    # CDAP 6 ETLPlugin.validate; properties are not shown, they may hold secrets.
    shown = f"Plugin{{name='{plugin.name}', type='{plugin.type}'}}"
    for key in ("name", "type"):
        if not getattr(plugin, key):
            message = f"Invalid plugin {shown}: {key} must be specified."
            problems.append(
                create_structural_failure(message, f"Set the {key} of the plugin.", stage=stage)
            )
    properties = raw.get("properties")
    if properties is not None and not isinstance(properties, Mapping):
        message = f"Invalid plugin {shown}: properties must be an object, not {describe_kind(properties)}."
        problems.append(
            create_structural_failure(message, "Write them as keys with values.", stage=stage)
        )


def read_connections(
    config: Mapping[str, Any], problems: list[ValidationFailure]
) -> list[StageConnection]:
    """Return the connections in order, each once (CDAP 6 ``ETLConfig``: a set)."""
    found: dict[StageConnection, None] = {}
    for index, node in enumerate(_read_list(config, "connections", problems)):
        if not isinstance(node, Mapping):
            message = f"Invalid connection 'connections[{index}]': it must be an object."
            problems.append(create_structural_failure(message, 'Write it as {"from": …, "to": …}.'))
            continue
        source, target = (as_text(node.get(key)) or "" for key in ("from", "to"))
        if not source or not target:
            missing = "to" if source else "from"
            message = f"Invalid connection {encode_json(node)}: '{missing}' must be specified."
            problems.append(
                create_structural_failure(message, "Name the stage, or remove the connection.")
            )
            continue
        port = as_text(node.get("port")) or None
        found[StageConnection(source, target, port, _read_condition(node.get("condition")))] = None
    return list(found)


def _read_condition(value: Any) -> bool | None:
    """Return the branch of a condition, a boolean or its text in any case; None for anything else."""
    return {"true": True, "false": False}.get((as_text(value) or "").lower())


_Entry = tuple[Any, Path]


def is_legacy(config: Mapping[str, Any]) -> bool:
    """Return whether the configuration has the parts of CDAP 3 in place of stages."""
    parts = ("source", "sinks", "sink", "transforms")
    return not config.get("stages") and any(config.get(part) for part in parts)


def is_realtime(config: Mapping[str, Any]) -> bool:
    """Return whether a CDAP 3 configuration is one of ``cdap-etl-realtime``.

    It may have ``instances``. A configuration of ``cdap-etl-batch`` has a ``schedule``; one with neither is
    known by the plugins that only realtime pipelines had.
    """
    if "instances" in config:
        return True
    if "schedule" in config:
        return False
    sinks = [entry for entry, _ in _list_entries(config.get("sinks"), "sinks")]
    return _get_plugin_name(config.get("source")) in _REALTIME_SOURCES or any(
        _get_plugin_name(each) in _REALTIME_SINKS for each in (config.get("sink"), *sinks)
    )


_REALTIME_SOURCES: Final = frozenset(("AmazonSQS", "DataGenerator", "JMS", "Twitter"))
_REALTIME_SINKS: Final = frozenset(("Stream",))


def _get_plugin_name(node: Any) -> str | None:
    """Return the name of the plugin of a source or sink of CDAP 3."""
    if not isinstance(node, Mapping):
        return None
    plugin = node.get("plugin")
    return as_text((plugin if isinstance(plugin, Mapping) else node).get("name"))


def upgrade(
    config: Mapping[str, Any], realtime: bool, problems: list[ValidationFailure]
) -> dict[str, Any]:
    """Return the configuration converted to stages, connections and post actions.

    :param problems: receives a failure for a missing source or sink.
    """
    kind = "realtime" if realtime else "batch"
    sources = [(config["source"], ("source",))] if config.get("source") else []
    sinks = _list_entries(config.get("sinks"), "sinks")
    if config.get("sink"):
        sinks.append((config["sink"], ("sink",)))
    if not sources:
        problems.append(
            create_structural_failure("Pipeline does not contain a source.", "Add a source.")
        )
    if not sinks:
        problems.append(
            create_structural_failure("Pipeline does not contain any sinks.", "Add a sink.")
        )
    first = _convert_stages(sources, f"{kind}source", 1)
    middle = _convert_stages(_list_entries(config.get("transforms"), "transforms"), "transform", 2)
    last = _convert_stages(sinks, f"{kind}sink", 2 + len(middle))
    actions = _convert_stages(_list_entries(config.get("actions"), "actions"), "postaction", 1)
    return {
        **config,
        "stages": [*first, *middle, *last],
        "connections": config.get("connections") or _connect_line([*first, *middle], last),
        "postActions": config.get("postActions") or actions,
    }


def _list_entries(value: Any, key: str) -> list[_Entry]:
    return [(e, (key, i)) for i, e in enumerate(value)] if isinstance(value, list) else []


def _convert_stages(entries: Iterable[_Entry], type: str, number: int) -> list[Any]:
    return [_convert_stage(node, path, type, number + i) for i, (node, path) in enumerate(entries)]


def _convert_stage(node: Any, path: Path, type: str, number: int) -> Any:
    if not isinstance(node, Mapping):
        return node
    if isinstance(node.get("plugin"), Mapping):
        return MovedStage({**node, "plugin": {"type": type, **node["plugin"]}}, path)
    name = as_text(node.get("name"))
    stage = {"name": f"{name}.{number}" if name else None, "plugin": {**node, "type": type}}
    return MovedStage(stage, path)


def _connect_line(line: list[Any], ends: list[Any]) -> list[dict[str, Any]]:
    """Return the connections of a line of stages, and those from its last stage to every sink."""
    names = [_get_name(stage) for stage in line]
    pairs = list(itertools.pairwise(names))
    pairs += [(names[-1], _get_name(sink)) for sink in ends] if names else []
    return [{"from": a, "to": b} for a, b in pairs if a and b]


def _get_name(stage: Any) -> str | None:
    return as_text(stage.get("name")) if isinstance(stage, Mapping) else None


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
