"""Preferences: values of macros for the instance, a namespace, an application or a program (CDAP 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import PROGRAM_TYPES, WORKFLOW_NAME, MetadataEntity
from localcdap.api.security import Permission
from localcdap.decoders import decode_json
from localcdap.namespaces.model import SYSTEM, NamespaceResource
from localcdap.namespaces.service import NamespaceService
from localcdap.security.access import Target, of_namespace, requires
from localcdap.store.store import Store, Transaction

PIPELINE_PROGRAM: Final = f"workflows/{WORKFLOW_NAME}"
"""The program of a batch pipeline."""

_OWNERS: Final = ("instance", "namespace", "pipeline")


class PreferenceLevel(msgspec.Struct, frozen=True):
    """The level of preferences; with nothing set, the whole instance."""

    namespace: str | None = None
    application: str | None = None
    """An application, such as a pipeline's name; it need not exist yet."""
    program: str | None = None
    """``type/name``, such as ``workflows/DataPipelineWorkflow``."""


class LevelPreferences(msgspec.Struct):
    """The preferences of one level."""

    level: PreferenceLevel
    preferences: dict[str, str]


def _find_entity(_service: object, given: Mapping[str, Any]) -> Sequence[MetadataEntity]:
    level: PreferenceLevel = given["level"]
    if level.namespace is None:
        return [MetadataEntity.of_namespace(SYSTEM)]
    if level.application is None:
        return [MetadataEntity.of_namespace(level.namespace)]
    return [MetadataEntity.of_application(level.application, level.namespace)]


_OF_ENTITY: Final = Target("application or namespace of {level}, or namespace system", _find_entity)


