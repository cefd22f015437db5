"""Which entities a search may show: those that the caller sees, whatever the page and its total are.

The original filters each page after it was read (CDAP 6 ``DefaultMetadataAdmin``): its pages are shorter
then, and its totals count what is hidden. Here only what is visible is counted. As there, a custom entity is
seen by those who see the nearest CDAP entity around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api.metadata import KEY_SEQUENCES, MetadataEntity
from localcdap.metadata.entities import from_key
from localcdap.metadata.postings import Postings
from localcdap.store.store import Store

if TYPE_CHECKING:
    import numpy.typing as npt

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
