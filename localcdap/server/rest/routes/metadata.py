"""Metadata of entities and their search, and the lineage of datasets and fields.

CDAP 6 ``MetadataHttpHandler`` and ``LineageHTTPHandler``.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    PROGRAM_TYPES,
    VERSION,
    MetadataEntity,
    MetadataKind,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.metadata.lineage.field_lineage import Direction
from localcdap.metadata.search import ALL, SearchRequest, SearchResponse
from localcdap.server.rest.answers import Answer, RestError, send_json, send_text
from localcdap.server.rest.request import RestRequest, to_texts
from localcdap.server.rest.router import RouteTable

METADATA: Final = RouteTable("Metadata")
_ONE: Final = "/v3/{entity}/metadata"
_KEYS: Final = {
    "namespaces": "namespace",
    "apps": APPLICATION,
    "artifacts": ARTIFACT,
    "datasets": "dataset",
    "versions": VERSION,
    "schedules": "schedule",
    "program_runs": "program_run",
    "runs": "program_run",
}
"""Keys of entities by their words in paths; any other word is a key of a custom entity."""


@METADATA.add("GET", _ONE)
def get_metadata(request: RestRequest) -> Answer:
    """Return the metadata of an entity: in the form of version 5 by default, as the original does."""
    entity, scope = _read_entity(request), _read_scope(request)
    found = request.cdap.metadata.get(entity, scope)
    return send_json(_to_v6(found) if _reads_v6(request) else _to_v5(entity, found, scope))


@METADATA.add("GET", f"{_ONE}/properties")
def get_properties(request: RestRequest) -> Answer:
    scope = _read_scope(request)
    found = request.cdap.metadata.get(_read_entity(request), scope, MetadataKind.PROPERTY)
    if _reads_v6(request):
        return send_json(_to_v6(found))
    return send_json(found.system.properties | found.user.properties)


@METADATA.add("GET", f"{_ONE}/tags")
def get_tags(request: RestRequest) -> Answer:
    scope = _read_scope(request)
    found = request.cdap.metadata.get(_read_entity(request), scope, MetadataKind.TAG)
    if _reads_v6(request):
        return send_json(_to_v6(found))
    return send_json(sorted({*found.system.tags, *found.user.tags}))


@METADATA.add("POST", f"{_ONE}/properties")
def add_properties(request: RestRequest) -> Answer:
    entity = _read_entity(request)
    invalid = "Unable to read metadata properties from the request."
    given = request.decode(Any, invalid)
    if given is None:
        raise RestError(400, "Null metadata was read from the request")
    if not isinstance(given, dict):
        raise RestError(400, invalid)
    request.cdap.metadata.add(entity, to_texts(given, invalid))
    return send_text(f"Metadata properties for {entity.describe()} added successfully.")


@METADATA.add("POST", f"{_ONE}/tags")
def add_tags(request: RestRequest) -> Answer:
    entity = _read_entity(request)
    invalid = "Unable to read a list of tags from the request."
    given = request.decode(Any, invalid)
    if given is None:
        raise RestError(400, "Null tags were read from the request.")
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise RestError(400, invalid)
    request.cdap.metadata.add(entity, tags=given)
    return send_text(f"Metadata tags for {entity.describe()} added successfully.")


@METADATA.add("DELETE", _ONE)
def remove_metadata(request: RestRequest) -> Answer:
    entity = _read_entity(request)
    request.cdap.metadata.remove_all(entity)
    return send_text(f"Metadata for {entity.describe()} deleted successfully.")


@METADATA.add("DELETE", f"{_ONE}/properties")
def remove_properties(request: RestRequest) -> Answer:
    entity = _read_entity(request)
    request.cdap.metadata.remove_all(entity, MetadataKind.PROPERTY)
    return send_text(f"Metadata properties for {entity.describe()} deleted successfully.")


@METADATA.add("DELETE", f"{_ONE}/properties/{{name}}")
def remove_property(request: RestRequest) -> Answer:
    entity, name = _read_entity(request), request.path["name"]
    request.cdap.metadata.remove(entity, [name])
    return send_text(f"Metadata property {name} for {entity.describe()} deleted successfully.")


@METADATA.add("DELETE", f"{_ONE}/tags")
def remove_tags(request: RestRequest) -> Answer:
    entity = _read_entity(request)
    request.cdap.metadata.remove_all(entity, MetadataKind.TAG)
    return send_text(f"Metadata tags for {entity.describe()} deleted successfully.")


@METADATA.add("DELETE", f"{_ONE}/tags/{{name}}")
def remove_tag(request: RestRequest) -> Answer:
    entity, name = _read_entity(request), request.path["name"]
    request.cdap.metadata.remove(entity, tags=[name])
    return send_text(f"Metadata tag {name} for {entity.describe()} deleted successfully.")


@METADATA.add("GET", "/v3/metadata/search", "/v3/namespaces/{namespace}/metadata/search")
def search(request: RestRequest) -> Answer:
    """Search entities. A query that is absent finds all of them."""
    entity_scope = _read_entity_scope(request)
    namespaces = request.query.get("namespaces")
    if "namespace" in request.path:
        namespaces = [request.namespace]
    if entity_scope is MetadataScope.SYSTEM:
        namespaces = ["system"]
    cursors = request.get_number("numCursors", 0)
    asked = SearchRequest(
        query=request.get("query") or "*",
        scope=_read_scope(request),
        namespaces=namespaces,
        types=request.query.get("target"),
        show_hidden=request.get_flag("showHidden"),
        sort=unquote(request.get("sort", "")) or None,
        offset=request.get_number("offset", 0),
        limit=request.get_number("limit", ALL),
        cursor=request.get("cursor") or None,
        cursor_requested=cursors > 0 or request.get_flag("cursorRequested"),
    )
    found = request.cdap.metadata.search(asked)
    if _reads_v6(request):
        return send_json(_to_v6_results(asked, found))
    return send_json(_to_v5_results(asked, found, cursors, entity_scope))


def _read_entity(request: RestRequest) -> MetadataEntity:
    """Return the entity of the path, with the type that the query names, else that of the last key."""
    parts = [unquote(each, errors="replace") for each in request.path["entity"].split("/")]
    if len(parts) % 2:
        raise RestError(404, f"'{request.path['entity']}' is not the path of an entity.")
    details: dict[str, str] = {}
    pairs = [(parts[at], parts[at + 1]) for at in range(0, len(parts) - 1, 2)]
    for at, (word, value) in enumerate(pairs):
        before = pairs[at - 1][0] if at else ""
        is_program = before in ("apps", "versions") and "application" in details
        if is_program and word in PROGRAM_TYPES:
            new = {"type": PROGRAM_TYPES[word], "program": value}
        else:
            new = {_KEYS.get(word, word): value}
        repeated = details.keys() & new
        if repeated:
            raise RestError(400, f"key '{min(repeated)}' already exists in '{details}'")
        details |= new
    type = request.get("type") or next(reversed(details))
    keys = list(details)
    if type.lower() == VERSION and len(keys) == 3 and keys[1] in (APPLICATION, ARTIFACT):
        type = keys[1]
    return MetadataEntity(details, type)


def _read_scope(request: RestRequest) -> MetadataScope | None:
    text = request.get("scope")
    if text is None:
        return None
    try:
        return MetadataScope(text.upper())
    except ValueError:
        raise RestError(
            400, f"Invalid metadata scope '{text}'. Expected 'USER' or 'SYSTEM'"
        ) from None


def _read_entity_scope(request: RestRequest) -> MetadataScope | None:
    text = request.get("entityScope")
    if text is None:
        return None
    try:
        return MetadataScope(text.upper())
    except ValueError:
        raise RestError(
            400,
            f"Invalid entity scope '{text}'. Expected 'USER' or 'SYSTEM' for entities from specified scope, "
            "or just omit the parameter to get entities from both scopes",
        ) from None


def _reads_v6(request: RestRequest) -> bool:
    return request.get("responseFormat", "v5").lower() == "v6"


def _to_v5(
    entity: MetadataEntity, found: ScopedMetadata, scope: MetadataScope | None
) -> list[dict[str, Any]]:
    """Return a record for each scope (CDAP 5 ``MetadataRecord``)."""
    return [
        {
            "metadataEntity": entity,
            "scope": each,
            "properties": found.get(each).properties,
            "tags": found.get(each).tags,
        }
        for each in MetadataScope
        if scope in (None, each)
    ]


def _to_v6(found: ScopedMetadata) -> dict[str, Any]:
    """Return tags and properties, each with its scope (CDAP 6 ``Metadata``)."""
    scopes = [(each, found.get(each)) for each in MetadataScope]
    return {
        "tags": [{"name": tag, "scope": scope} for scope, each in scopes for tag in each.tags],
        "properties": [
            {"name": name, "scope": scope, "value": value}
            for scope, each in scopes
            for name, value in each.properties.items()
        ],
    }


def _to_v5_results(
    asked: SearchRequest,
    found: SearchResponse,
    cursors: int,
    entity_scope: MetadataScope | None,
) -> dict[str, Any]:
    scopes = [entity_scope] if entity_scope is not None else list(MetadataScope)
    return {
        "sort": asked.sort or "_score desc",
        "offset": found.offset,
        "limit": found.limit,
        "numCursors": cursors,
        "total": found.total_results,
        "results": [
            {"metadataEntity": each.entity, "metadata": each.metadata} for each in found.results
        ],
        "cursors": [found.cursor] if found.cursor else [],
        "showHidden": asked.show_hidden,
        "entityScope": scopes,
    }


def _to_v6_results(asked: SearchRequest, found: SearchResponse) -> dict[str, Any]:
    return {
        "sort": asked.sort or "_score desc",
        "offset": found.offset,
        "limit": found.limit,
        "totalResults": found.total_results,
        "results": [
            {"entity": each.entity, "metadata": _to_v6(each.metadata)} for each in found.results
        ],
        "cursor": found.cursor,
    }


LINEAGE: Final = RouteTable("Lineage")


def _list_patterns(path: str) -> tuple[str, str]:
    """Return the patterns of a route; some releases have ``endpoints`` in place of ``datasets``."""
    base = "/v3/namespaces/{namespace}/%s/{dataset}/lineage"
    return base % "datasets" + path, base % "endpoints" + path


@LINEAGE.add("GET", *_list_patterns(""), lack="`rollup` is not read")
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


@LINEAGE.add("GET", *_list_patterns("/fields"))
def list_fields(request: RestRequest) -> Answer:
    """Return the names of fields, or with ``includeCurrent`` also whether lineage is known of them."""
    start, end = _read_times(request)
    current = request.get_flag("includeCurrent")
    found = request.cdap.lineage.list_fields(
        _get_dataset(request), start, end, request.get("prefix"), current
    )
    return send_json(found if current else [each.name for each in found])


@LINEAGE.add("GET", *_list_patterns("/fields/{field}"))
def get_field_lineage(request: RestRequest) -> Answer:
    start, end = _read_times(request)
    return send_json(
        request.cdap.lineage.get_field_lineage(
            _get_dataset(request), request.path["field"], _read_direction(request), start, end
        )
    )


@LINEAGE.add("GET", *_list_patterns("/fields/{field}/operations"))
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


@LINEAGE.add("GET", *_list_patterns("/allfieldlineage"))
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
