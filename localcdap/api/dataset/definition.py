"""Dataset types: how a dataset is configured, reconfigured and administrated.

A type is a class with :func:`dataset_type`, such as::

    @dataset_type("rates", description="Currency rates by day.")
    class Rates(CompositeDefinition):
        embedded = {"days": TableDefinition()}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Final, Protocol, TypeVar

import msgspec

from localcdap.api.dataset.dataset import Dataset, DatasetContext
from localcdap.api.dataset.rows import RowTable
from localcdap.api.dataset.schema_evolution import FieldChange
from localcdap.api.dataset.specification import (
    DatasetSpecification,
    StorageLayout,
    build_specification,
)
from localcdap.api.declarations import reject_declaration
from localcdap.api.errors import IncompatibleUpdateError, NotFoundError

_D = TypeVar("_D", bound="type[DatasetDefinition]")
DATASET_TYPE_MARK: Final = "__localcdap_dataset_type__"
"""The attribute (name, description) that :func:`dataset_type` sets; it is not inherited: read
``vars(cls)``."""


class DatasetStorage(Protocol):
    """The tables and folders of one namespace, during one transaction.

    All changes of tables take effect with the transaction. Folders that are created, moved or removed are
    restored when it is rolled back.
    """

    def exists(self, layout: StorageLayout) -> bool:
        """Return whether all tables and the folder exist."""
        ...

    def create(self, layout: StorageLayout) -> None:
        """Create the tables and the folder.

        :raises ConflictError: when one of them exists already, or a folder that must exist does not.
        """
        ...

    def change(self, old: StorageLayout, new: StorageLayout) -> None:
        """Change tables and folder from one layout to another: add, widen and relax columns, move the folder.

        :raises IncompatibleUpdateError: when a table cannot become what the new layout says.
        """
        ...

    def truncate(self, layout: StorageLayout) -> None:
        """Remove all rows and files. Files that the dataset does not own stay."""
        ...

    def drop(self, layout: StorageLayout) -> None:
        """Remove tables and folder. A folder that the dataset does not own stays."""
        ...

    def stage_folder(self, layout: StorageLayout) -> Path:
        """Return a copy of the dataset's folder, which takes its place with the transaction.

        The admin writes, changes and removes files in it. When the transaction is rolled back, or when this
        code fails, the files are as they were. The code is called again when somebody has changed the files
        meanwhile.

        :raises ConflictError: when the layout has no folder that the dataset owns, or a run writes into it.
        """
        ...

    def open_table(self, layout: StorageLayout, name: str) -> RowTable:
        """Return the rows of a table, which the admin reads and changes; they change with the transaction.

        All rows are in the memory of the plugin worker. The code is called again with them when it opens a
        table, and when somebody has changed the rows meanwhile. After a change of the table's layout, open
        the table again.

        :raises NotFoundError: when the layout has no such table, or it does not exist.
        """
        ...


class DatasetAdmin:
    """Creates, changes and removes the data of one dataset.

    The methods of this class do it for the layout of the type, see :meth:`DatasetDefinition.lay_out`. A type
    with other needs overrides them and calls these.
    """

    def __init__(
        self,
        definition: DatasetDefinition,
        storage: DatasetStorage,
        specification: DatasetSpecification,
    ) -> None:
        self.definition = definition
        self.storage = storage
        self.specification = specification

    def exists(self) -> bool:
        """Return whether the data exists."""
        return self.storage.exists(self.definition.lay_out(self.specification))

    def create(self) -> None:
        """Create what the specification says, without data."""
        self.storage.create(self.definition.lay_out(self.specification))

    def update(self, old: DatasetSpecification) -> None:
        """Change the data so that it fits the specification of this admin, which is the new one.

        The new specification is saved afterwards. When this fails, neither it nor the data have changed.

        :param old: the specification until now.
        """
        self.storage.change(
            self.definition.lay_out(old), self.definition.lay_out(self.specification)
        )

    def upgrade(self) -> None:
        """Migrate the data after the code of the type has changed. A second call must change nothing."""
        layout = self.definition.lay_out(self.specification)
        self.storage.change(layout, layout)

    def truncate(self) -> None:
        """Remove the data; the dataset stays."""
        self.storage.truncate(self.definition.lay_out(self.specification))

    def drop(self) -> None:
        """Remove the data for ever."""
        self.storage.drop(self.definition.lay_out(self.specification))


class DatasetDefinition:
    """A dataset type. Methods are pure functions of their arguments, but for those of the admin."""

    name: ClassVar[str] = ""
    """The name of the type."""
    description: ClassVar[str] = ""
    properties: ClassVar[Mapping[str, str]] = {}
    """A sentence for each property that the author describes; other properties are allowed."""
    admin_class: ClassVar[type[DatasetAdmin]] = DatasetAdmin
    dataset_class: ClassVar[type[Dataset]] = Dataset
    """The class of opened datasets."""
    find_type: Callable[[str], DatasetDefinition] | None = None
    """Finds the types that this one names; localcdap sets it on each object."""

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        """Check the properties of a new dataset, and return its specification.

        :raises DatasetPropertiesError: when they are invalid.
        """
        return build_specification(name, self.name, properties)

    def reconfigure(
        self, name: str, properties: Mapping[str, str], current: DatasetSpecification
    ) -> DatasetSpecification:
        """Check the new properties of an existing dataset, and return its new specification.

        By default, every change is compatible.

        :param properties: all properties; those that are missing are removed.
        :raises DatasetPropertiesError: when they are invalid.
        :raises IncompatibleUpdateError: when the dataset cannot be changed to them.
        """
        return self.configure(name, properties)

    def lay_out(self, specification: DatasetSpecification) -> StorageLayout:
        """Return where the data is, without that of embedded datasets; by default, there is none."""
        return StorageLayout()

    def get_admin(
        self, storage: DatasetStorage, specification: DatasetSpecification
    ) -> DatasetAdmin:
        """Return the admin of a dataset."""
        return self.admin_class(self, storage, specification)

    def get_dataset(self, context: DatasetContext, specification: DatasetSpecification) -> Dataset:
        """Return a dataset that a program opens."""
        return self.dataset_class(context, specification)

    def list_ignored(self, properties: Mapping[str, str]) -> list[str]:
        """Return a sentence for each property that is set and has no effect here."""
        return []


class CompositeAdmin(DatasetAdmin):
    """Calls the admins of the embedded datasets. One that fails ends the call."""

    definition: CompositeDefinition

    def exists(self) -> bool:
        return super().exists() and all(each.exists() for each in self._get_admins())

    def create(self) -> None:
        super().create()
        for each in self._get_admins():
            each.create()

    def update(self, old: DatasetSpecification) -> None:
        super().update(old)
        for name, definition in self.definition.list_embedded(self.specification):
            admin = definition.get_admin(self.storage, self.specification.embedded[name])
            if name in old.embedded:
                admin.update(old.embedded[name])
            else:
                admin.create()

    def upgrade(self) -> None:
        super().upgrade()
        for each in self._get_admins():
            each.upgrade()

    def truncate(self) -> None:
        super().truncate()
        for each in self._get_admins():
            each.truncate()

    def drop(self) -> None:
        super().drop()
        for each in self._get_admins():
            each.drop()

    def _get_admins(self) -> list[DatasetAdmin]:
        return [
            definition.get_admin(self.storage, self.specification.embedded[name])
            for name, definition in self.definition.list_embedded(self.specification)
        ]


class CompositeDefinition(DatasetDefinition):
    """A type whose datasets consist of embedded datasets; each follows the rules of its own type.

    The properties of the dataset are those of each embedded dataset (CDAP 6 ``CompositeDatasetDefinition``).
    """

    embedded: ClassVar[Mapping[str, DatasetDefinition | str]] = {}
    """The types of the embedded datasets by name; a type of another module is given by its name."""
    admin_class: ClassVar[type[DatasetAdmin]] = CompositeAdmin

    def list_embedded(
        self, specification: DatasetSpecification
    ) -> list[tuple[str, DatasetDefinition]]:
        """Return the embedded datasets of a specification, and their types."""
        known = self.find_embedded()
        return [(name, known[name]) for name in specification.embedded]

    def find_embedded(self) -> dict[str, DatasetDefinition]:
        """Return the types of the embedded datasets by name.

        :raises NotFoundError: when a type that is given by its name does not exist.
        """
        return {name: self._find_embedded(each) for name, each in self.embedded.items()}

    def _find_embedded(self, embedded: DatasetDefinition | str) -> DatasetDefinition:
        if isinstance(embedded, DatasetDefinition):
            embedded.find_type = embedded.find_type or self.find_type
            return embedded
        if self.find_type is None:
            raise NotFoundError(f"Requested dataset type is not available: {embedded}")
        return self.find_type(embedded)

    def get_dataset(self, context: DatasetContext, specification: DatasetSpecification) -> Dataset:
        parts = {
            name: definition.get_dataset(context, specification.embedded[name])
            for name, definition in self.list_embedded(specification)
        }
        return self.dataset_class(context, specification, parts)

    def configure(self, name: str, properties: Mapping[str, str]) -> DatasetSpecification:
        known = self.find_embedded()
        parts = [each.configure(inner, properties) for inner, each in known.items()]
        return build_specification(name, self.name, properties, parts)

    def reconfigure(
        self, name: str, properties: Mapping[str, str], current: DatasetSpecification
    ) -> DatasetSpecification:
        known = self.find_embedded()
        lost = [each for each in current.embedded if each not in known]
        reasons = [
            f"{name}.{each}: type '{self.name}' has no such embedded dataset any more; "
            "its data would be lost."
            for each in lost
        ]
        parts = []
        for inner, each in known.items():
            held = current.embedded.get(inner)
            try:
                parts.append(
                    each.configure(inner, properties)
                    if held is None
                    else each.reconfigure(inner, properties, held)
                )
            except IncompatibleUpdateError as error:
                reasons += [f"{name}.{inner}: {reason}" for reason in error.reasons]
        if reasons:
            raise IncompatibleUpdateError(reasons=reasons)
        return build_specification(name, self.name, properties, parts)


def dataset_type(name: str, *, description: str = "") -> Callable[[_D], _D]:
    """Declare a class to be a dataset type.

    :param name: unique in its namespace; the name of a built-in type cannot be used.
    """

    def declare(definition: _D) -> _D:
        if not (isinstance(definition, type) and issubclass(definition, DatasetDefinition)):
            reject_declaration(definition, "a dataset type extends DatasetDefinition.")
            return definition
        if not isinstance(name, str) or not name.strip():
            reject_declaration(definition, "a dataset type needs a name.")
            return definition
        definition.name = name
        definition.description = description
        setattr(definition, DATASET_TYPE_MARK, (name, description))
        return definition

    return declare


class DatasetDeclaration(msgspec.Struct, frozen=True):
    """A dataset that a stage needs. The deployment of its pipeline creates or updates it."""

    name: str
    type: str
    properties: dict[str, str] = {}
    """The schema is that of the records which the stage writes; the dataset may have more nullable fields."""
    config_property: str | None = None
    """The property of the stage that names the dataset, for failures."""


class PartitionChange(msgspec.Struct, frozen=True):
    """A partition that is added to a file set, or dropped, when a run commits."""

    namespace: str
    dataset: str
    key: dict[str, str | int]
    path: str | None = None
    """Its folder, relative to that of the file set; None to drop the partition with its files."""
    metadata: dict[str, str] = {}


class FilePartition(msgspec.Struct, frozen=True):
    """A partition that a file set has."""

    key: dict[str, str | int]
    path: str
    """Its folder, relative to that of the file set."""


class DatasetFiles(msgspec.Struct, frozen=True):
    """The files of a dataset, for a sink that adds some."""

    folder: str
    """An absolute path."""
    partitions: list[FilePartition] = []


class PropertyChange(msgspec.Struct, frozen=True):
    """The change of one property."""

    name: str
    old: str | None
    """None for a new property."""
    new: str | None
    """None for a removed property."""


class DatasetChange(msgspec.Struct, frozen=True):
    """What a creation or an update changes."""

    name: str
    is_new: bool
    properties: list[PropertyChange] = []
    fields: list[FieldChange] = []
    """The changes of the schema."""
    warnings: list[str] = []
    """Properties without effect, one sentence each."""

    @property
    def is_empty(self) -> bool:
        """Whether an existing dataset stays as it is."""
        return not self.is_new and not self.properties

    def describe(self) -> str:
        """Return the changes of an existing dataset as a text, such as ``adds 'n' (long or null)``."""
        parts = [each.describe() for each in self.fields]
        parts += [
            f"sets '{each.name}' to '{each.new}'"
            if each.new is not None
            else f"removes '{each.name}'"
            for each in self.properties
            if each.name != "schema"
        ]
        return ", ".join(parts)
