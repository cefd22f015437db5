"""Lineage of datasets and fields (CDAP 6 ``LineageHTTPHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.api.metadata import MetadataEntity
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.server.rest.answers import Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Lineage")


def _list_patterns(path: str) -> tuple[str, str]:
    """Return the patterns of a route; some releases have ``endpoints`` in place of ``datasets``."""
    base = "/v3/namespaces/{namespace}/%s/{dataset}/lineage"
    return base % "datasets" + path, base % "endpoints" + path


@ROUTES.add("GET", *_list_patterns(""), lack="`rollup` is not read")
def get_lineage(request: RestRequest) -> Answer:
    start, end = _read_times(request)
    return send_json(
        request.cdap.lineage.get(
            _get_dataset(request),
            start,
            end,
            request.get_number("levels", 10),
            request.query.get("collapse", []),
        )
    )


@ROUTES.add("GET", *_list_patterns("/fields"))
def list_fields(request: RestRequest) -> Answer:
    """Return the names of fields, or with ``includeCurrent`` also whether lineage is known of them."""
    start, end = _read_times(request)
    current = request.get_flag("includeCurrent")
    found = request.cdap.lineage.list_fields(
        _get_dataset(request), start, end, request.get("prefix"), current
    )
    return send_json(found if current else [each.name for each in found])


@ROUTES.add("GET", *_list_patterns("/fields/{field}"))
def get_field_lineage(request: RestRequest) -> Answer:
    start, end = _read_times(request)
    return send_json(
        request.cdap.lineage.get_field_lineage(
            _get_dataset(request), request.path["field"], _read_direction(request), start, end
        )
    )


@ROUTES.add("GET", *_list_patterns("/fields/{field}/operations"))
def get_field_operations(request: RestRequest) -> Answer:
    start, end = _read_times(request)
    return send_json(
        request.cdap.lineage.get_field_operations(
            _get_dataset(request),
            request.path["field"],
            _read_direction(request, "both"),
            start,
            end,
        )
    )


@ROUTES.add("GET", *_list_patterns("/allfieldlineage"))
def get_lineage_of_all_fields(request: RestRequest) -> Answer:
    start, end = _read_times(request)
    return send_json(
        request.cdap.lineage.get_dataset_field_lineage(
            _get_dataset(request), _read_direction(request), start, end
        )
    )


def _get_dataset(request: RestRequest) -> MetadataEntity:
    return MetadataEntity.of_dataset(request.path["dataset"], request.namespace)


def _read_times(request: RestRequest) -> tuple[str, str]:
    start, end = request.get("start"), request.get("end")
    if start is None:
        raise RestError(400, "Start time is required.")
    if end is None:
        raise RestError(400, "End time is required.")
    return start, end


def _read_direction(request: RestRequest, default: str | None = None) -> Direction:
    text = request.get("direction") or default
    if text is None:
        raise RestError(400, "Direction is required.")
    try:
        return Direction(text.lower())
    except ValueError:
        known = ", ".join(repr(each.value) for each in Direction)
        raise RestError(400, f"Direction '{text}' is invalid. It must be one of {known}.") from None
