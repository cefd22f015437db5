"""The analytics screen, and its keys for models: training, searches, first looks, comparison, use."""

from __future__ import annotations

import asyncio
import json
from typing import Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.errors import LocalcdapError
from localcdap.tui.routes import DocumentTarget
from localcdap.tui.screens.analytics import form as forms
from localcdap.tui.screens.analytics.calls import Algorithm, AnalyticsCalls, Experiment, Look, Split
from localcdap.tui.screens.analytics.experiment_keys import ExperimentKeys, get_search
from localcdap.tui.screens.analytics.experiment_screen import read_result
from localcdap.tui.screens.analytics.form import FormDialog
from localcdap.tui.screens.analytics.leaderboard import MODELS, SEARCHES
from localcdap.tui.screens.analytics.model_text import ModelView, find_best, write_card
from localcdap.tui.screens.analytics.sources import DataDescription, build_pipeline
from localcdap.tui.studio import Choice

_LAST_STEP: Final = 100
_JUMP: Final = 2
_OF_TRAINED: Final = ("compare", "deploy", "card", "pipeline")
_OF_EXPERIMENT: Final = ("train", "search", "look", "metric")


class AnalyticsScreen(ExperimentKeys):
    """Trains, compares and uses models; the area with all of its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "train", "train", id="analytics.train"),
        Binding("a", "again", "train again", id="analytics.again"),
        Binding("v", "look", "first look", id="analytics.look"),
        Binding("S", "search", "search parameters", id="analytics.search"),
        Binding("m", "metric", "order by", id="analytics.metric", show=False),
        Binding("c", "compare", "compare", id="analytics.compare"),
        Binding("p", "pipeline", "predict in a pipeline", id="analytics.pipeline"),
        Binding("d", "deploy", "deploy", id="analytics.deploy", show=False),
        Binding("x", "card", "model card", id="analytics.card", show=False),
        Binding("minus", "threshold(-1)", "lower threshold", id="analytics.lower", show=False),
        Binding("plus", "threshold(1)", "higher threshold", id="analytics.higher", show=False),
        Binding("equals_sign", "best", "best threshold", id="analytics.best", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._sampled: tuple[Experiment, DataDescription] | None = None
        """The experiment whose sample was read last, with it."""

    def explain_disabled(self, action: str) -> str | None:
        model = self.model
        match action:
            case _ if action in _OF_EXPERIMENT and self.experiment is None:
                return "there is no experiment; n makes one"
            case "train" | "search" if self._find_split() is None:
                return "the experiment has no split that is complete; s makes one"
            case "again" if model is None or model.algorithm is None:
                return "no model with an algorithm is highlighted"
            case "again" if model is not None and not self._is_complete(model.model.split):
                return "its split is not there any more"
            case _ if action in _OF_TRAINED and (model is None or not model.model.is_trained):
                return "no trained model is highlighted"
            case "compare" if not self._list_others():
                return "there is no other trained model"
            case "deploy" if model is not None and model.model.status == "Deployed":
                return "it is deployed already"
            case "threshold" | "best" if not self._get_scores():
                return "only models with two classes have a threshold"
        return super().explain_disabled(action)

    def _require_model(self) -> ModelView:
        """Return the highlighted model, for a key that works only with one."""
        assert self.model is not None
        return self.model

    # -- training -------------------------------------------------------------------------------

    def _is_complete(self, id: str | None) -> bool:
        splits = self.contents.splits if self.contents is not None else []
        return any(each.id == id and each.status == "Complete" for each in splits)

    def _find_split(self) -> Split | None:
        """Return the split of what is highlighted, else the newest complete one."""
        splits = self.contents.splits if self.contents is not None else []
        complete = [each for each in splits if each.status == "Complete"]
        wanted = None
        search = get_search(self.detail)
        if isinstance(self.detail, Split):
            wanted = self.detail.id
        elif isinstance(self.detail, ModelView):
            wanted = self.detail.model.split
        elif search is not None:
            wanted = search.arguments["split"]
        found = next((each for each in complete if each.id == wanted), None)
        return found or max(complete, key=lambda each: each.start, default=None)

    async def _choose_algorithm(self, title: str, start: str | None = None) -> Algorithm | None:
        experiment = self.require_experiment()
        found = forms.list_algorithms(self.algorithms, experiment)
        choices = [Choice(each.label, each, hint=each.id) for each in found]
        current = next((each for each in found if each.id == start), None)
        return await self.studio.choose(choices, title=title, current=current)

    @work(group="analytics-dialog", exclusive=True)
    async def action_train(self) -> None:
        """Train a model; on a search with its best parameters."""
        search = get_search(self.detail)
        result = read_result(search) if search is not None else None
        split = self._find_split()
        assert split is not None
        given: dict[str, str] = {}
        if search is not None and result is not None:
            algorithm: Algorithm | None = self.algorithms.get(result.algorithm)
            given = result.candidates[0].hyperparameters
            kept = str(search.arguments["request"]["handleInvalid"])
        else:
            look = self.look
            kept = "skip"
            algorithm = await self._choose_algorithm("Train on Spark", look and look[1].id)
        if algorithm is not None:
            await self._train(algorithm, split.id, given, kept)

    @work(group="analytics-dialog", exclusive=True)
    async def action_again(self) -> None:
        """Train another model like the highlighted one, with changed parameters."""
        view = self._require_model()
        assert view.algorithm is not None
        model = view.model
        await self._train(
            view.algorithm, str(model.split), model.hyperparameters, model.handle_invalid
        )

    async def _train(
        self, algorithm: Algorithm, split: str, given: dict[str, str], kept: str
    ) -> None:
        experiment, namespace = self.require_experiment(), self.studio.namespace
        taken = [each.name for each in self.contents.models] if self.contents is not None else []
        fields = forms.make_training_fields(
            algorithm, forms.make_name(algorithm, taken), given, kept
        )
        dialog = FormDialog(
            f"Train: {algorithm.label}", fields, verb="Train", check=forms.check_training
        )
        values = await self.app.push_screen_wait(dialog)
        if values is None:
            return
        title, body = forms.make_training(algorithm, values)
        name = experiment.name
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).train(name, title, split, body),
            lambda made: self.show_experiment(name, f"{MODELS}/{made}"),
        )

    @work(group="analytics-dialog", exclusive=True)
    async def action_search(self) -> None:
        """Search the best parameters of an algorithm."""
        experiment, namespace = self.require_experiment(), self.studio.namespace
        split = self._find_split()
        assert split is not None
        algorithm = await self._choose_algorithm("Search parameters of")
        if algorithm is None:
            return
        dialog = FormDialog(
            f"Search parameters: {algorithm.label}",
            forms.make_search_fields(algorithm, experiment),
            verb="Search",
            note="Several values of a parameter, with blanks between them, are tried in all combinations.",
            check=lambda values: forms.check_search(algorithm, values),
        )
        values = await self.app.push_screen_wait(dialog)
        if values is None:
            return
        name, id, body = experiment.name, split.id, forms.make_search(algorithm, values)
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).search(name, id, body),
            lambda job: self.show_experiment(name, f"{SEARCHES}/{job}"),
        )

    @work(group="analytics-dialog", exclusive=True)
    async def action_look(self) -> None:
        """Take a first look at a model, on a sample, by scikit-learn."""
        experiment = self.require_experiment()
        start = self.look[1].id if self.look is not None else None
        namespace = self.studio.namespace
        # The sample and the library are read while the user chooses.
        sample = asyncio.ensure_future(self._read_sample(experiment))
        algorithm = await self._choose_algorithm("A first look at a sample, without Spark", start)
        data = None if algorithm is None else await sample
        if algorithm is None or data is None:
            return
        body = _make_look(experiment, algorithm, data, self._find_split())
        found = await self.call_and_wait(
            lambda cdap: AnalyticsCalls(cdap, namespace).take_look(body)
        )
        if self.experiment == experiment:
            self._show_look(found, algorithm, experiment)

    async def _read_sample(self, experiment: Experiment) -> DataDescription | None:
        """Return the sample of an experiment, which is kept; None after an error, which is shown."""
        namespace = self.studio.namespace
        ready = asyncio.ensure_future(
            self.call_and_wait(lambda cdap: AnalyticsCalls(cdap, namespace).prepare_looks())
        )
        if self._sampled is None or self._sampled[0] != experiment:
            data = await self.describe(experiment)
            self._sampled = None if data is None else (experiment, data)
        try:
            await ready
        except LocalcdapError as error:
            self.studio.report_error(error)
            return None
        return None if self._sampled is None else self._sampled[1]

    def action_reload(self) -> None:
        self._sampled = None
        super().action_reload()

    def _show_look(self, look: Look, algorithm: Algorithm, experiment: Experiment) -> None:
        self.log_lines = self.compared = None
        self.look = look, algorithm, experiment.srcpath
        self.show_detail()
        self.query_one("#analytics-detail").scroll_home(animate=False)
        self.refresh_bindings()

    # -- models ---------------------------------------------------------------------------------

    @work(group="analytics-dialog", exclusive=True)
    async def action_metric(self) -> None:
        """Choose what the models are ordered by."""
        experiment = self.require_experiment()
        choices = [Choice(metric, metric) for metric in experiment.metrics]
        title = "Order the models by"
        chosen = await self.studio.choose(choices, title=title, current=self.metric)
        if chosen is not None:
            self.metrics[experiment.is_categorical] = chosen
            self._fill_entries()

    def _list_others(self) -> list[tuple[str, str]]:
        """Return names and ids of the other trained models."""
        view = self.model
        if view is None or self.contents is None:
            return []
        return [
            (each.name, each.id)
            for each in self.contents.models
            if each.is_trained and each.id != view.model.id
        ]

    @work(group="analytics-dialog", exclusive=True)
    async def action_compare(self) -> None:
        """Compare the highlighted model with another one."""
        view, experiment = self._require_model(), self.require_experiment()
        namespace = self.studio.namespace
        choices = [Choice(name, id) for name, id in self._list_others()]
        id = await self.studio.choose(choices, title=f"Compare {view.model.name} with")
        if id is None:
            return
        name = experiment.name
        other = await self.call_and_wait(
            lambda cdap: AnalyticsCalls(cdap, namespace).read_model(name, id)
        )
        self.look = self.log_lines = None
        self.compared = view, self.make_view(*other)
        self.show_detail()

    def action_deploy(self) -> None:
        """Mark the highlighted model as the one that is used."""
        view, experiment = self._require_model(), self.require_experiment()
        namespace = self.studio.namespace
        name, id = experiment.name, view.model.id
        self.call(
            lambda cdap: AnalyticsCalls(cdap, namespace).deploy(name, id),
            lambda _: self.read_contents(),
        )

    @work(group="analytics-dialog", exclusive=True)
    async def action_card(self) -> None:
        """Write the card of the highlighted model into a file."""
        view, experiment = self._require_model(), self.require_experiment()
        text = write_card(experiment, self._get_split_of(view), view)
        typed = "".join(each if each.isalnum() else "_" for each in view.model.name) + ".md"
        path = await self.studio.pick_file(
            "Write the model card", suffixes=(".md",), for_saving=True, typed=typed
        )
        if path is not None:
            self.save_text(path, lambda _: text)

    def _get_split_of(self, view: ModelView) -> Split | None:
        splits = self.contents.splits if self.contents is not None else []
        return next((each for each in splits if each.id == view.model.split), None)

    def action_pipeline(self) -> None:
        """Open a pipeline that predicts with the highlighted model."""
        view, experiment = self._require_model(), self.require_experiment()
        split = self._get_split_of(view)
        if split is None or view.algorithm is None:
            self.studio.explain_no_effect("its split is not there any more", "pipeline")
            return
        document = build_pipeline(experiment, split, view.model, view.algorithm)
        text = json.dumps(document, indent=2)
        self.studio.navigate(DocumentTarget(document["name"], text))

    # -- threshold ------------------------------------------------------------------------------

    def _get_scores(self) -> list[list[int]]:
        if self.log_lines is not None or self.compared is not None:
            return []
        if self.look is not None:
            return self.look[0].report.scores
        return self.detail.report.scores if isinstance(self.detail, ModelView) else []

    def action_threshold(self, direction: int) -> None:
        """Move the threshold of the score."""
        self.step = max(0, min(_LAST_STEP, self.step + direction * _JUMP))
        self.show_detail()

    def action_best(self) -> None:
        """Move the threshold to where F1 is greatest."""
        self.step = find_best(self._get_scores())
        self.show_detail()


def _make_look(
    experiment: Experiment, algorithm: Algorithm, data: DataDescription, split: Split | None
) -> dict[str, Any]:
    """Return the request of a first look, on the columns of a split, if there is one."""
    used = {each["name"] for each in split.schema["fields"]} if split is not None else None
    left_out = [e.name for e in data.columns if used is not None and e.name not in used]
    return {
        "outcome": experiment.outcome,
        "outcomeType": experiment.outcome_type,
        "algorithm": algorithm.id,
        "schema": data.make_schema(left_out),
        "records": data.records,
    }
