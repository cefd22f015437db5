"""Configuring one stage: it runs the plugin's own validation and schema propagation.

The checks of a joiner that declares which stages it joins (CDAP 6 ``AutoJoiner``).

Checking what a plugin has set in its stage; user code may have set values of any type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api.dataset.definition import DatasetDeclaration
from localcdap.api.errors import (
    HostError,
    InvalidFieldError,
    InvalidStageError,
    LocalcdapError,
    PluginError,
)
from localcdap.api.failures import ArtifactId, Cause, FailureCollector, ValidationFailure
from localcdap.api.lineage import (
    EdgeKind,
    FieldEdge,
    FieldOperation,
    LineageRecorder,
    StageLineage,
    assume_edges,
    build_lookup_edges,
)
from localcdap.api.locations import Locations
from localcdap.api.plugin import (
    BatchJoiner,
    BatchSink,
    BatchSource,
    Plugin,
    SplitterTransform,
    has_override,
)
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable, StageConfigurer
from localcdap.api.tables import TableShape, keep_table
from localcdap.artifacts.loading import UsedPlugins, load_plugin, user_frames
from localcdap.artifacts.model import PluginRef
from localcdap.decoders import convert

_MOST_FAILURES: Final = 1000
"""The most failures, and the most warnings, of a stage; one more says that there were others."""
_LONGEST_TEXT: Final = 20_000
"""The most characters of a text of a failure."""
_MOST_FIELDS: Final = 50_000
"""The most fields of a schema with those of its nested records, and the most entries of another value."""
_MOST_CHARACTERS: Final = 8 << 20
"""The most characters of the names in a schema, and of the texts in another value."""


class ConfigureOutput(NamedTuple):
    """The values of a stage that have the right type."""

    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: dict[str, Schema]
    pipeline_properties: dict[str, str]
    datasets: list[DatasetDeclaration]
    columns: dict[str, dict[str, str]]
    written_folders: dict[str, list[str]]


def check_configure_output(stage: StageConfigurer, failures: FailureCollector) -> ConfigureOutput:
    """Return the values that a plugin set; a value of a wrong type is left out and becomes a failure."""
    check = _Check(failures)
    ports = check.mapping("port_schemas", stage.port_schemas)
    properties = check.mapping("pipeline_properties", stage.pipeline_properties)
    return ConfigureOutput(
        check.schema("output_schema", stage.output_schema),
        check.schema("error_schema", stage.error_schema),
        {
            plain(port): schema
            for port, value in ports.items()
            if (schema := check.schema(f"port_schemas[{port!r}]", value)) is not None
        },
        {plain(key): plain(value) for key, value in properties.items()},
        [_to_plain_declaration(each) for each in check.declarations(stage.datasets)],
        {
            plain(table): {
                plain(key): plain(value)
                for key, value in check.mapping(f"columns[{table!r}]", columns).items()
            }
            for table, columns in check.mapping("columns", stage.columns).items()
        },
        {
            plain(name): [plain(path) for path in paths]
            for name, paths in check.mapping("written_folders", stage.written_folders).items()
        },
    )


def plain_failures(failures: Iterable[ValidationFailure]) -> list[ValidationFailure]:
    """Return the failures with all values converted to texts, up to a number, and texts up to a length."""
    found = list(failures)
    kept = [
        ValidationFailure(
            type=plain(failure.type),
            message=_shorten(failure.message) or "",
            corrective_action=_shorten(failure.corrective_action),
            causes=[_to_plain_cause(cause) for cause in failure.causes],
            stage=_to_plain_or_none(failure.stage),
            field=_to_plain_or_none(failure.field),
            suggested_artifact=_to_artifact(failure.suggested_artifact),
        )
        for failure in found[:_MOST_FAILURES]
    ]
    if len(found) > _MOST_FAILURES:
        more = f"The plugin has {len(found) - _MOST_FAILURES:,} more messages, which are not shown."
        kept.append(ValidationFailure(kept[-1].type, more, _ACTION, [], stage=kept[-1].stage))
    return kept


def plain(value: object) -> str:
    """Return the value as a text that can be encoded."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _shorten(value: object) -> str | None:
    """Return a value of a failure as a text that can be encoded and is not too long; None for None."""
    if value is None:
        return None
    text = plain(value)
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}… ({len(text):,} characters)"


