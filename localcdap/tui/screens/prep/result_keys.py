"""The keys of the prep area for what becomes of a recipe: pipelines, files, tests, and all rows.

All rows of a file go through the recipe in the background: the progress is shown, and then what the
sample did not show of them.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import ProgressBar, Static

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.connectors.all_records import ConnectionData, RecordCopier
from localcdap.datasets.file_tables import copy_table
from localcdap.decoders import convert
from localcdap.expectations.results import RuleResult, describe_result
from localcdap.expectations.rules import RuleAction, to_json
from localcdap.files.atomic import write_file
from localcdap.host.cdap import Cdap
from localcdap.pipeline.method_calls import apply_recipe, build_recipe_stage
from localcdap.runs.preview.model import PreviewRequest
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, LinesDialog
from localcdap.tui.dialogs.path_dialog import is_taken
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.routes import (
    DeployedTarget,
    DocumentTarget,
    DraftTarget,
    ExperimentTarget,
    InsertionTarget,
    PipelineFileTarget,
)
from localcdap.tui.screens.prep.column_keys import FacetKeys
from localcdap.tui.screens.prep.exports import (
    build_branch_text,
    build_pipeline,
    build_stage_text,
    find_reader,
    read_prepared,
    read_program,
    write_recipe,
    write_test,
)
from localcdap.tui.screens.prep.grid import NO_DATA
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.screens.prep.source import FILE_OPTIONS, PrepRequest, read_records, read_view
from localcdap.tui.service_calls import deliver
from localcdap.tui.studio import Choice
from localcdap.workspace_views import ColumnTotals, ColumnView, WorkspaceView


@contextlib.contextmanager
def open_all_rows(
    cdap: Cdap,
    request: PrepRequest,
    is_stopped: Callable[[], bool],
    show: Callable[[float | None], None],
) -> Iterator[dict[str, Any]]:
    """Give the input of the method ``apply`` of Wrangler. Other data than files become a file that is
    deleted afterwards.

    :param is_stopped: whether nobody waits for it any more; no more is read then.
    :param show: takes the share that is copied.
    :raises BadRequestError: when the data cannot be read.
    """
    source = request.source
    copier = RecordCopier(cdap.connectors, cdap.runs, is_stopped, show)
    data = ConnectionData(request.namespace, source.connection, source.place, source.reading)
    path = source.path
    if source.connection and source.types is None:
        path = copier.find_file(data)
    if path:
        yield {"path": path, **{name: getattr(source, name) for name in FILE_OPTIONS}}
        return
    with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
        rows = Path(folder) / "rows.parquet"
        if source.connection:
            before = read_view(cdap, replace(request, step=0))
            reader = find_reader(cdap, request, before)
            copier.copy(data, reader, request.arguments, rows)
        else:
            copy_table(cdap.sql, request.namespace, source.table, rows, is_stopped)
        yield {"path": str(rows), "format": "parquet"}


_NOTABLE: Final = 0.01
"""The difference of two shares from which on it is worth a line."""
_MANY_MORE: Final = 2
"""How many times as many different values are worth a line."""


class AllRowsDialog(DialogScreen[dict[str, Any]]):
    """Applies a recipe to all rows; ``escape`` stops it, and nothing is written then.

    The answer is the last progress, None when it was stopped or has failed.

    :param output: the file of the result; None to count only.
    :param sample: the columns of the sample after the recipe, with which all rows are compared.
    """

    DEFAULT_CSS = """
    AllRowsDialog {
        & > #dialog { width: 100; }
        & #all-rows-bar { height: 1; margin-bottom: 1; width: 1fr; }
        & #all-rows-bar Bar { width: 1fr; }
        & #all-rows-counts { height: auto; }
        & #all-rows-scroll { height: auto; max-height: 16; margin-top: 1; }
        & #all-rows-columns { height: auto; }
        & #dialog-keys { margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "close", "close", id="prep.close_run", show=False)
    ]

    def __init__(
        self, request: PrepRequest, output: Path | None, sample: Sequence[ColumnView]
    ) -> None:
        super().__init__()
        self._request = request
        self._output = output
        self._sample = sample
        self._is_stopped = False
        self._last: dict[str, Any] | None = None

    def compose_body(self) -> ComposeResult:
        name = sanitize_for_terminal(self._request.source.name)
        what = "counted" if self._output is None else f"written to {self._output}"
        yield Static(f"All rows of {name}, {what}", id="dialog-title", markup=False)
        yield ProgressBar(total=1.0, show_eta=False, id="all-rows-bar")
        yield Static("", id="all-rows-counts", markup=False)
        with VerticalScroll(id="all-rows-scroll"):
            yield Static("", id="all-rows-columns")
        yield Static("esc stops it; nothing is written then", id="dialog-keys")

    def on_mount(self) -> None:
        self.call(self._run, self._show_end, on_error=self.show_error)

    def on_unmount(self) -> None:
        self._is_stopped = True

    def action_dismiss_empty(self) -> None:
        self._is_stopped = True
        self.dismiss(self._last)

    def action_close(self) -> None:
        if self._last is not None:
            self.dismiss(self._last)

    def _run(self, cdap: Cdap) -> dict[str, Any] | None:
        """Apply the recipe, in a thread; None when it was stopped."""
        rules = list(self._request.rules)
        if self._output is None:  # what makes a result fail is only counted where there is none
            rules = [
                msgspec.structs.replace(each, action=RuleAction.COUNT, allowed_percent=0)
                for each in rules
            ]
        task: dict[str, Any] = {
            "output": None if self._output is None else str(self._output),
            "skips_failures": True,
            "counts": True,
            "expectations": to_json(rules),
        }
        request = self._request
        stage = build_recipe_stage("\n".join(request.directives))
        with contextlib.ExitStack() as stack:
            task["input"] = stack.enter_context(
                open_all_rows(cdap, request, lambda: self._is_stopped, self._deliver_copied)
            )
            if self._is_stopped:
                return None
            job = apply_recipe(cdap.methods, stage, task, request.namespace, request.arguments)
            for progress in stack.enter_context(contextlib.closing(job)):
                if self._is_stopped or progress["is_done"]:
                    return None if self._is_stopped else progress
                deliver(self, partial(self._show_progress, progress))
        return None

    def _deliver_copied(self, share: float | None) -> None:
        deliver(self, partial(self._show_copied, share))

    def _show_copied(self, share: float | None) -> None:
        """Show which share of the records behind a connection is copied."""
        self.query_one(ProgressBar).update(progress=share or 0.0)
        self.query_one("#all-rows-counts", Static).update("The records are copied …")

    def _show_progress(self, progress: dict[str, Any]) -> None:
        self.query_one(ProgressBar).update(progress=progress["share"])
        self.query_one("#all-rows-counts", Static).update(format_counts(progress))

    def _show_end(self, progress: dict[str, Any] | None) -> None:
        if progress is None:
            return
        self._last = progress
        self._show_progress(progress)
        columns = convert(progress["columns"], list[ColumnTotals])
        self.query_one("#all-rows-columns", Static).update(format_comparison(self._sample, columns))
        self.query_one("#dialog-keys", Static).update("enter or esc closes")

    def show_error(self, error: LocalcdapError) -> None:
        self.studio.report_error(error)
        self.dismiss(None)


