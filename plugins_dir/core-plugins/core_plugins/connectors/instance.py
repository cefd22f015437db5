"""The connectors File, Paste, Tables, Pipelines and Runs: what this machine and the instance have."""

from __future__ import annotations

import datetime
import tempfile
from typing import NamedTuple

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    BrowseRequest,
    Connector,
    ConnectorContext,
    ConnectorSpec,
    NotFoundError,
    PluginConfig,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SpecificationRequest,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.connector import PipelineOutline, StageOutline
from localcdap.api.errors import BadRequestError
from localcdap.plugin_lib.connectors.file_records import (
    RootFolder,
    SamplingConfig,
    build_source_properties,
    leaves_out_lines,
    make_reference_name,
    read_file,
)
from localcdap.plugin_lib.connectors.tables import describe_table, make_missing_error


@plugin(name="File", description="Browses and samples folders and files of this machine.")
class FileConnector(Connector):
    class Config(SamplingConfig):
        root: str = field(
            "The folder that the connection shows; nothing outside of it can be reached. A relative path is "
            "relative to the instance's folder.",
            default="/",
            form="{folder}",
            macro=True,
            addition="CDAP's connector shows all folders of a machine.",
        )

    config: Config

    def test(self, context: ConnectorContext) -> None:
        self._open(context).browse("/")

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        return self._open(context).browse(request.path or "/", request.search)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        file = self._open(context).find_file(request.path or "/")
        return read_file(str(file), self.config.add_defaults(request.properties))

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        path = str(self._open(context).find(request.path or "/"))
        how = self.config.add_defaults(request.properties)
        if "format" not in how and not path.endswith("/"):
            how |= read_file(path, how).properties
        if leaves_out_lines(how):
            return ConnectorSpec([])
        properties = build_source_properties(path, how)
        properties["referenceName"] = make_reference_name(path)
        return ConnectorSpec([RelatedPlugin("File", "batchsource", properties)])

    def _open(self, context: ConnectorContext) -> RootFolder:
        return RootFolder(context.resolve_path(self.config.root))


@plugin(name="Paste", description="Samples a text that was pasted, such as cells of a sheet.")
class PasteConnector(Connector):
    class Config(PluginConfig):
        text: str = field("The text: lines, delimited values, or JSON.")

    config: Config

    def test(self, context: ConnectorContext) -> None:
        """Accept every text."""

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        size = BrowseProperty(str(len(self.config.text.encode())), "SIZE_BYTES")
        return BrowseDetail(
            [BrowseEntity("text", "/text", "text", can_sample=True, properties={"Size": size})]
        )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file:
            file.write(self.config.text)
            file.flush()
            stream = read_file(file.name, request.properties)
            stream.records = list(stream.records)
            return stream


@plugin(name="Tables", description="Browses and samples the tables and datasets of the namespace.")
class TablesConnector(Connector):
    def test(self, context: ConnectorContext) -> None:
        context.list_tables()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        tables = context.list_tables()
        wanted = (request.path or "").strip("/")
        if wanted and wanted not in tables:
            raise make_missing_error(wanted, tables)
        return BrowseDetail(
            [
                describe_table(f"/{name}", rows)
                for name, rows in sorted(tables.items())
                if wanted in ("", name)
            ]
        )

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        return context.read_table((request.path or "").strip("/"), request)

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        name = (request.path or "").strip("/")
        return ConnectorSpec([RelatedPlugin("Table", "batchsource", {"name": name})])


class _Place(NamedTuple):
    """A stage of a pipeline, or a port of one."""

    stage: StageOutline
    port: str | None