class _Check:
    def __init__(self, failures: FailureCollector) -> None:
        self._failures = failures

    def schema(self, name: str, value: Any) -> Schema | None:
        if value is not None and not isinstance(value, Schema):
            self._refuse(name, value, "a Schema")
            return None
        if value is not None and _is_too_large(value):
            self._refuse_large(name)
            return None
        return value

    def mapping(self, name: str, value: Any) -> Mapping[Any, Any]:
        if not isinstance(value, Mapping):
            self._refuse(name, value, "a dict")
            return {}
        if len(value) > _MOST_FIELDS:
            self._refuse_large(name)
            return {}
        return value

    def declarations(self, value: Any) -> list[DatasetDeclaration]:
        if not (isinstance(value, list) and all(isinstance(e, DatasetDeclaration) for e in value)):
            self._refuse("datasets", value, "a list of datasets")
            return []
        if len(value) > _MOST_FIELDS:
            self._refuse_large("datasets")
            return []
        return value

    def _refuse(self, name: str, value: Any, expected: str) -> None:
        self._failures.add(
            f"The plugin set stage.{name} to a {type(value).__name__}, which is not {expected}.",
            _ACTION,
        )

    def _refuse_large(self, name: str) -> None:
        self._failures.add(
            f"The plugin set stage.{name} to a value with more than {_MOST_FIELDS:,} entries, or with names "
            f"of more than {_MOST_CHARACTERS:,} characters.",
            _ACTION,
        )


def _is_too_large(schema: Schema) -> bool:
    """Return whether a schema has too many fields, with those of its nested records, or too long names."""
    fields, characters, waiting = 0, 0, [schema]
    while waiting:
        each = waiting.pop()
        inner = [part for part in (each.items, each.keys, each.values) if part is not None]
        waiting += [*inner, *each.members, *(found.schema for found in each.fields or ())]
        fields += len(each.fields or ()) + len(each.members)
        characters += len(each.name or "") + sum(len(found.name) for found in each.fields or ())
        if fields > _MOST_FIELDS or characters > _MOST_CHARACTERS:
            return True
    return False


def _to_plain_cause(cause: Cause) -> Cause:
    return Cause({plain(key): _shorten(value) or "" for key, value in cause.attributes.items()})


def _to_plain_declaration(declared: DatasetDeclaration) -> DatasetDeclaration:
    return DatasetDeclaration(
        plain(declared.name),
        plain(declared.type),
        {plain(key): plain(value) for key, value in declared.properties.items()},
        _to_plain_or_none(declared.config_property),
    )


def _to_plain_or_none(value: object) -> str | None:
    return None if value is None else plain(value)


def _to_artifact(value: Any) -> ArtifactId | None:
    return value if isinstance(value, ArtifactId) else None


_ACTION: Final = "Check with the plugin developer to make sure it is implemented correctly."


def check_joined(stage: StageConfigurer) -> None:
    """Add failures for inputs that a joiner leaves out, and for joined stages that are not inputs."""
    joined = stage.joined_stages
    if joined is None:
        return
    missing = [name for name in stage.input_schemas if name not in joined]
    extra = [name for name in joined if name not in stage.input_schemas]
    if missing:
        stage.failures.add(
            f"Joiner stage '{stage.name}' did not include input stage{_list(missing)} in the join.",
            _ACTION,
        )
    if extra:
        is_are = "is not an input" if len(extra) == 1 else "are not inputs"
        stage.failures.add(
            f"Joiner stage '{stage.name}' is trying to join stage{_list(extra)}, which {is_are}.",
            _ACTION,
        )


def _list(names: Iterable[str]) -> str:
    listed = list(names)
    return f"{'s' if len(listed) > 1 else ''} {', '.join(listed)}"


