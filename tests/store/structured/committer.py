"""A process that commits transactions on an instance until it is killed, and says what was committed.

``committer DIR N``: transaction N writes row N, adds 1 to a counter, replaces the row of its tens, and moves
1 between two accounts; then ``N`` and a line end are printed.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from localcdap.api.app import FieldType, StructuredTableSpecification
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables

SPEC = StructuredTableSpecification(
    "crashes",
    fields={"kind": FieldType.STRING, "id": FieldType.LONG, "n": FieldType.LONG},
    primary_key=["kind", "id"],
)


def transaction(context, number: int) -> None:
    table = context.table("crashes")
    table.upsert({"kind": "row", "id": number, "n": number})
    table.increment(("count", 0), "n", 1)
    table.delete(("tens", number // 10))
    table.upsert({"kind": "tens", "id": number // 10, "n": number})
    table.increment(("account", 0), "n", 1)
    table.increment(("account", 1), "n", -1)


def main(folder: str, first: int) -> None:
    with Store(Path(folder) / "localcdap.duckdb") as store:
        tables = StructuredTables(store)
        tables.admin.create_or_update(SPEC)
        for number in range(first, sys.maxsize):
            tables.transactions.run(partial(transaction, number=number))
            if number % 5 == 0:  # the file itself is written, too, when it is killed
                store.write_checkpoint()
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
