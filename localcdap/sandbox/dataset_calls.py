"""Calls of dataset types: in a plugin worker for types of modules, in the host for the built-in ones.

The admin of a custom type gets a storage that records what it asks for. The host applies the record in its
transaction, so a type that raises, hangs or exits has changed nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.dataset.dataset import StagedFolder, copy_folder, refuse_writing_runs
from localcdap.api.dataset.definition import CompositeDefinition, DatasetAdmin, DatasetDefinition
from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    StorageLayout,
    TypeOrigin,
    encode_layout,
    locate_folder,
)
from localcdap.api.dataset.types import BUILT_IN_TYPES
from localcdap.api.errors import (
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
    PluginError,
)
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.artifacts.loading import load_dataset_type, to_plugin_error
from localcdap.artifacts.model import PluginRef

if TYPE_CHECKING:
    from localcdap.sandbox.admin_rows import AdminRows


_ANSWERS: Final = (
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
    PluginError,
)
"""The errors with which a definition or admin answers; any other is a fault of its code."""


class DatasetAction(enum.Enum):
    """What is done with a dataset."""

    CREATE = "create"
    UPDATE = "update"
    CHECK_UPDATE = "check_update"
    """Only the new specification is made."""
    UPGRADE = "upgrade"
    TRUNCATE = "truncate"
    DROP = "drop"


class DatasetCall(msgspec.Struct, frozen=True):
    """A call of a dataset type."""

    action: DatasetAction
    type: str
    name: str
    held: DatasetSpecification | None = None
    """The specification until now; None only for a new dataset."""
    properties: dict[str, str] = {}
    """All properties that a creation or update gives."""
    description: str | None = None
    """For a new dataset; an existing one keeps its own."""


class TableCopy(msgspec.Struct, frozen=True):
    """The rows of a table of the dataset, in a file."""

    table: str
    document: str
    """The schema of the rows, as JSON."""
    key: str | None
    file: str
    fingerprint: str
    """Of the rows."""


class RowChanges(msgspec.Struct, frozen=True):
    """The operations with which an admin has changed the rows of a table, in a file."""

    table: str
    file: str


class MissingCopy(BaseException):
    """Ends the call of an admin that opens a table whose rows were not copied; the host repeats the call.

    It is not an Exception, because the code of the admin must not catch it.
    """

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table: Final = table


class StorageFacts(msgspec.Struct, frozen=True):
    """What an admin can ask its storage for."""

    tables: list[str]
    """The existing tables of the dataset."""
    root: str
    """The folder of the namespace's file sets."""
    id: str = ""
    """Of the call, for the names of copied folders."""
    rows: str = ""
    """The folder for files with rows."""
    copies: list[TableCopy] = []


class StorageChange(msgspec.Struct, frozen=True):
    """A change that an admin asked for."""

    method: str
    """``create``, ``change``, ``truncate``, ``drop``, ``replace`` or ``rows``."""
    layout: StorageLayout
    new: StorageLayout | None = None
    """Set for ``change`` only."""
    staged: StagedFolder | None = None
    """Set for ``replace`` only: what takes the place of the folder."""
    rows: RowChanges | None = None
    """Set for ``rows`` only."""


class CustomTypeRequest(msgspec.Struct):
    """A call of a dataset type of an artifact."""

    type: PluginRef
    """With the types that it embeds by name as ``uses``."""
    call: DatasetCall
    facts: StorageFacts


class CustomTypeResult(msgspec.Struct):
    """What a dataset type of an artifact answered."""

    specification: DatasetSpecification
    ignored: list[str]
    """A sentence for each property without effect."""
    changes: list[StorageChange]
    """In the order in which the admin asked for them."""
    missing: str | None = None
    """The table whose rows must be copied before the call is repeated; nothing else counts then."""


def specify(definition: DatasetDefinition, call: DatasetCall) -> DatasetSpecification:
    """Return the specification of a dataset after a call.

    :raises DatasetPropertiesError: when the properties are invalid.
    :raises IncompatibleUpdateError: when the dataset cannot get them.
    """
    given, held = dict(call.properties), call.held
    if held is None:
        made = definition.configure(call.name, given)
        return msgspec.structs.replace(
            made, original_properties=dict(call.properties), description=call.description
        )
    if call.action not in (DatasetAction.UPDATE, DatasetAction.CHECK_UPDATE):
        return held
    made = definition.reconfigure(call.name, given, held)
    return msgspec.structs.replace(
        made, original_properties=dict(call.properties), description=held.description
    )