class ConfigureRequest(msgspec.Struct):
    """A stage to be configured."""

    plugin: PluginRef
    stage: str
    properties: dict[str, str]
    macros: list[str] = []
    """The names of properties that still contain a macro."""
    input_schemas: dict[str, Schema | None] = {}
    """The input schemas by input stage, in connection order; None for an unknown schema."""
    output_ports: list[str] = []
    """The connected ports of a splitter."""
    locations: Locations | None = None
    """The locations of paths for connected checks (files, databases, network); None for no such checks."""
    pipeline_version: str | None = None
    """The version of the pipeline's application artifact; None where it has none."""
    wants_errors: bool | None = None
    """Whether an error transform takes the stage's error records; None if that is not known."""
    earlier_stages: frozenset[str] | None = None
    """The stages before a condition; None for other stages, or if that is not known."""
    tables: dict[str, TableShape] = {}
    """The tables and other datasets of the namespace, for connected checks."""


class ConfigureResult(msgspec.Struct):
    """The result of configuring a stage, which is valid when there are no failures.

    Several callers may share it, so it is read-only.
    """

    failures: list[ValidationFailure]
    output_schema: Schema | None = None
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}
    pipeline_properties: dict[str, str] = {}
    foreign_paths: dict[str, list[str]] = {}
    """By property, the paths of other systems that need a location on this machine."""
    warnings: list[ValidationFailure] = []
    """Probable mistakes, which do not make the stage invalid."""
    datasets: list[DatasetDeclaration] = []
    """The datasets that the stage needs."""
    columns: dict[str, dict[str, str]] = {}
    """The types of the columns that the stage writes, by table; see :attr:`StageConfigurer.columns`."""
    written_folders: dict[str, list[str]] = {}
    """By property, the folders that the stage writes; see :meth:`StageConfigurer.replaces_folder`."""


def configure_stage(
    request: ConfigureRequest, find_table: FindTable | None = None, *, in_run: bool = False
) -> ConfigureResult:
    """Configure a stage in this process.

    An exception of the plugin becomes a failure (CDAP 6 ``PipelineSpecGenerator.configureStage``). When the
    properties cannot be parsed, the plugin's own code is not called; the schema that its configuration
    declares is still the output schema, so that the stages downstream can be validated.

    :param find_table: finds tables for connected checks; by default among those of the request.
    :raises MemoryError: when the plugin takes more memory than there is.
    """
    inputs = request.input_schemas
    stage = StageConfigurer(request.stage, inputs, output_ports=request.output_ports)
    stage.find_plugin = UsedPlugins(request.plugin.uses)
    stage.in_run = in_run
    stage.pipeline_version = request.pipeline_version
    stage.wants_errors = request.wants_errors
    stage.earlier_stages = request.earlier_stages
    failures = stage.failures
    declared: Schema | None = None
    try:
        cls = load_plugin(request.plugin)
        config = cls.Config.build(request.properties, failures, request.macros)
        declared = _find_declared_schema(cls, config)
        if not failures:
            plugin = cls(config)
            plugin.configure(stage)
            if not failures and isinstance(plugin, BatchJoiner):
                check_joined(stage)
            if request.locations is not None and not failures:
                stage.locations = request.locations
                _offer_tables(stage, find_table or request.tables.get)
                plugin.configure_connected(stage)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        _add_raised(error, failures, Path(request.plugin.path))
    products = check_configure_output(stage, failures)
    output = products.output_schema
    return ConfigureResult(
        failures=plain_failures(failures),
        output_schema=declared if output is None and failures else output,
        error_schema=products.error_schema,
        port_schemas=products.port_schemas,
        pipeline_properties=products.pipeline_properties,
        warnings=plain_failures(stage.warnings),
        foreign_paths=stage.foreign_paths,
        datasets=products.datasets,
        columns=products.columns,
        written_folders=products.written_folders,
    )


def _offer_tables(stage: StageConfigurer, find: FindTable) -> None:
    def find_schema(name: str) -> Schema | None:
        found = find(name)
        return None if found is None else found.schema

    stage.find_table = lambda name: keep_table(find(name))
    stage.find_dataset_schema = find_schema


def _find_declared_schema(cls: type[Plugin], config: Any) -> Schema | None:
    """Return the output schema in a plugin's configuration, or None."""
    if issubclass(cls, BatchSink | SplitterTransform):
        return None
    stated = {
        name: getattr(config, declared.attribute)
        for name, declared in cls.Config.get_fields().items()
        if declared.type is Schema
    }
    schema = stated.get("schema") if "schema" in stated else next(iter(stated.values()), None)
    return schema if isinstance(schema, Schema) else None