def format_counts(progress: dict[str, Any]) -> str:
    """Return what was read, written and left out."""
    parts = [f"{plural(progress['rows_in'], 'row')} read"]
    if progress["is_done"]:
        parts.append(f"{progress['rows_out']:,} in the result")
    if progress["failed"]:
        parts.append(f"{progress['failed']:,} failed")
    if progress["sent"]:
        parts.append(f"{progress['sent']:,} sent to error")
    results = convert(progress["expectations"], list[RuleResult])
    expected = [f"{each.label}: {describe_result(each)}" for each in results]
    problems = [f"row {each['row']:,}: {each['message']}" for each in progress["problems"][:3]]
    return "\n".join([" · ".join(parts), *map(sanitize_for_terminal, [*problems, *expected])])


def format_comparison(sample: Sequence[ColumnView], columns: Sequence[ColumnTotals]) -> Content:
    """Return what all rows have that the sample did not show, column by column."""
    known = {each.name: each for each in sample}
    lines: list[Content | str] = []
    for column in columns:
        found = describe_surprises(known.get(column.name), column)
        if found:
            name = sanitize_name(column.name)
            lines.append(Content.assemble((f"{name}  ", "bold"), " · ".join(found)))
    same = len(columns) - len(lines)
    if same:
        said = "All columns are" if not lines else f"{plural(same, 'other column')}:"
        lines.append(Content.styled(f"{said} as in the sample", MUTED))
    title = Content.styled("What the sample did not show", "bold")
    return Content("\n").join([title, *map(Content.assemble, lines)])


