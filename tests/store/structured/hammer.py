"""A process that counts in an instance that it may share: ``hammer DIR TIMES``."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from localcdap.home import Home
from localcdap.host import open_in_process


def count(context) -> None:
    table = context.table("counters")
    table.increment(("blind",), "n", 1)
    read = table.read(("read",))
    table.upsert({"name": "read", "n": (read["n"] if read else 0) + 1})


def main(home: str, times: int) -> None:
    with open_in_process(Home(Path(home))) as cdap:
        say(f"ready {cdap.is_host}")
        sys.stdin.readline()
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(cdap.transactions.run, count) for _ in range(times)]:
                done.result()
        say("done")
        sys.stdin.readline()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
