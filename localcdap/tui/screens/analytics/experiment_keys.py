"""The keys of the analytics area for experiments and splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.app.jobs import JobDetail
from localcdap.api.errors import LocalcdapError
from localcdap.host.cdap import Cdap
from localcdap.tui.routes import ExperimentTarget, NavigationTarget
from localcdap.tui.screens.analytics.calls import AnalyticsCalls, Experiment, Split, Splitter
from localcdap.tui.screens.analytics.experiment_screen import ExperimentScreen
from localcdap.tui.screens.analytics.form import FormDialog, FormField
from localcdap.tui.screens.analytics.leaderboard import MODELS, SEARCHES, SPLITS
from localcdap.tui.screens.analytics.model_text import ModelView
from localcdap.tui.screens.analytics.sources import (
    DataColumn,
    DataDescription,
    describe_experiment,
    describe_target,
)
from localcdap.tui.studio import Choice

_SUFFIXES: Final = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".parquet", ".avro", ".orc")
_SPLIT_TYPE: Final = "split"
_LEFT_OUT: Final = "left out"


class ExperimentKeys(ExperimentScreen):
    """Makes and deletes experiments and splits; shows and stops jobs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "new experiment", id="analytics.new"),
        Binding("s", "split", "split", id="analytics.split"),
        Binding("L", "log", "log", id="analytics.log", show=False),
        Binding("X", "stop", "stop", id="analytics.stop"),
        Binding("delete", "delete", "delete", id="analytics.delete", show=False),
        Binding("escape", "leave", "back", id="analytics.leave", show=False),
    ]

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works. Subclasses know their keys."""
        entry = self.entry
        match action:
            case "split" | "delete" if self.experiment is None:
                return "there is no experiment; n makes one"
            case "delete" if self._is_inside and entry is not None and entry[0] == SEARCHES:
                return "searches go with their split; the oldest ones go by themselves"
            case "log" if self.job is None:
                return "what is highlighted has no job that is kept"
            case "stop" if self.job is None or self.job.has_ended:
                return "nothing of what is highlighted is in progress"
        return None

    @property
    def _is_inside(self) -> bool:
        """Whether an entry of the experiment is meant, and not the experiment itself."""
        return not self.query_one("#analytics-experiments").has_focus_within

    # -- experiments ----------------------------------------------------------------------------

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, ExperimentTarget):
            self._make_experiment(target)

    @work(group="analytics-dialog", exclusive=True)
    async def action_new(self) -> None:
        """Choose the data of an experiment: a file or a table."""
        namespace = self.studio.namespace
        tables = await self.call_and_wait(lambda cdap: cdap.tables.list_tables(namespace))
        choices = [Choice("a file …", "")]
        choices += [Choice(each.name, each.name, hint="table") for each in tables]
        chosen = await self.studio.choose(choices, title="Predict from")
        if chosen is None:
            return
        if chosen:
            self._make_experiment(ExperimentTarget(table=chosen))
            return
        path = await self.studio.pick_file("The data of the experiment", suffixes=_SUFFIXES)
        if path is not None:
            self._make_experiment(ExperimentTarget(path=str(path.absolute())))

    @work(group="analytics-make", exclusive=True)
    async def _make_experiment(self, target: ExperimentTarget) -> None:
        """Ask for the outcome and the rest, and make an experiment with its first split."""
        namespace = self.studio.namespace
        data = await self.call_and_wait(lambda cdap: describe_target(cdap, namespace, target))
        outcome = await self._choose_outcome(data)
        if outcome is None:
            return
        column, is_class = outcome
        if is_class:
            data = data.with_class(column.name)
        values = await self._ask_experiment(target, data, column.name)
        if values is not None:
            self._put_experiment(data, column.name, values)

    async def _choose_outcome(self, data: DataDescription) -> tuple[DataColumn, bool] | None:
        """Let the user choose what is predicted, and whether numbers are classes."""
        choices = []
        for each in data.columns:
            if data.may_be_classes(each):
                choices.append(Choice(each.name, (each, True), hint="whole number, as a class"))
            kind = "class" if each.type in ("string", "boolean") else "number"
            reason = None if each.is_usable else f"a {each.type} cannot be predicted"
            choices.append(Choice(each.name, (each, False), hint=kind, reason=reason))
        return await self.studio.choose(choices, title="Predict the column")

    async def _ask_experiment(
        self, target: ExperimentTarget, data: DataDescription, outcome: str
    ) -> dict[str, str] | None:
        name = (target.table or target.path.rpartition("/")[2]).partition(".")[0]
        if name in self.experiments:
            name = f"{name}_{outcome}"
        others = [each.name for each in data.columns if each.name != outcome]
        fields = [
            FormField("name", "name", name),
            FormField("description", "description"),
            *_list_split_fields(self.splitters, others, ()),
        ]
        odd = [each.name for each in data.columns if not each.is_usable]
        note = f"Columns that models do not know are left out: {', '.join(odd)}." if odd else ""
        dialog = FormDialog(
            f"Predict {outcome}",
            fields,
            verb="Create",
            note=note,
            check=lambda values: self._check_experiment(values, data, outcome),
        )
        return await self.app.push_screen_wait(dialog)

    def _check_experiment(
        self, values: dict[str, str], data: DataDescription, outcome: str
    ) -> str | None:
        if not values.get("name"):
            return "Give the experiment a name."
        if values["name"] in self.experiments:
            return f"There is an experiment {values['name']} already."
        return _check_split(values, data, outcome, self.splitters)

    def _put_experiment(self, data: DataDescription, outcome: str, values: dict[str, str]) -> None:
        name, namespace = values["name"], self.studio.namespace
        type = next(each.type for each in data.columns if each.name == outcome)
        body = {
            "description": values.get("description", ""),
            "srcpath": data.srcpath,
            "outcome": outcome,
            "outcomeType": type,
            "directives": data.directives,
            "sourceProperties": data.properties,
        }
        split = _make_split(values, data, self.splitters)

        def put(cdap: Cdap) -> str:
            calls = AnalyticsCalls(cdap, namespace)
            calls.put_experiment(name, body)
            return calls.add_split(name, split)

        self.call(put, lambda made: self.show_experiment(name, f"{SPLITS}/{made}"))

    # -- splits ---------------------------------------------------------------------------------

    @work(group="analytics-dialog", exclusive=True)
    async def action_split(self) -> None:
        """Make another split of the experiment."""
        experiment, namespace = self.require_experiment(), self.studio.namespace
        data = await self.describe(experiment)
        if data is None:
            return
        others = [each.name for each in data.columns if each.name != experiment.outcome]
        splits = self.contents.splits if self.contents is not None else []
        newest = max(splits, key=lambda each: each.start, default=None)
        used = {each["name"] for each in newest.schema["fields"]} if newest is not None else others
        left_out = [
            each.name
            for each in data.columns
            if each.is_usable and each.name != experiment.outcome and each.name not in used
        ]
        fields = [
            FormField("description", "description"),
            *_list_split_fields(self.splitters, others, left_out),
        ]
        dialog = FormDialog(
            f"Split the data of {experiment.name}",
            fields,
            verb="Split",
            check=lambda values: _check_split(values, data, experiment.outcome, self.splitters),
        )
        values = await self.app.push_screen_wait(dialog)
        if values is None:
            return
        body, name = _make_split(values, data, self.splitters), experiment.name
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).add_split(name, body),
            lambda made: self.show_experiment(name, f"{SPLITS}/{made}"),
        )

    async def describe(self, experiment: Experiment) -> DataDescription | None:
        """Read a sample of the data of an experiment; None after an error, which is shown."""
        namespace = self.studio.namespace
        try:
            found = await self.call_and_wait(
                lambda cdap: describe_experiment(cdap, namespace, experiment)
            )
        except LocalcdapError as error:
            self.studio.report_error(error)
            return None
        column = next((each for each in found.columns if each.name == experiment.outcome), None)
        if column is not None and experiment.is_categorical and column.type in ("int", "long"):
            found = found.with_class(column.name)
        return found

    # -- jobs, deletion -------------------------------------------------------------------------

    def action_log(self) -> None:
        """Show the log of the job of what is highlighted, or the details again."""
        if self.log_lines is not None:
            self.log_lines = None
            self.show_detail()
        else:
            self.read_log()

    def action_stop(self) -> None:
        """Stop the job of what is highlighted."""
        job, namespace = self.job, self.studio.namespace
        assert job is not None
        id = job.id
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).stop(id),
            lambda _: self.studio.show_notice("The job is being stopped."),
        )

    @work(group="analytics-dialog", exclusive=True)
    async def action_delete(self) -> None:
        """Delete the highlighted model or split, or the experiment when it has the focus."""
        experiment, namespace = self.require_experiment(), self.studio.namespace
        name, entry = experiment.name, self.entry if self._is_inside else None
        if entry is None:
            detail = (
                "All of its models and splits are deleted with it; pipelines that use them fail."
            )
            question = f"Delete experiment {name}?"
            is_sure = await self.studio.confirm_by_name(name, question, detail)
        else:
            is_sure = await self.studio.confirm(*self._describe_deletion(entry[0]))
        if is_sure:
            place = entry or ("", "")
            self.call(
                lambda cdap: AnalyticsCalls(cdap, namespace).delete(name, *place),
                lambda _: self.reload(),
            )

    def _describe_deletion(self, kind: str) -> tuple[str, str]:
        found = self.detail
        if kind == MODELS and isinstance(found, ModelView):
            detail = "Pipelines that predict with it fail." if found.model.is_trained else ""
            return f"Delete model {found.model.name}?", detail
        title = found.title if isinstance(found, Split) else ""
        return f"Delete the split {title}?", "A split that models use cannot be deleted."

    def action_leave(self) -> None:
        """Go back: from a log, a comparison or a first look to the details, else to the lists."""
        if self.log_lines is not None or self.compared is not None or self.look is not None:
            self.log_lines = self.compared = self.look = None
            self.show_detail()
            self.refresh_bindings()
        elif self.query_one("#analytics-detail").has_focus:
            self.query_one(self.INSIDE).query_one("OptionList").focus()
        else:
            self.query_one("#analytics-experiments").query_one("OptionList").focus()


def get_search(detail: object) -> JobDetail | None:
    """Return a detail that is a search."""
    return detail if isinstance(detail, JobDetail) else None


def _list_split_fields(
    splitters: Sequence[Splitter], columns: Sequence[str], left_out: Sequence[str]
) -> list[FormField]:
    """Return the fields of a split: columns that are left out, the type, and the parameters of all types."""
    types = [each.type for each in splitters]
    described = "; ".join(each.label for each in splitters)
    fields = [
        FormField(
            _LEFT_OUT,
            "columns to leave out",
            ", ".join(left_out),
            default="none",
            hint="with commas between them",
            detail="Columns that should not be features: ids, or what is known only after the outcome.",
        ),
        FormField(
            _SPLIT_TYPE,
            "kind of split",
            default=types[0] if types else "",
            hint=", ".join(types),
            detail=f"{described}.",
            suggestions=types,
        ),
    ]
    known: dict[str, FormField] = {}
    for splitter in splitters:
        for each in splitter.hyperparameters:
            suggestions = columns if each.name == "column" else ()
            known.setdefault(
                each.name,
                FormField(
                    each.name,
                    each.label.lower(),
                    "",
                    each.default,
                    "for time and key" if each.name == "column" else each.rule,
                    each.description,
                    suggestions,
                ),
            )
    return [*fields, *known.values()]


def _find_splitter(values: dict[str, str], splitters: Sequence[Splitter]) -> Splitter | None:
    wanted = values.get(_SPLIT_TYPE) or (splitters[0].type if splitters else "")
    return next((each for each in splitters if each.type == wanted), None)


def _list_left_out(values: dict[str, str]) -> list[str]:
    return [each.strip() for each in values.get(_LEFT_OUT, "").split(",") if each.strip()]


def _make_split(
    values: dict[str, str], data: DataDescription, splitters: Sequence[Splitter]
) -> dict[str, Any]:
    splitter = _find_splitter(values, splitters)
    assert splitter is not None
    names = [each.name for each in splitter.hyperparameters]
    return {
        "description": values.get("description", ""),
        "type": splitter.type,
        "params": {name: values[name] for name in names if name in values},
        "directives": data.directives,
        "schema": data.make_schema(_list_left_out(values)),
    }


def _check_split(
    values: dict[str, str], data: DataDescription, outcome: str, splitters: Sequence[Splitter]
) -> str | None:
    """Return what is wrong with the values of a split."""
    left_out, known = _list_left_out(values), {each.name for each in data.columns}
    unknown = [each for each in left_out if each not in known]
    if unknown:
        return f"There is no column '{unknown[0]}'; columns: {', '.join(sorted(known))}."
    if outcome in left_out:
        return f"The outcome '{outcome}' cannot be left out."
    if len(data.make_schema(left_out)["fields"]) < 2:
        return "No column is left besides the outcome."
    splitter = _find_splitter(values, splitters)
    if splitter is None:
        return f"There is no split '{values[_SPLIT_TYPE]}'."
    if any(each.name == "column" for each in splitter.hyperparameters) and "column" not in values:
        return f"A split by {splitter.type} needs a column."
    if "column" in values and values["column"] not in known:
        return f"There is no column '{values['column']}'."
    return None