def describe_surprises(sample: ColumnView | None, column: ColumnTotals) -> list[str]:
    """Return in which ways all rows of a column differ from those of the sample."""
    if sample is None or sample.profile is None:
        return ["the sample does not have it"]
    profile = sample.profile
    found = []
    if sample.type != column.type:
        found.append(f"type {sample.type} → {column.type}")
    for name, count, total in (
        ("null", profile.nulls, column.nulls),
        ("blank", profile.empty, column.empty),
    ):
        before, after = count / max(1, profile.rows), total / max(1, column.rows)
        if abs(before - after) >= _NOTABLE or (not count and total):
            found.append(f"{name} {before:.1%} → {after:.1%}")
    for name, was, now in (
        ("lowest", profile.lowest, column.lowest),
        ("highest", profile.highest, column.highest),
    ):
        if sample.type != "string" and was is not None and now is not None and was != now:
            found.append(f"{name} {was} → {now}")
    is_unique = profile.distinct == profile.rows - profile.nulls
    if is_unique and not column.has_more and column.distinct < column.rows - column.nulls:
        found.append(
            f"not unique: {column.distinct:,} values in {column.rows - column.nulls:,} rows"
        )
    if not is_unique and column.distinct > _MANY_MORE * max(1, profile.distinct):
        least = "more than " if column.has_more else ""
        found.append(f"{profile.distinct:,} → {least}{column.distinct:,} values")
    return [sanitize_name(each) for each in found]


_TESTED: Final = 20
"""Records of a test."""
_WAIT_S: Final = 5.0
_Pipeline = tuple[PipelineFileTarget | DraftTarget | DeployedTarget | None]
"""A pipeline to choose; None is the one that is open."""


