"""Logs of runs, as text or JSON (CDAP 6 ``LogHttpHandler``)."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.history import RunFilter
from localcdap.runs.model import StoredLogLine
from localcdap.server.rest.answers import TEXT, Answer, RestError, send_json, send_list
from localcdap.server.rest.programs import (
    get_run,
    list_patterns,
    read_program,
    require_pipeline,
)
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Logs")
_PAGE: Final = 1000
_MOST: Final = 1000
"""The most lines of an answer of ``next`` and ``prev``."""
_LEVELS: Final = {"WARNING": "WARN", "CRITICAL": "ERROR"}
"""The original's names of levels that Python calls otherwise."""
_RANKS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR")
_FILTER: Final = re.compile(r"\s*loglevel\s*=\s*(\w+)\s*", re.IGNORECASE)
_OFFSET: Final = re.compile(r"(-?\d{1,18})(?:\.(-?\d{1,18}))?")
_LACK: Final = "of filters only `loglevel` is known"
_Keep = Callable[[StoredLogLine], bool]


@ROUTES.add("GET", *list_patterns("/logs"), *list_patterns("/runs/{run}/logs"), lack=_LACK)
def get_log(request: RestRequest) -> Answer:
    """Return the lines of a run, for a program those of its newest run; ``start`` and ``stop`` in seconds."""
    run, keep = _find_run(request), _read_filter(request)
    start, stop = request.get_number("start", 0), request.get_number("stop", 0)

    def is_in_time(line: StoredLogLine) -> bool:
        return keep(line) and line.time >= start * 1000 and (not stop or line.time < stop * 1000)

    pages = _list_pages(request, run, is_in_time) if run else iter(())
    if _reads_json(request):
        return send_list([_to_json(each) for each in page] for page in pages)
    return Answer(_encode_texts(request, pages), TEXT)


@ROUTES.add(
    "GET", *list_patterns("/logs/next"), *list_patterns("/runs/{run}/logs/next"), lack=_LACK
)
def get_next(request: RestRequest) -> Answer:
    """Return the lines after an offset, by default from the beginning."""
    run, keep = _find_run(request), _read_filter(request)
    most, after = _read_most(request), _read_offset(request) or 0
    found: list[StoredLogLine] = []
    for page in _list_pages(request, run, keep, max(0, after)) if run else ():
        found += page
        if len(found) >= most:
            break
    return _send_page(request, found[:most])


@ROUTES.add(
    "GET", *list_patterns("/logs/prev"), *list_patterns("/runs/{run}/logs/prev"), lack=_LACK
)
def get_previous(request: RestRequest) -> Answer:
    """Return the lines before an offset, by default the last ones."""
    run, keep = _find_run(request), _read_filter(request)
    if not run:
        return _send_page(request, [])
    before, most = _read_offset(request), _read_most(request)
    if before is None or before < 0:
        before = request.cdap.runs.wait_for_log(run, -1, 0) + 1
    found: list[StoredLogLine] = []
    while before > 1 and len(found) < most:
        first = max(0, before - 1 - _PAGE)
        page = request.cdap.runs.read_log(run, first, before - 1 - first)
        found = [each for each in page if keep(each)] + found
        before = first + 1
    return _send_page(request, found[-most:])


@ROUTES.add(
    "GET", "/v3/system/{component}/{service}/logs", lack="the log of the host is not served"
)
def get_system_log(_: RestRequest) -> Answer:
    return Answer(b"", TEXT)


def _find_run(request: RestRequest) -> str | None:
    """Return the id of the run in the path, or that of the program's newest one; None: it was never run."""
    ref = read_program(request)
    if "run" in request.path:
        run = get_run(request.cdap, ref, request.path["run"])
    else:
        require_pipeline(request.cdap, ref)
        page = request.cdap.runs.list_page(ref.namespace, RunFilter(ref.application), limit=1)
        if not page.runs:
            return None
        run = page.runs[0]
    if run.status not in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.KILLED):
        request.cdap.runs.drain_spool(run.run)
    return run.run


def _list_pages(
    request: RestRequest, run: str, keep: _Keep, after: int = 0
) -> Iterator[list[StoredLogLine]]:
    while page := request.cdap.runs.read_log(run, after, _PAGE):
        yield [each for each in page if keep(each)]
        after = page[-1].number


def _read_filter(request: RestRequest) -> _Keep:
    text = request.get("filter", "")
    if not text.strip():
        return lambda _: True
    found = _FILTER.fullmatch(text)
    if found is None or found[1].upper() not in _RANKS:
        raise RestError(
            400, f"Invalid filter '{text}': write loglevel=LEVEL, such as loglevel=ERROR."
        )
    least = _RANKS.index(found[1].upper())
    return lambda line: _RANKS.index(_get_level(line)) >= least


def _read_most(request: RestRequest) -> int:
    return max(0, min(request.get_number("max", 50), _MOST))


def _read_offset(request: RestRequest) -> int | None:
    """Return the number of the line of an offset ``NUMBER.TIME``; None for the end."""
    text = request.get("fromOffset", "")
    if not text:
        return None
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise RestError(400, f"Invalid offset '{text}'.")
    return int(found[1])


def _reads_json(request: RestRequest) -> bool:
    return request.get("format", "text").lower() == "json"


def _send_page(request: RestRequest, lines: list[StoredLogLine]) -> Answer:
    """Return lines with their offsets."""
    if _reads_json(request):
        return send_json([_to_json(each) for each in lines])
    return send_json(
        [{"log": _to_text(request, each), "offset": _get_offset(each)} for each in lines]
    )


def _encode_texts(request: RestRequest, pages: Iterator[list[StoredLogLine]]) -> Iterator[bytes]:
    for page in pages:
        yield "".join(_to_text(request, each) for each in page).encode("utf-8", "replace")


def _to_text(request: RestRequest, line: StoredLogLine) -> str:
    """Return a line as the original writes it; escaped for HTML unless the request says otherwise."""
    when = datetime.datetime.fromtimestamp(line.time / 1000, datetime.UTC)
    time = when.strftime("%Y-%m-%d %H:%M:%S") + f",{when.microsecond // 1000:03}"
    text = f"{time} - {_get_level(line):5} [{line.stage or 'pipeline'}] - {line.text}\n"
    return html.escape(text) if request.get_flag("escape", default=True) else text


def _to_json(line: StoredLogLine) -> dict[str, Any]:
    log = {
        "timestamp": line.time,
        "logLevel": _get_level(line),
        "threadName": line.stage or "pipeline",
        "className": "",
        "simpleClassName": line.stage or "",
        "lineNumber": line.number,
        "message": line.text,
        "stackTrace": "",
        "loggerName": line.stage or "",
        "mdc": {} if line.stage is None else {"MDC:stage": line.stage},
        "isNativeMethod": False,
    }
    return {"log": log, "offset": _get_offset(line)}


def _get_offset(line: StoredLogLine) -> str:
    return f"{line.number}.{line.time}"


def _get_level(line: StoredLogLine) -> str:
    return _LEVELS.get(line.level, line.level)
