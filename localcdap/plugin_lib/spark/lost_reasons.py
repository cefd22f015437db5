"""Why a task failed, where Spark says only ``UnknownReason``.

The exception of a task comes back to Spark's scheduler, which knows the classes of Spark alone. One of a
class of a session's jar, as a JDBC driver's, is lost there; the local server's log still has it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG: Final = "spark.localcdap.log"
"""The property of the local Spark server that names its log file."""
_LOST: Final = re.compile(r"\(TID (\d+)\)[^\n]*: UnknownReason")
_NEXT_ENTRY: Final = re.compile(r"^\d\d-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)
_MOST_BYTES: Final = 2_000_000


def told_reason(text: str, spark: SparkSession) -> str:
    """The lost exception with its causes, as Java prints them, where the log has it; else what Spark says.

    :param text: the message of Spark's error.
    :param spark: the session that it comes from.
    """
    lost = _LOST.search(text)
    log = spark.conf.get(LOG, None) if lost is not None else None
    if lost is None or log is None:
        return text
    try:
        with Path(log).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _MOST_BYTES))
            lines = file.read().decode(errors="replace")
    except OSError:
        return text
    _, found, told = lines.rpartition(f"(TID {lost[1]})\n")
    told = _NEXT_ENTRY.split(told, maxsplit=1)[0].strip()
    return told if found else text
