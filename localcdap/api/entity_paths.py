"""Paths of entities, such as ``namespaces/ns/datasets/orders/field/email``, as pairs of key and value.

The rules are those of CDAP 6 ``MetadataHttpHandler`` (its path between ``/v3/`` and ``/metadata``). Plural
words of the REST API stand for entity types; any other word is the key of a custom entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    NAMESPACE,
    PROGRAM,
    PROGRAM_RUN,
    PROGRAM_TYPES,
    SCHEDULE,
    TYPE,
    VERSION,
)

KEYS: Final[Mapping[str, str]] = {
    "namespaces": NAMESPACE,
    "apps": APPLICATION,
    "artifacts": ARTIFACT,
    "datasets": DATASET,
    "versions": VERSION,
    "schedules": SCHEDULE,
    "program_runs": PROGRAM_RUN,
}
"""Keys by the words of the REST API."""
_WORDS: Final = {key: word for word, key in KEYS.items()}


def split_path(path: str) -> dict[str, str]:
    """Return the pairs of a path.

    :raises BadRequestError: when it does not consist of pairs, or has a key twice.
    """
    parts = path.strip("/").split("/")
    if len(parts) % 2 or not all(parts):
        raise BadRequestError(
            f"'{path}' is not the path of an entity: it needs pairs of a word and a name.",
            "Write datasets/orders, datasets/orders/field/email, apps/Sales or dataset:orders, for instance.",
        )
    pairs: dict[str, str] = {}
    for word, value in zip(parts[::2], parts[1::2], strict=True):
        for key, each in _read_pair(word, value, pairs).items():
            if key in pairs:
                raise BadRequestError(f"The path '{path}' has the key '{key}' twice.")
            pairs[key] = each
    return pairs


def join_path(pairs: Mapping[str, str]) -> str:
    """Return the path of pairs, which :func:`split_path` reads."""
    words = dict(pairs)
    if PROGRAM in words and TYPE in words:
        category = _get_category(words.pop(TYPE))
        words = {category if key == PROGRAM else key: each for key, each in words.items()}
    return "/".join(f"{_WORDS.get(key, key)}/{value}" for key, value in words.items())


def _read_pair(word: str, value: str, before: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs that a word and a name stand for; a program category stands for two."""
    type = PROGRAM_TYPES.get(word.lower())
    if type is not None and APPLICATION in before and PROGRAM not in before:
        return {TYPE: type, PROGRAM: value}
    return {KEYS.get(word.lower(), word.lower()): value}


def _get_category(program_type: str) -> str:
    for category, name in PROGRAM_TYPES.items():
        if name.lower() == program_type.lower():
            return category
    return program_type
