"""The dataset classes of files: ``fileSet``, ``partitionedFileSet`` and ``timePartitionedFileSet``.

The methods are those of CDAP 6 ``FileSet``, ``PartitionedFileSet`` and ``TimePartitionedFileSet``. Files need
no transaction, and none undoes what was written into them. Partitions do: they are rows of the table
``<name>.partitions``. Methods that change partitions look them up first, so they also read. The files of a
dropped partition are removed when the transaction has been committed.
"""

from __future__ import annotations

import datetime
import os
import shutil
import time as clock
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from localcdap.api.dataset.access import read_only, read_write, write_only
from localcdap.api.dataset.dataset import Dataset
from localcdap.api.dataset.partition_fields import read_partitioning
from localcdap.api.dataset.properties import PropertyReader
from localcdap.api.dataset.rows import Row, RowComparison, RowCondition, RowTable, equal
from localcdap.api.dataset.specification import FolderLayout
from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.api.garbage_collection import pause_collection

INPUT_PATHS: Final = "input.paths"
OUTPUT_PATH: Final = "output.path"
EXTERNAL: Final = "data.external"
_EXTERNAL_OUTPUT: Final = {
    "fileSet": "file set",
    "partitionedFileSet": "partitioned file set",
    "timePartitionedFileSet": "time-partitioned file set",
}
PartitionKey = Mapping[str, str | int]
"""The values of all fields of the partitioning."""
Range = tuple[Any, Any]
"""The first value, and the value before which the range ends; None: no limit."""
PartitionFilter = Mapping[str, Any]
"""For some fields of the partitioning the value, or a :data:`Range` of values."""


class FileSet(Dataset):
    """Files in one folder. Paths are relative to it, and lead to nothing outside of it."""

    @read_only
    def list_files(self, path: str = ".") -> list[str]:
        """Return the paths of all files in a folder, by name; none when there is no such folder."""
        root, folder = self._get_folder(), self._locate(path)
        found = (Path(place) / file for place, _, files in os.walk(folder) for file in files)
        return sorted(str(each.relative_to(root)) for each in found)

    @read_only
    def exists(self, path: str) -> bool:
        """Return whether there is a file or folder."""
        return self._locate(path).exists()

    @read_only
    def open_input(self, path: str) -> IO[bytes]:
        """Open a file for reading.

        :raises FileNotFoundError: when there is none.
        """
        return self._locate(path).open("rb")

    @write_only
    def open_output(self, path: str) -> IO[bytes]:
        """Open a new file for writing, or an existing one that becomes empty; its folder is created.

        :raises ConflictError: when the file set is external.
        """
        place = self._locate(path)
        self._refuse_external_output()
        place.parent.mkdir(parents=True, exist_ok=True)
        return place.open("wb")

    @write_only
    def delete(self, path: str) -> None:
        """Remove a file, or a folder with its files; nothing happens when there is none."""
        place = self._locate(path)
        self._refuse_external_output()
        _remove(place)

    @read_write
    def get_location(self, path: str = ".") -> Path:
        """Return the path for libraries that read and write files themselves."""
        return self._locate(path)

    @read_only
    def get_input_locations(self) -> list[Path]:
        """Return the paths in the argument ``input.paths``, separated by commas."""
        text = self.context.arguments.get(INPUT_PATHS, "")
        return [self._locate(each) for each in text.split(",") if each]

    @write_only
    def get_output_location(self) -> Path | None:
        """Return the path in the argument ``output.path``; None when it is not given.

        :raises ConflictError: when the file set is external.
        """
        self._refuse_external_output()
        path = self.context.arguments.get(OUTPUT_PATH)
        return None if path is None else self._locate(path)

    def _get_folder(self) -> Path:
        base = self.specification.properties.get("base.path", self.name)
        return Path(os.path.realpath(self.context.locate(FolderLayout(base))))

    def _locate(self, path: str) -> Path:
        """Return a path in the folder.

        :raises BadRequestError: when it leads out of the folder, also through a link.
        """
        root = self._get_folder()
        place = Path(os.path.realpath(root / path))
        if "\0" in path or not place.is_relative_to(root):
            raise BadRequestError(
                f"The path {path!r} leads out of the folder of file set '{self.name}'.",
                "Use a path that is relative to the folder.",
            )
        return place

    def _refuse_external_output(self) -> None:
        if PropertyReader(self.specification.properties).read_flag(EXTERNAL):
            kind = _EXTERNAL_OUTPUT.get(self.specification.type, "file set")
            raise ConflictError(f"Output is not supported for external {kind} '{self.name}'")


