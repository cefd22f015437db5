"""Lists of deployed pipelines, whole or in pages (CDAP 6 ``AppLifecycleHttpHandler.getAllApps``)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from localcdap.api.errors import NotFoundError
from localcdap.pipeline.library.application_model import Application, ApplicationFilter, NameMatch
from localcdap.server.rest.answers import Answer, RestError, send_json, send_list
from localcdap.server.rest.request import RestRequest

_PAGE: Final = 250
"""The applications that are read at a time for a list without pages."""


def send_applications(request: RestRequest, query: Mapping[str, str]) -> Answer:
    """Return applications by name: in pages with ``pageSize``, all of them without.

    With ``latestOnly=false`` all versions of each: by id, or with ``sortCreationTime`` by the time of their
    deployment.
    """
    filter = _read_filter(query)
    token = _read_token(query)
    size = min(request.get_number("pageSize", 0), 10 * _PAGE)
    found: Iterator[Application]
    if query.get("latestOnly", "").lower() == "false":
        by_time = query.get("sortCreationTime", "").lower() == "true"
        found = _list_versions(request, filter, token, by_time=by_time)
    else:
        after = None if token is None else token[0]
        found = _list_latest(request, filter, after, size + 1 if size > 0 else _PAGE)
    if size <= 0:
        first = list(itertools.islice(found, 1))  # an error is raised before the answer begins
        return send_list(_make_records(itertools.chain(first, found)))
    page = list(itertools.islice(found, size + 1))
    answer: dict[str, Any] = {"applications": [to_record(each) for each in page[:size]]}
    if len(page) > size:
        answer["nextPageToken"] = f"{page[size - 1].name}.{page[size - 1].version}"
    return send_json(answer)


def to_record(application: Application) -> dict[str, Any]:
    """Return an application in a list (CDAP 6 ``ApplicationRecord``)."""
    return {
        "type": "App",
        "name": application.name,
        "version": application.version,
        "description": application.description or "",
        "artifact": application.artifact,
        "change": application.change,
    }


def _read_filter(query: Mapping[str, str]) -> ApplicationFilter:
    text = query.get("nameFilterType") or NameMatch.CONTAINS
    try:
        match = NameMatch(text)
    except ValueError:
        raise RestError(
            400, f"Invalid nameFilterType '{text}'. It must be one of {', '.join(NameMatch)}."
        ) from None
    return ApplicationFilter(
        [each for each in query.get("artifactName", "").split(",") if each],
        query.get("artifactVersion") or None,
        query.get("nameFilter") or "",
        is_descending=query.get("orderBy", "ASC").upper() == "DESC",
        match=match,
    )


def _read_token(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return name and version of the last application of the page before; None for the first page."""
    text = query.get("pageToken")
    if not text:
        return None
    name, dot, version = text.rpartition(".")
    return (name, version) if dot else (version, "")


def _make_records(found: Iterator[Application]) -> Iterator[list[dict[str, Any]]]:
    while page := [to_record(each) for each in itertools.islice(found, _PAGE)]:
        yield page


def _list_latest(
    request: RestRequest, filter: ApplicationFilter, after: str | None, limit: int
) -> Iterator[Application]:
    """Yield the latest versions after a name.

    :param limit: the applications that are read at a time.
    """
    while page := _read_page(request, filter, after, limit):
        yield from page
        if len(page) < limit:
            return
        after = page[-1].name


def _list_versions(
    request: RestRequest,
    filter: ApplicationFilter,
    after: tuple[str, str] | None,
    *,
    by_time: bool,
) -> Iterator[Application]:
    """Yield all versions that match a filter, those after the name and version ``after``."""
    names = ApplicationFilter(
        name=filter.name, is_descending=filter.is_descending, match=filter.match
    )
    if after is not None:
        versions = _read_versions(request, filter, after[0], by_time=by_time)
        ids = [each.version for each in versions]
        yield from versions[ids.index(after[1]) + 1 if after[1] in ids else len(ids) :]
    for each in _list_latest(request, names, None if after is None else after[0], _PAGE):
        yield from _read_versions(request, filter, each.name, by_time=by_time)


def _read_versions(
    request: RestRequest, filter: ApplicationFilter, name: str, *, by_time: bool
) -> list[Application]:
    """Return the versions of an application that match a filter, in its order."""
    try:
        found = request.cdap.applications.list_versions(request.namespace, name)
    except NotFoundError:  # it was deleted meanwhile
        return []
    artifacts, version = filter.artifact_names, filter.artifact_version
    found = [
        each
        for each in found
        if (not artifacts or each.artifact.name in artifacts)
        and (version is None or each.artifact.version == version)
    ]
    return sorted(
        found,
        key=lambda each: (each.number, "") if by_time else (0, each.version),
        reverse=filter.is_descending,
    )


def _read_page(
    request: RestRequest, filter: ApplicationFilter, after: str | None, limit: int
) -> list[Application]:
    """Return the next applications that the caller sees; fewer than ``limit`` when no more follow."""
    service, namespace = request.cdap.applications, request.namespace
    if not request.cdap.security.describe().enabled:
        return service.list_page(namespace, filter, after, limit)
    # A page of the service lacks what the caller does not see, and says nothing of what follows it.
    found = service.list_applications(
        namespace, filter.artifact_names, filter.artifact_version, filter.name
    )
    found = [each for each in found if filter.matches(each.name)]
    ordered = sorted(found, key=lambda each: each.name, reverse=filter.is_descending)
    names = [each.name for each in ordered]
    start = 0
    if after is not None:
        start = sum((name >= after) if filter.is_descending else (name <= after) for name in names)
    return ordered[start : start + limit]
