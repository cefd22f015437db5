"""What the service of datasets takes and returns."""

from __future__ import annotations

import msgspec

from localcdap.api.dataset.specification import DatasetSpecification
from localcdap.api.schema import Schema


class DatasetType(msgspec.Struct, frozen=True):
    """A type of datasets."""

    name: str
    description: str
    artifact: str | None = None
    """The artifact that has its code, as ``NAME VERSION``; None for a built-in type."""
    problem: str | None = None
    """Why it cannot be used: its artifact was removed, and there are datasets of it."""


class DatasetRequest(msgspec.Struct, frozen=True):
    """A dataset to be created."""

    name: str
    type: str
    properties: dict[str, str] = {}
    description: str | None = None
    namespace: str = "default"
    principal: str | None = None
    """The owner, who may do everything with it; None: that of the namespace."""


class DatasetUpdate(msgspec.Struct, frozen=True):
    """New properties of a dataset."""

    name: str
    properties: dict[str, str]
    namespace: str = "default"
    replaces: bool = True
    """Whether these are all properties; otherwise the other ones stay as they are."""
    removed: tuple[str, ...] = ()
    """Properties to be removed, when the other ones stay."""


class DatasetSummary(msgspec.Struct, frozen=True):
    """A dataset in a list."""

    namespace: str
    name: str
    type: str
    description: str | None
    properties: dict[str, str]
    """As they were given."""


class DatasetDetail(msgspec.Struct, frozen=True):
    """Everything about a dataset."""

    namespace: str
    name: str
    type: str
    description: str | None
    properties: dict[str, str]
    """As they were given."""
    specification: DatasetSpecification
    principal: str | None
    """The owner: its own principal, or that of the namespace."""
    created: int
    """Milliseconds since 1970."""
    updated: int
    schema: Schema | None
    """The schema of the rows or records; None when it is not declared."""
    tables: list[str]
    """The names of its tables in SQL."""
    rows: int | None
    """The rows of its tables; None when it has no table."""
    folder: str | None
    """The folder of its files; None when it has none."""
    files: int | None = None
    """The number of its files; None when it has no folder."""
    bytes: int | None = None
    """The size of its files; None when it has no folder."""
    problem: str | None = None
    """Why the dataset cannot be opened, such as a missing type."""