class Partition(msgspec.Struct, frozen=True, gc=False):
    """A partition of a file set."""

    key: dict[str, str | int]
    path: str
    """The folder or file with its records, relative to the folder of the file set."""
    metadata: dict[str, str]
    created: int
    """Milliseconds since 1970."""
    folder: str
    """The absolute path of the folder of the file set."""

    @property
    def location(self) -> str:
        """The absolute path, for libraries that read files themselves."""
        return f"{self.folder}/{self.path}"


class PartitionedFileSet(FileSet):
    """Files in partitions, each with a key of several fields. SQL reads only files of partitions."""

    @read_only
    def get_partition(self, key: PartitionKey) -> Partition | None:
        """Return the partition with a key; None when there is none."""
        wanted = self._check_key(key)
        found = self._list([equal(name, value) for name, value in wanted.items()])
        return found[0] if found else None

    @read_only
    def get_partitions(self, filter: PartitionFilter | None = None) -> list[Partition]:
        """Return the partitions that a filter selects, by path; without one all of them.

        :raises BadRequestError: when the filter names an unknown field, or a value of a wrong type.
        """
        conditions: list[RowCondition] = []
        for field, wanted in (filter or {}).items():
            if not isinstance(wanted, tuple):
                conditions.append(equal(field, wanted))
                continue
            for comparison, limit in zip(_LIMITS, wanted, strict=True):
                if limit is not None:
                    conditions.append(RowCondition(field, comparison, limit))
        return self._list(conditions)

    @read_write
    def add_partition(
        self,
        key: PartitionKey,
        path: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Add a partition for files that are in the folder, or will be.

        :param path: by default the values of the key, as of :meth:`get_partition_location`.
        :raises ConflictError: when there is a partition with that key, or another one has that path.
        """
        whole = self._check_key(key)
        place = self._make_path(whole) if path is None else path
        self._locate(place)
        if self._find(whole) is not None:
            raise ConflictError(
                f"Dataset '{self.name}' already has a partition with the key: {_show(whole)}"
            )
        rows = self._open_partitions()
        if rows.read(place) is not None:
            raise ConflictError(
                f"Dataset '{self.name}' already has a partition with the path '{place}'."
            )
        now = clock.time_ns() // 1_000_000
        rows.write([{**whole, "$path": place, "$created": now, "$metadata": dict(metadata or {})}])

    @read_write
    def drop_partition(self, key: PartitionKey) -> None:
        """Remove a partition, if there is one; its files too unless the file set is external."""
        row = self._find(key)
        if row is None:
            return
        self._open_partitions().delete([equal("$path", row["$path"])])
        if not PropertyReader(self.specification.properties).read_flag(EXTERNAL):
            place = self._locate(row["$path"])
            self.context.on_commit(lambda: _remove(place))

    @read_only
    def get_partition_location(self, key: PartitionKey) -> Path:
        """Return the folder for the files of a new partition.

        :raises ConflictError: when there is a partition with that key, or the file set is external.
        """
        self._refuse_external_output()
        whole = self._check_key(key)
        if self._find(whole) is not None:
            raise ConflictError(
                f"Dataset '{self.name}' already has a partition with the key: {_show(whole)}"
            )
        return self._locate(self._make_path(whole))

    @read_write
    def add_metadata(self, key: PartitionKey, metadata: Mapping[str, str]) -> None:
        """Add metadata to a partition.

        :raises ConflictError: when it has one of the keys already.
        """
        row = self._require(key)
        taken = next((each for each in metadata if each in row["$metadata"]), None)
        if taken is not None:
            raise ConflictError(f"Entry already exists for metadata key: {taken}")
        self._set_metadata(row, {**row["$metadata"], **metadata})

    @read_write
    def set_metadata(self, key: PartitionKey, metadata: Mapping[str, str]) -> None:
        """Set metadata of a partition; other keys stay."""
        row = self._require(key)
        self._set_metadata(row, {**row["$metadata"], **metadata})

    @read_write
    def remove_metadata(self, key: PartitionKey, *names: str) -> None:
        """Remove metadata of a partition."""
        row = self._require(key)
        self._set_metadata(row, {k: v for k, v in row["$metadata"].items() if k not in names})

    @property
    def partitioning(self) -> dict[str, str]:
        """The fields of the key, in order, and their types: STRING, LONG or INT."""
        return read_partitioning(self.specification.properties)

    def _open_partitions(self) -> RowTable:
        return self.context.table(f"{self.name}.partitions")

    def _check_key(self, key: PartitionKey) -> dict[str, str | int]:
        fields = self.partitioning
        if key.keys() != fields.keys():
            raise BadRequestError(
                f"The key {_show(key)} does not fit the partitioning of dataset '{self.name}'.",
                f"Give a value of each of: {', '.join(fields)}.",
            )
        return {name: key[name] for name in fields}

    def _find(self, key: PartitionKey) -> Row | None:
        conditions = [equal(name, value) for name, value in self._check_key(key).items()]
        found = self._open_partitions().select(conditions)
        return found[0] if found else None

    def _require(self, key: PartitionKey) -> Row:
        row = self._find(key)
        if row is None:
            raise NotFoundError(f"Partition {_show(key)} not found for dataset '{self.name}'.")
        return row

    def _set_metadata(self, row: Row, metadata: Mapping[str, str]) -> None:
        self._open_partitions().write([{**row, "$metadata": dict(metadata)}])

    def _make_path(self, key: PartitionKey) -> str:
        return "/".join(str(key[name]) for name in self.partitioning)

    def _list(self, conditions: Sequence[RowCondition]) -> list[Partition]:
        folder, fields = str(self._get_folder()), tuple(self.partitioning)
        columns = ("$path", "$metadata", "$created", *fields)
        found = self._open_partitions().select_values(columns, conditions, order_by=["$path"])
        with pause_collection():
            if len(fields) == 1:  # the key of most, which is made in a fraction of the time
                name = fields[0]
                return [Partition({name: k}, p, dict(m), at, folder) for p, m, at, k in found]
            return [
                Partition(dict(zip(fields, key, strict=True)), path, dict(metadata), at, folder)
                for path, metadata, at, *key in found
            ]


_LIMITS: Final = (RowComparison.AT_LEAST, RowComparison.LESS)


class TimePartitionedFileSet(PartitionedFileSet):
    """Files in partitions, each with a time to the minute, in UTC; the original takes its own time zone."""

    @read_only
    def get_partition_by_time(self, time: datetime.datetime) -> Partition | None:
        """Return the partition of a minute; None when there is none."""
        return self.get_partition(_to_key(time))

    @read_only
    def get_partitions_by_time(
        self, start: datetime.datetime, end: datetime.datetime
    ) -> list[Partition]:
        """Return the partitions in a range of time, by time.

        :param end: the time before which the partitions are.
        """
        years = (start.astimezone(datetime.UTC).year, end.astimezone(datetime.UTC).year + 1)
        found = [(_to_time(each.key), each) for each in self.get_partitions({"year": years})]
        first = start.replace(second=0, microsecond=0)
        within = [each for each in found if first <= each[0] < end]
        return [each for _, each in sorted(within, key=lambda pair: pair[0])]

    @read_write
    def add_partition_by_time(
        self,
        time: datetime.datetime,
        path: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """Add the partition of a minute; see :meth:`add_partition`."""
        self.add_partition(_to_key(time), path, metadata)

    @read_write
    def drop_partition_by_time(self, time: datetime.datetime) -> None:
        """Remove the partition of a minute; see :meth:`drop_partition`."""
        self.drop_partition(_to_key(time))


def _to_key(time: datetime.datetime) -> dict[str, str | int]:
    utc = _require_zone(time).astimezone(datetime.UTC)
    values: Sequence[int] = (utc.year, utc.month, utc.day, utc.hour, utc.minute)
    return dict(zip(("year", "month", "day", "hour", "minute"), values, strict=True))


def _to_time(key: Mapping[str, Any]) -> datetime.datetime:
    return datetime.datetime(**key, tzinfo=datetime.UTC)


def _require_zone(time: datetime.datetime) -> datetime.datetime:
    if time.tzinfo is None:
        raise BadRequestError(
            f"The time {time} has no time zone.", "Give one, such as datetime.UTC."
        )
    return time


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _show(key: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in key.items()) + "}"
