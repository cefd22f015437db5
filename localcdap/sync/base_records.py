"""The table of what instance and folder agreed on when they were synchronized last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from localcdap.store.store import Transaction
from localcdap.sync.model import BaseRecord


class BaseTexts(NamedTuple):
    """The canonical texts of both sides of an entity; None for one that was on no side."""

    folder: str | None
    instance: str | None


def read_records(tx: Transaction, namespace: str, folder: str) -> dict[tuple[str, str], BaseTexts]:
    """Return the texts by kind and key; empty for a folder that was never synchronized with the namespace."""
    rows = tx.execute(
        "SELECT kind, key, folder_text, instance_text FROM synchronizations "
        "WHERE namespace = ? AND folder = ?",
        (namespace, folder),
    )
    return {(kind, key): BaseTexts(*texts) for kind, key, *texts in rows}


def list_folders(tx: Transaction, namespace: str) -> list[str]:
    """Return the folders that a namespace was synchronized with."""
    rows = tx.execute(
        "SELECT DISTINCT folder FROM synchronizations WHERE namespace = ? ORDER BY folder",
        (namespace,),
    )
    return [folder for (folder,) in rows]


def write_records(
    tx: Transaction, namespace: str, folder: str, records: Sequence[BaseRecord]
) -> None:
    """Store what is agreed on now; an entity without a text is forgotten."""
    gone = [each for each in records if each.folder_text is None or each.instance_text is None]
    tx.execute_many(
        "DELETE FROM synchronizations WHERE namespace = ? AND folder = ? AND kind = ? AND key = ?",
        [(namespace, folder, each.kind, each.key) for each in gone],
    )
    stored = [
        (each.kind, each.key, each.folder_text, each.instance_text)
        for each in records
        if each.folder_text is not None and each.instance_text is not None
    ]
    if stored:
        columns = [list(column) for column in zip(*stored, strict=True)]
        tx.execute(_UPSERT, (namespace, folder, *columns))


def remove_folder(tx: Transaction, namespace: str, folder: str) -> None:
    """Forget a folder."""
    tx.execute(
        "DELETE FROM synchronizations WHERE namespace = ? AND folder = ?", (namespace, folder)
    )


def remove_all(tx: Transaction, namespace: str) -> None:
    """Forget all folders of a namespace."""
    tx.execute("DELETE FROM synchronizations WHERE namespace = ?", (namespace,))


_UPSERT: Final = (
    "INSERT INTO synchronizations SELECT ?, ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
    "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]) ON CONFLICT (namespace, folder, kind, key) "
    "DO UPDATE SET folder_text = excluded.folder_text, instance_text = excluded.instance_text"
)
