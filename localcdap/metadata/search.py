"""Searches of metadata: requests, pages of results and cursors (CDAP 6 ``SearchRequest``, ``Sorting``)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity, MetadataScope, ScopedMetadata
from localcdap.decoders import decode_json
from localcdap.metadata.entities import to_answered
from localcdap.metadata.postings import Visibility
from localcdap.metadata.records import CREATION_TIME, ENTITY_NAME, read_entities
from localcdap.metadata.search_index import SearchFilter, SearchIndex, Sorting
from localcdap.metadata.terms import parse_query
from localcdap.store.store import Transaction

if TYPE_CHECKING:
    import numpy.typing as npt

ALL: Final = 2**31 - 1
"""The limit of a search that returns all results."""
SORT_FIELDS: Final = (ENTITY_NAME, CREATION_TIME)


class SearchRequest(msgspec.Struct, frozen=True, rename="camel"):
    """What to search, in which entities, and which part of the results."""

    query: str | None = None
    """See :mod:`localcdap.metadata.terms`; None: every entity."""
    scope: MetadataScope | None = None
    """Only metadata of this scope is searched; results have all metadata."""
    namespaces: Collection[str] | None = None
    """None: all namespaces, and entities without one."""
    types: Collection[str] | None = None
    show_hidden: bool = False
    """Whether entities are found whose name begins with an underscore."""
    sort: str | None = None
    """``entity-name`` or ``creation-time``, then ``asc`` (default) or ``desc``; None: by relevance."""
    offset: int = 0
    limit: int = 10
    cursor: str | None = None
    """The cursor of an earlier answer, whose next page is wanted; it determines offset and limit."""
    cursor_requested: bool = False
    """Whether the answer gets a cursor if there are more results; needs a sort order."""


class SearchResult(msgspec.Struct, frozen=True):
    """An entity that was found, with all of its metadata."""

    entity: MetadataEntity
    metadata: ScopedMetadata


class SearchResponse(msgspec.Struct, frozen=True, rename="camel"):
    """A page of results."""

    total_results: int
    offset: int
    limit: int
    results: list[SearchResult]
    cursor: str | None = None


def search_metadata(
    tx: Transaction,
    index: SearchIndex,
    request: SearchRequest,
    visibility: Visibility | None = None,
) -> SearchResponse:
    """Return a page of what a search finds.

    :param tx: a snapshot, from which the entities of the page are read.
    :param visibility: what the caller sees, which alone is counted and paged; None: everything.
    :raises BadRequestError: when the request is wrong.
    """
    sorting = parse_sorting(request.sort)
    if sorting is None and request.cursor_requested:
        raise BadRequestError("Specify a sort order when requesting a cursor")
    if sorting is None and request.cursor:
        raise BadRequestError("Specify a sort order when passing in a cursor")
    if request.offset < 0 or request.limit < 0:
        raise BadRequestError("The offset and the limit of a search must not be negative.")
    given = SearchFilter(
        request.scope, request.namespaces, request.types, request.show_hidden, visibility
    )
    ids = index.search(parse_query(request.query), given, sorting)
    place = _Cursor(request.offset, request.limit)
    start = request.offset
    if request.cursor:
        place = _decode_cursor(request.cursor)
        start = _find_start(ids, place)
    page = ids[start : start + place.limit].tolist()
    cursor = None
    if request.cursor_requested and page and start + len(page) < len(ids):
        cursor = _encode_cursor(_Cursor(place.offset + len(page), place.limit, page[-1]))
    total = len(ids) - start + place.offset if start < len(ids) else len(ids)
    return SearchResponse(total, place.offset, place.limit, _read_page(tx, page), cursor)


def parse_sorting(text: str | None) -> Sorting | None:
    """Return what results are sorted by; None for None.

    :raises BadRequestError: when the text is not a sort order, or names another field.
    """
    if text is None:
        return None
    field, *rest = text.strip().lower().split() or [""]
    if not field or len(rest) > 1 or rest not in ([], ["asc"], ["desc"]):
        raise BadRequestError(
            f"Invalid value '{text}' for Sorting. It must be of the form '<fieldname> [ ASC | DESC ]'"
        )
    if field not in SORT_FIELDS:
        raise BadRequestError(f"Sorting is only supported on fields: {', '.join(SORT_FIELDS)}")
    return Sorting(field == CREATION_TIME, rest == ["desc"])


class _Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The place of a page. Its text is not for people, and other versions may not understand it."""

    offset: int
    limit: int
    last: int | None = None
    """The id of the last entity before the page, from which it continues even when others come before."""


def _encode_cursor(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decode_cursor(text: str) -> _Cursor:
    try:
        return decode_json(base64.urlsafe_b64decode(text), _Cursor)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise BadRequestError(
            f"'{text}' is not the cursor of a search.", "Search without a cursor first."
        ) from None


def _find_start(ids: npt.NDArray[Any], cursor: _Cursor) -> int:
    """Return the place after the last entity of the page before; its offset when that entity is gone."""
    places = (ids == cursor.last).nonzero()[0]
    return int(places[0]) + 1 if len(places) else cursor.offset


def _read_page(tx: Transaction, ids: Sequence[int]) -> list[SearchResult]:
    found = read_entities(tx, ids)
    return [
        SearchResult(to_answered(entity), metadata)
        for entity, metadata in (found[id] for id in ids if id in found)
    ]
