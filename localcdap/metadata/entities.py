"""Entities as paths of people and of the REST API, and as keys of the database.

A path consists of pairs, such as ``namespaces/ns/datasets/orders/field/email``; the rules are those of CDAP 6
``MetadataHttpHandler`` (its path between ``/v3/`` and ``/metadata``). Plural words of the REST API stand for
entity types; any other word is the key of a custom entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    DEFAULT_VERSION,
    NAMESPACE,
    PROGRAM,
    PROGRAM_RUN,
    SCHEDULE,
    TYPE,
    VERSION,
    MetadataEntity,
)

_KEYS: Final[Mapping[str, str]] = {
    "namespaces": NAMESPACE,
    "apps": APPLICATION,
    "artifacts": ARTIFACT,
    "datasets": DATASET,
    "versions": VERSION,
    "schedules": SCHEDULE,
    "program_runs": PROGRAM_RUN,
}
"""Keys by the words of the REST API."""
_WORDS: Final = {key: word for word, key in _KEYS.items()}
TYPES_BY_CATEGORY: Final[Mapping[str, str]] = {
    "mapreduce": "MapReduce",
    "services": "Service",
    "spark": "Spark",
    "workers": "Worker",
    "workflows": "Workflow",
}
"""Program types by the categories of the REST API (CDAP 6 ``ProgramType``)."""
_UNVERSIONED: Final = (APPLICATION, PROGRAM, SCHEDULE, PROGRAM_RUN)
"""Types whose metadata all versions share."""


def parse_entity(
    text: str, namespace: str | None = None, type: str | None = None
) -> MetadataEntity:
    """Return the entity of a path such as ``datasets/orders``, or of a short form such as ``dataset:orders``.

    :param namespace: the namespace of a path that names none; None: it stays relative.
    :param type: the key that is the type; None: the last one (see :mod:`localcdap.metadata.entities`).
    :raises BadRequestError: when the path is incomplete or no entity.
    """
    pairs = _split_short_form(text) or _split_path(text)
    if type is not None and type.lower() not in pairs:
        raise BadRequestError(
            f"The type '{type}' is none of the keys of '{text}': {', '.join(pairs)}.",
            "Name one of the keys with --type.",
        )
    if namespace is not None and NAMESPACE not in pairs:
        pairs = {NAMESPACE: namespace, **pairs}
    return MetadataEntity(pairs, type or _find_type(pairs))


def format_entity(entity: MetadataEntity, *, relative_to: str | None = None) -> str:
    """Return the path of an entity, which :func:`parse_entity` reads.

    :param relative_to: a namespace that is left out.
    """
    details = dict(entity.details)
    if relative_to is not None and details.get(NAMESPACE) == relative_to and len(details) > 1:
        del details[NAMESPACE]
    if PROGRAM in details and TYPE in details:
        category = _get_category(details.pop(TYPE))
        details = {category if key == PROGRAM else key: each for key, each in details.items()}
    return "/".join(f"{_WORDS.get(key, key)}/{value}" for key, value in details.items())


def to_stored(entity: MetadataEntity) -> MetadataEntity:
    """Return the entity under which metadata is stored: without the version that all versions share."""
    if entity.type not in _UNVERSIONED or VERSION not in entity.details:
        return entity
    rest = {key: value for key, value in entity.details.items() if key != VERSION}
    return MetadataEntity(rest, entity.type)


def to_answered(entity: MetadataEntity) -> MetadataEntity:
    """Return the entity as a search answers it: with the default version where versions do not count."""
    if entity.type not in _UNVERSIONED:
        return entity
    pairs: dict[str, str] = {}
    for key, value in entity.details.items():
        pairs[key] = value
        if key == APPLICATION:
            pairs[VERSION] = DEFAULT_VERSION
    return MetadataEntity(pairs, entity.type)


def to_key(entity: MetadataEntity) -> str:
    """Return the text that identifies the stored form of an entity in the database."""
    stored = to_stored(entity)
    pairs = [part for pair in stored.details.items() for part in pair]
    return "\x1f".join(
        part.replace("\x1e", "\x1e0").replace("\x1f", "\x1e1") for part in [stored.type, *pairs]
    )


def from_key(key: str) -> MetadataEntity:
    """Return the entity of :func:`to_key`."""
    separated = key.split("\x1f")
    type, *parts = (each.replace("\x1e1", "\x1f").replace("\x1e0", "\x1e") for each in separated)
    return MetadataEntity(dict(zip(parts[::2], parts[1::2], strict=True)), type)


def _split_short_form(text: str) -> dict[str, str] | None:
    """Return the pair of ``key:value`` without any slash before the colon; None for any other text."""
    key, colon, value = text.partition(":")
    if not colon or not value or "/" in key or not key:
        return None
    return {_KEYS.get(key.lower(), key.lower()): value}


def _split_path(text: str) -> dict[str, str]:
    parts = text.strip("/").split("/")
    if len(parts) % 2 or not all(parts):
        raise BadRequestError(
            f"'{text}' is not the path of an entity: it needs pairs of a word and a name.",
            "Write datasets/orders, datasets/orders/field/email, apps/Sales or dataset:orders, for instance.",
        )
    pairs: dict[str, str] = {}
    for word, value in zip(parts[::2], parts[1::2], strict=True):
        for key, each in _read_pair(word, value, pairs).items():
            if key in pairs:
                raise BadRequestError(f"The path '{text}' has the key '{key}' twice.")
            pairs[key] = each
    return pairs


def _read_pair(word: str, value: str, before: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs that a word and a name stand for; a program category stands for two."""
    category = TYPES_BY_CATEGORY.get(word.lower())
    if category is not None and APPLICATION in before and PROGRAM not in before:
        return {TYPE: category, PROGRAM: value}
    return {_KEYS.get(word.lower(), word.lower()): value}


def _find_type(pairs: Mapping[str, str]) -> str:
    """Return the type of a path without one: the last key, except for a version, which is never the type."""
    keys = list(pairs)
    if len(keys) == 3 and keys[2] == VERSION and keys[1] in (APPLICATION, ARTIFACT):
        return keys[1]
    return keys[-1]


def _get_category(program_type: str) -> str:
    for category, name in TYPES_BY_CATEGORY.items():
        if name.lower() == program_type.lower():
            return category
    return program_type
