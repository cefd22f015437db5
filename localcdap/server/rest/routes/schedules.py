"""Schedules of pipelines (CDAP 6 ``ProgramScheduleHttpHandler``).

They have no versions: that in a path is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from localcdap.api.metadata import PROGRAM_TYPES
from localcdap.decoders import convert
from localcdap.schedules.model import (
    Schedule,
    ScheduledRuntime,
    ScheduleRequest,
    ScheduleStatus,
    TriggerProgram,
)
from localcdap.schedules.triggers import STATUSES
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json
from localcdap.server.rest.programs import (
    ProgramRef,
    list_patterns,
    read_program,
    require_pipeline,
)
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable
from localcdap.server.rest.routes.runs import do_each

ROUTES: Final = RouteTable("Schedules and triggers")
_NAMESPACE: Final = "/v3/namespaces/{namespace}"
_APPS: Final = (f"{_NAMESPACE}/apps/{{app}}", f"{_NAMESPACE}/apps/{{app}}/versions/{{version}}")
_LIST: Final = tuple(f"{each}/schedules" for each in _APPS)
_ONE: Final = tuple(f"{each}/{{schedule}}" for each in _LIST)
_OLD_ACTION: Final = "program-type/schedules/program-id/{schedule}/action/{action}"
"""The path by which ``cdap-cli`` enables a schedule (CDAP 6 ``ScheduleClient.enableSchedule``)."""
_TRIGGER_TYPES: Final = ("time", "partition", "program-status", "and", "or")
_ENABLE: Final = ("enable", "resume")
_SUSPEND: Final = ("disable", "suspend")
_PROGRAM_STATUSES: Final = ("INITIALIZING", "RUNNING", *STATUSES)


@ROUTES.add("GET", *_LIST)
def list_schedules(request: RestRequest) -> Answer:
    return send_json(list(_read_schedules(request)))


@ROUTES.add("GET", *list_patterns("/schedules", "workflows/{program}"))
def list_schedules_of_program(request: RestRequest) -> Answer:
    ref = read_program(request)
    require_pipeline(request.cdap, ref)
    found = _read_schedules(request)
    return send_json([each for each in found if each["program"]["programName"] == ref.program])


@ROUTES.add("GET", *_ONE)
def get_schedule(request: RestRequest) -> Answer:
    return send_json(_to_detail(request.cdap.schedules.get(*_get_key(request))))


@ROUTES.add("PUT", *_ONE)
def add_schedule(request: RestRequest) -> Answer:
    """Make a schedule, which is suspended."""
    body = _read_body(request)
    program = body.get("program")
    if not isinstance(program, dict):
        raise RestError(400, "No program was specified for the schedule")
    for key, what in (("programType", "type"), ("programName", "name")):
        if program.get(key) is None:
            raise RestError(400, f"No program {what} was specified for the schedule")
    if body.get("trigger") is None:
        raise RestError(400, "No trigger was specified for the schedule")
    request.cdap.schedules.add(*_get_key(request), _to_request(body))
    return DONE


@ROUTES.add("POST", *(f"{each}/update" for each in _ONE))
def update_schedule(request: RestRequest) -> Answer:
    """Change what the body names; an enabled schedule stays enabled."""
    request.cdap.schedules.update(*_get_key(request), _to_request(_read_body(request)))
    return DONE


@ROUTES.add("DELETE", *_ONE)
def delete_schedule(request: RestRequest) -> Answer:
    request.cdap.schedules.delete(*_get_key(request))
    return DONE


@ROUTES.add("GET", *(f"{each}/status" for each in _ONE))
def get_status(request: RestRequest) -> Answer:
    found = request.cdap.schedules.get(*_get_key(request))
    return send_json({"status": found.status})


@ROUTES.add("PUT", *(f"{each}/{_OLD_ACTION}" for each in _APPS))
@ROUTES.add("POST", *(f"{each}/{{action}}" for each in _ONE))
def act(request: RestRequest) -> Answer:
    action = request.path["action"]
    if action in _ENABLE:
        request.cdap.schedules.enable(*_get_key(request))
    elif action in _SUSPEND:
        request.cdap.schedules.suspend(*_get_key(request))
    else:
        raise RestError(
            400,
            "Action for schedules may only be 'enable', 'disable', 'suspend', or 'resume' but is"
            f"'{action}'",
        )
    return send_json("OK")


@ROUTES.add("PUT", f"{_NAMESPACE}/schedules/re-enable")
def enable_again(request: RestRequest) -> Answer:
    """Enable the schedules that were suspended in a time, in milliseconds."""
    start = request.get_number("start-time-millis", 0)
    end = request.get_number("end-time-millis", 0)
    request.cdap.schedules.enable_again(request.namespace, start, end)
    return DONE


@ROUTES.add("GET", f"{_NAMESPACE}/schedules/trigger-type/program-status")
def list_triggered(request: RestRequest) -> Answer:
    """Return the schedules that wait for runs of a program, of all namespaces."""
    names = (
        "trigger-namespace-id",
        "trigger-app-name",
        "trigger-program-type",
        "trigger-program-name",
    )
    for name in names:
        if request.get(name) is None:
            raise RestError(400, f"Must specify {name} as a query param")
    namespace, application, category, program = (request.get(name, "") for name in names)
    status = _read_status(request)
    text = request.get("trigger-program-statuses")
    statuses = list(STATUSES) if text is None else text.split(",")
    if any(each not in _PROGRAM_STATUSES for each in statuses):
        raise RestError(
            400,
            f"Unable to parse program statuses '{text}'. Must be comma separated valid ProgramStatus names "
            "such as COMPLETED, FAILED, KILLED.",
        )
    type = _read_program_type(category)
    found = request.cdap.schedules.list_triggered_by(
        namespace, TriggerProgram(namespace, application, program, type), statuses, status
    )
    return send_json([_to_detail(each) for each in found])


@ROUTES.add("GET", *list_patterns("/nextruntime"))
def list_next_runtimes(request: RestRequest) -> Answer:
    ref = read_program(request)
    require_pipeline(request.cdap, ref)
    return send_json(request.cdap.schedules.list_next_runtimes(ref.namespace, ref.application))


@ROUTES.add("GET", *list_patterns("/previousruntime"))
def list_previous_runtimes(request: RestRequest) -> Answer:
    ref = read_program(request)
    require_pipeline(request.cdap, ref)
    return send_json(request.cdap.schedules.list_previous_runtimes(ref.namespace, ref.application))


@ROUTES.add("POST", f"{_NAMESPACE}/nextruntime")
def list_next_runtimes_of_many(request: RestRequest) -> Answer:
    return _list_runtimes(request, request.cdap.schedules.list_next_runtimes)


@ROUTES.add("POST", f"{_NAMESPACE}/previousruntime")
def list_previous_runtimes_of_many(request: RestRequest) -> Answer:
    return _list_runtimes(request, request.cdap.schedules.list_previous_runtimes)


def _list_runtimes(
    request: RestRequest, read: Callable[[str, str], list[ScheduledRuntime]]
) -> Answer:
    def work(ref: ProgramRef, _: dict[str, Any]) -> dict[str, Any]:
        require_pipeline(request.cdap, ref)
        return {"schedules": read(ref.namespace, ref.application)}

    return do_each(request, work)


def _read_schedules(request: RestRequest) -> Iterator[dict[str, Any]]:
    type = request.get("trigger-type")
    if type is not None and type not in _TRIGGER_TYPES:
        raise RestError(
            400, f"Unknown category name '{type}'. Must be one of {','.join(_TRIGGER_TYPES)}"
        )
    found = request.cdap.schedules.list_schedules(
        request.namespace,
        request.path["app"],
        None if type is None else type.upper().replace("-", "_"),
        _read_status(request),
    )
    return (_to_detail(each.schedule) for each in found)


def _read_status(request: RestRequest) -> ScheduleStatus | None:
    text = request.get("schedule-status")
    if text is None:
        return None
    if text not in tuple(ScheduleStatus):
        raise RestError(
            400,
            f"Invalid schedule status '{text}'. Must be one of {','.join(ScheduleStatus)}.",
        )
    return ScheduleStatus(text)


def _read_program_type(category: str) -> str:
    if category not in PROGRAM_TYPES:
        raise RestError(400, f"Invalid program type '{category}'")
    return PROGRAM_TYPES[category].upper()


def _get_key(request: RestRequest) -> tuple[str, str, str]:
    return request.namespace, request.path["app"], request.path["schedule"]


def _read_body(request: RestRequest) -> dict[str, Any]:
    """Return the schedule in a body.

    :raises RestError: when it is not an object, or has another name than the path (400).
    """
    body = request.decode(Any, "Error parsing request body as a schedule specification: {}")
    if not isinstance(body, dict):
        text = msgspec.json.encode(body).decode()
        raise RestError(
            400, f"Expected a json object in the request body but received {text[:200]}"
        )
    name, asked = body.get("name"), request.path["schedule"]
    if name is not None and name != asked:
        raise RestError(
            400,
            f"Schedule name in the body of the request ({name}) does not match the schedule name in the path "
            f"parameter ({asked})",
        )
    if isinstance(body.get("properties"), dict):
        body["properties"] = to_texts(body["properties"])
    return body


def _to_request(body: dict[str, Any]) -> ScheduleRequest:
    try:
        return convert(body, ScheduleRequest, strict=False)
    except msgspec.ValidationError as error:
        raise RestError(
            400, f"Error parsing request body as a schedule specification: {error}"
        ) from None


def _to_detail(schedule: Schedule) -> dict[str, Any]:
    """Return a schedule (CDAP 6 ``ScheduleDetail``)."""
    detail: dict[str, Any] = msgspec.to_builtins(schedule)
    del detail["user"]
    return detail