def _add_raised(error: BaseException, failures: FailureCollector, path: Path) -> None:
    """Add failures for an exception of a plugin."""
    match error:
        case InvalidStageError(errors=(_, *_)):
            for reason in error.errors:
                _add_reason(reason, failures)
        case PluginError():
            failures.add(error.message, error.corrective_action).with_stacktrace(error.traceback)
        case LocalcdapError():
            failures.add(error.message, error.corrective_action)
        case ModuleNotFoundError(name=str(module)):
            from localcdap.artifacts.selection import install_command

            action = f"Install it: {install_command(module, path)}"
            failures.add(f"The plugin needs the Python module '{module}'.", action).with_stacktrace(
                user_frames(error, path)
            )
        case _:
            message = f"Error encountered while configuring the stage: '{_format_exception(error)}'"
            failures.add(message).with_stacktrace(user_frames(error, path))


def _add_reason(reason: Exception, failures: FailureCollector) -> None:
    if isinstance(reason, InvalidFieldError):
        action = f"Provide valid value for config property '{reason.field}'."
        added = failures.add(reason.message, reason.corrective_action or action)
        added.with_config_property(reason.field)
    elif isinstance(reason, LocalcdapError):
        failures.add(reason.message, reason.corrective_action)
    else:
        failures.add(_format_exception(reason))


def _format_exception(error: BaseException) -> str:
    """Return the text of an exception, with its class when the text alone is not clear."""
    if isinstance(error, SystemExit):
        return f"it ended its process: SystemExit({error.code!r})"
    text = str(error)
    return (
        f"{type(error).__name__}: {text}"
        if isinstance(error, LookupError)
        else (text or type(error).__name__)
    )


class LineageRequest(msgspec.Struct):
    """A valid stage whose lineage is asked for."""

    configured: ConfigureRequest
    """How the stage was configured."""
    output_schema: Schema | None = None
    error_schema: Schema | None = None
    port_schemas: dict[str, Schema] = {}
    tables: dict[str, TableShape] = {}
    """The columns of tables for lookups, by name, as far as they are known."""

    def create_configurer(self) -> StageConfigurer:
        """Return the stage as its plugin has configured it."""
        given, ports = self.configured, list(self.port_schemas)
        stage = StageConfigurer(given.stage, given.input_schemas, output_ports=ports)
        stage.output_schema = self.output_schema
        stage.error_schema = self.error_schema
        stage.port_schemas = self.port_schemas
        return stage


def trace_stage(request: LineageRequest) -> StageLineage:
    """Return the lineage of a stage in this process; it is assumed where the plugin raises.

    :raises MemoryError: when it takes more memory than there is.
    """
    given = request.configured
    stage = request.create_configurer()
    asked: dict[str, None] = {}

    def find_table(name: str) -> TableShape | None:
        asked[name] = None
        return keep_table(request.tables.get(name))

    stage.find_table = find_table
    try:
        cls = load_plugin(given.plugin)
        stage.find_plugin = UsedPlugins(given.plugin.uses)
        plugin = cls(cls.Config.build(given.properties, stage.failures, given.macros))
        found = record_lineage(plugin, given.plugin.type, stage)
        return msgspec.structs.replace(found, tables=list(asked))
    except MemoryError:
        raise
    except (Exception, SystemExit):
        return assume_lineage(given.plugin.type, stage)


