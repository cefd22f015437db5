"""What the stages of runs reported besides counts: profiles of what sinks got, and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.engine.messages.samples import SinkProfile
from localcdap.engine.messages.spool import Alerted
from localcdap.runs.model import StoredAlert

if TYPE_CHECKING:
    from localcdap.store.store import Store, Transaction

_ALL: Final = 2**62


class StageReports:
    """Stores and reads the reports of stages in the instance's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add_profiles(
        self, transaction: Transaction, run: str, profiles: Sequence[SinkProfile]
    ) -> None:
        """Store the profiles of what a run has written."""
        transaction.execute_many(
            "INSERT INTO run_profiles VALUES (?, ?, ?)",
            [(run, each.stage, msgspec.json.encode(each).decode()) for each in profiles],
        )

    def read_profiles(self, run: str) -> list[SinkProfile]:
        """Return the profiles of what a run has written, in the order of its phases and sinks."""
        rows = self._store.read(
            "SELECT profile FROM run_profiles WHERE run = ? ORDER BY rowid", (run,)
        )
        return [decode_json(profile, SinkProfile) for (profile,) in rows]

    def add_alerts(self, transaction: Transaction, run: str, alerted: Alerted) -> None:
        """Store alerts of a stage."""
        transaction.execute_many(
            "INSERT INTO run_alerts VALUES (?, ?, ?)",
            [(run, alerted.stage, msgspec.json.encode(each).decode()) for each in alerted.payloads],
        )

    def read_alerts(self, run: str, limit: int) -> list[StoredAlert]:
        """Return the first alerts of a run that are kept, in the order of its phases.

        :param limit: the most to return; 0 for all.
        """
        rows = self._store.read(
            "SELECT stage, payload FROM run_alerts WHERE run = ? ORDER BY rowid LIMIT ?",
            (run, limit or _ALL),
        )
        return [
            StoredAlert(stage, decode_json(payload, dict[str, str | None]))
            for stage, payload in rows
        ]
