"""Programs and their runs, one or several in a request (CDAP 6 ``ProgramLifecycleHttpHandler``).

The answer for several has one object for each in the body, with a status code of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.metadata import PROGRAM_TYPES
from localcdap.engine.messages.spool import RunStatus
from localcdap.host import Cdap
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.runs.history import LONGEST_PAGE, RunFilter
from localcdap.runs.model import Run
from localcdap.server.rest.answers import (
    DONE,
    Answer,
    RestError,
    describe,
    encode,
    find_status,
    send_json,
)
from localcdap.server.rest.programs import (
    CLUSTER_ENDED,
    ProgramRef,
    find_application,
    get_run,
    is_system_application,
    list_patterns,
    read_category,
    read_program,
    require_pipeline,
    start_run,
    stop_runs,
)
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

RUNS: Final = RouteTable("Programs and runs")
_ALL: Final = "ALL"
_NOT_HERE: Final = ("SUSPENDED", "RESUMING", "REJECTED")
"""Statuses of the original that no run has here."""


@RUNS.add("GET", *list_patterns(""))
def describe_program(request: RestRequest) -> Answer:
    """Return the specification of the pipeline, the properties of the original's workflow."""
    ref = read_program(request)
    found = require_pipeline(request.cdap, ref)
    detail = request.cdap.applications.describe(ref.namespace, found.name, found.version)
    specification = "" if detail.spec is None else encode(detail.spec).decode()
    return send_json(
        {
            "className": "",
            "name": ref.program,
            "description": found.description or "",
            "properties": {"pipeline.spec": specification},
            "plugins": {},
        }
    )


@RUNS.add("GET", *list_patterns("/status"))
def get_status(request: RestRequest) -> Answer:
    return send_json({"status": find_status_of_program(request.cdap, read_program(request))})


@RUNS.add("POST", *list_patterns("/start"))
def start(request: RestRequest) -> Answer:
    """Start a run; its record can be read before this is answered."""
    ref, arguments = read_program(request), request.decode_texts()
    if not is_system_application(ref):
        start_run(request.cdap, ref, arguments)
        return DONE
    request.cdap.apps.describe(ref.application)  # its first call starts it
    return DONE


@RUNS.add("POST", *list_patterns("/stop"))
def stop(request: RestRequest) -> Answer:
    ref = read_program(request)
    if is_system_application(ref):
        request.cdap.apps.stop(ref.application)
    else:
        stop_runs(request.cdap, ref)
    return DONE


@RUNS.add("POST", *list_patterns("/debug"))
def debug(request: RestRequest) -> Answer:
    ref = read_program(request)
    raise RestError(501, f"debug action is not implemented for program type {ref.category}")


@RUNS.add("POST", *list_patterns("/{action}"))
def refuse_action(request: RestRequest) -> Answer:
    read_program(request)
    raise RestError(404, f"{request.path['action']} action was not found")


@RUNS.add("GET", *list_patterns("/runs"))
def list_runs(request: RestRequest) -> Answer:
    """Return runs, newest first. ``start`` and ``end`` are in seconds; ``limit`` is 100 by default."""
    ref = read_program(request)
    filter = _read_filter(request, ref)
    runs = [] if filter is None else _read_runs(request, ref, filter)
    if not runs:
        require_pipeline(request.cdap, ref)
    return send_json([to_run_record(each) for each in runs])


@RUNS.add("GET", *list_patterns("/runs/{run}"))
def get_run_record(request: RestRequest) -> Answer:
    return send_json(
        to_run_record(get_run(request.cdap, read_program(request), request.path["run"]))
    )


@RUNS.add(
    "POST",
    *list_patterns("/runs/{run}/stop"),
    lack="every stop is at once; `graceful` is checked only",
)
def stop_run(request: RestRequest) -> Answer:
    ref, run = read_program(request), request.path["run"]
    _check_grace(request.get("graceful"))
    try:
        uuid.UUID(run)
    except ValueError:
        raise RestError(400, f"Invalid UUID string: {run}") from None
    found = get_run(request.cdap, ref, run)
    if found.status.is_end:
        raise RestError(400, f"Program run '{run}' is not running: it is {found.status}.")
    request.cdap.runs.stop(run)
    return DONE


@RUNS.add("POST", *list_patterns("/runs/{run}/classify"))
def classify(request: RestRequest) -> Answer:
    found = get_run(request.cdap, read_program(request), request.path["run"])
    return send_json(request.cdap.statistics.classify(found.namespace, found.run))


