"""Entities as paths of people (:mod:`localcdap.api.entity_paths`), and as keys of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.entity_paths import KEYS, join_path, split_path
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DEFAULT_VERSION,
    NAMESPACE,
    PROGRAM,
    PROGRAM_RUN,
    SCHEDULE,
    VERSION,
    MetadataEntity,
)

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
    pairs = _split_short_form(text) or split_path(text)
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
    return join_path(details)


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
    return {KEYS.get(key.lower(), key.lower()): value}


def _find_type(pairs: Mapping[str, str]) -> str:
    """Return the type of a path without one: the last key, except for a version, which is never the type."""
    keys = list(pairs)
    if len(keys) == 3 and keys[2] == VERSION and keys[1] in (APPLICATION, ARTIFACT):
        return keys[1]
    return keys[-1]
