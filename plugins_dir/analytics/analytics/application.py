"""The application ``ModelManagementApp`` and its routes (mmds ``ModelManagerServiceHandler``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from localcdap.api.app import (
    BadRequestError,
    JobDetail,
    JobEnded,
    JobLogLine,
    NamespaceSummary,
    NotFoundError,
    SparkService,
    SystemApplication,
    SystemEventListener,
    TransactionContext,
    application,
    delete,
    get,
    post,
    put,
)

from .algorithms import ALGORITHMS, Algorithm, find_algorithm
from .first_look import Look, LookLibrary, LookRequest, load_library, take_look
from .jobs import SearchParameters, SplitData, TrainModel
from .manager import ModelManager
from .model import (
    CreateModelRequest,
    DataSplit,
    DataSplitStats,
    DirectivesRequest,
    Experiment,
    ExperimentPage,
    ExperimentStats,
    Id,
    Model,
    ModelPage,
    PageRequest,
    TrainModelRequest,
)
from .parameter_search import SearchRequest
from .splitters import RANDOM, SPLITTERS, Splitter, find_splitter
from .store import EXPERIMENTS, MODELS, SPLITS, ExperimentStore
from .trainer_sink import COMMITS

T = TypeVar("T")
_CONTEXT = "/v2/contexts/{context}"
_EXPERIMENT = _CONTEXT + "/experiments/{experiment}"
_MODEL = _EXPERIMENT + "/models/{model}"
_SPLIT = _EXPERIMENT + "/splits/{split}"


class ModelManagerService(SparkService):
    """Experiments, splits and models."""

    name = "ModelManagerService"
    tables = [EXPERIMENTS, MODELS, SPLITS, COMMITS]

    def initialize(self) -> None:
        self._manager = ModelManager(self.context)
        self._manager.end_abandoned()

    @get("/health")
    def check_health(self) -> None:
        """Answer."""

    @get("/splitters")
    def list_splitters(self, all: bool = False) -> list[Splitter]:
        """List the splitters: the one of mmds, or all."""
        return [each for each in SPLITTERS if all or each.type == RANDOM]

    @get("/splitters/{type}")
    def get_splitter(self, type: str) -> Splitter:
        """Return a splitter."""
        found = find_splitter(type)
        if found is None:
            raise NotFoundError(f"Splitter {type} not found.")
        return found

    @get("/algorithms")
    def list_algorithms(self) -> list[Algorithm]:
        """List the algorithms with their parameters."""
        return ALGORITHMS

    @get("/algorithms/{id}")
    def get_algorithm(self, id: str) -> Algorithm:
        """Return an algorithm with its parameters."""
        found = find_algorithm(id)
        if found is None:
            raise NotFoundError(f"Algorithm {id} not found.")
        return found

    @get(_CONTEXT + "/looks", operation="Preparing first looks")
    def prepare_looks(self, context: NamespaceSummary) -> LookLibrary:
        """Return what first looks are taken with, and load it; an error says how to install it."""
        return LookLibrary(load_library())

    @post(_CONTEXT + "/looks", operation="Taking a first look")
    def take_look(self, context: NamespaceSummary, body: LookRequest | None = None) -> Look:
        """Train a small model on records of a sample, with scikit-learn; nothing is stored."""
        if body is None:
            raise BadRequestError("A request body must be provided containing the sample.")
        return take_look(body)

    @get(_CONTEXT + "/experiments", operation="Listing experiments")
    def list_experiments(
        self,
        context: NamespaceSummary,
        offset: int = 0,
        limit: int = 20,
        srcPath: str = "",  # noqa: N803  names of query parameters
        sort: str = "name asc",
    ) -> ExperimentPage:
        """List experiments by name."""
        page = PageRequest.parse(offset, limit, sort)
        return self._run(context, lambda store: store.list_experiments(page, srcPath))

    @get(_EXPERIMENT, operation="Getting experiment")
    def get_experiment(self, context: NamespaceSummary, experiment: str) -> ExperimentStats:
        """Return an experiment with statistics of its models."""
        return self._run(context, lambda store: store.get_stats(experiment))

    @put(_EXPERIMENT, operation="Creating experiment")
    def put_experiment(self, context: NamespaceSummary, experiment: str, body: Experiment) -> None:
        """Create or replace an experiment."""
        body.check()
        body.name = experiment
        self._run(context, lambda store: store.put_experiment(body))

    @delete(_EXPERIMENT, operation="Deleting experiment")
    def delete_experiment(self, context: NamespaceSummary, experiment: str) -> None:
        """Delete an experiment with its models and splits."""
        self._manager.delete_experiment(context, experiment)

    @get(_EXPERIMENT + "/models", operation="Listing models")
    def list_models(
        self,
        context: NamespaceSummary,
        experiment: str,
        offset: int = 0,
        limit: int = 20,
        sort: str = "name asc",
    ) -> ModelPage:
        """List the models of an experiment by name."""
        page = PageRequest.parse(offset, limit, sort)
        return self._run(context, lambda store: store.list_models(experiment, page))

    @post(_EXPERIMENT + "/models", operation="Creating model")
    def add_model(
        self, context: NamespaceSummary, experiment: str, body: CreateModelRequest | None = None
    ) -> Id:
        """Create a model."""
        if body is None:
            raise BadRequestError(
                "A request body must be provided containing the model information."
            )
        return Id(self._run(context, lambda store: store.add_model(experiment, body)).id)

    @get(_MODEL, operation="Getting model")
    def get_model(self, context: NamespaceSummary, experiment: str, model: str) -> Model:
        """Return a model."""
        return self._run(context, lambda store: store.get_model(experiment, model))

    @get(_MODEL + "/status", operation="Getting status")
    def get_model_status(self, context: NamespaceSummary, experiment: str, model: str) -> str:
        """Return the state of a model."""
        return self._run(context, lambda store: store.get_model(experiment, model)).status

    @get(_MODEL + "/report", operation="Getting report")
    def get_report(self, context: NamespaceSummary, experiment: str, model: str) -> dict[str, Any]:
        """Return what the training has found: confusion matrix, residuals, importance, warnings."""
        return self._run(context, lambda store: store.get_report(experiment, model))

    @get(_MODEL + "/job", operation="Getting job")
    def get_job(self, context: NamespaceSummary, experiment: str, model: str) -> JobDetail:
        """Return the job that works, or has worked, for a model: the split's, or that of the training."""
        return self._manager.get_job(context, experiment, model)

    @get(_MODEL + "/log", operation="Getting log")
    def get_log(
        self, context: NamespaceSummary, experiment: str, model: str, after: int = 0
    ) -> list[JobLogLine]:
        """Return the log of the job of a model."""
        job = self._manager.get_job(context, experiment, model)
        return self.context.read_job_log(context.name, job.id, after)

    @post(_MODEL + "/stop", operation="Stopping job")
    def stop(self, context: NamespaceSummary, experiment: str, model: str) -> None:
        """Stop the split or the training of a model."""
        job = self._manager.get_job(context, experiment, model)
        self.context.stop_job(context.name, job.id)

    @delete(_MODEL, operation="Deleting model")
    def delete_model(self, context: NamespaceSummary, experiment: str, model: str) -> None:
        """Delete a model; its split stays."""
        self._manager.delete_model(context, experiment, model)

    @put(_MODEL + "/directives", operation="Setting directives")
    def set_directives(
        self,
        context: NamespaceSummary,
        experiment: str,
        model: str,
        body: DirectivesRequest | None = None,
    ) -> None:
        """Set the directives of a model."""
        if body is None:
            raise BadRequestError("A request body must be provided containing the directives.")
        directives = body.directives
        if directives is None:
            raise BadRequestError("Directives must be specified.")
        self._run(context, lambda store: store.set_directives(experiment, model, directives))

    @post(_MODEL + "/split", operation="Creating split")
    def create_model_split(
        self, context: NamespaceSummary, experiment: str, model: str, body: DataSplit | None = None
    ) -> None:
        """Create a split for a model."""
        self._manager.split_for_model(context, experiment, model, _require_split(body))

    @delete(_MODEL + "/split", operation="Unassigning split")
    def unassign_split(self, context: NamespaceSummary, experiment: str, model: str) -> None:
        """Take the split from a model; it is deleted when no other model uses it."""
        self._manager.unassign_split(context, experiment, model)

    @put(_MODEL + "/split/{split}", operation="Assigning split")
    def assign_split(
        self, context: NamespaceSummary, experiment: str, model: str, split: str
    ) -> None:
        """Give a model a split that there is."""
        self._run(context, lambda store: store.set_split(experiment, model, split))

    @post(_MODEL + "/train", operation="Training model")
    def train(
        self,
        context: NamespaceSummary,
        experiment: str,
        model: str,
        body: TrainModelRequest | None = None,
    ) -> None:
        """Train a model in a job."""
        if body is None:
            raise BadRequestError("A request body must be provided containing training parameters.")
        self._manager.train(context, experiment, model, body)

    @post(_MODEL + "/deploy", operation="Deploying model")
    def deploy(self, context: NamespaceSummary, experiment: str, model: str) -> None:
        """Deploy a model."""
        self._run(context, lambda store: store.deploy(experiment, model))

    @get(_EXPERIMENT + "/splits", operation="Listing splits")
    def list_splits(self, context: NamespaceSummary, experiment: str) -> list[DataSplitStats]:
        """List the splits of an experiment, without their statistics."""
        return self._run(context, lambda store: store.list_splits(experiment))

    @post(_EXPERIMENT + "/splits", operation="Creating split")
    def add_split(
        self, context: NamespaceSummary, experiment: str, body: DataSplit | None = None
    ) -> Id:
        """Create a split in a job."""
        return Id(self._manager.add_split(context, experiment, _require_split(body)))

    @get(_SPLIT, operation="Getting split")
    def get_split(self, context: NamespaceSummary, experiment: str, split: str) -> DataSplitStats:
        """Return a split with its statistics."""
        return self._run(context, lambda store: store.get_split(experiment, split))

    @get(_SPLIT + "/status", operation="Getting status")
    def get_split_status(self, context: NamespaceSummary, experiment: str, split: str) -> str:
        """Return the state of a split."""
        return self._run(context, lambda store: store.get_split(experiment, split)).status

    @post(_SPLIT + "/search", operation="Searching parameters")
    def search(
        self,
        context: NamespaceSummary,
        experiment: str,
        split: str,
        body: SearchRequest | None = None,
    ) -> Id:
        """Search the best parameters of an algorithm in a job, and return the id of the job."""
        if body is None:
            raise BadRequestError("A request body must be provided containing the grid.")
        return Id(self._manager.search(context, experiment, split, body))

    @get(_EXPERIMENT + "/searches", operation="Listing searches")
    def list_searches(self, context: NamespaceSummary, experiment: str) -> list[JobDetail]:
        """List the searches of parameters, newest first; the result of each is that of its job."""
        return self._manager.list_searches(context, experiment)

    @delete(_SPLIT, operation="Deleting split")
    def delete_split(self, context: NamespaceSummary, experiment: str, split: str) -> None:
        """Delete a split that no model uses."""
        self._manager.delete_split(context, experiment, split)

    def _run(self, context: NamespaceSummary, work: Callable[[ExperimentStore], T]) -> T:
        return self._manager.run(context, work)


class JobEnds(SystemEventListener[TransactionContext]):
    """Makes a split or a model failed when its job has ended without a result."""

    name = "job-ends"
    events = (JobEnded,)

    def on_event(self, event: JobEnded, tx: TransactionContext) -> None:
        if event.application != "ModelManagementApp" or event.status == "COMPLETED":
            return
        namespace = NamespaceSummary(event.namespace, "", event.generation)
        store, given = ExperimentStore(tx, namespace), event.arguments
        error = event.error or "The job was stopped."
        try:
            if event.job == SplitData.name:
                store.fail_split(given["experiment"], given["split"], error)
            elif event.job == TrainModel.name:
                store.fail_training(given["experiment"], given["model"], error)
        except NotFoundError:
            return  # it was deleted meanwhile


def _require_split(body: DataSplit | None) -> DataSplit:
    if body is None:
        raise BadRequestError("A request body must be provided containing split parameters.")
    return body


@application(
    name="ModelManagementApp",
    description="Analytics: experiments, and models that are trained on Spark, of all namespaces.",
)
class ModelManagementApp(SystemApplication):
    services = [ModelManagerService]
    listeners = [JobEnds]
    jobs = [SplitData, TrainModel, SearchParameters]
