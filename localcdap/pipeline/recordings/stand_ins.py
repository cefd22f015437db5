"""Replaces the plugins of stages by recordings and placeholders, as rules say.

Runs, previews and tests get such documents in place of a pipeline's own document. A sink writes something
else in place of a system that is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.api.tables import TableShape
from localcdap.pipeline.document.model import (
    PipelineDocument,
    PluginUse,
    StageChange,
    StageUse,
    change_stages,
    copy_configuration,
    create_structural_failure,
)
from localcdap.pipeline.document.reader import (
    TEMPLATE_MARK,
    is_legacy,
    read_document,
    upgrade_document,
)
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.recordings.generation.records import GenerationHints
from localcdap.pipeline.recordings.model import (
    COMMAND_LINE,
    Kind,
    Recording,
    RecordingRule,
    RecordingRules,
    RuleSubject,
    parse_recording,
)
from localcdap.pipeline.recordings.sources import (
    REFERENCE,
    RecordedSources,
    RecordingInputs,
    name_reference,
    read_parquet,
)
from localcdap.pipeline.rules.graph import ACTIONS, SOURCE, Graph
from localcdap.pipeline.validation.stage_configuration import guess_schema

_SINK: Final = "batchsink"
_FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".avro": "avro",
    ".orc": "orc",
}
_SUFFIX: Final = "yyyy-MM-dd-HH-mm-ss"
"""The folder of each run inside the path: nothing is overwritten."""


def replace_sink(
    stage: StageUse, recording: Recording, tables: Callable[[], Mapping[str, TableShape]]
) -> PluginUse:
    """Return the plugin that writes in place of the stage's own.

    :param tables: returns the tables of the namespace, by name.
    :raises BadRequestError: when a sink cannot write there.
    """
    match recording.kind:
        case Kind.DISCARD:
            return discard_records(stage)
        case Kind.TABLE if recording.key:
            properties = {"name": recording.target, "schema.row.field": recording.key}
            return PluginUse(_SINK, "Table", properties)
        case Kind.TABLE:
            raise _create_key_error(recording.target)
        case Kind.NAMED if recording.target in tables():
            raise _create_key_error(recording.target)
        case Kind.FILE | Kind.NAMED:
            return PluginUse(_SINK, "File", _build_file(stage, recording.target))
    raise BadRequestError(
        f"A sink cannot write to '{recording.kind}'.",
        "Name a folder with the suffix of a format such as out.csv, table:NAME,KEY, or discard.",
    )


def discard_records(stage: StageUse) -> PluginUse:
    """Return the plugin that counts the records of a sink, and writes nothing."""
    return PluginUse(_SINK, "Trash", {REFERENCE: name_reference(stage)})


def _create_key_error(table: str) -> BadRequestError:
    return BadRequestError(
        f"The table '{table}' needs a key: of records with the same key the last is kept.",
        f"Name the field: table:{table},FIELD",
    )


def _build_file(stage: StageUse, path: str) -> dict[str, str]:
    format = _FORMATS.get(Path(path).suffix.lower())
    if format is None:
        raise BadRequestError(
            f"The name '{path}' says no format.",
            f"Name a folder that ends with {', '.join(_FORMATS)}.",
        )
    properties = {
        REFERENCE: name_reference(stage),
        "path": path,
        "suffix": _SUFFIX,
        "format": format,
    }
    if format in ("csv", "tsv"):
        properties |= {"writeHeader": "true", "enableQuotedValues": "true"}
    return properties


PASSED: Final = ("transform", "sparkcompute", "batchaggregator")
"""The types with one input and one output, which a placeholder can replace."""
RECORDED: Final = frozenset((SOURCE, "batchsink", "sparksink"))
"""The types that recordings can replace."""
_REPLACEABLE: Final = {*PASSED, *RECORDED, *ACTIONS}
PLACEHOLDER: Final = "Placeholder"
"""The name of the shipped plugins of placeholders."""


class Replacement(msgspec.Struct, frozen=True):
    """What a rule makes of a stage."""

    plugin: PluginUse | None
    """None when the rule cannot be followed."""
    stand_in: StandIn | None
    failures: list[ValidationFailure]


class Replacements(msgspec.Struct):
    """What rules make of the stages of a pipeline."""

    plugins: dict[str, PluginUse] = {}
    """The new plugins, by stage."""
    stand_ins: list[StandIn] = []
    failures: list[ValidationFailure] = []
    warnings: list[ValidationFailure] = []

    def apply(self, document: PipelineDocument) -> PipelineDocument:
        """Return a typed document with the new plugins; its source is as it was."""
        if not self.plugins:
            return document
        stages = [
            msgspec.structs.replace(stage, plugin=self.plugins.get(stage.name, stage.plugin))
            for stage in document.stages
        ]
        return msgspec.structs.replace(document, stages=stages)


class StageReplacer:
    """Replaces stages by the same rules again and again.

    A stage is looked at again when it has changed, or what other stages say about its records.

    :param pipeline: its name, which rules may have; None for one without a name.
    :param folder: gets the converted records of sources; None: recordings are only checked.
    """

    def __init__(
        self,
        rules: RecordingRules,
        inputs: RecordingInputs,
        pipeline: str | None,
        folder: Path | None = None,
    ) -> None:
        self._rules = rules
        self._inputs = inputs
        self._pipeline = pipeline
        self._sources = RecordedSources(inputs, folder)
        self._known: dict[str, tuple[tuple[object, ...], Replacement]] = {}

    def replace(
        self,
        document: PipelineDocument,
        without: Collection[str] = (),
        *,
        requires_use: bool = True,
    ) -> Replacements:
        """Return what the rules make of the stages.

        :param document: its plugin templates replaced by their plugins.
        :param without: stages that keep their plugins.
        :param requires_use: whether a rule of the command line that applies to no stage is a failure; one
            for a kind of stages, which a pipeline may lack, is a warning.
        """
        found = Replacements({}, [], [], [])
        if not self._rules:
            return found
        used: set[str] = set()
        expanded = [self._expand(stage, stage.plugin.properties) for stage in document.stages]
        hints = GenerationHints(replace(document, stages=expanded))
        for stage in (self._expand(stage, (REFERENCE, "schema")) for stage in document.stages):
            subject = self._describe(stage)
            # A rule that gives way to a more specific one applies all the same.
            used.update(subject.list_keys())
            rule = self._rules.find(subject) if stage.name not in without else None
            if rule is not None:
                self._add(found, stage, self._replace_stage(stage, rule, hints))
        if requires_use:
            self._add_unused(found, document.stages, used)
        return found

    def _expand(self, stage: StageUse, names: Collection[str]) -> StageUse:
        """Give properties of a stage the values that they have in the run.

        Where a macro has no value, there is no reference name, and any other property stays as it is.
        """
        given = stage.plugin.properties
        properties = {
            name: self._inputs.expand(text) or ("" if name == REFERENCE else text)
            for name, text in given.items()
            if name in names and "${" in text
        }
        if not properties:
            return stage
        return replace(stage, plugin=replace(stage.plugin, properties={**given, **properties}))

    def _describe(self, stage: StageUse) -> RuleSubject:
        use = stage.plugin
        reference = use.properties.get(REFERENCE)
        return RuleSubject(stage.name, use.type, use.name, reference, self._pipeline)

    def _add(self, found: Replacements, stage: StageUse, replacement: Replacement) -> None:
        found.failures += replacement.failures
        if replacement.plugin is not None:
            found.plugins[stage.name] = replacement.plugin
        if replacement.stand_in is not None:
            found.stand_ins.append(replacement.stand_in)

    def _replace_stage(
        self, stage: StageUse, rule: RecordingRule, hints: GenerationHints
    ) -> Replacement:
        key = (stage.plugin, stage.noted_schema, rule, hints.list_all(stage.name))
        known = self._known.get(stage.name)
        if known is None or known[0] != key:
            known = key, self._try_to_replace(stage, rule, hints)
            self._known[stage.name] = known
        return known[1]

    def _try_to_replace(
        self, stage: StageUse, rule: RecordingRule, hints: GenerationHints
    ) -> Replacement:
        try:
            return self._create(stage, rule, parse_recording(rule.recording), hints)
        except (LocalcdapError, OSError) as error:
            collector = FailureCollector(stage.name)
            message = error.message if isinstance(error, LocalcdapError) else str(error)
            action = error.corrective_action if isinstance(error, LocalcdapError) else None
            collector.add(f"Recording '{rule.recording}' ({_name_origin(rule)}): {message}", action)
            return Replacement(self._choose_fallback(stage), None, list(collector))

    def _choose_fallback(self, stage: StageUse) -> PluginUse | None:
        """Return a plugin with which the other stages can be checked, so that the recording is the only
        failure.
        """
        schema = guess_schema(stage)
        if stage.plugin.type == SOURCE and schema is not None:
            return read_parquet(stage, None, schema)
        is_sink = stage.plugin.type in RECORDED and stage.plugin.type != SOURCE
        return discard_records(stage) if is_sink else None

    def _create(
        self, stage: StageUse, rule: RecordingRule, recording: Recording, hints: GenerationHints
    ) -> Replacement:
        type, records, notes = stage.plugin.type, None, list[str]()
        if type == SOURCE and recording.kind not in (Kind.DISCARD, Kind.PASS, Kind.SKIP):
            source = self._sources.replace(stage, recording, hints)
            plugin, records, notes = source.plugin, source.records, source.notes
        elif type in RECORDED and type != SOURCE and not recording.is_placeholder:
            plugin = replace_sink(stage, recording, self._inputs.tables)
        elif type in PASSED and recording.kind is Kind.PASS:
            plugin = _pass_records(stage)
        elif type in ACTIONS and recording.kind is Kind.SKIP:
            plugin = PluginUse("action", PLACEHOLDER, {})
        else:
            raise _create_kind_error(type, recording)
        kind = "placeholder" if recording.is_placeholder else "recorded"
        named = f"{type} {stage.plugin.name}"
        origin = _name_origin(rule)
        stand_in = StandIn(stage.name, named, kind, rule.recording, origin, records, notes)
        return Replacement(plugin, stand_in, [])

    def _add_unused(
        self, found: Replacements, stages: Sequence[StageUse], used: Collection[str]
    ) -> None:
        """Add a failure or a warning for each rule of the command line that applies to no stage."""
        names = ", ".join(stage.name for stage in stages)
        for rule in self._rules.list_given():
            if rule.subject in used:
                continue
            kind, _, value = rule.subject.partition(":")
            is_missing = kind == "plugin" or (kind == "type" and value in _REPLACEABLE)
            action = f"Stages: {names}."
            if kind == "type" and not is_missing:
                action = f"The types that can have one: {', '.join(sorted(_REPLACEABLE))}."
            place = found.warnings if is_missing else found.failures
            message = f"The recording of '{rule.key}' applies to no stage."
            place.append(create_structural_failure(message, action))


def replace_idle(stage: StageUse) -> PluginUse | None:
    """Return a plugin for a stage that does not run because its records are given, or it is skipped.

    It has the schema that the stage sets or the document notes. None where there is none, or nothing can
    stand in for a stage of the type.
    """
    type, schema = stage.plugin.type, guess_schema(stage)
    if type in ACTIONS:
        return PluginUse("action", PLACEHOLDER, {})
    if schema is None:
        return None
    if type == SOURCE:
        return read_parquet(stage, None, schema)
    return _pass_records(stage) if type in PASSED else None


def _pass_records(stage: StageUse) -> PluginUse:
    schema = guess_schema(stage)
    return PluginUse("transform", PLACEHOLDER, {"schema": str(schema)} if schema else {})


def _name_origin(rule: RecordingRule) -> str:
    return rule.origin if rule.origin == COMMAND_LINE else f"{rule.origin}: {rule.key}"


def _create_kind_error(type: str, recording: Recording) -> BadRequestError:
    match type:
        case "batchsource":
            action = "A source has a file, table:NAME, dataset:NAME or generate[:N[,SEED]]."
        case each if each in RECORDED:
            action = "A sink has a folder such as out.csv, table:NAME,KEY or discard."
        case each if each in PASSED:
            action = "A placeholder of a transform has: pass"
        case each if each in ACTIONS:
            action = "A placeholder of an action has: skip"
        case _:
            action = f"Nothing can stand in for a stage of type '{type}'."
    return BadRequestError(
        f"'{recording.kind}' cannot stand in for a stage of type '{type}'.", action
    )


def write_stand_ins(document: PipelineDocument, replacements: Replacements) -> PipelineDocument:
    """Return a document whose source has the new plugins; the given one when there are none.

    It is for one run and is never stored: a pipeline that is saved or exported has its own plugins.
    """
    if not replacements.plugins:
        return document
    if is_legacy(copy_configuration(document)):  # where the name of a stage is that of its plugin
        document = read_document(encode_json(upgrade_document(document)))
    changes = {name: _create_change(plugin) for name, plugin in replacements.plugins.items()}
    written = read_document(change_stages(document, changes))
    return msgspec.structs.replace(written, name=document.name)


def cut_after(document: PipelineDocument, stage: str) -> str:
    """Return the JSON text of a pipeline that ends after one stage: it has the stages before it, and a sink
    that keeps nothing.

    :raises NotFoundError: when there is no such stage; the message lists the stages.
    """
    names = [each.name for each in document.stages]
    if stage not in names:
        raise NotFoundError(
            f"The pipeline has no stage '{stage}'.", f"Its stages: {', '.join(names) or 'none'}."
        )
    source = upgrade_document(document)
    config = source["config"]
    end = f"after {stage}"
    wanted = {stage, *Graph(names, document.connections).find_ancestors(stage)}
    sink = {"name": end, "plugin": {"name": "Trash", "type": "batchsink", "properties": {}}}
    config["stages"] = [each for each in config["stages"] if each.get("name") in wanted] + [sink]
    config["connections"] = [
        each
        for each in config["connections"]
        if each.get("from") in wanted and each.get("to") in wanted
    ] + [{"from": stage, "to": end}]
    config["postActions"] = []
    return encode_json(source)


def _create_change(plugin: PluginUse) -> StageChange:
    def change(node: dict[str, Any]) -> None:
        node["plugin"] = {
            "name": plugin.name,
            "type": plugin.type,
            "properties": plugin.properties,
        }
        node.pop(TEMPLATE_MARK, None)

    return change