def administrate(admin: DatasetAdmin, call: DatasetCall) -> None:
    """Call the method of an admin that belongs to an action."""
    if call.action is DatasetAction.UPDATE:
        assert call.held is not None
        admin.update(call.held)
    elif call.action is not DatasetAction.CHECK_UPDATE:
        methods = {
            DatasetAction.CREATE: admin.create,
            DatasetAction.UPGRADE: admin.upgrade,
            DatasetAction.TRUNCATE: admin.truncate,
            DatasetAction.DROP: admin.drop,
        }
        methods[call.action]()


def call_custom_type(request: CustomTypeRequest) -> CustomTypeResult:
    """Call a dataset type of an artifact in this process.

    :raises LocalcdapError: what the type answers, such as :class:`IncompatibleUpdateError`.
    :raises PluginError: when its code raises anything else, or does not return its specification.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref, call = request.type, request.call
    who = f"Dataset type '{ref.name}' of artifact {ref.artifact.name} {ref.artifact.version}"
    try:
        definition = make_definition(ref)
        made = _check_specification(who, specify(definition, call), call)
        return _administrate_custom(definition, made, request)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        if type(error) in _ANSWERS:
            raise
        raise to_plugin_error(who, error, Path(ref.path)) from error


def _administrate_custom(
    definition: DatasetDefinition, made: DatasetSpecification, request: CustomTypeRequest
) -> CustomTypeResult:
    storage, ref = RecordingStorage(request.facts), request.type
    try:
        administrate(definition.get_admin(storage, made), request.call)
        ignored = definition.list_ignored(made.original_properties or made.properties)
        changes = storage.finish()
        result = CustomTypeResult(_add_origins(made, definition, ref), ignored, changes)
        checked: CustomTypeResult = unpack(pack(result), CustomTypeResult)
        return checked
    except MissingCopy as missing:
        storage.discard()
        return CustomTypeResult(made, [], [], missing.table)
    except BaseException:
        storage.discard()
        raise


class RecordingStorage:
    """A :class:`localcdap.api.dataset.definition.DatasetStorage` that records the changes of one dataset."""

    def __init__(self, facts: StorageFacts) -> None:
        self._facts: Final = facts
        self._tables: Final = set(facts.tables)
        self._root: Final = Path(facts.root)
        self._id: Final = facts.id
        self._folders: Final[dict[Path, bool]] = {}
        """The folders that were created or dropped, and whether they exist then."""
        self._moved: Final[dict[Path, Path]] = {}
        """Where the files of moved folders still are."""
        self._rows: AdminRows | None = None
        self._changes: Final[list[StorageChange]] = []

    def exists(self, layout: StorageLayout) -> bool:
        if layout.folder is not None:
            folder = self._root / layout.folder.path
            if not self._folders.get(folder, folder.is_dir()):
                return False
        return self._tables >= layout.tables.keys()

    def create(self, layout: StorageLayout) -> None:
        self._add(StorageChange("create", layout))
        self._note(layout, exists=True)

    def change(self, old: StorageLayout, new: StorageLayout) -> None:
        self._add(StorageChange("change", old, new))
        if old.folder is not None and new.folder is not None and old.folder.is_owned:
            before = self._locate(old)
            self._moved[self._locate(new)] = self._moved.pop(before, before)
        self._note(old, exists=False)
        self._note(new, exists=True)

    def truncate(self, layout: StorageLayout) -> None:
        self._add(StorageChange("truncate", layout))

    def drop(self, layout: StorageLayout) -> None:
        self._add(StorageChange("drop", layout))
        self._note(layout, exists=False)

    def stage_folder(self, layout: StorageLayout) -> Path:
        if layout.folder is None or not layout.folder.is_owned:
            raise ConflictError(
                "The dataset has no folder of its own whose files could be rewritten."
            )
        folder = self._locate(layout)
        source = self._moved.get(folder, folder)
        refuse_writing_runs(source)
        staged = copy_folder(source, self._id)
        self._add(StorageChange("replace", layout, staged=staged))
        return Path(staged.path)

    def open_table(self, layout: StorageLayout, name: str) -> RowTable:
        if self._rows is None:
            # Imported here, because its imports take 80 ms and most calls change no rows.
            from localcdap.sandbox.admin_rows import AdminRows

            self._rows = AdminRows(self._facts)
            for each in self._changes:
                self._rows.note(each)
        return self._rows.open(layout, name)

    def finish(self) -> list[StorageChange]:
        """Return the changes in the order in which the admin asked for them."""
        self._flush_rows()
        return self._changes

    def discard(self) -> None:
        """Remove the copies of folders, because the code of the type has failed."""
        for each in self._changes:
            if each.staged is not None:
                each.staged.remove()

    def _add(self, change: StorageChange) -> None:
        self._flush_rows()
        self._changes.append(change)
        if self._rows is not None:
            self._rows.note(change)

    def _flush_rows(self) -> None:
        """Put the changes of rows among the other changes, before those that follow."""
        if self._rows is not None:
            self._changes.extend(
                StorageChange("rows", StorageLayout(), rows=each)
                for each in self._rows.take_changes()
            )

    def _locate(self, layout: StorageLayout) -> Path:
        assert layout.folder is not None
        return locate_folder(self._root, layout.folder)

    def _note(self, layout: StorageLayout, *, exists: bool) -> None:
        (self._tables.update if exists else self._tables.difference_update)(layout.tables)
        if layout.folder is not None:
            self._folders[self._root / layout.folder.path] = exists


def make_definition(ref: PluginRef) -> DatasetDefinition:
    """Return a type of a module, with the types that it embeds, for a process that may run its code.

    :raises PluginError: when its code raises.
    """
    definition = load_dataset_type(ref)()
    definition.find_type = _create_finder(ref)
    return definition


def _create_finder(ref: PluginRef) -> Callable[[str], DatasetDefinition]:
    """Return a function that finds the types that a type may embed by name."""
    # Imported here, because its imports would slow down the start of each worker.
    from localcdap.api.dataset.types import BUILT_IN_TYPES

    used = {each.name: each for each in ref.uses}

    def find(name: str) -> DatasetDefinition:
        if name in BUILT_IN_TYPES:
            return BUILT_IN_TYPES[name]
        if name not in used:
            raise NotFoundError(f"Requested dataset type is not available: {name}")
        return make_definition(used[name])

    return find


def _check_specification(who: str, made: object, call: DatasetCall) -> DatasetSpecification:
    if not isinstance(made, DatasetSpecification):
        raise PluginError(
            f"{who} returned {type(made).__name__} instead of a specification.",
            "Return the result of build_specification.",
        )
    if (made.name, made.type) != (call.name, call.type):
        raise PluginError(
            f"{who} returned a specification of '{made.name}' with type '{made.type}' instead of "
            f"'{call.name}' with type '{call.type}'.",
            "Give build_specification the name, and self.name as the type.",
        )
    return made


def _add_origins(
    specification: DatasetSpecification, definition: DatasetDefinition, ref: PluginRef
) -> DatasetSpecification:
    """Return a specification with what the host has to know of it without the code of the types."""
    from localcdap.api.dataset.types import BUILT_IN_TYPES

    used = {each.name: each for each in ref.uses}
    known = definition.find_embedded() if isinstance(definition, CompositeDefinition) else {}
    embedded = dict(specification.embedded)
    for name, each in specification.embedded.items():
        inner = known.get(name)
        if each.type in used:
            embedded[name] = _add_origins(each, make_definition(used[each.type]), used[each.type])
        elif inner is not None and type(inner) is not type(BUILT_IN_TYPES.get(each.type)):
            # A type that is given as an object, which may be one that the host does not know.
            embedded[name] = _add_origins(each, inner, ref)
    origin = TypeOrigin(
        f"{ref.artifact.name} {ref.artifact.version}",
        encode_layout(definition.lay_out(specification)),
    )
    return msgspec.structs.replace(specification, embedded=embedded, origin=origin)


class LoadedTypes:
    """Finds types, and loads the code of modules: for processes that may run it.

    :param find_reference: returns what is needed to load a type by namespace and name; None when there is
        no such type.
    """

    def __init__(self, find_reference: Callable[[str, str], PluginRef | None]) -> None:
        self._find_reference: Final = find_reference
        self._loaded: dict[tuple[str, str], tuple[PluginRef, DatasetDefinition]] = {}

    def find(self, namespace: str, specification: DatasetSpecification) -> DatasetDefinition:
        """Return the type of a dataset, of its newest version.

        :raises NotFoundError: when it is missing; the message names its file.
        :raises PluginError: when its code raises.
        """
        name = specification.type
        built_in = BUILT_IN_TYPES.get(name)
        if built_in is not None:
            return built_in
        reference = self._find_reference(namespace, name)
        if reference is None:
            raise _make_missing_error(specification)
        known = self._loaded.get((namespace, name))
        if known is None or known[0] != reference:
            known = self._loaded[namespace, name] = reference, make_definition(reference)
        return known[1]


def _make_missing_error(specification: DatasetSpecification) -> NotFoundError:
    origin, where, advice = specification.origin, "", None
    if origin is not None:
        where = f"; its artifact {origin.artifact} was {origin.path}"
        advice = "Put the file there again, or read the tables of the dataset with SQL."
    return NotFoundError(
        f"Dataset '{specification.name}' cannot be opened: its type '{specification.type}' is missing"
        f"{where}.",
        advice,
    )
