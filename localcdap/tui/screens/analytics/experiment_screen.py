"""What the analytics area shows: experiments, what the highlighted one has, and the details of that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.app.jobs import JobDetail, JobLogLine
from localcdap.decoders import convert
from localcdap.host.cdap import Cdap
from localcdap.text import format_time, sanitize_for_terminal
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import MUTED, join_parts, sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry
from localcdap.tui.screens.analytics.calls import (
    BUSY,
    Algorithm,
    AnalyticsCalls,
    Contents,
    Experiment,
    FoundParameters,
    Look,
    Model,
    Report,
    Split,
    Splitter,
)
from localcdap.tui.screens.analytics.leaderboard import (
    MODELS,
    SEARCHES,
    SPLITS,
    build_entries,
    draw_experiment,
    draw_search,
    draw_split,
)
from localcdap.tui.screens.analytics.model_text import (
    ModelView,
    draw_comparison,
    draw_look,
    draw_model,
)

_POLL_S: Final = 1.0
_MIDDLE: Final = 50
_NO_EXPERIMENT: Final = "No experiments: n makes one."
_FIRST_STEPS: Final = (
    "An experiment says what is to be predicted, from which data. n makes one from a file or a table, M in "
    "the data area (5) or the prep area (;) from what is open there."
)
_NO_ENTRY: Final = "Nothing yet. s makes a split."
_LOG_LINES: Final = 500
Jobs = Mapping[str, JobDetail]


class ExperimentScreen(AreaScreen):
    """Shows experiments and what they have; keys are those of the subclasses."""

    AREA = "analytics"
    CSS_PATH = "analytics.tcss"
    AUTO_FOCUS = "#analytics-experiments OptionList"

    INSIDE: ClassVar[str] = "#analytics-entries"

    def __init__(self) -> None:
        super().__init__()
        self.experiments: dict[str, Experiment] = {}
        self.algorithms: dict[str, Algorithm] = {}
        self.splitters: list[Splitter] = []
        self.contents: Contents | None = None
        """What the highlighted experiment has; None before it was read."""
        self.jobs: dict[str, JobDetail] = {}
        self.detail: Split | ModelView | JobDetail | None = None
        """What is shown of the highlighted entry; None for the experiment itself."""
        self.look: tuple[Look, Algorithm, str] | None = None
        """A first look that is shown instead, with its data."""
        self.compared: tuple[ModelView, ModelView] | None = None
        """Two models that are shown instead."""
        self.log_lines: list[JobLogLine] | None = None
        """The log that is shown instead."""
        self.step = _MIDDLE
        """The hundredth of the score that the slider is at."""
        self.metrics: dict[bool, str] = {True: "f1", False: "rmse"}
        """What models are ordered by, for classes and for numbers."""
        self._wanted: str | None = None
        self._namespace = ""

    def compose_body(self) -> ComposeResult:
        yield Static(id="analytics-title")
        with Horizontal(id="analytics-body"):
            with Vertical(id="analytics-left"):
                yield FilteredList(id="analytics-experiments", empty=_NO_EXPERIMENT)
                yield FilteredList(id="analytics-entries", empty=_NO_ENTRY, can_filter=False)
            with VerticalScroll(id="analytics-detail"):
                yield Static(id="analytics-text")

    def on_mount(self) -> None:
        self.follow(self._watch_jobs, self._take_jobs)

    def on_screen_resume(self) -> None:
        self.reload()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.show_detail)

    def show_namespace(self, namespace: str) -> None:
        if namespace != self._namespace:
            self._namespace, self.contents, self.jobs = namespace, None, {}
            self._leave_other()

        def read(cdap: Cdap) -> tuple[list[Algorithm], list[Splitter], list[Experiment]]:
            calls = AnalyticsCalls(cdap, namespace)
            return calls.list_algorithms(), calls.list_splitters(), calls.list_experiments()

        self.call(read, on_result=self._take_experiments, group="experiments")

    # -- experiments ----------------------------------------------------------------------------

    def _take_experiments(
        self, found: tuple[list[Algorithm], list[Splitter], list[Experiment]]
    ) -> None:
        algorithms, self.splitters, experiments = found
        self.algorithms = {each.id: each for each in algorithms}
        self.experiments = {each.name: each for each in experiments}
        listing = self.query_one("#analytics-experiments", FilteredList)
        listing.set_entries(
            [
                ListEntry(
                    each.name,
                    sanitize_name(each.name),
                    hint=sanitize_name(each.outcome),
                    words=each.srcpath,
                )
                for each in experiments
            ]
        )
        if not experiments:
            self.contents, self.detail = None, None
            self.query_one(self.INSIDE, FilteredList).set_entries([], empty="")
            self.show_detail()
        self.read_contents()

    def show_experiment(self, name: str, entry: str | None = None) -> None:
        """Highlight an experiment as soon as it is listed, and an entry of it."""
        self._wanted = entry
        self.query_one("#analytics-experiments", FilteredList).show(name)
        self.reload()

    @property
    def experiment(self) -> Experiment | None:
        """The highlighted experiment."""
        key = self.query_one("#analytics-experiments", FilteredList).key
        return self.experiments.get(key or "")

    def require_experiment(self) -> Experiment:
        """Return the highlighted experiment, for a key that works only with one."""
        assert self.experiment is not None
        return self.experiment

    @property
    def metric(self) -> str:
        """What the models of the highlighted experiment are ordered by."""
        found = self.experiment
        return self.metrics[found is None or found.is_categorical]

    @on(FilteredList.Highlighted, "#analytics-experiments")
    def _follow_experiment(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._leave_other()
        if self.contents is None or self.contents.experiment.name != event.key:
            self.contents, self.detail = None, None
            self.read_contents()

    @on(FilteredList.Chosen, "#analytics-experiments")
    def _enter_experiment(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.query_one(self.INSIDE, FilteredList).focus_list()

    @on(FilteredList.Chosen, "#analytics-entries")
    def _enter_detail(self, event: FilteredList.Chosen) -> None:
        event.stop()
        self.query_one("#analytics-detail").focus()

    # -- what an experiment has -----------------------------------------------------------------

    def read_contents(self) -> None:
        """Read what the highlighted experiment has."""
        experiment, namespace = self.experiment, self.studio.namespace
        if experiment is None:
            return
        name = experiment.name
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).read_contents(name),
            on_result=self._take_contents,
            on_error=self.report_unless_deleted,
            group="contents",
        )

    def _take_contents(self, contents: Contents) -> None:
        self.contents = contents
        for each in contents.searches:
            self.jobs.setdefault(each.id, each)
        listing = self.query_one(self.INSIDE, FilteredList)
        if self._wanted is not None:
            listing.show(self._wanted)
            self._wanted = None
        self._fill_entries()
        self._read_detail()

    def _fill_entries(self) -> None:
        if self.contents is not None:
            entries = build_entries(self.contents, self.metric, self.jobs, self.algorithms)
            self.query_one(self.INSIDE, FilteredList).set_entries(entries, empty=_NO_ENTRY)

    @property
    def entry(self) -> tuple[str, str] | None:
        """Kind and id of the highlighted entry."""
        key = self.query_one(self.INSIDE, FilteredList).key
        if key is None or self.contents is None:
            return None
        kind, _, id = key.partition("/")
        return kind, id

    @property
    def model(self) -> ModelView | None:
        """The highlighted model, when its details are known."""
        found, entry = self.detail, self.entry
        is_shown = isinstance(found, ModelView) and entry == (MODELS, found.model.id)
        return found if is_shown and isinstance(found, ModelView) else None

    @on(FilteredList.Highlighted, "#analytics-entries")
    def _follow_entry(self, event: FilteredList.Highlighted) -> None:
        event.stop()
        self._leave_other()
        self.step = _MIDDLE
        self._read_detail()

    def _leave_other(self) -> None:
        """Show the details again, instead of a log, a comparison or a first look."""
        self.look = self.compared = self.log_lines = None

    # -- details --------------------------------------------------------------------------------

    def _read_detail(self) -> None:
        entry, experiment = self.entry, self.experiment
        if entry is None or experiment is None:
            self._take_detail(None)
            return
        kind, id = entry
        if kind == SEARCHES:
            self._take_detail(self.jobs.get(id))
            return
        name, namespace = experiment.name, self.studio.namespace

        def read(cdap: Cdap) -> Split | tuple[Model, Report]:
            calls = AnalyticsCalls(cdap, namespace)
            return calls.read_split(name, id) if kind == SPLITS else calls.read_model(name, id)

        self.call(
            read,
            on_result=self._take_read,
            on_error=self.report_unless_deleted,
            group="detail",
        )

    def _take_read(self, found: Split | tuple[Model, Report]) -> None:
        self._take_detail(self.make_view(*found) if isinstance(found, tuple) else found)

    def make_view(self, model: Model, report: Report) -> ModelView:
        """Return what is shown of a model."""
        splits = self.contents.splits if self.contents is not None else []
        split = next((each for each in splits if each.id == model.split), None)
        return ModelView(
            model,
            report,
            self.jobs.get(model.job or ""),
            self.algorithms.get(model.algorithm or ""),
            split.rows.get("test") if split is not None else None,
        )

    def _take_detail(self, detail: Split | ModelView | JobDetail | None) -> None:
        self.detail = detail
        self.show_detail()
        self.refresh_bindings()

    def show_detail(self) -> None:
        """Draw the title and the details at the width that there is."""
        if not self.is_mounted:
            return
        self.query_one("#analytics-title", Static).update(self._draw_title())
        width = max(40, self.query_one("#analytics-detail").size.width - 3)
        self.query_one("#analytics-text", Static).update(self._draw_detail(width))

    def _draw_title(self) -> Content:
        experiment = self.experiment
        if experiment is None:
            return Content.assemble(("Analytics", "bold"), ("  no experiment", MUTED))
        shown = [
            sanitize_name(each)
            for each in (experiment.name, experiment.outcome, experiment.srcpath)
        ]
        return Content.assemble(
            (shown[0], "bold"), (f"  predicts {shown[1]} from {shown[2]}", MUTED)
        )

    def _draw_detail(self, width: int) -> Content:
        if self.log_lines is not None:
            return self._draw_log(self.log_lines)
        if self.look is not None:
            look, algorithm, source = self.look
            return draw_look(look, algorithm, source, width, self.step)
        if self.compared is not None:
            return draw_comparison(*self.compared)
        match self.detail:
            case ModelView():
                view = self.make_view(self.detail.model, self.detail.report)
                return draw_model(view, width, self.step)
            case Split():
                outcome = self.experiment.outcome if self.experiment is not None else ""
                job = self.jobs.get(self.detail.job or "")
                return draw_split(self.detail, outcome, job, width)
            case JobDetail():
                job = self.jobs.get(self.detail.id, self.detail)
                return draw_search(job, read_result(job))
            case _:
                return self._draw_experiment()

    def _draw_experiment(self) -> Content:
        if self.contents is None:
            is_empty = self.query_one("#analytics-experiments", FilteredList).key is None
            return Content(_FIRST_STEPS if is_empty else "")
        found = self.contents
        counts = len(found.splits), len(found.models), len(found.searches)
        return draw_experiment(found.experiment, counts)

    def _draw_log(self, lines: list[JobLogLine]) -> Content:
        shown = [
            Content.assemble(
                (f"{format_time(each.time)} ", MUTED),
                (f"{each.level:7} ", "$text-error" if each.level == "ERROR" else MUTED),
                sanitize_for_terminal(each.text),
            )
            for each in lines[-_LOG_LINES:]
        ]
        head = Content.styled("log; L shows the details again", "$foreground 60% italic")
        return join_parts(head, Content("\n").join(shown) if shown else "No lines yet.")

    # -- jobs -----------------------------------------------------------------------------------

    def _watch_jobs(self, cdap: Cdap) -> Iterator[list[JobDetail] | None]:
        """Yield the jobs of the namespace when they have changed, or an entry waits for the end of one."""
        last: list[JobDetail] | None = None
        while True:
            namespace = self._namespace
            found = AnalyticsCalls(cdap, namespace).list_jobs() if namespace else []
            is_new = found != last or self._waits_for_end()
            yield found if is_new else None
            last = found
            time.sleep(_POLL_S)

    def _waits_for_end(self) -> bool:
        """Return whether something is said to be busy whose job has ended: that is noted moments later."""
        contents = self.contents
        if contents is None:
            return False
        entries: list[Model | Split] = [*contents.models, *contents.splits]
        busy = [each.job for each in entries if each.status in BUSY]
        jobs = self.jobs
        return any(id in jobs and jobs[id].has_ended for id in busy if id is not None)

    def _take_jobs(self, found: list[JobDetail]) -> None:
        before, self.jobs = self.jobs, {each.id: each for each in found}
        ended = {id for id, each in self.jobs.items() if each.has_ended}
        known = {id for id, each in before.items() if each.has_ended}
        if ended != known or self.jobs.keys() != before.keys() or self._waits_for_end():
            self.read_contents()
        self._fill_entries()
        if self.log_lines is not None:
            self.read_log()
        self.show_detail()
        self.refresh_bindings()

    @property
    def job(self) -> JobDetail | None:
        """The job of the highlighted entry; None when it has none that is kept."""
        match self.detail:
            case JobDetail():
                return self.jobs.get(self.detail.id, self.detail)
            case ModelView():
                return self.jobs.get(self.detail.model.job or "")
            case Split():
                return self.jobs.get(self.detail.job or "")
            case _:
                return None

    def read_log(self) -> None:
        """Read the log of the job of the highlighted entry, and show it instead of the details."""
        job, namespace = self.job, self.studio.namespace
        if job is None:
            return
        id = job.id

        def show(lines: list[JobLogLine]) -> None:
            self.log_lines = lines
            self.show_detail()

        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).read_log(id), on_result=show, group="log"
        )


def read_result(job: JobDetail) -> FoundParameters | None:
    """Return what a search has found; None before its end, or when it has failed."""
    return convert(job.result, FoundParameters) if job.result is not None else None
