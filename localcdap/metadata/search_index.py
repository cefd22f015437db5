"""The search index: the postings of one state of the database, and what was written since.

Every commit is noted here. Entities that were written since the postings were read are looked at one by one;
when there are many of them, a thread reads the postings again.
"""

from __future__ import annotations

import bisect
import logging
import threading
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataScope
from localcdap.metadata.postings import Postings, Visibility, VisibleEntities
from localcdap.metadata.records import MetadataRow
from localcdap.metadata.terms import NUMBER_PREFIX, PROPERTIES, Comparison, QueryTerm, Term
from localcdap.store.store import Store

if TYPE_CHECKING:
    import numpy.typing as npt

_LOG: Final = logging.getLogger(__name__)
_MOST_RECENT: Final = 300
"""Entities that are looked at one by one; 300 of 40 terms each add 12 ms to a search."""


class SearchFilter(NamedTuple):
    """Which entities a search may find, whatever their terms are."""

    scope: MetadataScope | None = None
    """Terms of only this scope; None: of both."""
    namespaces: Collection[str] | None = None
    types: Collection[str] | None = None
    hidden: bool = False
    """Whether hidden entities are found too."""
    visibility: Visibility | None = None
    """What the caller sees; None: everything."""


class Sorting(NamedTuple):
    """What results are sorted by; without it, by relevance: the number of terms that match, then the name."""

    is_time: bool
    """Whether by the time of creation, or by name."""
    descending: bool = False