@RUNS.add("GET", *list_patterns("/runtimeargs"))
def get_arguments(request: RestRequest) -> Answer:
    return send_json(request.cdap.preferences.get(_get_level(request)))


@RUNS.add("PUT", *list_patterns("/runtimeargs"))
def save_arguments(request: RestRequest) -> Answer:
    """Keep the arguments of later runs, as preferences of the program."""
    request.cdap.preferences.replace(_get_level(request), request.decode_texts())
    return DONE


@RUNS.add("GET", *list_patterns("/statistics", "workflows/{program}"))
def get_statistics(request: RestRequest) -> Answer:
    ref = read_program(request)
    found = request.cdap.statistics.read_statistics(
        ref.namespace,
        ref.application,
        request.get_number("start", 0),
        request.get_number("end", 2**31),
        [_read_percentile(each) for each in request.list_values("percentile")],
    )
    if found is None:
        raise RestError(404, "There are no statistics associated with this workflow in the time.")
    return send_json(found)


@RUNS.add("GET", *list_patterns("/runs/{run}/statistics", "workflows/{program}"))
def list_statistics_around(request: RestRequest) -> Answer:
    found = get_run(request.cdap, read_program(request), request.path["run"])
    limit, interval = request.get_number("limit", 10), request.get_number("interval", 10)
    return send_json(
        request.cdap.statistics.list_around(found.namespace, found.run, limit, interval)
    )


@RUNS.add("GET", *list_patterns("/runs/{run}/compare", "workflows/{program}"))
def compare_runs(request: RestRequest) -> Answer:
    ref = read_program(request)
    first = get_run(request.cdap, ref, request.path["run"])
    other = request.get("other-run-id")
    if not other:
        raise RestError(400, "The parameter 'other-run-id' is missing.")
    second = get_run(request.cdap, ref, other)
    return send_json(request.cdap.statistics.compare(ref.namespace, first.run, second.run))


@RUNS.add("GET", *list_patterns("/runs/{run}/nodes/state", "workflows/{program}"))
def list_nodes(request: RestRequest) -> Answer:
    """Return the nodes of a run's workflow; here the pipeline runs as one."""
    found = get_run(request.cdap, read_program(request), request.path["run"])
    node = {"nodeId": "phase-1", "runId": found.run, "nodeStatus": found.status}
    return send_json({"phase-1": node})


def find_status_of_program(cdap: Cdap, ref: ProgramRef) -> str:
    """Return the status of a program (CDAP 6 ``ProgramStatus``): STOPPED, STARTING, STOPPING or RUNNING.

    A service of a system application is RUNNING: the first call starts its process.
    """
    if is_system_application(ref):
        cdap.apps.describe(ref.application)
        return "RUNNING"
    require_pipeline(cdap, ref)
    active = cdap.runs.list_active(ref.namespace, ref.application)
    found = {cdap.runs.get(ref.namespace, each).status for each in active}
    for status in (RunStatus.RUNNING, RunStatus.STOPPING):
        if status in found:
            return status
    return "STARTING" if found & {RunStatus.PENDING, RunStatus.STARTING} else "STOPPED"


