"""Operations of Spark that are ended although their interrupt is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from localcdap.engine.commit import LOCAL
from localcdap.engine.driver.execution import end_operations
from localcdap.engine.session import open_session
from localcdap.engine.spark_internals import find_running_operations
from tests.e2e.program import wait_until

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_an_operation_that_loses_its_interrupt_has_ended(engine, tmp_path: Path):
    """The optimizer sleeps in the thread of the operation; ``try_reflect`` makes null of the interrupt."""
    out = tmp_path / "out"
    out.mkdir()
    blocked: list[str] = []
    sleep = "SELECT try_reflect('java.lang.Thread', 'sleep', 8000L) AS slept FROM VALUES (1)"
    with open_session(engine) as spark:
        rows = spark.range(0, 10**11, 1, 100_000).where("hash(id) % 100000 = 3")
        frame = rows.crossJoin(spark.sql(sleep))

        def write() -> None:
            with pytest.raises(Exception, match="CANCELED"):
                frame.write.mode("append").json(str(out))

        def block() -> None:
            blocked.append("once")
            LOCAL.block([str(out)])

        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: find_running_operations(spark), "Spark writes")
        assert spark.interruptAll()

        assert end_operations(spark, None, block, None) or end_operations(spark, None, block, None)

        assert find_running_operations(spark) == []
        assert "once" in blocked
        writer.join(60)
        assert not writer.is_alive()
