"""Hashes of values that tasks have written, among which the run's own process finds equal ones.

Each task writes the hashes of its records into a file of its own, whose name is known when it has ended, see
:func:`localcdap.engine.plan.server_functions.write_hash`: what a task wrote that failed does not count. A
hash has 128 bits: among a billion different values two with the same hash have a chance below one in 10^20.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_BYTES: Final = 16
"""Of a hash: two numbers of 64 bits."""
_MOST_AT_ONCE: Final = 4_000_000
"""Hashes that are compared at the same time; of more, one part after the other."""


def count_repeated(directory: Path, names: Iterable[str], count: int) -> int:
    """Return how many hashes are equal to another one; of equal ones all but one. The files are removed.

    :param names: the files of the tasks that count.
    :param count: the number of the hashes that they have written.
    :raises OSError: when a file is not there.
    :raises ValueError: when the files have another number of hashes.
    """
    files = [directory / name for name in names]
    size = sum(path.stat().st_size for path in files)
    if size != count * _BYTES:
        raise ValueError(f"the hashes in {directory} have {size} bytes instead of {count * _BYTES}")
    arrays = [_read(path) for path in files]
    parts = -(-count // _MOST_AT_ONCE)
    repeated = sum(_count_part(arrays, parts, part) for part in range(parts))
    for path in files:
        path.unlink(missing_ok=True)
    return repeated


def _read(path: Path) -> npt.NDArray[np.uint64]:
    import numpy as np

    found: npt.NDArray[np.uint64] = np.memmap(path, np.uint64, "r").reshape(-1, 2)
    return found


def _count_part(arrays: Sequence[npt.NDArray[np.uint64]], parts: int, part: int) -> int:
    """Return how many hashes are repeated among those of which the first half belongs to a part.

    Mostly no first half is equal to another one, which a sort of the first halves alone shows soonest.
    """
    import numpy as np

    def select(hashes: npt.NDArray[np.uint64]) -> Any:
        return hashes if parts == 1 else hashes[hashes[:, 0] % np.uint64(parts) == part]

    hashes = np.concatenate([select(each) for each in arrays])
    firsts = np.sort(hashes[:, 0])
    repeated = np.unique(firsts[1:][firsts[1:] == firsts[:-1]])
    if not len(repeated):
        return 0
    candidates = hashes[np.isin(hashes[:, 0], repeated)]
    return len(candidates) - len(np.unique(candidates, axis=0))
