"""Functions that the local Spark server has beside those of Spark, see ``engine/local/LocalServer.java``.

They are for the columns of an observation, where Spark's own functions have no state; each task has a state
of its own. So what they find out needs no helper column, for which Spark would copy each record twice: to add
it below the observation, and to drop it above. A cluster does not have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

_IS_SAMPLED: Final = "localcdap_is_sampled"
_WRITE_HASH: Final = "localcdap_write_hash"


def is_sampled() -> Column:
    """Return whether a record is in the sample that :mod:`localcdap.engine.plan.streams` takes."""
    from pyspark.sql import functions as f

    return f.call_function(_IS_SAMPLED)


def write_hash(directory: str, first: Column, second: Column) -> Column:
    """Have the task append the halves of a hash, two numbers of 64 bits, to a file of its own.

    :param directory: for the files.
    :param first: null when there is no hash.
    :returns: the name of the file for the first hash of the task, null for the others.
    """
    from pyspark.sql import functions as f

    return f.call_function(_WRITE_HASH, f.lit(directory), first, second)
