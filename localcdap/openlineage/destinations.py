"""Where events go: what every destination is, and a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from localcdap.api.errors import LocalcdapError
from localcdap.openlineage.outbox import WaitingEvent

MIB: Final = 1024 * 1024
_READ_AT_ONCE: Final = 64 * 1024


class DeliveryError(LocalcdapError):
    """Events that could not be delivered now."""


class RefusedError(DeliveryError):
    """An event that the destination will never accept."""


class Destination(Protocol):
    """Where events go."""

    name: str
    target: str
    """The file or URL, for users."""
    batch: int
    """The most events of one call."""

    def deliver(self, events: Sequence[WaitingEvent]) -> None:
        """Deliver events in their order. When this raises, or the process ends before the call returns, all
        of them are delivered again.

        :raises RefusedError: when the first event will never be accepted.
        :raises DeliveryError: when they cannot be delivered now.
        """


class EventFile:
    """A file with an event on each line.

    Each event is written once, even when the process is killed between the write and the note of it in the
    database: what the end of the file has already, the last event perhaps in part, is not written again.

    :param most_bytes: from this size on, a new file is begun; the older one gets the suffix ``.1`` and so on.
    :param keep: the number of older files that are kept.
    """

    name = "file"
    batch = 200

    def __init__(self, path: Path, most_bytes: int = 100 * MIB, keep: int = 5) -> None:
        self.target = str(path)
        self._path = path
        self._most_bytes = most_bytes
        self._keep = keep

    def deliver(self, events: Sequence[WaitingEvent]) -> None:
        """Append events, and wait until they are on the disk."""
        data = "".join(f"{each.event}\n" for each in events).encode(errors="replace")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            end = self._read_end(len(data))
            known = count_common_bytes(end, data)
            if not known and end and self._path.stat().st_size >= self._most_bytes:
                self._rotate()
                end = b""
            if not known and end and not end.endswith(b"\n"):
                data = b"\n" + data  # another program has left a line without its end
            with self._path.open("ab") as file:
                file.write(data[known:])
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DeliveryError(
                f"{self._path} cannot be written: {error.strerror or error}.",
                "Free some space, or set openlineage.file to a path that can be written.",
            ) from None

    def _read_end(self, length: int) -> bytes:
        """Return the end of the file, at least the part that events of some bytes can be in."""
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return b""
        with self._path.open("rb") as file:
            # One byte more tells whether a line begins there.
            file.seek(max(0, size - max(length + 1, _READ_AT_ONCE)))
            return file.read()

    def _rotate(self) -> None:
        """Rename the file, and the older ones; delete the oldest."""
        if not self._keep:
            self._path.unlink()
            return
        older = [self._path.with_name(f"{self._path.name}.{n}") for n in range(1, self._keep + 1)]
        for source, target in reversed(list(zip([self._path, *older[:-1]], older, strict=True))):
            if source.exists():
                source.replace(target)


def count_common_bytes(end: bytes, data: bytes) -> int:
    r"""Return how many bytes at the beginning of some lines are the end of a file already.

    >>> count_common_bytes(b"one\ntwo\nthr", b"two\nthree\n")
    7
    """
    start = 0
    while start < len(end):
        length = len(end) - start
        if length <= len(data) and end.endswith(data[:length]):
            return length
        start = end.find(b"\n", start) + 1
        if not start:
            break
    return 0
