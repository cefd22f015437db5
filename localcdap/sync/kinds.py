"""The kinds of entities that are synchronized.

A kind is one class: it lists the entities of a namespace as JSON documents, reads the document of a file,
writes one and deletes one. :mod:`.kind_table` has all kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from localcdap.api.errors import LocalcdapError
from localcdap.sync.merge import Bases, Choose, Lists, Merge, merge_documents


class ReadEntity(NamedTuple):
    """An entity that a file holds."""

    key: str
    """What identifies it in its kind and namespace."""
    document: Any
    """In the form in which :meth:`EntityKind.list_documents` returns it."""


class PlainSecret(NamedTuple):
    """A secret in plain text, which must not get into a file."""

    path: Sequence[str]
    """Where it is in the document."""
    where: str
    """The same in words, such as ``stage 'db', property 'password'``."""


class RefusedEntityError(LocalcdapError):
    """The instance cannot take a document, such as a pipeline with failures."""


class HeldBackError(LocalcdapError):
    """The instance cannot take a document yet, such as the metadata of a table that no run has written."""


class EntityKind(ABC):
    """A kind of entities. Threads may share it."""

    name: ClassVar[str]
    """The folder of its files, and the first part of addresses: ``pipelines``."""
    noun: ClassVar[str]
    """The singular noun of messages: ``pipeline``."""
    lists: ClassVar[Lists] = {}
    """The lists in documents that are merged by element."""
    is_transactional: ClassVar[bool] = True
    """Whether writes and deletions join the transaction of the thread (:meth:`.Store.unite`)."""

    @abstractmethod
    def list_documents(self, namespace: str) -> dict[str, Any]:
        """Return the entities of a namespace by key, in the form that files have."""

    @abstractmethod
    def read(self, namespace: str, document: dict[str, Any], path: str) -> ReadEntity:
        """Return the entity that a file holds.

        :param path: of the file, in the folder.
        :raises BadRequestError: when the document is none of this kind.
        """

    @abstractmethod
    def write(self, namespace: str, key: str, document: Any) -> None:
        """Create or replace an entity of the instance.

        :raises HeldBackError: when it cannot exist yet; nothing was changed.
        """

    @abstractmethod
    def delete(self, namespace: str, key: str) -> None:
        """Delete an entity of the instance.

        :raises NotFoundError: when there is none.
        """

    def prepare_write(
        self, namespace: str, key: str, document: Any, *, fix: bool
    ) -> Callable[[], None]:
        """Check a document outside of any transaction; return a function that writes it.

        :param fix: whether to use installed versions of plugins in place of missing ones.
        :raises RefusedEntityError: when the instance cannot take it.
        """
        del fix
        return partial(self.write, namespace, key, document)

    def get_path_parts(self, key: str, document: Any) -> Sequence[str]:
        """Return the names that lead to the file of a new entity, inside of the folder of its kind."""
        del document
        return [key]

    def get_title(self, key: str, document: Any) -> str:
        """Return the name of an entity for people, which addresses have: by default its key."""
        del document
        return key

    def find_secrets(self, namespace: str, document: Any) -> list[PlainSecret]:
        """Return the secrets that a document holds in plain text."""
        del namespace, document
        return []

    def merge(self, bases: Bases, mine: Any, theirs: Any, choose: Choose = lambda _: None) -> Merge:
        """Merge the changes of both sides; see :func:`.merge_documents`."""
        return merge_documents(bases, mine, theirs, self.lists, choose)
