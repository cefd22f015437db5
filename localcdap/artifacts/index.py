"""The index of artifacts: its rows in the store, and the Structs they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from localcdap.api.app.application import ApplicationClass
from localcdap.artifacts.model import Inspection, PluginClass
from localcdap.store.store import Store, Transaction

_COLUMNS: Final = (
    "path",
    "scope",
    "namespace",
    "name",
    "version",
    "signature",
    "digest",
    "good_digest",
    "problem",
    "parents",
)
_CONTENT_COLUMNS: Final = ("digest", "plugins", "errors", "inspected_by", "applications")


class ArtifactEntry(msgspec.Struct, frozen=True):
    """An artifact in a plugin directory, as the index keeps it."""

    path: str
    scope: str
    namespace: str
    name: str
    version: str
    signature: str
    """See :func:`localcdap.artifacts.directories.contents.signature`."""
    digest: str
    """Of the content found; empty when it could not be read."""
    good_digest: str
    """Of the last content that worked; empty when none did."""
    problem: str | None
    """What is wrong besides the errors of the content."""
    parents: str = ""
    """Of the good content, separated by blanks; empty: any application."""


class ArtifactContent(msgspec.Struct, frozen=True):
    """An artifact content that was inspected."""

    digest: str
    plugins: list[PluginClass]
    errors: list[str]
    inspected_by: str
    """What the inspection depended on beside the content."""
    applications: list[ApplicationClass] = []

    @staticmethod
    def of(digest: str, inspection: Inspection, inspected_by: str) -> ArtifactContent:
        return ArtifactContent(
            digest,
            inspection.plugins,
            inspection.errors,
            inspected_by,
            inspection.applications,
        )


class ArtifactIndex:
    """Reads and writes the tables ``artifact`` and ``artifact_content``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self) -> tuple[dict[str, ArtifactEntry], dict[str, ArtifactContent]]:
        """Return all entries by path, and all contents by digest."""
        entries = self._store.read(
            f"SELECT {', '.join(_COLUMNS)} FROM artifact ORDER BY scope, path"  # noqa: S608
        )
        contents = self._store.read(
            f"SELECT {', '.join(_CONTENT_COLUMNS)} FROM artifact_content"  # noqa: S608
        )
        return (
            {row[0]: ArtifactEntry(*row) for row in entries},
            {row[0]: _content(*row) for row in contents},
        )

    def save(
        self,
        changed: Iterable[ArtifactEntry],
        removed: Iterable[str],
        contents: Iterable[ArtifactContent],
        forgotten: Iterable[str],
        also: Callable[[Transaction], None],
    ) -> None:
        """Bring the tables up to date in one transaction.

        :param removed: paths of entries.
        :param forgotten: digests of contents.
        :param also: what else belongs into the transaction.
        """
        with self._store.transaction() as tx:
            tx.execute("DELETE FROM artifact WHERE list_contains(?, path)", (list(removed),))
            tx.execute(
                "DELETE FROM artifact_content WHERE list_contains(?, digest)", (list(forgotten),)
            )
            _replace(
                tx, "artifact", _COLUMNS, [msgspec.structs.astuple(entry) for entry in changed]
            )
            _replace(tx, "artifact_content", _CONTENT_COLUMNS, [_row(each) for each in contents])
            also(tx)


def _replace(
    tx: Transaction,
    table: str,
    names: Sequence[str],
    rows: Sequence[tuple[str | None, ...]],
) -> None:
    """Insert or replace rows of texts in one statement; DuckDB is slow row by row."""
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        values = ", ".join(["unnest(?::VARCHAR[])"] * len(columns))
        tx.execute(f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) SELECT {values}", columns)


def _row(content: ArtifactContent) -> tuple[str, ...]:
    return (
        content.digest,
        msgspec.json.encode(content.plugins).decode(),
        msgspec.json.encode(content.errors).decode(),
        content.inspected_by,
        msgspec.json.encode(content.applications).decode(),
    )


def _content(
    digest: str, plugins: str, errors: str, inspected_by: str, applications: str
) -> ArtifactContent:
    return ArtifactContent(
        digest,
        msgspec.json.decode(plugins, type=list[PluginClass]),
        msgspec.json.decode(errors, type=list[str]),
        inspected_by,
        msgspec.json.decode(applications, type=list[ApplicationClass]),
    )
