"""The index of artifacts in the store: what was found in plugin directories, and what inspection found."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from localcdap.api.app.application import ApplicationClass
from localcdap.artifacts.model import SYSTEM_NAMESPACE, DatasetTypeClass, Inspection, PluginClass
from localcdap.decoders import decode_json
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
    "forced_digest",
)
_CONTENT_COLUMNS: Final = (
    "digest",
    "plugins",
    "errors",
    "inspected_by",
    "applications",
    "dataset_types",
    "warnings",
)
_MOST_KEPT: Final = 100
"""Contents that are kept decoded in a process; more than those of the shipped plugins."""


class ArtifactEntry(msgspec.Struct, frozen=True):
    """An artifact in a plugin directory."""

    path: str
    scope: str
    namespace: str
    name: str
    version: str
    signature: str
    """See :func:`localcdap.artifacts.directories.contents.signature`."""
    digest: str
    """The digest of the current content; empty when it cannot be read."""
    good_digest: str
    """The digest of the last content without errors; empty when there was none."""
    problem: str | None
    """The problem of the artifact, besides the errors of its content."""
    parents: str = ""
    """The parents of the good content, separated by blanks; empty for any application."""
    forced_digest: str = ""
    """The content that may take dataset types from other modules; empty when there is none."""


class ArtifactContent(msgspec.Struct, frozen=True):
    """The result of inspecting one content, which several artifacts may have."""

    digest: str
    plugins: list[PluginClass]
    errors: list[str]
    inspected_by: str
    """What the inspection depended on besides the content; another value requires a new inspection."""
    applications: list[ApplicationClass] = []
    dataset_types: list[DatasetTypeClass] = []
    warnings: list[str] = []

    @staticmethod
    def of(digest: str, inspection: Inspection, inspected_by: str) -> ArtifactContent:
        return ArtifactContent(
            digest,
            inspection.plugins,
            inspection.errors,
            inspected_by,
            inspection.applications,
            inspection.dataset_types,
            inspection.warnings,
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
            {row[0]: _to_content(*row) for row in contents},
        )

    def list_datasets(self, namespace: str, types: Iterable[str]) -> list[str]:
        """Return the datasets of some types, by name.

        :param namespace: for ``system``, the datasets of all namespaces count, each as ``NAMESPACE:NAME``.
        """
        rows = self._store.read(
            "SELECT namespace, name FROM dataset_instances WHERE list_contains(?::VARCHAR[], type)",
            (list(types),),
        )
        if namespace == SYSTEM_NAMESPACE:
            return sorted(f"{space}:{name}" for space, name in rows)
        return sorted(name for space, name in rows if space == namespace)

    def save(
        self,
        changed: Iterable[ArtifactEntry],
        removed: Iterable[str],
        contents: Iterable[ArtifactContent],
        forgotten: Iterable[str],
        also: Callable[[Transaction], None],
    ) -> None:
        """Update the tables in one transaction.

        :param removed: the paths of entries to delete.
        :param forgotten: the digests of contents to delete.
        :param also: called with the transaction, for further changes.
        """
        with self._store.transaction() as tx:
            tx.execute("DELETE FROM artifact WHERE list_contains(?, path)", (list(removed),))
            tx.execute(
                "DELETE FROM artifact_content WHERE list_contains(?, digest)", (list(forgotten),)
            )
            _replace(
                tx, "artifact", _COLUMNS, [msgspec.structs.astuple(entry) for entry in changed]
            )
            _replace(tx, "artifact_content", _CONTENT_COLUMNS, [_to_row(each) for each in contents])
            also(tx)


def read_good_plugins(
    tx: Transaction, artifacts: Sequence[tuple[str, str, str]]
) -> dict[tuple[str, str, str], list[PluginClass]]:
    """Return the plugins of artifacts, each from its last good content.

    :param artifacts: namespace, name and version of each; those that are not there are missing in the answer.
    """
    if not artifacts:
        return {}
    rows = tx.execute(
        "SELECT a.namespace, a.name, a.version, c.plugins FROM artifact a "
        "JOIN artifact_content c ON c.digest = a.good_digest "
        "JOIN (SELECT unnest(?::VARCHAR[]) AS namespace, unnest(?::VARCHAR[]) AS name, "
        "unnest(?::VARCHAR[]) AS version) w "
        "ON a.namespace = w.namespace AND a.name = w.name AND a.version = w.version "
        "ORDER BY a.path DESC",
        [list(column) for column in zip(*artifacts, strict=True)],
    )
    return {
        (namespace, name, version): decode_json(plugins, type=list[PluginClass])
        for namespace, name, version, plugins in rows
    }


def _replace(
    tx: Transaction,
    table: str,
    names: Sequence[str],
    rows: Sequence[tuple[str | None, ...]],
) -> None:
    """Insert or replace rows of texts in one statement, because DuckDB is slow for single rows."""
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        values = ", ".join(["unnest(?::VARCHAR[])"] * len(columns))
        tx.execute(f"INSERT OR REPLACE INTO {table} ({', '.join(names)}) SELECT {values}", columns)


def _to_row(content: ArtifactContent) -> tuple[str, ...]:
    return (
        content.digest,
        msgspec.json.encode(content.plugins).decode(),
        msgspec.json.encode(content.errors).decode(),
        content.inspected_by,
        msgspec.json.encode(content.applications).decode(),
        msgspec.json.encode(content.dataset_types).decode(),
        msgspec.json.encode(content.warnings).decode(),
    )


@functools.lru_cache(maxsize=_MOST_KEPT)
def _to_content(
    digest: str,
    plugins: str,
    errors: str,
    inspected_by: str,
    applications: str,
    types: str,
    warnings: str,
) -> ArtifactContent:
    """Return the content of a row, of which nothing may be changed.

    Tests open many instances that have the same rows: to decode those of the shipped plugins would be a tenth
    of their time.
    """
    return ArtifactContent(
        digest,
        decode_json(plugins, type=list[PluginClass]),
        decode_json(errors, type=list[str]),
        inspected_by,
        decode_json(applications, type=list[ApplicationClass]),
        decode_json(types, type=list[DatasetTypeClass]),
        decode_json(warnings, type=list[str]),
    )
