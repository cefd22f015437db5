"""Partitions of file sets of CDAP 3 to 5: folders that one run writes, identified by a time.

The folder of file set ``name`` is ``filesets/NAMESPACE/name`` in the instance's folder, or the property
``basePath``. A partition is a folder in it with the file ``.partition.json``, which contains its time.
Without this file, the time is the end of the folder's name, as CDAP writes it:
``2015-01-20/20-42.1421786520000``, for a snapshot ``1421786520000``.
"""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from localcdap.api import FailureCollector, SparkContext, StageConfigurer

MARK: Final = ".partition.json"
_DURATION: Final = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NAMED: Final = re.compile(r"(?:.*\.)?(\d{10,})")
"""A partition's name; its end is the time in milliseconds since 1970."""
DURATION_ACTION: Final = "Write an integer and s, m, h or d, such as 30m or 1d."


class Partition(NamedTuple):
    """A partition of a file set."""

    time_ms: int
    """Milliseconds since 1970."""
    directory: str


class _Mark(msgspec.Struct):
    time: int


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
    """Return the folder of a file set.

    :raises StageError: when the base path is not on this machine.
    """
    written = base_path or f"filesets/{context.namespace}/{name}"
    return context.resolve_path(written).rstrip("/")


def to_milliseconds(moment: datetime.datetime) -> int:
    return int(moment.timestamp() * 1000)


def write_mark(directory: str, time_ms: int) -> None:
    """Write the time of a partition into its folder."""
    Path(directory, MARK).write_bytes(msgspec.json.encode(_Mark(time_ms)))


def list_partitions(folder: str) -> list[Partition]:
    """Return the partitions of a file set, oldest first; none if the folder does not exist."""
    return sorted(_find_partitions(Path(folder)))


def _find_partitions(directory: Path) -> Iterator[Partition]:
    if not directory.is_dir():
        return
    for each in directory.iterdir():
        if not each.is_dir() or each.name.startswith((".", "_")):
            continue
        time_ms = _read_time(each)
        if time_ms is not None:
            yield Partition(time_ms, str(each))
        else:
            yield from _find_partitions(each)


def _read_time(directory: Path) -> int | None:
    try:
        return msgspec.json.decode((directory / MARK).read_bytes(), type=_Mark).time
    except (OSError, msgspec.DecodeError):
        named = _NAMED.fullmatch(directory.name)
        return int(named[1]) if named else None


def remove_older(folder: str, limit_ms: int) -> int:
    """Remove the partitions before a time. Return their number."""
    old = [each for each in list_partitions(folder) if each.time_ms < limit_ms]
    for each in old:
        shutil.rmtree(each.directory, ignore_errors=True)
    return len(old)


def ignore_failures() -> FailureCollector:
    """Return a collector whose failures nobody reads, for properties that were already validated."""
    return FailureCollector("")