class PreferenceService:
    """Stores preferences. A value of a lower level overrides one of a higher level. Threads may share it."""

    def __init__(self, store: Store, namespaces: NamespaceService) -> None:
        self._store = store
        self._namespaces = namespaces
        namespaces.register_resource(NamespaceResource("preferences", remove=_remove_all))

    @requires(_OF_ENTITY, Permission.READ)
    def get(self, level: PreferenceLevel) -> dict[str, str]:
        """Return the preferences of one level alone; empty where none were set.

        :raises NotFoundError: when there is no such namespace.
        :raises BadRequestError: when the level is incomplete.
        """
        self._check(level)
        with self._store.snapshot() as tx:
            return _read(tx, level)

    @requires(of_namespace(), Permission.READ)
    def list_levels(self, namespace: str) -> list[LevelPreferences]:
        """Return the preferences of a namespace and of what is in it, the levels that have any.

        :raises NotFoundError: when there is no such namespace.
        """
        self._namespaces.require(namespace)
        rows = self._store.read(
            "SELECT application, program, preferences FROM preferences WHERE namespace = ? "
            "ORDER BY application, program",
            (namespace,),
        )
        found = [
            LevelPreferences(
                PreferenceLevel(namespace, application or None, program or None),
                decode_json(text, type=dict[str, str]),
            )
            for application, program, text in rows
        ]
        return [each for each in found if each.preferences]

    @requires(_OF_ENTITY, Permission.READ)
    def resolve(self, level: PreferenceLevel) -> dict[str, str]:
        """Return the preferences that apply at a level: its own, and those of higher levels."""
        self._check(level)
        with self._store.snapshot() as tx:
            found: dict[str, str] = {}
            for each in _list_levels(level):
                found |= _read(tx, each)
        return found

    @requires(_OF_ENTITY, Permission.ADMIN)
    def replace(self, level: PreferenceLevel, preferences: dict[str, str]) -> int:
        """Replace all preferences of a level; return its sequence number."""
        self._check(level)
        with self._store.transaction() as tx:
            return self._write(tx, level, preferences)

    @requires(_OF_ENTITY, Permission.ADMIN)
    def update(
        self,
        level: PreferenceLevel,
        values: dict[str, str] | None = None,
        removed: list[str] | None = None,
    ) -> dict[str, str]:
        """Set some preferences of a level and remove others; return all that it has then."""
        self._check(level)
        with self._store.transaction() as tx:
            changed = _read(tx, level) | (values or {})
            for key in removed or ():
                changed.pop(key, None)
            self._write(tx, level, changed)
        return changed

    @requires(_OF_ENTITY, Permission.ADMIN)
    def delete(self, level: PreferenceLevel) -> None:
        """Remove all preferences of a level; lower levels keep theirs."""
        self.replace(level, {})

    @requires(_OF_ENTITY, Permission.READ)
    def get_sequence(self, level: PreferenceLevel) -> int:
        """Return a number that is larger after each change of the level; 0 before the first."""
        self._check(level)
        rows = self._store.read(f"SELECT sequence {_OF_LEVEL}", _to_key(level))
        return int(rows[0][0]) if rows else 0

    @requires(of_namespace(), Permission.READ)
    def resolve_for_pipeline(self, namespace: str, pipeline: str | None) -> dict[str, str]:
        """Return the default values of a pipeline's macros, which runtime arguments override."""
        if not pipeline:
            return self.resolve(PreferenceLevel(namespace))
        return self.resolve(PreferenceLevel(namespace, pipeline, PIPELINE_PROGRAM))

    @requires(of_namespace(), Permission.READ)
    def find_origins(self, namespace: str, pipeline: str | None) -> dict[str, str]:
        """Return the level of each value of :meth:`of_pipeline` is: ``instance``, ``namespace`` or
        ``pipeline``.
        """
        levels = [PreferenceLevel(), PreferenceLevel(namespace)]
        if pipeline:
            levels = list(_list_levels(PreferenceLevel(namespace, pipeline, PIPELINE_PROGRAM)))
        self._check(levels[-1])
        found: dict[str, str] = {}
        with self._store.snapshot() as tx:
            for place, each in enumerate(levels):
                found |= dict.fromkeys(_read(tx, each), _OWNERS[min(place, 2)])
        return found

    def _write(
        self, tx: Transaction, level: PreferenceLevel, preferences: Mapping[str, str]
    ) -> int:
        if level.namespace is not None:
            self._namespaces.require_in_transaction(tx, level.namespace)
        if "" in preferences:
            raise BadRequestError("A preference needs a name.")
        sequence: int = tx.execute("SELECT nextval('preference_changes')")[0][0]
        text = msgspec.json.encode(preferences).decode()
        tx.execute(_UPSERT, (*_to_key(level), text, sequence))
        return sequence

    def _check(self, level: PreferenceLevel) -> None:
        """:raises NotFoundError: when there is no such namespace.
        :raises BadRequestError: when a higher level is missing, or the type of program is unknown.
        """
        if level.namespace is not None:
            self._namespaces.require(level.namespace)
        elif level.application is not None:
            raise BadRequestError("An application needs a namespace.", "Name the namespace too.")
        if level.program is None:
            return
        if level.application is None:
            raise BadRequestError("A program needs an application.", "Name the application too.")
        type, _, name = level.program.partition("/")
        if type not in PROGRAM_TYPES or not name:
            raise BadRequestError(
                f"Invalid program type '{type}'",
                f"Write TYPE/NAME, such as {PIPELINE_PROGRAM}; types: {', '.join(PROGRAM_TYPES)}.",
            )


def _list_levels(level: PreferenceLevel) -> Sequence[PreferenceLevel]:
    """Return a level with all higher ones, the highest first."""
    path = [PreferenceLevel()]
    if level.namespace is not None:
        path.append(PreferenceLevel(level.namespace))
    if level.application is not None:
        path.append(PreferenceLevel(level.namespace, level.application))
    if level.program is not None:
        path.append(level)
    return path


def _to_key(level: PreferenceLevel) -> tuple[str, str, str]:
    return level.namespace or "", level.application or "", level.program or ""


def _read(tx: Transaction, level: PreferenceLevel) -> dict[str, str]:
    rows = tx.execute(f"SELECT preferences {_OF_LEVEL}", _to_key(level))
    return decode_json(rows[0][0], type=dict[str, str]) if rows else {}


def _remove_all(tx: Transaction, namespace: str) -> None:
    tx.execute("DELETE FROM preferences WHERE namespace = ?", (namespace,))


_OF_LEVEL: Final = "FROM preferences WHERE namespace = ? AND application = ? AND program = ?"
_UPSERT: Final = (
    "INSERT INTO preferences VALUES (?, ?, ?, ?, ?) ON CONFLICT (namespace, application, program) "
    "DO UPDATE SET preferences = excluded.preferences, sequence = excluded.sequence"
)
