"""The tables of drafts and their revisions in the instance's database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.decoders import decode_json
from localcdap.pipeline.library.draft_model import Draft
from localcdap.store.store import Transaction
from localcdap.text import format_available

OWNER: Final = ""
"""localcdap has a single user."""
SORTABLE: Final = {
    "namespace": "d.namespace",
    "generation": "d.generation",
    "owner": "d.owner",
    "id": "d.id",
    "artifact": "r.artifact",
    "name": "r.name",
    "description": "r.description",
    "createdtimemillis": "d.created",
    "updatedtimemillis": "r.updated",
    "pipeline": "r.pipeline",
    "revision": "r.revision",
    "parentversion": "r.parent_version",
}
"""The columns of CDAP's table of drafts, and their columns here."""
_SELECT: Final = (
    "SELECT d.id, r.name, r.description, r.artifact, r.revision, r.hash, r.parent_version, "
    "d.created, r.updated, r.author FROM drafts d "
    "JOIN draft_revisions r USING (namespace, generation, owner, id)"
)
_OF_ALL: Final = "d.namespace = ? AND d.generation = ? AND d.owner = ''"
_LATEST: Final = "d.revision = r.revision"


class DraftRecords:
    """The drafts of one namespace, within a transaction.

    :param generation: of the namespace.
    """

    def __init__(self, tx: Transaction, namespace: str, generation: int) -> None:
        self._tx = tx
        self._space = (namespace, generation)

    def list(self, sort_by: str = "name", descending: bool = False) -> list[Draft]:
        """Return the latest revision of each draft.

        :raises BadRequestError: when there is no such column (message of CDAP 6).
        """
        column = SORTABLE.get(sort_by.lower())
        if column is None:
            raise BadRequestError(
                f"Invalid value '{sort_by}' for sortBy. This field does not exist in the Drafts table.",
                f"Choose one of: {', '.join(SORTABLE)}.",
            )
        order = f"{column} {'DESC' if descending else 'ASC'} NULLS FIRST, d.id"
        sql = f"{_SELECT} WHERE {_OF_ALL} AND {_LATEST} ORDER BY {order}"
        return [_read_draft(row) for row in self._tx.execute(sql, self._space)]

    def find(self, key: str) -> Draft | None:
        """Return the latest revision of the draft with an id, or else a name; None when there is none.

        :raises ConflictError: when several drafts have that name.
        """
        sql = f"{_SELECT} WHERE {_OF_ALL} AND {_LATEST} AND (d.id = ? OR r.name = ?)"
        found = [_read_draft(row) for row in self._tx.execute(sql, (*self._space, key, key))]
        for each in found:
            if each.id == key:
                return each
        if len(found) > 1:
            ids = ", ".join(each.id for each in found)
            raise ConflictError(f"Several drafts are called '{key}'.", f"Use an id: {ids}.")
        return found[0] if found else None

    def get(self, key: str, revision: int | None = None) -> Draft:
        """Return a revision of the draft with an id, or else a name; by default the latest.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        draft = self.find(key)
        if draft is None:
            names = [each.name for each in self.list()]
            raise NotFoundError(
                f"There is no draft '{key}' in namespace '{self._space[0]}'.",
                f"Available: {format_available(key, names)}.",
            )
        if revision is None or revision == draft.revision:
            return draft
        for each in self.list_revisions(draft.id):
            if each.revision == revision:
                return each
        raise NotFoundError(
            f"Draft '{draft.name}' has no revision {revision}.", f"The latest is {draft.revision}."
        )

    def list_revisions(self, id: str) -> Sequence[Draft]:
        """Return the revisions of a draft, newest first."""
        sql = f"{_SELECT} WHERE {_OF_ALL} AND d.id = ? ORDER BY r.revision DESC"
        return [_read_draft(row) for row in self._tx.execute(sql, (*self._space, id))]

    def read_text(self, draft: Draft) -> str:
        """Return the JSON text of the pipeline of a revision."""
        rows = self._tx.execute(
            "SELECT pipeline FROM draft_revisions WHERE namespace = ? AND generation = ? "
            "AND owner = '' AND id = ? AND revision = ?",
            (*self._space, draft.id, draft.revision),
        )
        text: str = rows[0][0]
        return text

    def save(self, draft: Draft, text: str) -> None:
        """Store the latest revision of a draft."""
        self._tx.execute(
            "INSERT INTO drafts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (namespace, generation, owner, id) "
            "DO UPDATE SET revision = excluded.revision",
            (*self._space, OWNER, draft.id, draft.created_time_millis, draft.revision),
        )
        self._tx.execute(
            "INSERT INTO draft_revisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *self._space,
                OWNER,
                draft.id,
                draft.revision,
                draft.name,
                draft.description,
                msgspec.json.encode(draft.artifact).decode(),
                draft.parent_version,
                draft.updated_time_millis,
                draft.hash,
                text,
                draft.user,
            ),
        )

    def remove(self, id: str) -> None:
        """Remove a draft with its revisions."""
        for table in ("drafts", "draft_revisions"):
            self._tx.execute(
                f"DELETE FROM {table} WHERE namespace = ? AND generation = ? AND owner = '' AND id = ?",  # noqa: S608
                (*self._space, id),
            )


def remove_all(tx: Transaction, namespace: str) -> None:
    """Remove the drafts of a namespace."""
    tx.execute("DELETE FROM drafts WHERE namespace = ?", (namespace,))
    tx.execute("DELETE FROM draft_revisions WHERE namespace = ?", (namespace,))


def _read_draft(row: Sequence[Any]) -> Draft:
    id, name, description, artifact, revision, hash, parent, created, updated, user = row
    return Draft(
        id,
        name,
        description,
        decode_json(artifact, type=ArtifactId),
        revision,
        hash,
        parent,
        created,
        updated,
        user,
    )
