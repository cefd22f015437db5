"""Several programs in one request: start, stop and status (CDAP 6 ``ProgramLifecycleHttpHandler``).

The answer has one object for each in the body, with a status code of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import PROGRAM_TYPES
from localcdap.runs.history import RunFilter
from localcdap.server.rest.answers import Answer, RestError, describe, find_status, send_json
from localcdap.server.rest.programs import (
    ProgramRef,
    read_category,
    require_pipeline,
    start_run,
    stop_runs,
)
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.runs import find_status_of_program, to_run_record

ROUTES: Final = RouteTable("Programs, several at once")
_BASE: Final = "/v3/namespaces/{namespace}"
_NO_LIST: Final = "Request body is invalid json, please check that it is a json array."
_INCOMPLETE: Final = "Must provide valid appId, programType, and programId for each object: {}"
_KEYS: Final = ("appId", "programType", "programId")
ProgramWork = Callable[[ProgramRef, dict[str, Any]], dict[str, Any]]


@ROUTES.add("POST", f"{_BASE}/start")
def start_programs(request: RestRequest) -> Answer:
    """Start runs. The record of each can be read before this is answered."""

    def start(ref: ProgramRef, given: dict[str, Any]) -> dict[str, Any]:
        arguments = given.get("runtimeargs") or {}
        if not isinstance(arguments, dict):
            raise RestError(400, "'runtimeargs' must be an object.")
        return {"runId": start_run(request.cdap, ref, to_texts(arguments)).run}

    return do_each(request, start)


@ROUTES.add("POST", f"{_BASE}/stop")
def stop_programs(request: RestRequest) -> Answer:
    def stop(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        stopped = stop_runs(request.cdap, ref)
        return {"runId": stopped[0].run}

    return do_each(request, stop)


@ROUTES.add("POST", f"{_BASE}/status")
def get_statuses(request: RestRequest) -> Answer:
    def get(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        return {"status": find_status_of_program(request.cdap, ref)}

    return do_each(request, get)


@ROUTES.add("POST", f"{_BASE}/runcount")
def count_runs(request: RestRequest) -> Answer:
    def count(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        filter = RunFilter(ref.application)
        return {"runCount": request.cdap.runs.list_page(ref.namespace, filter, limit=1).total}

    return do_each(request, count)


@ROUTES.add("POST", f"{_BASE}/runs")
def get_latest_runs(request: RestRequest) -> Answer:
    """Return the latest run of each program."""

    def get(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        page = request.cdap.runs.list_page(ref.namespace, RunFilter(ref.application), limit=1)
        return {"runs": [to_run_record(each) for each in page.runs]}

    return do_each(request, get)


@ROUTES.add("POST", f"{_BASE}/instances")
def get_instances(request: RestRequest) -> Answer:
    def get(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        raise RestError(400, "Getting instances is only supported for services and workers.")

    return do_each(request, get)


def do_each(request: RestRequest, work: ProgramWork) -> Answer:
    """Do some work for each program of the body, and answer with what it returns or why it failed."""
    given = _read_programs(request)
    return send_json([_do(request, each, work) for each in given])


def _do(request: RestRequest, given: dict[str, Any], work: ProgramWork) -> dict[str, Any]:
    answer = {key: given[key] for key in _KEYS}
    try:
        category = read_category(given["programType"])
        answer["programType"] = PROGRAM_TYPES[category]
        ref = ProgramRef(request.namespace, given["appId"], None, category, given["programId"])
        found = work(ref, given)
    except RestError as error:
        return {**answer, "statusCode": error.status, "error": error.text}
    except LocalcdapError as error:
        return {**answer, "statusCode": find_status(error), "error": describe(error)}
    return {**answer, "statusCode": 200, **found}


def _read_programs(request: RestRequest) -> list[dict[str, Any]]:
    """Return the objects of the body.

    :raises RestError: when it is not a list, or a key is missing (400).
    """
    given = request.decode(Any, missing=[])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise RestError(400, _NO_LIST)
    for each in given:
        for key in _KEYS:
            if not isinstance(each.get(key), str) or not each[key]:
                raise RestError(400, _INCOMPLETE.replace("{}", f"'{key}' must be specified."))
    return given
