"""Partitions of file sets of CDAP 3 to 5: folders that one run writes, identified by a time.

A pipeline that writes makes the file set a dataset, which lists its partitions. A folder without a dataset,
such as one copied from CDAP, has the partitions that the names of its folders tell.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from localcdap.api import FailureCollector, NotFoundError, SparkContext, StageConfigurer
from localcdap.api.app.transactions import TransactionContext, TransactionKind
from localcdap.api.dataset.classes.file_sets import PartitionedFileSet
from localcdap.api.dataset.partition_fields import list_partition_folders
from localcdap.api.errors import HostError

_DURATION: Final = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_TIME_FIELDS: Final = ("year", "month", "day", "hour", "minute")
SNAPSHOT: Final = "snapshot"
"""The field of the key of a snapshot: its time in milliseconds since 1970 (CDAP ``SnapshotFileSet``)."""
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION_ACTION: Final = "Write an integer and s, m, h or d, such as 30m or 1d."


class Partition(NamedTuple):
    """A partition of a file set."""

    time_ms: int
    """Milliseconds since 1970."""
    directory: str


def parse_duration(text: str) -> datetime.timedelta:
    """Parse a duration such as ``30m``.

    :raises ValueError: for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return datetime.timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def check_duration(stage: StageConfigurer, name: str, text: str | None) -> None:
    """Add a failure for a property that is set but is not a duration."""
    if text:
        try:
            parse_duration(text)
        except ValueError:
            stage.failures.add(
                f"'{text}' is not a duration.", DURATION_ACTION
            ).with_config_property(name)


def resolve_folder(context: SparkContext, name: str, base_path: str | None) -> str:
    """Return the folder of a file set without a dataset.

    :param base_path: is relative to the folder of the namespace's file sets, as in CDAP.
    :raises StageError: when the base path is not on this machine.
    """
    written = base_path or name
    if not written.startswith("/") and "://" not in written:
        written = f"filesets/{context.namespace}/{written}"
    return context.resolve_path(written).rstrip("/")


def to_milliseconds(moment: datetime.datetime) -> int:
    return int(moment.timestamp() * 1000)


def make_timed_key(moment: datetime.datetime) -> dict[str, str | int]:
    """Return the key of a partition in a dataset of the type ``timePartitionedFileSet``."""
    utc = moment.astimezone(datetime.UTC)
    values = (utc.year, utc.month, utc.day, utc.hour, utc.minute)
    return dict(zip(_TIME_FIELDS, values, strict=True))


def read_time(key: Mapping[str, str | int]) -> int:
    """Return the time of a key, of a timed partition or a snapshot, in milliseconds since 1970."""
    if SNAPSHOT in key:
        return int(key[SNAPSHOT])
    values = [int(key[name]) for name in _TIME_FIELDS]
    return to_milliseconds(datetime.datetime(*values, tzinfo=datetime.UTC))  # type: ignore[arg-type, misc]


def list_partitions(context: SparkContext, name: str, base_path: str | None) -> list[Partition]:
    """Return the partitions of a file set, oldest first, of the dataset if there is one."""
    try:
        found = context.transactions.run(
            lambda tx: _read_partitions(tx, name), kind=TransactionKind.READ_ONLY
        )
    except (NotFoundError, HostError):
        folder = resolve_folder(context, name, base_path)
        return [
            Partition(time_ms, str(path)) for time_ms, path in list_partition_folders(Path(folder))
        ]
    if found is None:
        raise context.fail(
            f"dataset '{name}' has no partitions by time, or snapshots.",
            "Use the name of a file set that a TPFS or Snapshot sink writes.",
        )
    return sorted(found)


def _read_partitions(tx: TransactionContext, name: str) -> list[Partition] | None:
    dataset = tx.dataset(name)
    if not isinstance(dataset, PartitionedFileSet):
        return None
    if list(dataset.partitioning) not in (list(_TIME_FIELDS), [SNAPSHOT]):
        return None
    return [Partition(read_time(each.key), each.location) for each in dataset.get_partitions()]


def ignore_failures() -> FailureCollector:
    """Return a collector whose failures nobody reads, for properties that were already validated."""
    return FailureCollector("")
