"""Where events go: what every destination is, and a file.

Events wait for their destinations in the database, and in order.

The environment variables of OpenLineage's clients are settings of localcdap. The names, and which one wins,
are those of the Python client (``client/python/…/client.py``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from localcdap.api.errors import LocalcdapError
from localcdap.store.store import Transaction


class WaitingEvent(NamedTuple):
    """An event that a destination has yet to get."""

    id: int
    event: str
    """JSON without line breaks."""


class DeliveryProgress(NamedTuple):
    """How far a destination has got."""

    waiting: int
    dropped: int
    refused: int
    error: str | None
    """Why it refused the last of the refused events."""


def list_destinations(tx: Transaction) -> list[str]:
    """Return the names of the destinations for which events are kept."""
    return [name for (name,) in tx.execute("SELECT name FROM openlineage_destinations")]


def register_destinations(tx: Transaction, names: Collection[str]) -> dict[str, int]:
    """Let events be kept for these destinations, and for no others; a new one begins with the next event.

    :returns: the number of events that other destinations will not get any more, by name.
    """
    known = list_destinations(tx)
    lost = {}
    for name in known:
        if name not in names:
            lost[name] = read_progress(tx, name).waiting
            tx.execute("DELETE FROM openlineage_destinations WHERE name = ?", (name,))
    for name in names:
        if name not in known:
            tx.execute(
                "INSERT INTO openlineage_destinations VALUES (?, "
                "(SELECT coalesce(max(id), 0) FROM openlineage_events), 0, 0, NULL)",
                (name,),
            )
    _delete_done(tx)
    return lost


def add_events(tx: Transaction, events: Sequence[str], most: int) -> int:
    """Add events for all destinations.

    :param most: the events that may wait for a destination; the oldest ones over it are dropped.
    :returns: how many were dropped now, for the destination that lost most.
    """
    for event in events:
        tx.execute(
            "INSERT INTO openlineage_events VALUES (nextval('openlineage_ids'), ?)", (event,)
        )
    found = tx.execute(
        "SELECT id FROM openlineage_events ORDER BY id DESC LIMIT 1 OFFSET ?", (most,)
    )
    if not found:
        return 0
    last = found[0][0]
    dropped = 0
    for name, position in tx.execute("SELECT name, position FROM openlineage_destinations"):
        if position < last:
            count = tx.execute(_COUNT_BETWEEN, (position, last))[0][0]
            tx.execute(
                "UPDATE openlineage_destinations SET position = ?, dropped = dropped + ? WHERE name = ?",
                (last, count, name),
            )
            dropped = max(dropped, count)
    _delete_done(tx)
    return dropped


def read_waiting(tx: Transaction, name: str, limit: int) -> list[WaitingEvent]:
    """Return the oldest events that a destination has yet to get."""
    rows = tx.execute(
        "SELECT id, event FROM openlineage_events WHERE id > "
        "(SELECT position FROM openlineage_destinations WHERE name = ?) ORDER BY id LIMIT ?",
        (name, limit),
    )
    return [WaitingEvent(*row) for row in rows]


def move_on(tx: Transaction, name: str, event: int, refusal: str | None = None) -> None:
    """Note that a destination has got all events up to one, or has refused that one."""
    tx.execute(
        "UPDATE openlineage_destinations SET position = greatest(position, ?), refused = refused + ?, "
        "error = coalesce(?, error) WHERE name = ?",
        (event, int(refusal is not None), refusal, name),
    )
    _delete_done(tx)


def read_progress(tx: Transaction, name: str) -> DeliveryProgress:
    """Return how far a destination has got."""
    rows = tx.execute(
        "SELECT (SELECT count(*) FROM openlineage_events WHERE id > position), dropped, refused, error "
        "FROM openlineage_destinations WHERE name = ?",
        (name,),
    )
    return DeliveryProgress(*rows[0]) if rows else DeliveryProgress(0, 0, 0, None)


def _delete_done(tx: Transaction) -> None:
    """Delete the events that no destination waits for."""
    tx.execute(
        "DELETE FROM openlineage_events WHERE id <= coalesce("
        "(SELECT min(position) FROM openlineage_destinations), (SELECT max(id) FROM openlineage_events))"
    )


_COUNT_BETWEEN: Final = "SELECT count(*) FROM openlineage_events WHERE id > ? AND id <= ?"


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


_TRANSPORT: Final = "OPENLINEAGE__TRANSPORT__"
_HTTP: Final = ("http", "async_http")
_OF_HTTP: Final = {
    "URL": "openlineage.url",
    "ENDPOINT": "openlineage.endpoint",
    "TIMEOUT": "openlineage.timeout_s",
    "AUTH__APIKEY": "openlineage.api_key",
    "AUTH__API_KEY": "openlineage.api_key",
}
_SIMPLE: Final = {
    "OPENLINEAGE_URL": "openlineage.url",
    "OPENLINEAGE_ENDPOINT": "openlineage.endpoint",
    "OPENLINEAGE_API_KEY": "openlineage.api_key",
}
_DESTINATIONS: Final = ("openlineage.file", "openlineage.url")
DISABLED: Final = "OPENLINEAGE_DISABLED"
TYPES: Final = ("http", "file", "noop")
"""The types of transport that localcdap has."""


def list_client_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that variables of clients make: key, value and variable; the last of a key wins."""
    for variable, key in _SIMPLE.items():
        if environment.get(variable):
            yield key, environment[variable], variable
    type = read_transport_type(environment)
    if type in _HTTP:
        for part, key in _OF_HTTP.items():
            variable = f"{_TRANSPORT}{part}"
            if environment.get(variable):
                yield key, environment[variable], variable
    elif type == "file":
        variable = f"{_TRANSPORT}LOG_FILE_PATH"
        if environment.get(variable):
            yield "openlineage.file", environment[variable], variable
            yield "openlineage.url", "", f"{_TRANSPORT}TYPE"
    elif type == "noop":
        for key in _DESTINATIONS:
            yield key, "", f"{_TRANSPORT}TYPE"


def list_disabled_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield what ``OPENLINEAGE_DISABLED=true`` switches off, whatever else is set."""
    if environment.get(DISABLED, "").strip().lower() == "true":
        for key in _DESTINATIONS:
            yield key, "", DISABLED


def find_unknown_transport(environment: Mapping[str, str]) -> str | None:
    """Return the type of transport that variables name and localcdap does not have; None: there is none."""
    type = read_transport_type(environment)
    return type if type and type not in (*TYPES, *_HTTP) else None


def read_transport_type(environment: Mapping[str, str]) -> str:
    """Return the type of transport that variables name; empty when they name none."""
    return environment.get(f"{_TRANSPORT}TYPE", "").strip().lower()
