"""The service ``drafts``: unfinished pipelines, with a revision for every save."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator

import msgspec

from localcdap.api.app.events import EntityCreated, EntityDeleted, EntityUpdated
from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.security import Permission
from localcdap.messaging.topics import Topics
from localcdap.namespaces.resources import NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.changes import copy_configuration
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.library.draft_model import (
    Draft,
    DraftRequest,
    choose_draft_artifact,
    choose_draft_name,
    get_draft_entity,
    hash_draft,
)
from localcdap.pipeline.library.draft_records import DraftRecords, remove_all
from localcdap.pipeline.library.export import format_json
from localcdap.rpc.methods import non_idempotent
from localcdap.security.access import of_namespace, requires
from localcdap.security.principals import get_current_user
from localcdap.store.store import Store, Transaction


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