class SearchIndex:
    """Finds entities by terms. It reads the database at the first search. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._visible = VisibleEntities(store)
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._postings: Postings | None = None
        self._recent: dict[int, _Recent] = {}
        """Entities that were written since the postings were read, by id."""
        self._is_noting = False

    def note(
        self, written: Iterable[MetadataRow], removed: Iterable[int] = (), revision: int = 0
    ) -> None:
        """Take note of a commit.

        :param removed: the ids of entities without metadata.
        :param revision: that of the removal.
        """
        with self._lock:
            if not self._is_noting:
                return
            for row in written:
                self._put(row.id, _Recent(row.revision, row))
            for id in removed:
                self._put(id, _Recent(revision, None))

    def search(
        self, terms: Sequence[QueryTerm], given: SearchFilter, sorting: Sorting | None
    ) -> npt.NDArray[Any]:
        """Return the ids of the entities that match, in their order."""
        postings, recent = self._get_state()
        mask = postings.filter(given.namespaces, given.types, given.hidden)
        if given.visibility is not None:
            mask &= self._visible.get_mask(postings, given.visibility)
        found = _search_postings(postings, recent, terms, _Selection(mask, given.scope), sorting)
        more = [
            _Hit(score, each.row)
            for each in recent.values()
            if each.row is not None and _passes(each.row, given)
            if (score := _score(each.row, terms, given.scope))
        ]
        return _insert(found, more, sorting) if more else found.ids

    def _put(self, id: int, recent: _Recent) -> None:
        known = self._recent.get(id)
        if known is None or known.revision < recent.revision:
            self._recent[id] = recent

    def _get_state(self) -> tuple[Postings, dict[int, _Recent]]:
        if self._postings is None:
            with self._reading:
                if self._postings is None:
                    self._read()
        with self._lock:
            assert self._postings is not None
            postings, recent = self._postings, dict(self._recent)
        if len(recent) > _MOST_RECENT and self._reading.acquire(blocking=False):
            threading.Thread(target=self._read_again, name="metadata-index", daemon=True).start()
        return postings, recent

    def _read_again(self) -> None:
        try:
            self._read()
        except LocalcdapError as error:  # the next search tries again
            _LOG.warning("the search index could not be read: %s", error)
        finally:
            self._reading.release()

    def _read(self) -> None:
        """Read the postings. Commits are noted from before on, so that none is missed."""
        with self._lock:
            self._is_noting = True
        with self._store.snapshot() as tx:
            postings = Postings(tx)
            newest = int(tx.execute("SELECT coalesce(max(revision), 0) FROM metadata")[0][0])
        with self._lock:
            self._postings = postings
            self._recent = {
                id: each
                for id, each in self._recent.items()
                if not _is_contained(postings, id, each, newest)
            }


class _Recent(NamedTuple):
    revision: int
    row: MetadataRow | None
    """None: its metadata was removed."""


class _Found(NamedTuple):
    """What was found in the postings, in its order."""

    postings: Postings
    positions: npt.NDArray[Any]
    scores: npt.NDArray[Any]

    @property
    def ids(self) -> npt.NDArray[Any]:
        ids: npt.NDArray[Any] = self.postings.ids[self.positions]
        return ids


class _Selection(NamedTuple):
    """The entities of the postings that a search may find, and the scope that it searches."""

    mask: npt.NDArray[Any]
    scope: MetadataScope | None


class _Hit(NamedTuple):
    score: int
    row: MetadataRow


def _is_contained(postings: Postings, id: int, recent: _Recent, newest: int) -> bool:
    """Return whether postings whose newest revision is given have a change already.

    Revisions grow in the order of commits, because writers take turns.
    """
    is_absent = recent.row is None and postings.find_position(id) is None
    return recent.revision <= newest or is_absent


def _search_postings(
    postings: Postings,
    recent: Iterable[int],
    terms: Sequence[QueryTerm],
    given: _Selection,
    sorting: Sorting | None,
) -> _Found:
    import numpy as np

    mask = given.mask
    for id in recent:
        position = postings.find_position(id)
        if position is not None:
            mask[position] = False
    scores = np.zeros(len(postings), dtype=np.int16)
    has_required = any(term.is_required for term in terms)
    for term in terms:
        matched = postings.match(term, given.scope)
        scores += matched
        if term.is_required:
            mask &= matched
    if not has_required:
        mask &= scores > 0
    positions = np.flatnonzero(mask)
    if sorting is None:
        order = np.argsort(-scores[positions], kind="stable")
    elif sorting.is_time:
        created = postings.created[positions]
        order = np.argsort(-created if sorting.descending else created, kind="stable")
    else:
        order = np.arange(len(positions))[:: -1 if sorting.descending else 1]
    return _Found(postings, positions[order], scores[positions[order]])


def _insert(found: _Found, more: Iterable[_Hit], sorting: Sorting | None) -> npt.NDArray[Any]:
    """Return the ids of both results in one order."""
    import numpy as np

    ranks = _Ranks(found, sorting)
    hits = sorted(more, key=lambda hit: _rank(hit, sorting))
    places = [bisect.bisect_right(ranks, _rank(hit, sorting)) for hit in hits]
    inserted: npt.NDArray[Any] = np.insert(found.ids, places, [hit.row.id for hit in hits])
    return inserted


class _Ranks(Sequence[Any]):
    """The ranks of what was found in the postings, for binary searches."""

    def __init__(self, found: _Found, sorting: Sorting | None) -> None:
        self._found = found
        self._sorting = sorting

    def __len__(self) -> int:
        return len(self._found.positions)

    def __getitem__(self, place: Any) -> Any:
        postings, position = self._found.postings, self._found.positions[place]
        name = postings.names[position].as_py()
        return _make_rank(
            int(self._found.scores[place]), name, int(postings.created[position]), self._sorting
        )


def _rank(hit: _Hit, sorting: Sorting | None) -> Any:
    created = -1 if hit.row.created is None else hit.row.created
    return _make_rank(hit.score, hit.row.sort_name, created, sorting)


def _make_rank(score: int, name: str, created: int, sorting: Sorting | None) -> Any:
    if sorting is None:
        return -score, name
    if sorting.is_time:
        return -created if sorting.descending else created
    return _Descending(name) if sorting.descending else name


class _Descending(NamedTuple):
    """A text that is compared the other way round."""

    text: str

    def __lt__(self, other: Any) -> bool:
        return bool(self.text > other.text)


def _passes(row: MetadataRow, given: SearchFilter) -> bool:
    return (
        (given.hidden or not row.hidden)
        and (given.types is None or row.entity.type in given.types)
        and (given.namespaces is None or (row.entity.namespace or "") in given.namespaces)
        and (given.visibility is None or given.visibility.shows(row.entity))
    )


def _score(row: MetadataRow, terms: Sequence[QueryTerm], scope: MetadataScope | None) -> int:
    """Return how many terms an entity matches; 0 when a required one is missing."""
    score = 0
    for term in terms:
        if term.matches_all or any(
            _matches(term, each, row.entity.type)
            for each in row.terms
            if scope in (None, each.scope)
        ):
            score += 1
        elif term.is_required:
            return 0
    return score


def _matches(term: QueryTerm, each: Term, type: str) -> bool:
    if term.comparison is not None:
        return each.key == f"{NUMBER_PREFIX}{term.key}" and _compare(term, float(each.token))
    if each.key[:1] == NUMBER_PREFIX:
        return False
    if each.key == PROPERTIES:
        if term.key == PROPERTIES:
            return _equals(term, term.text, each.token)
        return term.key == each.token and term.is_prefix and not term.text
    if term.key is None:
        by_type = term.is_prefix and each.key == type and type.startswith(term.text)
        return by_type or _equals(term, term.text, each.token)
    if each.key == term.key and _equals(term, term.text, each.token):
        return True
    return _equals(term, term.whole, each.token)


def _equals(term: QueryTerm, text: str, token: str) -> bool:
    return token.startswith(text) if term.is_prefix else token == text


def _compare(term: QueryTerm, number: float) -> bool:
    return {
        Comparison.EQUALS: number == term.number,
        Comparison.GREATER: number > term.number,
        Comparison.GREATER_OR_EQUAL: number >= term.number,
        Comparison.LESS: number < term.number,
        Comparison.LESS_OR_EQUAL: number <= term.number,
    }[term.comparison or Comparison.EQUALS]
