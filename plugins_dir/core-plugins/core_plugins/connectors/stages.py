"""The connectors Pipelines and Runs: the stages of deployed pipelines and of runs, and their records."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from localcdap.api import (
    BrowseDetail,
    BrowseEntity,
    BrowseProperty,
    BrowseRequest,
    Connector,
    ConnectorContext,
    NotFoundError,
    PluginConfig,
    RecordStream,
    SampleRequest,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.connector import PipelineOutline, StageOutline
from localcdap.api.errors import BadRequestError


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
