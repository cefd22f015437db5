"""Deployed pipelines (CDAP 6 ``AppLifecycleHttpHandler``).

Lists of deployed pipelines, whole or in pages (CDAP 6 ``AppLifecycleHttpHandler.getAllApps``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.decoders import decode_json
from localcdap.pipeline.library.application_model import (
    LATEST,
    Application,
    ApplicationDetail,
    ApplicationFilter,
    DeployRequest,
    NameMatch,
    get_program,
)
from localcdap.server.rest.answers import (
    DONE,
    Answer,
    RestError,
    describe,
    find_status,
    send_json,
    send_list,
    send_text,
)
from localcdap.server.rest.request import INVALID_JSON, RestRequest
from localcdap.server.rest.router import RouteTable

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


ROUTES: Final = RouteTable("Applications")
_ALL: Final = "/v3/namespaces/{namespace}/apps"
_ONE: Final = f"{_ALL}/{{app}}"
_VERSION: Final = f"{_ONE}/versions/{{version}}"
_GLUED: Final = ("artifactName=", "artifactVersion=")
"""What Airflow appends to the path in place of the query."""


@ROUTES.add("GET", _ALL)
def list_applications(request: RestRequest) -> Answer:
    return send_applications(request, {name: values[0] for name, values in request.query.items()})


@ROUTES.add("DELETE", _ALL)
def delete_applications(request: RestRequest) -> Answer:
    for each in request.cdap.applications.list_applications(request.namespace):
        request.cdap.applications.delete(request.namespace, each.name)
    return DONE


@ROUTES.add("GET", _ONE)
def get_application(request: RestRequest) -> Answer:
    if request.path["app"].startswith(_GLUED):
        return send_applications(request, dict(parse_qsl(request.path["app"])))
    return send_json(_describe(request))


@ROUTES.add("GET", _VERSION)
def get_version(request: RestRequest) -> Answer:
    return send_json(_describe(request))


@ROUTES.add("PUT", _ONE)
@ROUTES.add("POST", f"{_VERSION}/create")
def deploy(request: RestRequest) -> Answer:
    """Deploy a pipeline. As in the original, a version in the path is ignored."""
    given = request.decode(dict, missing={})
    if not given:
        raise RestError(400, INVALID_JSON.replace("{}", "it is empty"))
    return send_json(_deploy(request, given))


@ROUTES.add("DELETE", _ONE)
def delete_application(request: RestRequest) -> Answer:
    request.cdap.applications.delete(request.namespace, request.path["app"])
    return DONE


@ROUTES.add("DELETE", _VERSION)
def delete_version(request: RestRequest) -> Answer:
    version = request.path["version"]
    request.cdap.applications.delete_version(
        request.namespace, request.path["app"], None if version in LATEST else version
    )
    return DONE


@ROUTES.add("GET", f"{_ONE}/versions")
def list_versions(request: RestRequest) -> Answer:
    found = request.cdap.applications.list_versions(request.namespace, request.path["app"])
    return send_json([each.version for each in found])


@ROUTES.add(
    "GET", f"{_ONE}/plugins", lack="the plugins' classes and artifacts are not in the answer"
)
def list_plugins(request: RestRequest) -> Answer:
    found = request.cdap.applications.describe(request.namespace, request.path["app"])
    return send_json(found.plugins)


@ROUTES.add("POST", f"{_ONE}/update")
def update_application(request: RestRequest) -> Answer:
    """Deploy an application with another configuration, or another version of its artifact."""
    given = request.decode(dict, missing={})
    before = request.cdap.applications.describe(request.namespace, request.path["app"])
    artifact = given.get("artifact") or {}
    if not isinstance(artifact, Mapping):
        raise RestError(400, INVALID_JSON.replace("{}", "'artifact' is not an object"))
    name = artifact.get("name", before.artifact.name)
    if name != before.artifact.name:
        raise RestError(
            400,
            f"Only artifact version updates are supported. Cannot change from artifact "
            f"'{before.artifact.name}' to artifact '{name}'.",
        )
    text = request.cdap.applications.export(before.namespace, before.name, before.version)
    document = decode_json(text, dict)
    _deploy(
        request, {**document, **{key: given[key] for key in ("config", "artifact") if key in given}}
    )
    return send_text("Update complete.")


@ROUTES.add("POST", f"{_ONE}/upgrade", lack="`artifactScope` and `allowSnapshot` are not read")
def upgrade_application(request: RestRequest) -> Answer:
    return send_json(_upgrade(request, request.path["app"]))


@ROUTES.add("POST", "/v3/namespaces/{namespace}/upgrade", lack="as for one application")
def upgrade_applications(request: RestRequest) -> Answer:
    answers = []
    for name in _read_names(request, "name"):
        try:
            answers.append(_upgrade(request, name))
        except (LocalcdapError, RestError) as error:
            answers.append({"appId": _to_id(request, name), **_to_failure(error)})
    return send_json(answers)


@ROUTES.add("POST", "/v3/namespaces/{namespace}/appdetail")
def describe_applications(request: RestRequest) -> Answer:
    answers = []
    for name in _read_names(request, "appId"):
        try:
            found = request.cdap.applications.describe(request.namespace, name)
        except NotFoundError as error:
            answers.append({"appId": _to_id(request, name), **_to_failure(error)})
        else:
            answers.append({"statusCode": 200, "detail": to_detail(found)})
    return send_json(answers)


def _describe(request: RestRequest) -> dict[str, Any]:
    version = request.path.get("version")
    return to_detail(
        request.cdap.applications.describe(request.namespace, request.path["app"], version)
    )


def _deploy(request: RestRequest, document: dict[str, Any], *, fix: bool = False) -> dict[str, Any]:
    """Deploy a document as the application of the path, and return its record.

    :raises RestError: when the pipeline is invalid, with all failures (400).
    """
    parent = document.get("parentVersion")
    made = request.cdap.applications.deploy(
        DeployRequest(
            document,
            request.namespace,
            request.path.get("app"),
            fix=fix,
            parent_version=parent if isinstance(parent, str) and parent else None,
        )
    )
    if made.application is None:
        raise RestError(400, describe_failures(made.errors))
    return to_record(made.application)


def describe_failures(failures: list[ValidationFailure]) -> str:
    """Return all failures of a pipeline as one text, a line for each."""
    lines = [each.full_message for each in failures]
    return lines[0] if len(lines) == 1 else "\n".join((f"{len(lines)} errors:", *lines))


def _upgrade(request: RestRequest, name: str) -> dict[str, Any]:
    """Deploy an application with the installed versions of its plugins, if it asks for others."""
    text = request.cdap.applications.export(request.namespace, name)
    made = request.cdap.applications.deploy(DeployRequest(text, request.namespace, name, fix=True))
    if made.application is None:
        raise RestError(400, describe_failures(made.errors))
    return {"statusCode": 200, "appId": _to_id(request, name, made.application.version)}


def _read_names(request: RestRequest, key: str) -> list[str]:
    """Return the names of applications in a body, a list of objects.

    :raises RestError: when it is anything else (400).
    """
    given = request.decode(list, missing=[])
    if not all(isinstance(each, dict) and isinstance(each.get(key), str) for each in given):
        raise RestError(400, f"Expected a list of objects with '{key}'.")
    return [each[key] for each in given]


def _to_id(request: RestRequest, name: str, version: str = LATEST[1]) -> dict[str, str]:
    return {
        "namespace": request.namespace,
        "application": name,
        "version": version,
        "entity": "APPLICATION",
    }


def _to_failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, RestError):
        return {"statusCode": error.status, "error": error.text}
    assert isinstance(error, LocalcdapError)
    return {"statusCode": find_status(error), "error": describe(error)}


def to_detail(application: ApplicationDetail) -> dict[str, Any]:
    """Return everything about an application (CDAP 6 ``ApplicationDetail``)."""
    program, type = get_program(application.artifact)
    return {
        "name": application.name,
        "appVersion": application.version,
        "description": application.description or "",
        "change": application.change,
        "configuration": application.copy_configuration,
        "datasets": [],
        "programs": [{"type": type, "app": application.name, "name": program, "description": ""}],
        "plugins": application.plugins,
        "artifact": application.artifact,
    }
