"""The home screen: pipelines to continue with, the last runs, and what a new user can begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from localcdap.home import Home
from localcdap.host import demo
from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run, RunRequest, describe_state
from localcdap.schedules.model import (
    EventKind,
    Schedule,
    ScheduleEvent,
    ScheduleStatus,
    ScheduleSummary,
)
from localcdap.text import format_duration, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.dialogs.path_dialog import is_file
from localcdap.tui.labels import RUN_MARKS, format_age
from localcdap.tui.lists import StudioOptionList, ValueOption, watch_topics
from localcdap.tui.routes import (
    DeployedTarget,
    DraftTarget,
    NavigationTarget,
    NewPipelineTarget,
    PipelineFileTarget,
    RunTarget,
    SchedulesTarget,
)
from localcdap.tui.screens.home.pipeline_import import (
    import_pipeline,
    open_pipeline_file,
    read_pipeline_file,
)
from localcdap.tui.screens.runs.timeline import RunTimeline

RUNS = 12
"""The most runs that are shown."""
_STEPS = 5
"""The most next steps that are shown."""
_LOST = (EventKind.FAILED, EventKind.MISSED, EventKind.TIMED_OUT)
"""What became of triggers that a user expected to start a run."""


@dataclass(frozen=True)
class RecentPipeline:
    """A pipeline to continue with.

    :param kind: deployed, draft or file, with its version.
    :param changed: the time of the last change, in milliseconds since 1970.
    :param target: opens the pipeline.
    """

    name: str
    kind: str
    changed: int
    target: NavigationTarget


@dataclass(frozen=True)
class Overview:
    """The contents of a namespace.

    :param plugins: the number of plugins that a pipeline can use.
    :param broken: the number of artifacts that could not be loaded.
    """

    pipelines: list[RecentPipeline]
    runs: list[Run]
    plugins: int
    broken: int
    namespaces: int
    schedules: list[ScheduleSummary]


@dataclass(frozen=True)
class NextStep:
    """What a user may want to do next.

    :param mark: a glyph and its style.
    :param what: such as ``sales failed``.
    :param detail: why, in one line.
    :param target: where it is done.
    """

    mark: tuple[str, str]
    what: str
    detail: str
    target: NavigationTarget


def list_next_steps(overview: Overview) -> list[NextStep]:
    """Return what to do next: watch what runs, look at what failed or was not started, run what was changed
    since.

    The newest run of each pipeline decides; after a completed one there is something to look at. A pipeline
    with an enabled schedule need not be run by hand.
    """
    newest: dict[str, Run] = {}
    for run in overview.runs:
        newest.setdefault(run.pipeline, run)
    steps = [_create_run_step(run) for run in newest.values()]
    enabled = [e for e in overview.schedules if e.schedule.status is ScheduleStatus.SCHEDULED]
    steps += [
        _create_schedule_step(each.schedule, each.last_event)
        for each in enabled
        if each.last_event is not None and each.last_event.kind in _LOST
    ]
    waiting = [DeployedTarget(each.schedule.application) for each in enabled]
    for each in overview.pipelines:
        last = newest.get(each.name)
        if last is not None and last.status.is_end and each.changed > last.starting:
            age = format_age(last.starting)
            detail = f"{each.kind}; its last run was {age}"
            steps.append(
                NextStep(("~", "$warning"), f"{each.name} has changed", detail, each.target)
            )
        elif (
            last is None
            and len(overview.runs) < RUNS
            and each.kind != "file"
            and each.target not in waiting
        ):
            steps.append(
                NextStep(("◌", "$primary"), f"{each.name} has not run", each.kind, each.target)
            )
    order = ("▶", "✗", "!", "~", "◌", "■", "✓")
    return sorted(steps, key=lambda step: order.index(step.mark[0]))[:_STEPS]


def _create_schedule_step(schedule: Schedule, event: ScheduleEvent) -> NextStep:
    kind = event.kind.lower().replace("_", " ")
    what = f"{schedule.application} {schedule.name} {kind} {format_age(event.time)}"
    target = SchedulesTarget(schedule.application)
    detail = next(iter(event.message.splitlines()), "")
    return NextStep(("!", "$warning"), what, detail, target)


def _create_run_step(run: Run) -> NextStep:
    error, target = run.error, RunTarget(run.run)
    detail = format_age(run.starting)
    if error is not None:
        detail = next(iter(error.message.splitlines()), "")
        target = RunTarget(run.run, error.stage)
    elif run.tables or run.written:
        detail = "wrote " + ", ".join([*run.tables, *(Path(each).name for each in run.written)])
    return NextStep(RUN_MARKS[run.status], f"{run.pipeline} {describe_state(run)}", detail, target)


def read_overview(cdap: Cdap, namespace: str, files: Sequence[str]) -> Overview:
    """Read the overview through the services.

    :param files: the recent pipeline files, newest first.
    """
    entries = [
        RecentPipeline(
            each.name,
            f"deployed, version {each.number}",
            each.change.creation_time_millis,
            DeployedTarget(each.name),
        )
        for each in cdap.applications.list_applications(namespace)
    ]
    entries += [
        RecentPipeline(
            each.name,
            f"draft, revision {each.revision}",
            each.updated_time_millis,
            DraftTarget(each.id),
        )
        for each in cdap.drafts.list_drafts(namespace)
    ]
    entries += [_describe_file(Path(each)) for each in files if is_file(Path(each))]
    entries.sort(key=lambda entry: -entry.changed)
    return Overview(
        entries,
        cdap.runs.list_runs(namespace, limit=RUNS),
        len(cdap.artifacts.list_plugins(namespace)),
        len(cdap.artifacts.list_artifacts(namespace, errors=True)),
        len(cdap.namespaces.list_namespaces()),
        cdap.schedules.list_schedules(namespace),
    )


def _describe_file(path: Path) -> RecentPipeline:
    return RecentPipeline(
        path.stem if path.stem != "pipeline" else f"{path.parent.name}/{path.name}",
        "file",
        int(path.stat().st_mtime * 1000),
        PipelineFileTarget(path),
    )


_BEGIN = (
    ("n", "New pipeline", "new_pipeline"),
    ("o", "Open a pipeline file", "open_file"),
    ("i", "Import and deploy a file", "import_file"),
    ("d", "Run the demo", "run_demo"),
)
_DEMO_HINT = (
    "New here? The demo sets up a sample pipeline with its data and runs it on local Spark."
)
_HIGH: Final = 30
"""The height of a screen, in cells, that can show all next steps."""
_FEW_STEPS: Final = 3
_NAME: Final = 16
"""The cells that are reserved for a name before the text next to it gets any."""


class _FittedList(StudioOptionList):
    """A list whose lines are as wide as it is: its screen fills it again when its width changes."""

    class Resized(Message):
        """The list has another size."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class HomeScreen(AreaScreen):
    """Shows pipelines and runs of the namespace, and starts new work."""

    AREA = "home"
    AUTO_FOCUS = "#begin"
    CSS_PATH = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new_pipeline", "new pipeline", id="home.new"),
        Binding("o", "open_file", "open file", id="home.open"),
        Binding("i", "import_file", "import", id="home.import"),
        Binding("d", "run_demo", "demo", id="home.demo"),
        Binding("c", "continue", "continue", id="home.continue"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._pipelines: list[RecentPipeline] = []
        self._runs: list[Run] = []
        self._steps: list[NextStep] = []

    def compose_body(self) -> ComposeResult:
        with Vertical(id="home"):
            yield Static(id="home-title")
            with Horizontal(id="home-columns"):
                with Vertical(classes="home-column"):
                    yield Static("Begin", classes="heading")
                    yield StudioOptionList(
                        *map(_build_begin_option, _BEGIN), id="begin", classes="plain"
                    )
                    yield Static(_DEMO_HINT, id="home-first")
                    yield Static("Continue with", classes="heading")
                    yield _FittedList(id="pipelines", classes="plain")
                with Vertical(classes="home-column"):
                    yield Static("Next", classes="heading", id="next-heading")
                    yield _FittedList(id="next", classes="plain")
                    yield Static("Last runs", classes="heading")
                    yield _FittedList(id="runs", classes="plain")
            yield RunTimeline(id="home-timeline")

    def on_mount(self) -> None:
        self._show_title(None)
        self.follow(watch_topics("runs", "entities", "artifacts"), lambda _: self.reload())
        self.set_interval(30, self._show_runs)  # keeps "5 min ago" up to date

    def on_screen_resume(self) -> None:
        if self.studio.connected:
            self.reload()

    def show_namespace(self, namespace: str) -> None:
        files = list(self.studio.user_state.files)
        self.call(lambda cdap: read_overview(cdap, namespace, files), self._show, group="overview")

    @work(group="begin", exclusive=True)
    async def action_new_pipeline(self) -> None:
        name = await self.studio.ask("Name of the new pipeline", verb="Create")
        if name is not None:
            self.studio.navigate(NewPipelineTarget(name.strip() or "pipeline"))

    @work(group="begin", exclusive=True)
    async def action_open_file(self) -> None:
        path = await self.studio.pick_file("Open a pipeline file")
        if path is not None:
            open_pipeline_file(self.studio, path)

    @work(group="begin", exclusive=True)
    async def action_import_file(self) -> None:
        path = await self.studio.pick_file("Import a pipeline file and deploy it")
        if path is not None:
            import_pipeline(self, path, lambda name: self.studio.navigate(DeployedTarget(name)))

    def action_continue(self) -> None:
        """Go to the first of the next steps."""
        if self._steps:
            self.studio.navigate(self._steps[0].target)

    def explain_disabled(self, action: str) -> str | None:
        """Return why an action cannot be done now."""
        is_empty = action == "continue" and not self._steps
        return "the list of next steps is empty" if is_empty else None

    def action_run_demo(self) -> None:
        home, namespace = self.studio.connection.home, self.studio.namespace
        self.studio.show_notice(
            "Starting the demo …", "The first start of Spark takes some seconds."
        )
        self.call(
            lambda cdap: _start_demo(cdap, home, namespace), self._show_demo_run, group="demo"
        )

    @on(OptionList.OptionSelected, "#begin")
    async def _run_begin_action(self, event: OptionList.OptionSelected) -> None:
        await self.run_action(f"screen.{event.option_id}")

    @on(OptionList.OptionSelected, "#pipelines, #next, #runs")
    def _go_to(self, event: OptionList.OptionSelected) -> None:
        if isinstance(event.option, ValueOption):
            self.studio.navigate(event.option.value)

    def _show_demo_run(self, started: tuple[Path, Run]) -> None:
        file, run = started
        self.studio.user_state.remember_file(file)
        self.studio.save_user_state()
        self.studio.navigate(RunTarget(run.run))

    def _show(self, found: Overview) -> None:
        self._pipelines, self._runs = found.pipelines, found.runs
        self._steps = list_next_steps(found)
        for part in ("#next", "#next-heading"):
            self.query_one(part).display = bool(self._steps)
        self.query_one(RunTimeline).show_runs(self._runs)
        self._show_title(found)
        self._highlight_demo(is_empty=not found.pipelines and not found.runs)
        self.refresh_bindings()
        self._fill_lists()

    @on(_FittedList.Resized)
    def _fill_lists(self) -> None:
        pipelines, steps = (
            self.query_one("#pipelines", OptionList),
            self.query_one("#next", OptionList),
        )
        width = pipelines.size.width
        _fill(
            pipelines,
            [ValueOption(_format_pipeline(each, width), each.target) for each in self._pipelines],
        )
        width = steps.size.width
        shown = self._steps[: None if self.size.height >= _HIGH else _FEW_STEPS]
        _fill(steps, [ValueOption(_format_step(each, width), each.target) for each in shown])
        self._show_runs()

    def _highlight_demo(self, *, is_empty: bool) -> None:
        begin = self.query_one("#begin", OptionList)
        if is_empty and not self.has_class("-empty") and not begin.highlighted:
            begin.highlighted = begin.get_option_index("run_demo")
        self.set_class(is_empty, "-empty")

    def _show_runs(self) -> None:
        listed = self.query_one("#runs", OptionList)
        width = listed.size.width
        _fill(
            listed, [ValueOption(_format_run(run, width), RunTarget(run.run)) for run in self._runs]
        )

    def _show_title(self, found: Overview | None) -> None:
        home = self.studio.connection.home.path
        try:
            where = f"~/{home.relative_to(Path.home())}"
        except ValueError:
            where = str(home)
        parts = []
        if found is not None:
            parts.append(plural(found.plugins, "plugin"))
            if found.broken:
                parts.append(f"✗ {plural(found.broken, 'broken artifact')}")
            parts.append(plural(found.namespaces, "namespace"))
        # The folder comes last: it may be wider than the screen.
        facts = " · ".join([*parts, where])
        title = Content.assemble(("localcdap", "$accent bold"), "  ", (facts, "$foreground 60%"))
        self.query_one("#home-title", Static).update(title)


def _build_begin_option(begin: tuple[str, str, str]) -> Option:
    key, label, action = begin
    return Option(Content.assemble((f"{key}  ", "$accent bold"), label), id=action)


def _format_pipeline(pipeline: RecentPipeline, width: int) -> Content:
    parts = [pipeline.kind, format_age(pipeline.changed)]
    return _spread(Content(pipeline.name), [parts, parts[:1]], width)


def _format_run(run: Run, width: int) -> Content:
    mark, style = RUN_MARKS[run.status]
    words = (
        describe_state(run),
        format_duration(run.starting, run.end),
        format_age(run.starting),
    )
    left = Content.assemble((f"{mark} ", style), run.pipeline)
    return _spread(left, [words, words[1:], words[2:]], width)


def _format_step(step: NextStep, width: int) -> Content:
    first = Content.assemble((f"{step.mark[0]} ", step.mark[1]), step.what)
    first = first.truncate(max(1, width - 2), ellipsis=True)
    detail = Content.styled(f"  {step.detail}", "$foreground 70%")
    return Content("\n").join([first, detail.truncate(max(1, width - 2), ellipsis=True)])


def _spread(left: Content, rights: Sequence[Sequence[str]], width: int) -> Content:
    """Return a line with a name at its left end and facts about it at its right end.

    :param rights: variants of the facts, longest first. The first variant that leaves enough cells for the
        name is shown.
    """
    available = width - 2
    for words in rights:
        right = Content.styled(" · ".join(filter(None, words)), "$foreground 60%")
        if min(left.cell_length, _NAME) + 1 + right.cell_length <= available:
            break
    left = left.truncate(max(1, available - right.cell_length - 1), ellipsis=True)
    space = max(1, available - left.cell_length - right.cell_length)
    return Content.assemble(left, " " * space, right)


def _fill(listed: OptionList, items: Sequence[ValueOption[NavigationTarget]]) -> None:
    """Replace the options of a list. While the list has the focus, the highlight stays on its option."""
    before, row = listed.highlighted_option, listed.highlighted or 0
    listed.clear_options()
    listed.add_options(
        items or [Option(Content.styled("Nothing yet.", "$foreground 60%"), disabled=True)]
    )
    targets = [item.value for item in items]
    if listed.has_focus and isinstance(before, ValueOption) and before.value in targets:
        row = targets.index(before.value)
    if items:
        listed.highlighted = min(row, len(items) - 1)


def _start_demo(cdap: Cdap, home: Home, namespace: str) -> tuple[Path, Run]:
    """Set up the sample pipeline and start a run of it; return its file and the run."""
    file = demo.install_demo(home)
    text = read_pipeline_file(file)
    return file, cdap.runs.start(RunRequest(text, namespace, demo.NAME, demo.get_arguments(file)))
