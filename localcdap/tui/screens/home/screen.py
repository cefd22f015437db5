"""The home screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.host.cdap import Cdap
from localcdap.pipeline.library.application_model import Deployment
from localcdap.runs.model import Run
from localcdap.text import format_duration, plural
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import RUN_MARKS, format_age
from localcdap.tui.lists.options import StudioOptionList, ValueOption
from localcdap.tui.routes import (
    DeployedTarget,
    NavigationTarget,
    NewPipelineTarget,
    PipelineFileTarget,
    RunTarget,
)
from localcdap.tui.screens.home import pipeline_import as beginnings
from localcdap.tui.screens.home.overview import Overview, RecentPipeline, read_overview
from localcdap.tui.screens.home.pipeline_import import FailedImportDialog

_BEGIN = (
    ("n", "New pipeline", "new_pipeline"),
    ("o", "Open a pipeline file", "open_file"),
    ("i", "Import and deploy a file", "import_file"),
    ("d", "Run the demo", "run_demo"),
)
_FIRST = "New here? The demo sets up a sample pipeline with its data and runs it on local Spark."
_TOPICS = ["runs", "entities", "artifacts"]
_POLL_S = 2.0
_NAME: Final = 16
"""Cells that a name gets before what stands beside it gets any."""


class HomeScreen(AreaScreen):
    """What is in the namespace, what ran last, and what can be begun."""

    AREA = "home"
    AUTO_FOCUS = "#begin"
    CSS_PATH = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new_pipeline", "new", id="home.new"),
        Binding("o", "open_file", "open file", id="home.open"),
        Binding("i", "import_file", "import", id="home.import"),
        Binding("d", "run_demo", "demo", id="home.demo"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[RecentPipeline] = []
        self._runs: list[Run] = []

    def compose_body(self) -> ComposeResult:
        with Vertical(id="home"):
            yield Static(id="home-title")
            with Horizontal(id="home-columns"):
                with Vertical(classes="home-column"):
                    yield Static("Begin", classes="heading")
                    yield StudioOptionList(*map(_beginning, _BEGIN), id="begin", classes="plain")
                    yield Static(_FIRST, id="home-first")
                    yield Static("Go on with", classes="heading")
                    yield StudioOptionList(id="pipelines", classes="plain")
                with Vertical(classes="home-column"):
                    yield Static("Last runs", classes="heading")
                    yield StudioOptionList(id="runs", classes="plain")

    def on_mount(self) -> None:
        self._title(None)
        self.follow(_events, lambda _: self.reload())
        self.set_interval(30, self._show_runs)  # so that "5 min ago" stays true

    def on_screen_resume(self) -> None:
        if self.studio.connected:
            self.reload()

    def show_namespace(self, namespace: str) -> None:
        files = list(self.studio.user_state.files)
        self.call(lambda cdap: read_overview(cdap, namespace, files), self._show, group="overview")

    @work(group="begin", exclusive=True)
    async def action_new_pipeline(self) -> None:
        name = await self.studio.ask("What is the pipeline called?", verb="Create")
        if name is not None:
            self.studio.navigate(NewPipelineTarget(name.strip() or "pipeline"))

    @work(group="begin", exclusive=True)
    async def action_open_file(self) -> None:
        path = await self.studio.pick_file("Open a pipeline file")
        if path is not None:
            self._open(path)

    @work(group="begin", exclusive=True)
    async def action_import_file(self) -> None:
        path = await self.studio.pick_file("Import a pipeline file and deploy it")
        if path is not None:
            self._import(path)

    def action_run_demo(self) -> None:
        home, namespace = self.studio.connection.home, self.studio.namespace
        self.studio.show_notice(
            "Starting the demo …", "Spark takes some seconds when it starts for the first time."
        )
        self.call(
            lambda cdap: beginnings.run_demo(cdap, home, namespace), self._demo_runs, group="demo"
        )

    @on(OptionList.OptionSelected, "#begin")
    async def _begin(self, event: OptionList.OptionSelected) -> None:
        await self.run_action(f"screen.{event.option_id}")

    @on(OptionList.OptionSelected, "#pipelines")
    def _go_on(self, event: OptionList.OptionSelected) -> None:
        self._go_to(event)

    @on(OptionList.OptionSelected, "#runs")
    def _show_run(self, event: OptionList.OptionSelected) -> None:
        self._go_to(event)

    def _go_to(self, event: OptionList.OptionSelected) -> None:
        if isinstance(event.option, ValueOption):
            self.studio.navigate(event.option.value)

    def _open(self, path: Path, *, takes_fixes: bool = False) -> None:
        self.studio.user_state.remember_file(path)
        self.studio.save_user_state()
        self.studio.navigate(PipelineFileTarget(path.absolute(), takes_fixes=takes_fixes))

    def _import(self, path: Path, *, fix: bool = False) -> None:
        namespace = self.studio.namespace
        self.call(
            lambda cdap: beginnings.deploy(cdap, path, namespace, fix=fix),
            lambda answer: self._imported(path, answer, fix),
        )

    def _imported(self, path: Path, answer: Deployment, fix: bool) -> None:
        if answer.application is not None:
            changed = "\n".join(str(each) for each in (*answer.repairs, *answer.upgrades))
            self.studio.show_notice(
                f"{answer.name} is deployed, version {answer.application.number}.", changed
            )
            self.studio.navigate(DeployedTarget(answer.name))
            return
        self._offer(path, answer, fix)

    @work(group="begin", exclusive=True)
    async def _offer(self, path: Path, answer: Deployment, is_fixed: bool) -> None:
        match await self.app.push_screen_wait(FailedImportDialog(answer, is_fixed=is_fixed)):
            case "fix":
                self._import(path, fix=True)
            case "open":
                self._open(path, takes_fixes=is_fixed)

    def _demo_runs(self, started: tuple[Path, Run]) -> None:
        file, run = started
        self.studio.user_state.remember_file(file)
        self.studio.save_user_state()
        self.studio.navigate(RunTarget(run.run))

    def _show(self, found: Overview) -> None:
        self._entries, self._runs = found.pipelines, found.runs
        listed = self.query_one("#pipelines", OptionList)
        width = listed.size.width
        _fill(listed, [ValueOption(_entry_line(each, width), each.place) for each in self._entries])
        self._show_runs()
        self._title(found)
        self._offer_demo(is_empty=not found.pipelines and not found.runs)

    def _offer_demo(self, *, is_empty: bool) -> None:
        begin = self.query_one("#begin", OptionList)
        if is_empty and not self.has_class("-empty") and not begin.highlighted:
            begin.highlighted = begin.get_option_index("run_demo")
        self.set_class(is_empty, "-empty")

    def _show_runs(self) -> None:
        listed = self.query_one("#runs", OptionList)
        width = listed.size.width
        _fill(
            listed, [ValueOption(_run_line(run, width), RunTarget(run.run)) for run in self._runs]
        )

    def _title(self, found: Overview | None) -> None:
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
            if not found.is_host:
                parts.append("served by another process")
        # The place comes last: it may be longer than the screen is wide.
        facts = " · ".join([*parts, where])
        title = Content.assemble(("localcdap", "$accent bold"), "  ", (facts, "$foreground 60%"))
        self.query_one("#home-title", Static).update(title)


def _beginning(begin: tuple[str, str, str]) -> Option:
    key, label, action = begin
    return Option(Content.assemble((f"{key}  ", "$accent bold"), label), id=action)


def _entry_line(entry: RecentPipeline, width: int) -> Content:
    changed = format_age(entry.changed) if entry.changed is not None else ""
    return _spread(Content(entry.name), [[entry.what, changed], [entry.what]], width)


def _run_line(run: Run, width: int) -> Content:
    mark, style = RUN_MARKS[run.status]
    words = (
        run.status.value.lower(),
        format_duration(run.starting, run.end),
        format_age(run.starting),
    )
    left = Content.assemble((f"{mark} ", style), run.pipeline)
    return _spread(left, [words, words[1:], words[2:]], width)


def _spread(left: Content, rights: Sequence[Sequence[str]], width: int) -> Content:
    """A name at the left end of a line, something about it at the right end.

    :param rights: what can stand there, from most to least: the first beside which the name has room.
    """
    room = width - 2
    for words in rights:
        right = Content.styled(" · ".join(filter(None, words)), "$foreground 60%")
        if min(left.cell_length, _NAME) + 1 + right.cell_length <= room:
            break
    left = left.truncate(max(1, room - right.cell_length - 1), ellipsis=True)
    space = max(1, room - left.cell_length - right.cell_length)
    return Content.assemble(left, " " * space, right)


def _fill(listed: OptionList, items: Sequence[ValueOption[NavigationTarget]]) -> None:
    """New lines in a list; who moves in it stays on their line, wherever that is now."""
    before, row = listed.highlighted_option, listed.highlighted or 0
    listed.clear_options()
    listed.add_options(
        items or [Option(Content.styled("Nothing yet.", "$foreground 60%"), disabled=True)]
    )
    places = [item.value for item in items]
    if listed.has_focus and isinstance(before, ValueOption) and before.value in places:
        row = places.index(before.value)
    if items:
        listed.highlighted = min(row, len(items) - 1)


def _events(cdap: Cdap) -> Iterator[int | None]:
    """The id of the last event, each time that something of what is shown may have changed."""
    seen = cdap.messaging.get_newest_id()
    while True:
        messages = cdap.messaging.fetch(SYSTEM_NAMESPACE, _TOPICS, seen, 100, _POLL_S)
        seen = messages[-1].id if messages else seen
        yield seen if messages else None