def to_run_record(run: Run) -> dict[str, Any]:
    """Return a run (CDAP 6 ``RunRecord``), with times in seconds; those that are not known are absent."""
    record: dict[str, Any] = {"runid": run.run, "starting": run.starting // 1000}
    if run.start is not None:
        record["start"] = run.start // 1000
    if run.end is not None:
        record["end"] = run.end // 1000
    cluster: dict[str, Any] = {"status": "PROVISIONED", "numNodes": 1}
    if run.status is RunStatus.PENDING:
        cluster = {"status": "PROVISIONING"}
    if run.end is not None:
        cluster = {"status": CLUSTER_ENDED, "end": run.end // 1000, "numNodes": 1}
    record |= {
        "status": run.status,
        # A text that holds JSON: Terraform's provider reads it so, and fails without it.
        "properties": {"runtimeArgs": encode(run.arguments).decode(), "phase-1": run.run},
        "cluster": cluster,
        "profile": {"profileName": run.profile, "namespace": "system", "entity": "PROFILE"},
    }
    if run.artifact is not None:
        record["artifact"] = run.artifact
    if run.application_version is not None:
        record["version"] = run.application_version
    return record


def _read_filter(request: RestRequest, ref: ProgramRef) -> RunFilter | None:
    """Return what the query asks for; None when no run can match."""
    status = (request.get("status") or _ALL).upper()
    if status != _ALL and status not in (*RunStatus, *_NOT_HERE):
        raise RestError(
            400, f"Invalid status '{status}'. It must be one of ALL, {', '.join(RunStatus)}."
        )
    if status in _NOT_HERE:
        return None
    start, end = request.get("start"), request.get("end")
    most = 2**63 // 1000 - 1
    version = None if ref.version is None else find_application(request.cdap, ref).version
    return RunFilter(
        ref.application,
        [] if status == _ALL else [RunStatus(status)],
        since=min(request.get_number("start", 0), most) * 1000 if start else None,
        until=min(request.get_number("end", 0), most) * 1000 if end else None,
        application_version=version,
    )


def _read_runs(request: RestRequest, ref: ProgramRef, filter: RunFilter) -> list[Run]:
    left, found = request.get_number("limit", 100), []
    after = None
    while left > 0:
        page = request.cdap.runs.list_page(
            ref.namespace, filter, after, min(left, LONGEST_PAGE)
        ).runs
        found += page
        left -= len(page)
        if len(page) < LONGEST_PAGE:
            break
        after = page[-1].run
    return found


def _get_level(request: RestRequest) -> PreferenceLevel:
    ref = read_program(request)
    require_pipeline(request.cdap, ref)
    return PreferenceLevel(ref.namespace, ref.application, f"{ref.category}/{ref.program}")


def _check_grace(text: str | None) -> None:
    """:raises RestError: when it is not a number of seconds; empty means for ever (400)."""
    if not text:
        return
    try:
        seconds = int(text)
    except ValueError:
        raise RestError(
            400, f"Invalid graceful shutdown period {text} passed. Please specify a valid number"
        ) from None
    if seconds < 0:
        raise RestError(
            400,
            f"Invalid graceful shutdown period {text} passed. Please specify a value greater than or equal "
            "to 0.",
        )


def _read_percentile(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadRequestError(f"Invalid percentile '{text}'.", "Give numbers such as 80.") from None


BATCH: Final = RouteTable("Programs, several at once")
_BASE: Final = "/v3/namespaces/{namespace}"
_NO_LIST: Final = "Request body is invalid json, please check that it is a json array."
_INCOMPLETE: Final = "Must provide valid appId, programType, and programId for each object: {}"
_KEYS: Final = ("appId", "programType", "programId")
ProgramWork = Callable[[ProgramRef, dict[str, Any]], dict[str, Any]]


@BATCH.add("POST", f"{_BASE}/start")
def start_programs(request: RestRequest) -> Answer:
    """Start runs. The record of each can be read before this is answered."""

    def start(ref: ProgramRef, given: dict[str, Any]) -> dict[str, Any]:
        arguments = given.get("runtimeargs") or {}
        if not isinstance(arguments, dict):
            raise RestError(400, "'runtimeargs' must be an object.")
        return {"runId": start_run(request.cdap, ref, to_texts(arguments)).run}

    return do_each(request, start)


@BATCH.add("POST", f"{_BASE}/stop")
def stop_programs(request: RestRequest) -> Answer:
    def stop(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        stopped = stop_runs(request.cdap, ref)
        return {"runId": stopped[0].run}

    return do_each(request, stop)


@BATCH.add("POST", f"{_BASE}/status")
def get_statuses(request: RestRequest) -> Answer:
    def get(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        return {"status": find_status_of_program(request.cdap, ref)}

    return do_each(request, get)


@BATCH.add("POST", f"{_BASE}/runcount")
def count_runs(request: RestRequest) -> Answer:
    def count(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        filter = RunFilter(ref.application)
        return {"runCount": request.cdap.runs.list_page(ref.namespace, filter, limit=1).total}

    return do_each(request, count)


@BATCH.add("POST", f"{_BASE}/runs")
def get_latest_runs(request: RestRequest) -> Answer:
    """Return the latest run of each program."""

    def get(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        page = request.cdap.runs.list_page(ref.namespace, RunFilter(ref.application), limit=1)
        return {"runs": [to_run_record(each) for each in page.runs]}

    return do_each(request, get)


@BATCH.add("POST", f"{_BASE}/instances")
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
