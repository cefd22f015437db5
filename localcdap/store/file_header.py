"""The first 12 KiB of a DuckDB file: what they say about the file, and making them again.

A file begins with three sectors of 4 KiB: the main header (version), and two database headers, of which the
one with the higher iteration is valid; every checkpoint writes the other one. Each starts with a checksum
of the rest of its sector. Source: DuckDB's ``src/storage/single_file_block_manager.cpp`` and
``src/common/checksum.cpp``.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final, NamedTuple

_SECTOR: Final = 4096
HEADER_BYTES: Final = 3 * _SECTOR
_DATABASE_HEADER: Final = struct.Struct("<QQQQQQ")
"""Checksum, iteration, first metadata block, free list, number of blocks, bytes of a block."""
_FIRST_SUM: Final = 5381
_FACTOR: Final = 0xBF58476D1CE4E5B9
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF


class FileHeader(NamedTuple):
    """The valid database header."""

    iteration: int
    """The number of checkpoints so far."""
    checksum: int
    """It differs between any two states of any two databases."""
    bytes: int
    """The size that the file has at least, in bytes."""


def compute_checksum(data: bytes) -> int:
    """Return DuckDB's checksum of a number of bytes that 8 divides."""
    result = _FIRST_SUM
    for (word,) in struct.iter_unpack("<Q", data):
        result ^= word * _FACTOR & _MASK
    return result


def read_header(path: Path) -> FileHeader | None:
    """Return the valid database header of a file; None when a header is damaged or there is no file.

    No database of this process may have the file open: the kernel ends all locks of a process on a file when
    the process closes the file once. See :func:`read_open_header`.
    """
    return _find_valid(_read_sectors(path))


def read_open_header(file: int) -> FileHeader | None:
    """Return what :func:`read_header` returns, for the descriptor of a file."""
    return _find_valid(_split(os.pread(file, HEADER_BYTES, 0)))


def _find_valid(sectors: tuple[bytes, bytes, bytes] | None) -> FileHeader | None:
    if not sectors or not all(map(_is_whole, sectors)):
        return None
    return max(map(_decode, sectors[1:]))


def rebuild_header(path: Path, fresh: Path) -> bool:
    """Replace the damaged sectors of a file's header by what they must have held.

    The main header is that of any file of this version of DuckDB; a database header is replaced by the other
    one. When it was the newer one, the file goes back to the checkpoint before.

    :param path: a copy of the damaged file, which is changed.
    :param fresh: a new, empty DuckDB file.
    :return: whether something was replaced, and nothing is left that is damaged.
    """
    sectors, model = _read_sectors(path), _read_sectors(fresh)
    if not sectors or not model or all(map(_is_whole, sectors)):
        return False
    main, first, second = sectors
    if not _is_whole(main):
        main = model[0]
    if not _is_whole(first):
        first = second
    if not _is_whole(second):
        second = first
    with path.open("r+b") as file:
        file.write(main + first + second)
    return _is_whole(first)


def _read_sectors(path: Path) -> tuple[bytes, bytes, bytes] | None:
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
    except FileNotFoundError:
        return None
    return _split(head)


def _split(head: bytes) -> tuple[bytes, bytes, bytes] | None:
    if len(head) < HEADER_BYTES:
        return None
    return head[:_SECTOR], head[_SECTOR : 2 * _SECTOR], head[2 * _SECTOR :]


def _is_whole(sector: bytes) -> bool:
    (stored,) = struct.unpack_from("<Q", sector)
    return bool(stored == compute_checksum(sector[8:]))


def _decode(sector: bytes) -> FileHeader:
    checksum, iteration, _, _, blocks, block_bytes = _DATABASE_HEADER.unpack_from(sector)
    return FileHeader(iteration, checksum, HEADER_BYTES + blocks * block_bytes)