class ResultKeys(RecipeScreen):
    """What leads from the recipe."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "export", "use the recipe", id="prep.export"),
        Binding("R", "count", "run on all rows", id="prep.count", show=False),
        Binding("M", "experiment", "experiment", id="prep.experiment", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        if action in ("export", "count", "experiment") and self.view is None:
            return NO_DATA
        if action == "experiment" and self.source is not None and self.source.stage is not None:
            return "a stage has no data of its own; open a file or a table"
        if action == "experiment" and self.source is not None and self.source.connection:
            return "an experiment reads a file or a table, not a connection"
        if action == "count" and self._explain_no_file() is not None:
            return self._explain_no_file()
        return super().explain_disabled(action)

    def _explain_no_file(self) -> str | None:
        if self.source is None or self.source.stage is None:
            return None
        return "the records are those that reach the stage; run the pipeline instead"

    @work(group="prep-dialog", exclusive=True)
    async def action_export(self) -> None:
        """Choose what becomes of the recipe."""
        source = self.source
        assert source is not None
        no_file = self._explain_no_file()
        no_source = None if source.stage is None else "the stage has a pipeline"
        choices = [
            Choice("Open a pipeline with it", "pipeline", reason=no_source),
            Choice("Apply it to all rows, into a file", "apply", reason=no_file),
            Choice("Run it on all rows, and compare them with the sample", "count", reason=no_file),
            Choice("Insert it into a pipeline", "insert", reason=no_source),
            Choice("Save it as a file of directives", "save"),
            Choice("Save it as SQL of Spark", "sql", reason=no_source),
            Choice("Save it as a script of PySpark", "pyspark", reason=no_source),
            Choice("Save it as a test, with a pipeline", "test", reason=no_source),
            Choice("Show what of it Spark runs itself", "explain", reason=no_source),
            Choice("Make an experiment of Analytics with it", "experiment", reason=no_source),
            Choice("Copy it as a stage, which p pastes into a pipeline", "stage"),
            Choice("Copy it as text", "copy"),
        ]
        what = await self.studio.choose(choices, title="Use the recipe")
        if what is not None and self.recipe.lines:
            self.keep_version(f"used: {what}")
        if what in ("apply", "save", "sql", "pyspark", "test"):
            await self._write_result(what, source.name)
        elif what == "insert":
            await self._insert()
        else:
            self._use(what)

    def _use(self, what: str | None) -> None:
        match what:
            case "pipeline":
                self._open_pipeline()
            case "count":
                self.run_on_all(None)
            case "explain":
                self._explain()
            case "experiment":
                self.action_experiment()
            case "stage":
                request = self._request_all()
                self.call(
                    lambda cdap: build_stage_text(request, read_view(cdap, request)),
                    lambda stage: self.studio.copy_text(stage, "stage"),
                )
            case "copy":
                self.studio.copy_text("\n".join(self.recipe.directives), "recipe")

    async def _write_result(self, what: str, name: str) -> None:
        """Ask for a file, and write what was asked for into it.

        :param name: of the data.
        """
        plain = name.partition(".")[0]
        targets: dict[str, tuple[str, str, Callable[[Path], object]]] = {
            "apply": ("Apply the recipe to all rows", "prepared.csv", self.run_on_all),
            "save": ("Save the recipe", f"{name}.recipe", self._save_recipe),
            "sql": ("Save SQL of Spark", f"{plain}.sql", partial(self._save_program, "sql")),
            "pyspark": ("Save a script", f"{plain}.py", partial(self._save_program, "pyspark")),
            "test": ("Save the test", f"{plain}.test.json", self._save_test),
        }
        title, typed, write = targets[what]
        suffixes = (".csv", ".json", ".parquet", ".xlsx", ".recipe", ".txt", ".sql", ".py")
        path = await self.studio.pick_file(title, suffixes=suffixes, for_saving=True, typed=typed)
        if path is not None:
            write(path)

    def _request_all(self) -> PrepRequest:
        """Return a request for the rows after all steps, without facets."""
        self.step = None
        return replace(self.make_request(), facets=(), compares=False, first_column=0)

    def _build_pipeline(self, cdap: Cdap, request: PrepRequest, duplicates: str | None) -> str:
        return build_pipeline(read_prepared(cdap, request), duplicates)

    async def _insert(self) -> None:
        """Put the recipe, with or without its source, into a pipeline that is there."""
        request, namespace = self._request_all(), self.studio.namespace

        drafts = await self.call_and_wait(lambda cdap: cdap.drafts.list_drafts(namespace))
        deployed = await self.call_and_wait(
            lambda cdap: cdap.applications.list_applications(namespace)
        )
        choices: list[Choice[_Pipeline]] = [
            Choice("The pipeline that is open in the studio", (None,))
        ]
        known: list[tuple[str, _Pipeline, str]] = [
            *((each.name, (DraftTarget(each.id),), "draft") for each in drafts),
            *((each.name, (DeployedTarget(each.name),), "deployed") for each in deployed),
        ]
        choices += [Choice(name, pipeline, hint=hint) for name, pipeline, hint in known]
        choices.append(Choice("A file …", (PipelineFileTarget(Path()),)))
        chosen = await self.studio.choose(choices, title="Into which pipeline?")
        if chosen is None:
            return
        pipeline = chosen[0]
        if isinstance(pipeline, PipelineFileTarget):
            path = await self.studio.pick_file("Insert into a pipeline")
            if path is None:
                return
            pipeline = PipelineFileTarget(path.absolute())

        def build(cdap: Cdap) -> InsertionTarget:
            data = read_prepared(cdap, request)
            stage = build_stage_text(request, data.after)
            return InsertionTarget(pipeline, stage, build_branch_text(data))

        self.call(build, self.studio.navigate)

    def _open_pipeline(self, duplicates: str | None = None) -> None:
        request = self._request_all()
        name = request.source.name.partition(".")[0]
        self.call(
            lambda cdap: self._build_pipeline(cdap, request, duplicates),
            lambda text: self.studio.navigate(DocumentTarget(name, text)),
        )

    @on(FacetKeys.DuplicatesAsked)
    @work(group="prep-dialog", exclusive=True)
    async def _drop_duplicates(self, event: FacetKeys.DuplicatesAsked) -> None:
        """Offer a pipeline that drops the rows that are there again: no directive does."""
        source = self.source
        if source is None or source.stage is not None:
            reason = "add a stage Distinct or Deduplicate after the Wrangler stage"
            self.studio.explain_no_effect(reason, "duplicates")
            return
        column = self.column
        choices = [Choice("Open a pipeline that keeps equal rows once (Distinct)", "")]
        if column is not None:
            label = f"Open a pipeline that keeps one row for each {column.name} (Deduplicate)"
            choices.append(Choice(label, column.name))
        current = column.name if event.columns and column is not None else ""
        chosen = await self.studio.choose(
            choices, title="No directive drops rows that are there again", current=current
        )
        if chosen is not None:
            self._open_pipeline(chosen)

    def action_experiment(self) -> None:
        """Make an experiment of Analytics of the data and the recipe."""
        source = self.source
        assert source is not None
        options = [(name, getattr(source, name)) for name in FILE_OPTIONS]
        target = ExperimentTarget(source.path, source.table, self.recipe.directives, options)
        self.studio.navigate(target)

    def action_count(self) -> None:
        """Run the recipe on all rows, and say what the sample did not show of them."""
        self.run_on_all(None)

    def run_on_all(self, path: Path | None) -> None:
        """Apply the recipe to all rows of the file.

        :param path: the file of the result; None to count only.
        """
        request = self._request_all()

        def start(view: WorkspaceView) -> None:
            self.app.push_screen(AllRowsDialog(request, path, view.columns))

        self.read(then=start, is_whole=True)

    def _save_recipe(self, path: Path) -> None:
        text = write_recipe(self.recipe.directives, self.recipe.expectations)
        self.save_text(path, lambda _: text)

    def _save_program(self, language: str, path: Path) -> None:
        """Save the recipe as a program, if Spark has equals of all of its directives."""
        request = self._request_all()
        self.save_text(path, lambda cdap: read_program(cdap, request, language))

    def _save_test(self, path: Path) -> None:
        """Save a test with some records, and the pipeline that it tests."""
        request = self._request_all()

        def save(cdap: Cdap) -> tuple[Path, Path]:
            pipeline = path.with_name(f"{path.name.partition('.')[0]}.json")
            test = path.with_name(f"{path.name.partition('.')[0]}.test.json")
            for each in (pipeline, test):
                if is_taken(each):
                    raise BadRequestError(f"{each} exists already.", "Choose another name.")
            write_file(pipeline, self._build_pipeline(cdap, request, None) + "\n")
            write_file(test, write_test(pipeline, read_records(cdap, request, _TESTED)) + "\n")
            return pipeline, test

        self.call(
            save,
            lambda saved: self.studio.show_notice(
                f"Saved {saved[1]}.", f"It tests {saved[0].name}: localcdap test {saved[1]}"
            ),
        )

    def _explain(self) -> None:
        """Show which directives Spark computes itself, and which run in batches of rows."""
        request = self._request_all()
        self.studio.show_notice("Spark plans the recipe.")

        def explain(cdap: Cdap) -> list[str]:
            document = self._build_pipeline(cdap, request, None)
            preview = cdap.previews.start(
                PreviewRequest(document=document, namespace=request.namespace, explains=True)
            )
            while not preview.status.is_end:
                preview = cdap.previews.wait(
                    request.namespace, preview.preview, preview.version, _WAIT_S
                )
            if preview.error is not None:
                raise BadRequestError(preview.error.message, preview.error.corrective_action)
            return preview.explained.get("Wrangler", [])

        self.call(explain, self._show_explanation)

    def _show_explanation(self, lines: list[str]) -> None:
        self.app.push_screen(LinesDialog("How Spark runs the recipe", [("Wrangler", lines)]))
