"""Columns that remember what a directive does to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from localcdap.api.directive.rows import Columns
from localcdap.api.schema import Schema


class TracedColumns(Columns):
    """A copy of columns that remembers under which names they were before, for one directive."""

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns.items(), find_table=columns.find_table)
        self._prefixes = set(columns._prefixes)
        self._former: dict[str, str | None] = {name: name for name in columns}

    @property
    def former_names(self) -> set[str]:
        """The former names of the columns that are still there."""
        return {name for name in self._former.values() if name is not None}

    def get_former_name(self, name: str) -> str | None:
        """Return the former name of a column; None for one that the directive has made or changed."""
        return self._former.get(name)

    def list_renamed(self) -> list[str]:
        """Return the former names of columns that have other names now."""
        return [old for name, old in self._former.items() if old is not None and old != name]

    def has_opened(self, before: Columns) -> bool:
        """Return whether rows may have more columns than are known that they could not have before."""
        return bool(self._prefixes - before._prefixes)

    def add(self, name: str, schema: Schema | None) -> None:
        """See :meth:`Columns.add`."""
        self._former.setdefault(name, None)
        super().add(name, schema)

    def put(self, name: str, schema: Schema | None) -> None:
        """See :meth:`Columns.put`."""
        self._former[self.find(name) or name] = None
        super().put(name, schema)

    def remove(self, name: str) -> None:
        """See :meth:`Columns.remove`."""
        found = self.find(name)
        if found is not None:
            del self._former[found]
        super().remove(name)

    def rename(self, names: Mapping[str, str]) -> None:
        """See :meth:`Columns.rename`."""
        renamed: dict[str, str | None] = {}
        for name, old in self._former.items():
            renamed.setdefault(names.get(name, name), old)
        self._former = renamed
        super().rename(names)

    def replace(self, given: Iterable[tuple[str, Schema | None]]) -> None:
        """See :meth:`Columns.replace`."""
        columns = list(given)
        self._former = {name: None for name, _ in columns}
        super().replace(columns)