def record_lineage(
    plugin: Plugin, type_name: str, stage: StageConfigurer, recorded: Sequence[FieldOperation] = ()
) -> StageLineage:
    """Return the lineage of a stage with the operations and edges that its plugin records.

    Where the plugin records nothing, all is assumed, within the fields that it reads.

    :param type_name: the plugin type.
    :param recorded: what the plugin recorded in ``prepare_run``.
    :raises Exception: what the plugin raises, and for what it recorded with wrong types.
    """
    recorder = LineageRecorder(stage)
    plugin.record_lineage(recorder)
    recorder.record(*recorded)
    is_end = isinstance(plugin, BatchSource | BatchSink)
    if is_end or recorder.operations or has_override(type(plugin), "record_lineage"):
        edges = recorder.list_edges()
    else:
        edges = assume_edges(_list_read_fields(plugin, recorder), recorder.outputs)
        edges += _assume_lookups(plugin, recorder)
    if isinstance(plugin, BatchSink) and not edges:
        edges = _list_written(plugin, recorder)
    found = StageLineage(
        stage.name,
        type_name,
        recorder.operations,
        edges,
        recorder.inputs,
        recorder.outputs,
        recorder.datasets,
        derived=bool(recorder.operations) and not recorder.has_edges,
    )
    return convert(msgspec.to_builtins(found), StageLineage)


def assume_lineage(type_name: str, stage: StageConfigurer) -> StageLineage:
    """Return the lineage of a stage of which nothing is known."""
    recorder = LineageRecorder(stage)
    edges = assume_edges(recorder.inputs, recorder.outputs)
    return StageLineage(stage.name, type_name, [], edges, recorder.inputs, recorder.outputs)


def pass_fields(type_name: str, stage: StageConfigurer) -> StageLineage:
    """Return the lineage of a stage that changes no record, such as a condition."""
    recorder = LineageRecorder(stage)
    fields = recorder.input_fields
    edges = [FieldEdge(name, name, EdgeKind.IDENTITY) for name in fields]
    return StageLineage(stage.name, type_name, [], edges, recorder.inputs, fields)


def _list_written(sink: BatchSink, recorder: LineageRecorder) -> list[FieldEdge]:
    """Return the edges of a sink that records none: it writes the fields of its schema, if it has one."""
    declared = getattr(sink.config, "schema", None)
    names = recorder.input_fields
    written = declared.field_names if isinstance(declared, Schema) else names
    return [FieldEdge(name, name, EdgeKind.IDENTITY) for name in names if name in written]


def _assume_lookups(plugin: Plugin, recorder: LineageRecorder) -> list[FieldEdge]:
    """Return the edges to each output field, and to the records, from the tables that a plugin looks into."""
    list_tables = getattr(plugin, "lookup_tables", None)
    names = () if list_tables is None else list_tables()
    shapes = {name: recorder.find_table(name) for name in names}
    edges: list[FieldEdge] = []
    for table, shape in shapes.items():
        for output in recorder.outputs:
            edges += build_lookup_edges(output, table, shape, assumed=True)
        edges += [
            FieldEdge(name, None, EdgeKind.FILTER, dataset=table, assumed=True)
            for name in shape.schema.field_names
        ]
    return edges


def _list_read_fields(plugin: Plugin, recorder: LineageRecorder) -> dict[str, list[str]]:
    """Return the fields that a plugin reads of each input: its output depends on no others."""
    inputs, stage = recorder.inputs, recorder.stage
    if isinstance(plugin, BatchJoiner):
        return inputs | (plugin.input_fields_by_stage(stage) or {})
    list_fields = getattr(plugin, "input_fields", None)
    names = list_fields(stage) if list_fields is not None else None
    if names is None:
        return inputs
    return {each: [name for name in fields if name in names] for each, fields in inputs.items()}


_DAMAGE_ACTION: Final = (
    "Let the plugin end what it starts, and leave modules that it does not own as they are."
)


def explain_error(error: LocalcdapError, who: str, damage: str | None) -> LocalcdapError:
    """Return the error of a job. When code of localcdap fails after user code has changed it, the plugin is
    the cause.
    """
    if damage is None or type(error) is not HostError:
        return error
    return PluginError(
        f"{who} made the code of localcdap in its process fail: {damage}. ({error.message})",
        _DAMAGE_ACTION,
        traceback=error.traceback,
    )


def create_damage_warning(stage: str, plugin: str, damage: str) -> list[ValidationFailure]:
    """Return the warning that a plugin has changed its process."""
    warnings = FailureCollector(stage)
    warnings.add(
        f"Plugin '{plugin}' changed its process, which was replaced: {damage}.",
        _DAMAGE_ACTION,
    )
    return list(warnings)
