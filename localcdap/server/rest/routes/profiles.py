"""Compute profiles and provisioners (CDAP 6 ``ProfileHttpHandler``, ``ProvisionerHttpHandler``).

The profiles of the settings are those on which runs take place, and belong to the system. A profile that a
client creates is stored as it is: localcdap has no provisioners that could make clusters.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.api.errors import NotFoundError
from localcdap.namespaces.client_documents import ClientDocument
from localcdap.namespaces.model import SYSTEM
from localcdap.runs.startup.profiles import NATIVE
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Compute profiles")
_BASES: Final = ("/v3/profiles", "/v3/namespaces/{namespace}/profiles")
_ONES: Final = tuple(f"{each}/{{profile}}" for each in _BASES)
_KIND: Final = "profile"
_LACK: Final = "runs do not take place on profiles that clients create"
_ENABLED: Final = "ENABLED"
_DISABLED: Final = "DISABLED"
_PROVISIONERS: Final = {
    "native": "Native",
    "spark-connect": "Spark Connect",
    "gcp-dataproc": "Dataproc",
    "gcp-existing-dataproc": "Existing Dataproc",
    "aws-emr": "Amazon EMR",
    "azure-hdinsight": "Azure HDInsight",
    "remote-hadoop": "Remote Hadoop Provisioner",
}
"""The provisioners by name. The first two are those of localcdap; clients configure the others."""
_INVALID: Final = "Unable to parse request body. Please make sure it is valid JSON"


@ROUTES.add("GET", *_BASES)
def list_profiles(request: RestRequest) -> Answer:
    """Return the profiles of a namespace, or of the system; with ``includeSystem`` both."""
    namespace = _get_namespace(request)
    own = request.cdap.client_documents.list_documents(namespace, _KIND)
    found = [each.document for each in own]
    if namespace == SYSTEM or request.get_flag("includeSystem"):
        found = [*_list_system(request), *found]
        if namespace != SYSTEM:
            stored = request.cdap.client_documents.list_documents(SYSTEM, _KIND)
            found += [each.document for each in stored]
    return send_json(found)


@ROUTES.add("GET", *_ONES)
def get_profile(request: RestRequest) -> Answer:
    return send_json(_get(request))


@ROUTES.add("GET", *(f"{each}/status" for each in _ONES))
def get_status(request: RestRequest) -> Answer:
    return send_json(_get(request)["status"])


@ROUTES.add("PUT", *_ONES, lack=_LACK)
def put_profile(request: RestRequest) -> Answer:
    name = _require_own(request, "Profile Native {} already exists. It cannot be updated")
    given = request.decode(dict, _INVALID, missing={})
    provisioner = given.get("provisioner")
    if not isinstance(provisioner, dict) or not isinstance(provisioner.get("name"), str):
        raise RestError(400, "Profile provisioner must be specified")
    if provisioner["name"] not in _PROVISIONERS:
        raise RestError(
            400,
            f"The specified provisioner {provisioner['name']} does not exist, thus cannot be associated with "
            "a profile",
        )
    namespace, before = _get_namespace(request), _find(request)
    profile = {
        "name": name,
        "label": given.get("label") or name,
        "description": given.get("description") or "",
        "scope": "SYSTEM" if namespace == SYSTEM else "USER",
        "status": before.document["status"] if before is not None else _ENABLED,
        "provisioner": {
            "name": provisioner["name"],
            "properties": provisioner.get("properties") or [],
        },
    }
    made = request.cdap.client_documents.put(namespace, _KIND, name, profile)
    created = before.document["created"] if before is not None else made.updated // 1000
    request.cdap.client_documents.put(namespace, _KIND, name, {**profile, "created": created})
    return DONE


@ROUTES.add("DELETE", *_ONES)
def delete_profile(request: RestRequest) -> Answer:
    name = _require_own(request, "Profile Native {} cannot be deleted.")
    if _get(request)["status"] == _ENABLED:
        raise RestError(
            409,
            f"Profile {name} in namespace {_get_namespace(request)} is currently enabled. A profile can "
            "only be deleted if it is disabled",
        )
    request.cdap.client_documents.delete(_get_namespace(request), _KIND, name)
    return DONE


@ROUTES.add("POST", *(f"{each}/enable" for each in _ONES))
def enable_profile(request: RestRequest) -> Answer:
    return _change_status(request, _ENABLED)


@ROUTES.add("POST", *(f"{each}/disable" for each in _ONES))
def disable_profile(request: RestRequest) -> Answer:
    return _change_status(request, _DISABLED)


@ROUTES.add("GET", "/v3/provisioners", lack="without the groups of properties")
def list_provisioners(_: RestRequest) -> Answer:
    return send_json([_describe_provisioner(each) for each in _PROVISIONERS])


@ROUTES.add("GET", "/v3/provisioners/{provisioner}", lack="without the groups of properties")
def get_provisioner(request: RestRequest) -> Answer:
    name = request.path["provisioner"]
    if name not in _PROVISIONERS:
        raise RestError(404, f"Provisioner '{name}' was not found.")
    return send_json(_describe_provisioner(name))


def _change_status(request: RestRequest, status: str) -> Answer:
    name = _require_own(
        request, "Cannot change status for Profile Native {}, it should always be ENABLED"
    )
    found = _get(request)
    if found["status"] == status:
        raise RestError(409, f"Profile {name} already {status.lower()}")
    request.cdap.client_documents.put(
        _get_namespace(request), _KIND, name, {**found, "status": status}
    )
    return DONE


def _get_namespace(request: RestRequest) -> str:
    namespace = request.path.get("namespace")
    if namespace == SYSTEM:
        raise RestError(
            405,
            "Cannot perform profile methods on the system namespace. Please use the top level profile "
            "endpoints to manage system profiles.",
        )
    return namespace or SYSTEM


def _require_own(request: RestRequest, refusal: str) -> str:
    """Return the name of the profile, which must not be one of the settings.

    :raises RestError: when it is (405), with a text that gets the name.
    """
    name = request.path["profile"]
    if _get_namespace(request) != SYSTEM:
        return name
    if name == NATIVE:
        raise RestError(405, refusal.format(name))
    if name in {each["name"] for each in _list_system(request)}:
        raise RestError(
            405, f"Profile {name} is one of the settings in localcdap.toml; change it there."
        )
    return name


def _find(request: RestRequest) -> ClientDocument | None:
    return request.cdap.client_documents.find(
        _get_namespace(request), _KIND, request.path["profile"]
    )


def _get(request: RestRequest) -> dict[str, Any]:
    """Return the profile of the path.

    :raises NotFoundError: when there is none.
    """
    name, namespace = request.path["profile"], _get_namespace(request)
    found = _find(request)
    if found is not None:
        return dict(found.document)
    if namespace == SYSTEM:
        for each in _list_system(request):
            if each["name"] == name:
                return each
    raise NotFoundError(f"'profile:{namespace}.{name}' was not found.")


def _list_system(request: RestRequest) -> list[dict[str, Any]]:
    """Return the profiles of the settings."""
    return [
        {
            "name": each.name,
            "label": each.name.capitalize(),
            "description": each.address or "Runs on this machine.",
            "scope": "SYSTEM",
            "status": _ENABLED,
            "created": 0,
            "provisioner": {"name": each.kind, "properties": []},
        }
        for each in request.cdap.runs.list_profiles("default")
    ]


def _describe_provisioner(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": _PROVISIONERS[name],
        "description": "",
        "configuration-groups": [],
        "filters": [],
        "beta": False,
    }
