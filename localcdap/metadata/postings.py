"""All terms of the database in memory, as arrays: which entities have a term.

100,000 entities with 10 tags and 10 properties each take 33 MB, and reading them takes 2.8 s; Python objects
would take 20 times as much memory. The arrays never change; what was written since they were read is in
:mod:`localcdap.metadata.search_index`.

A search shows the entities that the caller sees, whatever the page and its total are. The original filters
each page after it was read (CDAP 6 ``DefaultMetadataAdmin``): its pages are shorter then, and its totals
count what is hidden. Here only what is visible is counted. As there, a custom entity is seen by those who see
the nearest CDAP entity around it.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from localcdap.api.metadata import KEY_SEQUENCES, MetadataEntity, MetadataScope
from localcdap.metadata.entities import from_key
from localcdap.metadata.terms import NUMBER_PREFIX, PROPERTIES, Comparison, QueryTerm
from localcdap.store.store import Store, Transaction

if TYPE_CHECKING:
    import numpy.typing as npt


if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

_ENTITIES: Final = (
    "SELECT id, revision, sort_name, coalesce(namespace, '') AS namespace, type, hidden, "
    "coalesce(created, -1) AS created FROM metadata ORDER BY sort_name, namespace, entity"
)
_TERMS: Final = """
SELECT token, key, list(posting) AS postings FROM (
    SELECT id * 2 + (line[1] = 'S')::BIGINT AS posting,
        split_part(line[2:], chr(9), 1) AS key, split_part(line, chr(9), 2) AS token
    FROM (SELECT id, unnest(string_split(terms, chr(10))) AS line FROM metadata WHERE terms <> ''))
GROUP BY ALL ORDER BY token, key
"""
_LAST: Final = chr(0x10FFFF)
_COMPARE: Final = {
    Comparison.EQUALS: "equal",
    Comparison.GREATER: "greater",
    Comparison.GREATER_OR_EQUAL: "greater_equal",
    Comparison.LESS: "less",
    Comparison.LESS_OR_EQUAL: "less_equal",
}


class Postings:
    """The entities of one state of the database, and their terms.

    An entity is called by its position, which is its place in the order of names and namespaces.

    :attr ids: the ids of the entities by their positions.
    :attr revisions: their revisions.
    """

    def __init__(self, tx: Transaction) -> None:
        import numpy as np

        entities = tx.read_arrow(_ENTITIES)
        terms = tx.read_arrow(_TERMS).combine_chunks()
        self.ids: Final = entities["id"].to_numpy()
        self.revisions: Final = entities["revision"].to_numpy()
        self.created: Final = entities["created"].to_numpy()
        self.hidden: Final = entities["hidden"].to_numpy()
        self.names: Final = entities["sort_name"].combine_chunks()
        self._namespaces = _Codes(entities["namespace"])
        self._types = _Codes(entities["type"])
        self._by_id = np.argsort(self.ids, kind="stable").astype(np.uint32)
        self._tokens = terms["token"].combine_chunks()
        self._keys = _Codes(terms["key"])
        lists = terms["postings"].combine_chunks()
        self._offsets = lists.offsets.to_numpy().astype(np.int64)
        self._postings = self._to_positions(lists.values.to_numpy())
        self._numbers: dict[str, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def find_position(self, id: int) -> int | None:
        """Return the position of an entity; None when it is not here."""
        import numpy as np

        place = int(np.searchsorted(self.ids, id, sorter=self._by_id))
        if place == len(self.ids) or self.ids[self._by_id[place]] != id:
            return None
        return int(self._by_id[place])

    def match(self, term: QueryTerm, scope: MetadataScope | None) -> Array:
        """Return a mask of the entities that a term matches.

        :param scope: only terms of metadata in this scope; None: of any.
        """
        import numpy as np

        mask: Array = np.zeros(len(self), dtype=bool)
        if term.matches_all:
            mask[:] = True
            return mask
        for groups in self._find_groups(term):
            found = self._gather(groups)
            if scope is not None:
                found = found[(found & 1) == (scope is MetadataScope.SYSTEM)]
            mask[found >> 1] = True
        return mask

    def filter(
        self, namespaces: Collection[str] | None, types: Collection[str] | None, hidden: bool
    ) -> Array:
        """Return a mask of the entities in some namespaces, of some types, and hidden ones if wanted."""
        import numpy as np

        mask: Array = np.ones(len(self), dtype=bool)
        if namespaces is not None:
            mask &= self._namespaces.contains(namespaces)
        if types is not None:
            mask &= self._types.contains(types)
        if not hidden:
            mask &= ~self.hidden
        return mask

    def _to_positions(self, postings: Array) -> Array:
        """Return postings with the positions of entities in the place of their ids."""
        import numpy as np

        places = np.searchsorted(self.ids, postings >> 1, sorter=self._by_id)
        positions: Array = self._by_id[places] * np.uint32(2) + (postings & 1).astype(np.uint32)
        return positions

    def _find_groups(self, term: QueryTerm) -> Iterable[Array]:
        """Yield the groups (of one token and key each) that a term matches."""
        if term.comparison is not None:
            yield self._compare(term)
            return
        if term.key is None:
            yield self._select(self._find_range(term.text, term.is_prefix), None)
            if term.is_prefix and (kinds := self._types.starting_with(term.text)):
                yield find_places(self._keys.contains(kinds))
            return
        yield self._select(self._find_range(term.text, term.is_prefix), term.key)
        yield self._select(self._find_range(term.whole, term.is_prefix), None)
        if term.is_prefix and not term.text:
            yield self._select(self._find_range(term.key, False), PROPERTIES)

    def _find_range(self, text: str, is_prefix: bool) -> range:
        """Return the groups whose token is a text, or begins with it."""
        start = bisect.bisect_left(_Texts(self._tokens), text)
        end = bisect.bisect_right(_Texts(self._tokens), text + _LAST if is_prefix else text)
        return range(start, end)

    def _select(self, groups: range, key: str | None) -> Array:
        """Return the groups that have a key; None: any key by which plain words search."""
        part = self._keys.codes[groups.start : groups.stop]
        if key is None:
            unsearched = [
                each for each in self._keys.names if each == PROPERTIES or each[:1] == NUMBER_PREFIX
            ]
            return find_places(~self._keys.contains(unsearched, part)) + groups.start
        return find_places(self._keys.contains([key], part)) + groups.start

    def _gather(self, groups: Array) -> Array:
        """Return the postings of groups."""
        import numpy as np

        starts, ends = self._offsets[groups], self._offsets[groups + 1]
        counts = ends - starts
        total = int(counts.sum())
        if total == 0:
            return self._postings[:0]
        before = np.concatenate(([0], np.cumsum(counts)[:-1]))
        places = np.arange(total) - np.repeat(before - starts, counts)
        found: Array = self._postings[places]
        return found

    def _compare(self, term: QueryTerm) -> Array:
        import numpy as np

        assert term.comparison is not None
        groups, numbers = self._read_numbers(NUMBER_PREFIX + (term.key or ""))
        holds = getattr(np, _COMPARE[term.comparison])(numbers, term.number)
        found: Array = groups[holds]
        return found

    def _read_numbers(self, key: str) -> tuple[Array, Array]:
        """Return the groups of a key whose tokens are numbers, and the numbers; they are kept."""
        import numpy as np

        if key not in self._numbers:
            groups = find_places(self._keys.contains([key]))
            numbers = np.array(self._tokens.take(groups).to_pylist(), dtype=float)
            self._numbers[key] = groups, numbers
        return self._numbers[key]


class _Codes:
    """A column of texts with few different values, as numbers."""

    def __init__(self, column: Any) -> None:
        encoded = column.combine_chunks().dictionary_encode()
        self.names: Final[Sequence[str]] = encoded.dictionary.to_pylist()
        self.codes: Final[Array] = encoded.indices.to_numpy()
        self._by_name = {name: code for code, name in enumerate(self.names)}

    def contains(self, names: Iterable[str], codes: Array | None = None) -> Array:
        """Return a mask of the rows that have one of the texts."""
        import numpy as np

        chosen: Array = np.zeros(len(self.names) + 1, dtype=bool)
        for name in names:
            chosen[self._by_name.get(name, -1)] = True
        chosen[-1] = False
        found: Array = chosen[self.codes if codes is None else codes]
        return found

    def starting_with(self, prefix: str) -> list[str]:
        """Return the texts that begin with a prefix."""
        return [name for name in self.names if name.startswith(prefix)]


class _Texts(Sequence[str]):
    """An Arrow array of texts as a sequence, for binary searches."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: Any) -> Any:
        return self._texts[place].as_py()


