"""The part of JSONPath that CDAP pipelines use, compiled once.

``$.a.b``, ``$['a b']``, ``$.list[0]``, ``$.list[-1]``, ``$.list[*].a``, ``$.*``, ``$..name``. As in
the Jayway library that CDAP uses, a path without ``$`` starts at the root, and one with a wildcard or
``..`` gives the list of everything it finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_STEP: Final = re.compile(
    r"""\.\.(?P<deep>[^.\[\]()?*'"\s]+)
      | \.(?P<name>[^.\[\]()?*'"\s]+)
      | (?P<all>\.\*|\[\s*\*\s*\])
      | \[\s*(?P<index>-?\d+)\s*\]
      | \[\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\s*\]""",
    re.VERBOSE,
)


class PathError(ValueError):
    """A path that cannot be compiled. The message quotes the place."""


@dataclass(frozen=True)
class Step:
    """One step down. Exactly one of the first three is set, or it is a wildcard."""

    name: str | None = None
    index: int | None = None
    deep: str | None = None

    @property
    def is_definite(self) -> bool:
        """Whether the step leads to at most one value."""
        return self.name is not None or self.index is not None

    def values(self, value: Any) -> Iterator[Any]:
        if self.name is not None:
            if isinstance(value, dict) and self.name in value:
                yield value[self.name]
        elif self.index is not None:
            if isinstance(value, list) and -len(value) <= self.index < len(value):
                yield value[self.index]
        elif self.deep is not None:
            yield from _descendants(value, self.deep)
        elif isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


class JsonPath:
    """A compiled path.

    :raises PathError: for filters, slices, functions and whatever else is not supported.
    """

    def __init__(self, path: str) -> None:
        self.text: Final = path
        self._steps: Final = _compile(path)
        self._is_definite: Final = all(step.is_definite for step in self._steps)

    def read(self, document: Any) -> Any:
        """The value at the path.

        :raises KeyError: when a definite path leads nowhere.
        """
        found = [document]
        for step in self._steps:
            found = [inner for outer in found for inner in step.values(outer)]
        if not self._is_definite:
            return found
        if not found:
            raise KeyError(self.text)
        return found[0]


def _compile(path: str) -> list[Step]:
    text = path.strip()
    if not text:
        raise PathError("A JSON path must not be empty.")
    if not text.startswith("$"):
        text = f"${text}" if text[0] in ".[" else f"$.{text}"
    steps, at = [], 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise PathError(
                f"'{text[at:]}' in JSON path '{path}' is not supported; use names, ['names'], "
                "[indexes], * and '..name'."
            )
        steps.append(_step(match))
        at = match.end()
    return steps


def _step(match: re.Match[str]) -> Step:
    if match["deep"] is not None:
        return Step(deep=match["deep"])
    if match["index"] is not None:
        return Step(index=int(match["index"]))
    if match["all"] is not None:
        return Step()
    names = (match["name"], match["single"], match["double"])
    return Step(name=next(name for name in names if name is not None))


def _descendants(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict):
        if name in value:
            yield value[name]
        for inner in value.values():
            yield from _descendants(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _descendants(inner, name)
