"""Values that must not be shown: remembered when they are asked for, and taken out of every text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.studio.functions import SecureStore

HIDDEN: Final = "********"
_T = TypeVar("_T", bound=msgspec.Struct)


class Secrets:
    """The secure keys that a piece of work has used.

    :param store: gives the value of a key; None where there are no keys.
    """

    def __init__(self, store: SecureStore | None) -> None:
        self._store = store
        self._values: dict[str, str] = {}
        self._forms: Sequence[str] = ()
        """How the values may stand in a text, longest first."""

    @property
    def source(self) -> SecureStore | None:
        """What macros ask for values."""
        return self._get if self._store is not None else None

    def _get(self, key: str) -> str:
        """The value of a key, always the same one.

        :raises LocalcdapError: when there is none.
        """
        if key not in self._values:
            assert self._store is not None
            self._values[key] = self._store(key)
            found = {form for value in self._values.values() for form in _forms(value)}
            self._forms = sorted(found, key=len, reverse=True)
        return self._values[key]

    def hide(self, text: str) -> str:
        """The text with each value that was asked for replaced."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def without(self, told: Sequence[_T]) -> list[_T]:
        """Structs with the values taken out of every text in them."""
        if not self._forms:
            return list(told)
        return [
            msgspec.convert(self._cleaned(msgspec.to_builtins(each)), type(each)) for each in told
        ]

    def _cleaned(self, value: Any) -> Any:
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self._cleaned(each) for each in value]
            case dict():
                return {key: self._cleaned(each) for key, each in value.items()}
        return value


def _forms(value: str) -> set[str]:
    """The value itself, and as Python and JSON write it inside quotation marks."""
    return {value, repr(value)[1:-1], json.dumps(value)[1:-1]} - {""}
