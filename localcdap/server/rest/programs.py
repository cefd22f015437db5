"""The programs that paths name: of a deployed pipeline, which has one, or of a system application.

A pipeline's program is the workflow ``DataPipelineWorkflow``, or for a streaming pipeline the Spark program
``DataStreamsSparkStreaming``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.api.metadata import PROGRAM_TYPES
from localcdap.host import Cdap
from localcdap.namespaces.model import SYSTEM
from localcdap.pipeline.library.application_model import LATEST, Application, get_program
from localcdap.runs.model import Run, RunRequest
from localcdap.server.rest.answers import RestError
from localcdap.server.rest.request import RestRequest

_ALIASES: Final = {"sparks": "spark"}
"""Airflow asks for ``sparks`` in some versions."""
_CATEGORIES: Final = {each.lower(): category for category, each in PROGRAM_TYPES.items()}
CLUSTER_ENDED: Final = "DEPROVISIONED"


class ProgramRef(msgspec.Struct, frozen=True):
    """A program that a path names; it need not exist."""

    namespace: str
    application: str
    version: str | None
    """None for the latest."""
    category: str
    """``workflows``, ``spark``, ``services`` …"""
    program: str

    @property
    def text(self) -> str:
        """The program as the original writes it in errors."""
        type, version = PROGRAM_TYPES[self.category].lower(), self.version or LATEST[1]
        return f"program:{self.namespace}.{self.application}.{version}.{type}.{self.program}"


def list_patterns(rest: str, program: str = "{category}/{program}") -> tuple[str, str]:
    """Return the two patterns of a route of programs, without and with a version of the application."""
    base = "/v3/namespaces/{namespace}/apps/{app}"
    return f"{base}/{program}{rest}", f"{base}/versions/{{version}}/{program}{rest}"


def read_program(request: RestRequest) -> ProgramRef:
    """Return the program of the path.

    :raises RestError: when the type of the program is unknown (400).
    """
    path = request.path
    category = path.get("category", "workflows")
    category = _ALIASES.get(category, category)
    if category not in PROGRAM_TYPES:
        raise RestError(400, f"Invalid program type '{category}'")
    version = path.get("version")
    return ProgramRef(
        path["namespace"],
        path["app"],
        None if version in LATEST else version,
        category,
        path["program"],
    )


def read_category(type: str) -> str:
    """Return the category of a program type in a body: ``workflow``, ``Spark`` …

    :raises RestError: when there is no such type (400).
    """
    found = _CATEGORIES.get(type.lower())
    if found is None:
        raise RestError(400, f"Invalid program type '{type}'")
    return found


def find_application(cdap: Cdap, ref: ProgramRef) -> Application:
    """Return the application of a program.

    :raises NotFoundError: when there is no such application or version.
    """
    return cdap.applications.find(ref.namespace, ref.application, ref.version)


def require_pipeline(cdap: Cdap, ref: ProgramRef, *, any_program: bool = False) -> Application:
    """Return the deployed pipeline whose program is meant.

    :param any_program: whether the program of a batch pipeline means that of a streaming one too: clients
        stop streaming pipelines so.
    :raises NotFoundError: when there is no such pipeline.
    :raises RestError: when it has no such program (404).
    """
    found = find_application(cdap, ref)
    name, type = get_program(found.artifact)
    if not any_program and (ref.program, PROGRAM_TYPES[ref.category]) != (name, type):
        raise RestError(404, f"'{ref.text}' was not found.")
    return found


def is_system_application(ref: ProgramRef) -> bool:
    """Whether a program may be one of a system application."""
    return ref.namespace == SYSTEM


def get_run(cdap: Cdap, ref: ProgramRef, run: str) -> Run:
    """Return a run of a program by its whole id.

    :raises RestError: when there is none (404).
    """
    try:
        found = cdap.runs.get(ref.namespace, run)
    except NotFoundError:
        found = None
    if found is None or found.run != run or found.pipeline != ref.application:
        raise RestError(404, f"'program_run:{ref.text.partition(':')[2]}.{run}' was not found.")
    return found


def start_run(cdap: Cdap, ref: ProgramRef, arguments: dict[str, str]) -> Run:
    """Start a run of a deployed pipeline.

    :raises NotFoundError: when there is no such pipeline.
    :raises InvalidPipelineError: when it cannot run with these arguments.
    """
    found = require_pipeline(cdap, ref)
    document = cdap.applications.export(found.namespace, found.name, found.version)
    return cdap.runs.start(
        RunRequest(
            document,
            found.namespace,
            arguments=arguments,
            application=found.name,
            application_version=found.version,
        )
    )


def stop_runs(cdap: Cdap, ref: ProgramRef) -> list[Run]:
    """Stop the active runs of a deployed pipeline, and wait until they have ended.

    :raises NotFoundError: when there is no such pipeline.
    :raises RestError: when no run is active (400).
    """
    require_pipeline(cdap, ref, any_program=True)
    active = cdap.runs.list_active(ref.namespace, ref.application)
    if not active:
        raise RestError(400, f"Program '{ref.text}' is not running.")
    # Those that wait come last in the list; otherwise they would begin as others end.
    return [cdap.runs.stop(each) for each in reversed(active)][::-1]
