"""A program that adds events and delivers them into a file until it is killed.

Arguments: the database, the file, the number of events to add; the first event is the one after those before.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from localcdap.openlineage.delivery import Deliveries
from localcdap.openlineage.destinations import EventFile, add_events
from localcdap.store.store import Store


def main(database: str, file: str, count: int) -> None:
    with Store(Path(database)) as store:
        deliveries = Deliveries(store, [EventFile(Path(file))])
        with store.transaction() as tx:
            tx.execute("CREATE TABLE IF NOT EXISTS added (number BIGINT)")
        while True:
            with store.transaction() as tx:
                number = tx.execute("SELECT count(*) FROM added")[0][0]
                if number >= count:
                    break
                tx.execute("INSERT INTO added VALUES (?)", (number,))
                add_events(tx, [f'{{"number":{number}}}'], 1000)
                tx.on_commit(deliveries.wake)
        while deliveries.list_statuses()[0].waiting:
            time.sleep(0.01)
        deliveries.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
