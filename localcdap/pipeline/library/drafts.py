"""The service ``drafts``: unfinished pipelines, with a revision for every save.

The tables of drafts and their revisions in the instance's database.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.messaging.topics import Topics
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import copy_configuration
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.values import format_json
from localcdap.pipeline.library.application_model import (
    Draft,
    DraftRequest,
    choose_draft_artifact,
    choose_draft_name,
    get_draft_entity,
    hash_draft,
)
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_namespace, requires
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store, Transaction
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


class DraftService:
    """The drafts of namespaces. Threads may share it.

    A draft is referred to by its id, or by its name where that is unique.
    """

    def __init__(self, store: Store, topics: Topics, namespaces: NamespaceService) -> None:
        self._store = store
        self._topics = topics
        self._namespaces = namespaces
        namespaces.register_resource(NamespaceResource("drafts", remove=remove_all))

    @requires(of_namespace(), Permission.WRITE)
    @non_idempotent
    def save(self, namespace: str, request: DraftRequest, draft: str | None = None) -> Draft:
        """Store a pipeline as the next revision of a draft, or as a new draft.

        :param draft: its id, also of a new draft; by default the draft of the request's name.
        :raises DocumentError: when the document is not a pipeline at all; failures inside do not matter.
        :raises BadRequestError: when it has no name, or its artifact is not a pipeline artifact.
        :raises ConflictError: when ``revision`` or ``previous_hash`` is not of the latest revision: it was
            saved by someone else meanwhile.
        :raises NotFoundError: when there is no such namespace.
        """
        document = read_document(request.document, request.file)
        name = choose_draft_name(request, document)
        given = request.description
        description = document.description if given is None else given
        artifact, now = choose_draft_artifact(document), _get_now_ms()
        with self._open_transaction(namespace) as (tx, drafts):
            before = drafts.find(draft or name)
            _require_latest(name, before, request)
            saved = Draft(
                id=before.id if before is not None else draft or str(uuid.uuid4()),
                name=name,
                description=description,
                artifact=artifact,
                revision=before.revision + 1 if before is not None else 1,
                hash=hash_draft(name, description, document),
                parent_version=request.parent_version
                or (before.parent_version if before else None),
                created_time_millis=before.created_time_millis if before is not None else now,
                updated_time_millis=now,
                user=get_current_user(),
            )
            drafts.save(saved, document.to_json())
            kind = EntityCreated if before is None else EntityUpdated
            self._topics.publish_entity_event(tx, kind, get_draft_entity(namespace, saved))
        return saved

    @requires(of_namespace())
    def list_drafts(
        self,
        namespace: str,
        include_config: bool = False,
        sort_by: str = "name",
        sort_order: str = "ASC",
        filter: str | None = None,
    ) -> list[Draft]:
        """Return the drafts of a namespace (CDAP 6 ``DraftHandler``).

        :param sort_by: a column of CDAP's table of drafts, such as ``updatedTimeMillis``.
        :param sort_order: ``ASC``; any other value is descending.
        :param filter: part of the name, case-insensitive.
        :raises BadRequestError: when there is no such column.
        """
        with self._open_snapshot(namespace) as drafts:
            found = [
                each
                for each in drafts.list(sort_by, descending=sort_order.upper() != "ASC")
                if (filter or "").lower() in each.name.lower()
            ]
            return [_with_config(drafts, each) for each in found] if include_config else found

    @requires(of_namespace())
    def get(self, namespace: str, draft: str, revision: int | None = None) -> Draft:
        """Return a revision of a draft with its configuration, by default the latest.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        with self._open_snapshot(namespace) as drafts:
            return _with_config(drafts, drafts.get(draft, revision))

    @requires(of_namespace())
    def export(self, namespace: str, draft: str, revision: int | None = None) -> str:
        """Return the JSON text of the document as it was saved, keys in their order, indented by two.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        with self._open_snapshot(namespace) as drafts:
            return format_json(drafts.read_text(drafts.get(draft, revision)))

    @requires(of_namespace())
    def list_revisions(self, namespace: str, draft: str) -> list[Draft]:
        """Return the revisions of a draft, newest first.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        with self._open_snapshot(namespace) as drafts:
            return list(drafts.list_revisions(drafts.get(draft).id))

    @requires(of_namespace(), Permission.WRITE)
    @non_idempotent
    def restore(self, namespace: str, draft: str, revision: int) -> Draft:
        """Save an earlier revision again, as the latest one.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        with self._open_transaction(namespace) as (tx, drafts):
            latest, earlier = drafts.get(draft), drafts.get(draft, revision)
            saved = msgspec.structs.replace(
                earlier,
                revision=latest.revision + 1,
                updated_time_millis=_get_now_ms(),
                user=get_current_user(),
            )
            drafts.save(saved, drafts.read_text(earlier))
            entity = get_draft_entity(namespace, saved)
            self._topics.publish_entity_event(tx, EntityUpdated, entity)
        return saved

    @requires(of_namespace(), Permission.WRITE)
    def delete(self, namespace: str, draft: str) -> Draft:
        """Delete a draft with all of its revisions, and return the latest.

        :raises NotFoundError: when there is none; the message lists the drafts.
        """
        with self._open_transaction(namespace) as (tx, drafts):
            found = drafts.get(draft)
            drafts.remove(found.id)
            entity = get_draft_entity(namespace, found)
            self._topics.publish_entity_event(tx, EntityDeleted, entity)
        return found

    @contextlib.contextmanager
    def _open_snapshot(self, namespace: str) -> Iterator[DraftRecords]:
        with self._store.snapshot() as tx:
            yield DraftRecords(
                tx, namespace, self._namespaces.require_in_transaction(tx, namespace)
            )

    @contextlib.contextmanager
    def _open_transaction(self, namespace: str) -> Iterator[tuple[Transaction, DraftRecords]]:
        with self._store.transaction() as tx:
            generation = self._namespaces.require_in_transaction(tx, namespace)
            yield tx, DraftRecords(tx, namespace, generation)


def _require_latest(name: str, before: Draft | None, request: DraftRequest) -> None:
    """Check that a save is based on the latest revision.

    :raises ConflictError: when it is based on another one.
    """
    if before is None:
        if request.revision or request.previous_hash:
            raise ConflictError(
                f"Draft '{name}', which this save is based on, does not exist any more.",
                "Save it without a revision to create it again.",
            )
        return
    if request.revision is not None and request.revision < 0:
        raise BadRequestError(f"A revision is a number from 1 on, not {request.revision}.")
    is_other = bool(request.revision) and request.revision != before.revision
    if is_other or (request.previous_hash and request.previous_hash != before.hash):
        base = f"revision {request.revision}" if request.revision else "an earlier revision"
        base += f" (hash {request.previous_hash[:12]})" if request.previous_hash else ""
        raise ConflictError(
            f"Draft '{name}' was changed meanwhile: this save is based on {base}, the latest is "
            f"revision {before.revision} (hash {before.hash[:12]}).",
            "Merge the changes, and save again from the latest revision.",
        )


def _with_config(drafts: DraftRecords, draft: Draft) -> Draft:
    config = copy_configuration(read_document(drafts.read_text(draft)))
    return msgspec.structs.replace(draft, config=config)


def _get_now_ms() -> int:
    return time.time_ns() // 1_000_000
