"""The calls of the application Analytics that the screen makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from localcdap.api.app.jobs import JobDetail, JobLogLine
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.apps.model import AppRequest
from localcdap.decoders import convert
from localcdap.host.cdap import Cdap
from localcdap.tui.screens.analytics.answers import (
    Algorithm,
    Experiment,
    Look,
    Model,
    Report,
    Split,
    Splitter,
)

APPLICATION: Final = "ModelManagementApp"
_OK: Final = 200
_NOT_FOUND: Final = 404
_MOST: Final = 10_000


@dataclass(frozen=True)
class Contents:
    """What an experiment has; searches are jobs, the newest first."""

    experiment: Experiment
    splits: list[Split] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    searches: list[JobDetail] = field(default_factory=list)


class AnalyticsCalls:
    """Calls the application for one namespace. Used in threads.

    :raises NotFoundError: from every method, when what it names was deleted.
    :raises BadRequestError: from every method, with what else the application says is wrong.
    """

    def __init__(self, cdap: Cdap, namespace: str) -> None:
        self._cdap = cdap
        self._namespace = namespace

    def list_algorithms(self) -> list[Algorithm]:
        return [convert(each, Algorithm) for each in self._ask("/algorithms")]

    def list_splitters(self) -> list[Splitter]:
        found = self._ask("/splitters", query={"all": "true"})
        return [convert(each, Splitter) for each in found]

    def list_experiments(self) -> list[Experiment]:
        page = self._get("experiments", limit=str(_MOST))
        return [convert(each, Experiment) for each in page["experiments"]]

    def read_contents(self, experiment: str) -> Contents:
        """Return an experiment with its splits, models and searches."""
        path = f"experiments/{_quote_path_part(experiment)}"
        models = self._get(f"{path}/models", limit=str(_MOST))["models"]
        return Contents(
            convert(self._get(path), Experiment),
            [convert(each, Split) for each in self._get(f"{path}/splits")],
            [convert(each, Model) for each in models],
            [convert(each, JobDetail) for each in self._get(f"{path}/searches")],
        )

    def put_experiment(self, name: str, body: dict[str, Any]) -> None:
        self._send("PUT", f"experiments/{_quote_path_part(name)}", body)

    def delete(self, experiment: str, kind: str = "", id: str = "") -> None:
        """Delete an experiment, or of it a split or a model: ``kind`` is ``splits`` or ``models``."""
        inside = f"/{kind}/{_quote_path_part(id)}" if kind else ""
        self._send("DELETE", f"experiments/{_quote_path_part(experiment)}{inside}")

    def add_split(self, experiment: str, body: dict[str, Any]) -> str:
        """Make a split, and return its id; a job does the work."""
        return str(
            self._send("POST", f"experiments/{_quote_path_part(experiment)}/splits", body)["id"]
        )

    def read_split(self, experiment: str, id: str) -> Split:
        return convert(self._get(f"experiments/{_quote_path_part(experiment)}/splits/{id}"), Split)

    def train(self, experiment: str, name: str, split: str, body: dict[str, Any]) -> str:
        """Make a model with a split and train it; return its id.

        A model whose training is rejected is deleted again.
        """
        path = f"experiments/{_quote_path_part(experiment)}/models"
        id = str(self._send("POST", path, {"name": name, "split": split})["id"])
        try:
            self._send("POST", f"{path}/{id}/train", body)
        except LocalcdapError:
            self.delete(experiment, "models", id)
            raise
        return id

    def read_model(self, experiment: str, id: str) -> tuple[Model, Report]:
        path = f"experiments/{_quote_path_part(experiment)}/models/{id}"
        return convert(self._get(path), Model), convert(self._get(f"{path}/report"), Report)

    def deploy(self, experiment: str, id: str) -> None:
        self._send("POST", f"experiments/{_quote_path_part(experiment)}/models/{id}/deploy")

    def search(self, experiment: str, split: str, body: dict[str, Any]) -> str:
        """Search the best parameters, and return the id of the job."""
        path = f"experiments/{_quote_path_part(experiment)}/splits/{split}/search"
        return str(self._send("POST", path, body)["id"])

    def prepare_looks(self) -> None:
        """Have the application load what first looks need."""
        self._get("looks")

    def take_look(self, body: dict[str, Any]) -> Look:
        return convert(self._send("POST", "looks", body), Look)

    def list_jobs(self) -> list[JobDetail]:
        """Return the jobs of the application, newest first."""
        return self._cdap.jobs.list_jobs(self._namespace, APPLICATION)

    def read_log(self, job: str, after: int = 0) -> list[JobLogLine]:
        return self._cdap.jobs.read_log(job, after)

    def stop(self, job: str) -> None:
        self._cdap.jobs.stop(job)

    def _get(self, path: str, **query: str) -> Any:
        return self._send("GET", path, None, query)

    def _send(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        whole = f"/v2/contexts/{_quote_path_part(self._namespace)}/{path}"
        return self._ask(whole, method, body, query)

    def _ask(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        query: dict[str, str] | None = None,
    ) -> Any:
        request = AppRequest(method, path, dict(query or {}), body)
        answer = self._cdap.apps.call(APPLICATION, request)
        if answer.status == _OK:
            return answer.body
        said = answer.body if isinstance(answer.body, dict) else {}
        message = said.get("message") or f"The application answered {answer.status}."
        error = NotFoundError if answer.status == _NOT_FOUND else BadRequestError
        raise error(str(message), said.get("correctiveAction"))


def _quote_path_part(name: str) -> str:
    return quote(name, safe="")
