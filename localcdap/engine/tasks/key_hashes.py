"""Hashes of values on their way from Python workers to the run's own process, which finds equal ones.

Each task writes the hashes of its records into a file of its own, and tells how many of them count: what a
task wrote that failed, or was repeated, counts nothing. A hash has 128 bits: among a billion different values
two with the same hash have a chance below one in 10^20.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

HashParts = Iterator[tuple["pa.Array", "pa.Array"]]
_BYTES: Final = 16
"""Of a hash: two numbers of 64 bits."""
_MOST_AT_ONCE: Final = 4_000_000
"""Hashes that are compared at the same time; of more, one part after the other."""


def create_hash_writer(directory: str) -> Callable[[HashParts], Iterator[pa.Array]]:
    """Create the function that writes the halves of hashes, null for values that are not compared.

    Its result names the file and the number of its new hashes once for each batch, and is null otherwise.

    :param directory: for the task's file.
    """
    import pyarrow as pa

    def write(parts: HashParts) -> Iterator[pa.Array]:
        import numpy as np

        name = f"keys-{secrets.token_hex(8)}"
        with open(Path(directory) / name, "wb", opener=_open_private) as file:
            for halves in parts:
                columns = [half.drop_null().to_numpy() for half in halves]
                file.write(np.column_stack(columns).tobytes())
                file.flush()
                told = [f"{name}:{len(columns[0])}"] + [None] * (len(halves[0]) - 1)
                yield pa.array(told[: len(halves[0])], pa.string())

    # Spark reads the types of the function from its annotations.
    arrays = Iterator[tuple[pa.Array, ...]]
    write.__annotations__ = {"parts": arrays, "return": Iterator[pa.Array]}
    return write


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def count_repeated(directory: Path, told: Iterable[str]) -> int:
    """Return how many hashes are equal to another one; of equal ones all but one. The files are removed.

    :param told: what the tasks that count have told.
    :raises OSError: when a file is not there.
    :raises ValueError: when a file has fewer hashes than its task has told.
    """
    counts: dict[str, int] = {}
    for each in told:
        name, _, number = each.rpartition(":")
        counts[name] = counts.get(name, 0) + int(number)
    files = {directory / name: count for name, count in counts.items()}
    arrays = [_read(path, count) for path, count in files.items() if count]
    total = sum(map(len, arrays))
    parts = -(-total // _MOST_AT_ONCE)
    repeated = sum(_count_part(arrays, parts, part) for part in range(parts))
    for path in files:
        path.unlink(missing_ok=True)
    return repeated


def _read(path: Path, count: int) -> npt.NDArray[np.uint64]:
    import numpy as np

    size = path.stat().st_size
    if size < count * _BYTES:
        raise ValueError(f"{path} has {size} bytes instead of {count * _BYTES}")
    found: npt.NDArray[np.uint64] = np.memmap(path, np.uint64, "r", shape=(count, 2))
    return found


def _count_part(arrays: Sequence[npt.NDArray[np.uint64]], parts: int, part: int) -> int:
    """Return how many hashes are repeated among those of which the first half belongs to a part."""
    import numpy as np

    def select(hashes: npt.NDArray[np.uint64]) -> Any:
        return hashes if parts == 1 else hashes[hashes[:, 0] % np.uint64(parts) == part]

    hashes = np.concatenate([select(each) for each in arrays])
    first = hashes[np.argsort(hashes[:, 0], kind="stable")]
    is_next = first[1:, 0] == first[:-1, 0]
    if not is_next.any():
        return 0
    in_group = np.append(is_next, False) | np.append(False, is_next)
    return int(in_group.sum()) - len(np.unique(first[in_group], axis=0))
