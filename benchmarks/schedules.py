"""5,000 schedules: a tick in which none or all are due, their next times, the list and the planned runs."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Row, within

if TYPE_CHECKING:
    from tests.schedules.bench import Bench

SCHEDULES: Final = 5_000
_PIPELINES: Final = 500
_MINUTE: Final = 60_000


def schedules(folder: Path, rounds: int) -> Iterator[Row]:
    """What the host's clock does each second, and what clients ask."""
    from localcdap.schedules import times
    from localcdap.schedules.model import TimeTrigger
    from localcdap.schedules.times import StoredPlans
    from tests.schedules.bench import Bench

    place = folder / "schedules"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    bench = Bench(place)
    for number in range(_PIPELINES):
        bench.deploy(f"p{number}")
    _add(bench, SCHEDULES)
    bench.scheduler.tick()
    name = f"{SCHEDULES:,} schedules"

    triggers = [
        TimeTrigger(f"{n % 60} {n % 24} ? * {n % 7 + 1}#2", "Europe/Berlin")
        for n in range(SCHEDULES)
    ]
    yield within(f"{name}: a tick, none due", _measure(bench.scheduler.tick, rounds), 0.001)

    def find_all() -> None:
        for each in triggers:
            times.find_next(each, bench.now)

    yield within(f"{name}: their next times", _measure(find_all, rounds), 2.0)

    def fire() -> None:
        bench.now += _MINUTE
        bench.scheduler.tick()

    took = _measure(fire, rounds, lambda: _drop_jobs(bench))
    yield within(f"{name}: a tick, all due", took, 3.0)
    _drop_jobs(bench)
    took = _measure(lambda: bench.service.list_schedules("default"), rounds)
    yield within(f"{name}: their list", took, 1.0)
    start = bench.now // 1000
    plans = StoredPlans(bench.store)
    took = _measure(lambda: plans.list_planned(["default"], start, start + 60), rounds)
    yield within(f"{name}: 5,000 planned runs", took, 1.0)
    bench.close()


def _add(bench: Bench, count: int) -> None:
    """Add enabled schedules that are due each minute."""
    from localcdap.schedules import records, times
    from localcdap.schedules.model import Schedule, ScheduleStatus, TimeTrigger

    with bench.store.transaction() as tx:
        for number in range(count):
            schedule = Schedule(
                "default",
                f"p{number % _PIPELINES}",
                f"s{number}",
                TimeTrigger("* * * * *", "Europe/Berlin"),
                status=ScheduleStatus.SCHEDULED,
                last_update_time=bench.now,
            )
            records.insert(tx, schedule)
            times.set_times(tx, schedule, bench.now)


def _drop_jobs(bench: Bench) -> None:
    with bench.store.transaction() as tx:
        tx.execute("DELETE FROM schedule_jobs")


def _measure(
    work: Callable[[], object], rounds: int, clean: Callable[[], object] = lambda: None
) -> float:
    """Median seconds of a call, after one that does not count."""
    found = []
    for _ in range(rounds + 1):
        clean()
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return statistics.median(found[1:])
