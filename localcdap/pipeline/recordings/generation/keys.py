"""Key fields: their values are drawn from pools that all generated sources share, so that they join."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.recordings.generation.words import split_words
from localcdap.pipeline.rules.plugin_types import JOINER

_KEY_WORDS: Final = frozenset(("id", "ids", "key", "pk", "fk", "sk", "guid", "uuid"))
_EQUAL: Final = re.compile(r"([^.=&,]+)\.([^=&,]+)")
"""A field in the property ``joinKeys`` of CDAP's joiners: ``left.a = right.b & left.c = right.d``."""
_JOIN_KEYS: Final = "joinKeys"


class KeyDomains:
    """Says which fields are keys, and which of them have the same values.

    A field ``customer_id`` has the keys of customers, as has the field ``id`` of a stage ``Customers``.
    Fields that a joiner of the pipeline compares have the same keys, whatever their names.
    """

    def __init__(self, joined: Iterable[Sequence[str]] = ()) -> None:
        self.joined: Final[dict[str, str]] = {}
        """By field that a joiner compares, the name of its keys."""
        for names in joined:
            self._join(names)

    @classmethod
    def of_stages(cls, stages: Iterable[StageUse]) -> KeyDomains:
        """Return the domains for a pipeline, with the fields that its joiners compare."""
        texts = [
            each.plugin.properties.get(_JOIN_KEYS, "")
            for each in stages
            if each.plugin.type == JOINER
        ]
        return cls(
            [field.strip() for _, field in _EQUAL.findall(condition)]
            for text in texts
            for condition in text.split("&")
        )

    def find(self, field: str, stage: str) -> str | None:
        """Return the name of the keys that a field has; None for any other field."""
        joined = self.joined.get(field)
        if joined is not None:
            return joined
        words = split_words(field)
        if not _KEY_WORDS.intersection(words):
            return None
        rest = [word for word in words if word not in _KEY_WORDS]
        return _make_singular(rest[-1] if rest else (split_words(stage) or ["record"])[-1])

    def is_own(self, field: str, stage: str) -> bool:
        """Return whether the records of a stage are identified by a field."""
        words = split_words(field)
        rest = [word for word in words if word not in _KEY_WORDS]
        if not _KEY_WORDS.intersection(words):
            return False
        return not rest or _make_singular(rest[-1]) in map(_make_singular, split_words(stage))

    def _join(self, names: Sequence[str]) -> None:
        domains = [self.joined[name] for name in names if name in self.joined]
        domain = domains[0] if domains else (names[0] if names else "")
        moved = [name for name, old in self.joined.items() if old in domains]
        self.joined.update(dict.fromkeys((*moved, *names), domain))


def _make_singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
