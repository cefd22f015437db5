"""Datasets, their modules and types (CDAP 5 ``DatasetInstanceHandler``, ``DatasetTypeHandler``)."""

from __future__ import annotations

from typing import Any, Final

from localcdap.api.errors import NotFoundError
from localcdap.artifacts.model import DatasetModule
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.server.rest.answers import DONE, Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Datasets")
_DATA: Final = "/v3/namespaces/{namespace}/data"
_ALL: Final = f"{_DATA}/datasets"
_ONE: Final = f"{_ALL}/{{dataset}}"
_MODULES: Final = f"{_DATA}/modules"


@ROUTES.add("GET", _ALL)
def list_datasets(request: RestRequest) -> Answer:
    return _list(request, None)


@ROUTES.add("POST", _ALL)
def list_datasets_with(request: RestRequest) -> Answer:
    """Return the datasets that have the properties of the body."""
    return _list(request, request.decode_texts())


@ROUTES.add("DELETE", _ALL)
def drop_datasets(request: RestRequest) -> Answer:
    for each in request.cdap.datasets.list_datasets(request.namespace):
        request.cdap.datasets.drop(request.namespace, each.name)
    return DONE


@ROUTES.add("GET", _ONE)
def get_dataset(request: RestRequest) -> Answer:
    found = request.cdap.datasets.describe(request.namespace, request.path["dataset"])
    modules = [
        _to_module(each)
        for each in request.cdap.dataset_modules.list_modules(request.namespace)
        if found.type in {type.name for type in each.types}
    ]
    answer: dict[str, Any] = {
        "spec": found.specification,
        "type": {"name": found.type, "modules": modules},
    }
    if found.principal is not None:
        answer["principal"] = found.principal
    return send_json(answer)


@ROUTES.add("PUT", _ONE)
def create_dataset(request: RestRequest) -> Answer:
    given = request.decode(dict, missing={})
    properties = given.get("properties") or {}
    texts = to_texts({each: given.get(each) for each in ("typeName", "description", "principal")})
    if "typeName" not in texts or not isinstance(properties, dict):
        raise RestError(
            400, "The body must have a 'typeName', and 'properties' that are an object."
        )
    request.cdap.datasets.create(
        DatasetRequest(
            request.path["dataset"],
            texts["typeName"],
            to_texts(properties),
            texts.get("description"),
            request.namespace,
            texts.get("principal"),
        )
    )
    return DONE


@ROUTES.add("DELETE", _ONE)
def drop_dataset(request: RestRequest) -> Answer:
    request.cdap.datasets.drop(request.namespace, request.path["dataset"])
    return DONE


@ROUTES.add("GET", f"{_ONE}/properties")
def get_properties(request: RestRequest) -> Answer:
    """Return the properties as they were given."""
    found = request.cdap.datasets.describe(request.namespace, request.path["dataset"])
    return send_json(found.properties)


@ROUTES.add("PUT", f"{_ONE}/properties")
def update_properties(request: RestRequest) -> Answer:
    """Replace the properties; the body has them alone, or as ``properties`` beside ``typeName``."""
    given = request.decode(dict, missing={})
    properties = given.get("properties", given)
    if not isinstance(properties, dict):
        raise RestError(400, "'properties' must be an object.")
    update = DatasetUpdate(request.path["dataset"], to_texts(properties), request.namespace)
    request.cdap.datasets.update(update)
    return DONE


@ROUTES.add("POST", f"{_ONE}/admin/{{operation}}")
def administer(request: RestRequest) -> Answer:
    name, operation = request.path["dataset"], request.path["operation"]
    if operation == "exists":
        found = request.cdap.datasets.has_dataset(request.namespace, name)
        return send_json({"result": found, "message": None})
    if operation == "truncate":
        request.cdap.datasets.truncate(request.namespace, name)
    elif operation == "upgrade":
        request.cdap.datasets.upgrade(request.namespace, name)
    else:
        raise RestError(404, f"Invalid admin operation: {operation}")
    return send_json({"result": None, "message": None})


@ROUTES.add("POST", f"{_ONE}/data/{{operation}}")
def refuse_data(_: RestRequest) -> Answer:
    raise RestError(501, "Data operations on datasets are not implemented.")


@ROUTES.add("GET", f"{_ONE}/programs")
def list_programs(request: RestRequest) -> Answer:
    """Return the programs that have used a dataset."""
    found = request.cdap.datasets.list_usage(request.namespace, request.path["dataset"])
    programs = {each.program.key: each.program for each in found}
    return send_json(list(programs.values()))


@ROUTES.add("GET", _MODULES)
def list_modules(request: RestRequest) -> Answer:
    found = request.cdap.dataset_modules.list_modules(request.namespace)
    return send_json([_to_module(each) for each in found])


@ROUTES.add("GET", f"{_MODULES}/{{module}}")
def get_module(request: RestRequest) -> Answer:
    return send_json(_to_module(_find_module(request)))


@ROUTES.add("DELETE", f"{_MODULES}/{{module}}")
def delete_module(request: RestRequest) -> Answer:
    request.cdap.dataset_modules.delete(request.namespace, request.path["module"])
    return DONE


@ROUTES.add("DELETE", _MODULES)
def delete_modules(request: RestRequest) -> Answer:
    request.cdap.dataset_modules.delete_all(request.namespace)
    return DONE


@ROUTES.add("GET", f"{_DATA}/types")
def list_types(request: RestRequest) -> Answer:
    found = request.cdap.datasets.list_types(request.namespace)
    return send_json([_to_type(request, each.name) for each in found])


@ROUTES.add("GET", f"{_DATA}/types/{{type}}")
def get_type(request: RestRequest) -> Answer:
    name = request.path["type"]
    if name not in {each.name for each in request.cdap.datasets.list_types(request.namespace)}:
        raise RestError(404, f"'dataset_type:{request.namespace}.{name}' was not found.")
    return send_json(_to_type(request, name))


def _list(request: RestRequest, properties: dict[str, str] | None) -> Answer:
    found = request.cdap.datasets.list_datasets(request.namespace, properties)
    return send_json(
        [
            {
                "name": each.name,
                "type": each.type,
                "description": each.description or "",
                "properties": each.properties,
            }
            for each in found
        ]
    )


def _find_module(request: RestRequest) -> DatasetModule:
    for each in request.cdap.dataset_modules.list_modules(request.namespace):
        if each.name == request.path["module"]:
            return each
    raise NotFoundError(
        f"'dataset_module:{request.namespace}.{request.path['module']}' was not found."
    )


def _to_module(module: DatasetModule) -> dict[str, Any]:
    """Return a module (CDAP 5 ``DatasetModuleMeta``)."""
    return {
        "name": module.name,
        "className": module.types[0].class_name if module.types else "",
        "jarLocationPath": module.path,
        "types": [each.name for each in module.types],
        "usesModules": module.uses_modules,
        "usedByModules": module.used_by_modules,
    }


def _to_type(request: RestRequest, name: str) -> dict[str, Any]:
    modules = [
        _to_module(each)
        for each in request.cdap.dataset_modules.list_modules(request.namespace)
        if name in {type.name for type in each.types}
    ]
    return {"name": name, "modules": modules}
