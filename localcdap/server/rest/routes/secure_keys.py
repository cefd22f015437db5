"""Secure keys (CDAP 6 ``SecureStoreHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.server.rest.answers import DONE, TEXT, Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Secure keys")
_ALL: Final = "/v3/namespaces/{namespace}/securekeys"
_ONE: Final = f"{_ALL}/{{key}}"
_FORMAT: Final = (
    "Unable to parse the request. The request body should be of the following format. \n"
    '{\n "description" : "[description]", \n "data" : "[data]", \n "properties" : { \n'
    '    "[property-name]" : "[property-value]"\n }\n}'
)


@ROUTES.add("GET", _ALL)
def list_keys(request: RestRequest) -> Answer:
    return send_json(request.cdap.secure_keys.list_keys(request.namespace))


@ROUTES.add("PUT", _ONE)
def put_key(request: RestRequest) -> Answer:
    given = request.decode(dict, _FORMAT, missing={})
    if not given:
        raise RestError(400, _FORMAT)
    properties = given.get("properties") or {}
    texts = to_texts({each: given.get(each) for each in ("data", "description")}, _FORMAT)
    if not isinstance(properties, dict):
        raise RestError(400, _FORMAT)
    request.cdap.secure_keys.put(
        request.namespace,
        request.path["key"],
        texts.get("data", ""),
        texts.get("description", ""),
        to_texts(properties, _FORMAT),
    )
    return DONE


@ROUTES.add("GET", _ONE)
def get_value(request: RestRequest) -> Answer:
    value = request.cdap.secure_keys.get(request.namespace, request.path["key"])
    return Answer(value.encode("utf-8", "replace"), TEXT.replace(" ", ""))


@ROUTES.add("GET", f"{_ONE}/metadata")
def get_key(request: RestRequest) -> Answer:
    return send_json(request.cdap.secure_keys.describe(request.namespace, request.path["key"]))


@ROUTES.add("DELETE", _ONE)
def delete_key(request: RestRequest) -> Answer:
    request.cdap.secure_keys.delete(request.namespace, request.path["key"])
    return DONE
