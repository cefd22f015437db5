"""The errors of failed tasks that Spark reports only as ``UnknownReason``.

The exception of a task comes back to Spark's scheduler, which knows the classes of Spark alone. An exception
whose class lies in a session's jar, such as a JDBC driver's, is lost on this way; the log of the local Spark
server still has it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_PROPERTY: Final = "spark.localcdap.log"
"""The property of the local Spark server that names its log file."""
LOST_ERROR: Final = "UnknownReason"
"""What Spark says in place of a lost exception."""
_LOST_TASK: Final = re.compile(rf"\(TID (\d+)\)[^\n]*: {LOST_ERROR}")
_NEXT_ENTRY: Final = re.compile(r"^\d\d-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)
_MAX_BYTES: Final = 2_000_000
"""How much of the end of the log is searched."""


def recover_task_error(text: str, spark: SparkSession) -> str:
    """Return the lost exception with its causes, as Java prints them; the text itself when none is lost.

    :param text: the message of Spark's error.
    :param spark: the session in which the error occurred.
    """
    lost = _LOST_TASK.search(text)
    log = spark.conf.get(LOG_PROPERTY, None) if lost is not None else None
    if lost is None or log is None:
        return text
    try:
        with Path(log).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _MAX_BYTES))
            lines = file.read().decode(errors="replace")
    except OSError:
        return text
    _, found, rest = lines.rpartition(f"(TID {lost[1]})\n")
    return _NEXT_ENTRY.split(rest, maxsplit=1)[0].strip() if found else text