def find_places(mask: Array) -> Array:
    """Return the places where a mask holds."""
    import numpy as np

    return np.flatnonzero(mask)


_MOST_VIEWS: Final = 16


class Visibility(NamedTuple):
    """What a caller sees."""

    view: Hashable
    """Equal for callers who see the same entities."""
    is_visible: Callable[[MetadataEntity], bool]
    """Called with CDAP entities only."""

    def shows(self, entity: MetadataEntity) -> bool:
        """Return whether the caller sees an entity; one that no CDAP entity is around is seen by all."""
        around = find_cdap_entity(entity)
        return around is None or self.is_visible(around)


def find_cdap_entity(entity: MetadataEntity) -> MetadataEntity | None:
    """Return the entity itself or the nearest CDAP entity around it; None when there is none (CDAP 6
    ``EntityId.getSelfOrParentEntityId``).
    """
    if entity.type in KEY_SEQUENCES:
        return entity
    pairs = list(entity.details.items())
    for length in range(len(pairs), 0, -1):
        keys = tuple(key for key, _ in pairs[:length])
        for type, sequences in KEY_SEQUENCES.items():
            if keys in sequences:
                return MetadataEntity(dict(pairs[:length]), type)
    return None


class VisibleEntities:
    """For some callers, which entities of the postings they see. Threads may share it.

    The first search of a caller looks at the entities one by one, 100,000 of them in about a second; later
    ones do not, until the postings are read again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._postings: Postings | None = None
        self._masks: dict[Hashable, npt.NDArray[Any]] = {}

    def get_mask(self, postings: Postings, visibility: Visibility) -> npt.NDArray[Any]:
        """Return a mask of the entities of the postings that a caller sees."""
        with self._lock:
            if self._postings is not postings or len(self._masks) > _MOST_VIEWS:
                self._postings, self._masks = postings, {}
            known = self._masks.get(visibility.view)
        if known is not None:
            return known
        made = self._make_mask(postings, visibility)
        with self._lock:
            if self._postings is postings:
                self._masks[visibility.view] = made
        return made

    def _make_mask(self, postings: Postings, visibility: Visibility) -> npt.NDArray[Any]:
        import numpy as np

        rows = self._store.read("SELECT id, entity FROM metadata")
        visible = [id for id, key in rows if visibility.shows(from_key(key))]
        mask: npt.NDArray[Any] = np.isin(postings.ids, np.array(visible, dtype=np.int64))
        return mask