@plugin(
    name="Pipelines",
    description="Browses the stages of the deployed pipelines of the namespace, and samples their records.",
)
class PipelinesConnector(Connector):
    class Config(PluginConfig):
        arguments: str | None = field(
            "Runtime arguments of the pipelines, each on a line: name: value",
            default=None,
            macro=True,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        for line in _list_lines(self.config.arguments):
            if ":" not in line:
                stage.failures.add(
                    f"The argument '{line}' has no value.", "Write it as 'name: value'."
                ).with_config_property("arguments")

    def test(self, context: ConnectorContext) -> None:
        context.list_pipelines()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        name, rest = _split(request.path)
        if not name:
            found = sorted(context.list_pipelines(), key=lambda each: each.name)
            return BrowseDetail(
                [BrowseEntity(p.name, f"/{p.name}", "pipeline", can_browse=True) for p in found]
            )
        return _browse_stages(context.describe_pipeline(name), name, rest)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        name, rest = _split(request.path)
        if not name:
            raise _make_no_stage_error("/")
        place = _require_place(context.describe_pipeline(name), rest)
        lines = [line.partition(":") for line in _list_lines(self.config.arguments)]
        arguments = {key.strip(): value.strip() for key, _, value in lines}
        return context.read_stage(
            name, place.stage.name, request.limit, port=place.port, arguments=arguments
        )


@plugin(
    name="Runs",
    description="Browses the stages of the newest runs of the namespace, and samples their records.",
)
class RunsConnector(Connector):
    def test(self, context: ConnectorContext) -> None:
        context.list_runs()

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        run, rest = _split(request.path)
        if not run:
            return BrowseDetail([_describe_run(each) for each in context.list_runs()])
        return _browse_stages(context.describe_pipeline(run, is_run=True), run, rest)

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        run, rest = _split(request.path)
        if not run:
            raise _make_no_stage_error("/")
        place = _require_place(context.describe_pipeline(run, is_run=True), rest)
        return context.read_stage(
            run, place.stage.name, request.limit, port=place.port, is_run=True
        )


def _split(path: str | None) -> tuple[str, str]:
    """Return the pipeline or run, and what follows it: a stage, whose name may have a slash."""
    first, _, rest = (path or "").strip("/").partition("/")
    return first, rest


def _list_lines(text: str | None) -> list[str]:
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


def _browse_stages(found: PipelineOutline, root: str, rest: str) -> BrowseDetail:
    if not rest:
        return BrowseDetail(
            [_describe_stage(each, f"/{root}/{each.name}") for each in found.stages]
        )
    path, place = f"/{root}/{rest}", _require_place(found, rest)
    if place.port is not None:
        return BrowseDetail([BrowseEntity(place.port, path, "port", can_sample=True)])
    if not place.stage.ports:
        return BrowseDetail([_describe_stage(place.stage, path)])
    ports = place.stage.ports
    return BrowseDetail([BrowseEntity(p, f"{path}/{p}", "port", can_sample=True) for p in ports])


def _describe_stage(stage: StageOutline, path: str) -> BrowseEntity:
    properties = {"Type": BrowseProperty(stage.type)}
    if stage.records is not None:
        properties["Records"] = BrowseProperty(str(stage.records), "NUMBER")
    has_ports = bool(stage.ports)
    return BrowseEntity(
        stage.name,
        path,
        "stage",
        can_sample=not has_ports,
        can_browse=has_ports,
        properties=properties,
    )


def _describe_run(run: PipelineOutline) -> BrowseEntity:
    properties = {"Status": BrowseProperty(run.status or "")}
    name = run.name
    if run.start is not None:
        properties["Started"] = BrowseProperty(str(run.start), "TIMESTAMP_MILLIS")
        started = datetime.datetime.fromtimestamp(run.start / 1000, datetime.UTC)
        name = f"{run.name} {started:%Y-%m-%d %H:%M:%S}"
    return BrowseEntity(name, f"/{run.run}", "run", can_browse=True, properties=properties)


def _require_place(found: PipelineOutline, rest: str) -> _Place:
    """Return the stage or port that a path names.

    :raises NotFoundError: when there is none.
    :raises BadRequestError: when it names the pipeline itself.
    """
    if not rest:
        raise _make_no_stage_error(found.run or found.name)
    for stage in found.stages:
        if rest == stage.name:
            return _Place(stage, None)
        for port in stage.ports:
            if rest == f"{stage.name}/{port}":
                return _Place(stage, port)
    known = ", ".join(each.name for each in found.stages) or "none"
    raise NotFoundError(f"There is no stage '{rest}' with records; available: {known}.")


def _make_no_stage_error(path: str) -> BadRequestError:
    return BadRequestError(f"'{path}' has no records of its own.", "Name a stage of a pipeline.")
