"""The rules for metadata that users and plugins write (CDAP 6 ``MetadataValidator``).

Metadata of the scope SYSTEM is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import Metadata

MAX_CHARS: Final = 50
"""The default of the setting ``metadata.max.allowed.chars``."""
TAGS: Final = "tags"
"""The reserved name: in a search, it stands for all tags."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]*")
_VALUE: Final = re.compile(r"[A-Za-z0-9_\-\s]*", re.ASCII)


def find_problems(metadata: Metadata, max_chars: int = MAX_CHARS) -> Sequence[str]:
    """Return what is wrong with USER metadata, in the original's words; at most one problem for each item."""
    return [
        *_first_of_each(_check_property(*item, max_chars) for item in metadata.properties.items()),
        *_first_of_each(_check_tag(tag, max_chars) for tag in metadata.tags),
    ]


def require_valid(metadata: Metadata, max_chars: int = MAX_CHARS) -> None:
    """Check USER metadata.

    :raises BadRequestError: with all problems, one for each property and tag.
    """
    problems = find_problems(metadata, max_chars)
    if problems:
        raise BadRequestError(" ".join(problems))


def _check_property(key: str, value: str, max_chars: int) -> Iterator[str]:
    yield from _check_key_or_tag(key)
    if key.lower() == TAGS:
        yield f"Could not set metadata with reserved key {TAGS}"
    yield from _check_length(key, max_chars)
    if not _VALUE.fullmatch(value):
        yield (
            f"Illegal format for the value '{value}'. Should only contain alphanumeric characters (a-z, "
            f"A-Z, 0-9), underscores, hyphens and whitespaces."
        )
    yield from _check_length(value, max_chars)


def _check_tag(tag: str, max_chars: int) -> Iterator[str]:
    yield from _check_key_or_tag(tag)
    yield from _check_length(tag, max_chars)


def _check_key_or_tag(name: str) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield (
            f"Illegal format for '{name}'. Should only contain alphanumeric characters (a-z, A-Z, 0-9), "
            f"underscores and hyphens."
        )


def _check_length(text: str, max_chars: int) -> Iterator[str]:
    if len(text) > max_chars:
        yield f"Metadata {text} exceeds maximum of {max_chars} characters."


def _first_of_each(checks: Iterable[Iterator[str]]) -> Iterator[str]:
    for check in checks:
        yield from [problem for problem in [next(check, None)] if problem is not None]
