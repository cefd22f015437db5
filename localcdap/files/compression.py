"""Compressed files, which the suffix of their name tells."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import IO, Any, Final, cast

READ_HERE: Final = (".gz", ".bz2", ".zst", ".deflate")
"""Suffixes of the files that :func:`open_input` decompresses."""
READ_ERRORS: Final = (OSError, EOFError, zlib.error)
"""What reading a file raises that is not as it should be; zlib.error is that of a damaged .gz file."""
COMPRESSED: Final = (*READ_HERE, ".snappy", ".lz4")
"""Suffixes of all compressed files; only Spark reads the last two."""


def strip_compression(name: str) -> str:
    """Return the name of a file without the suffix of its compression.

    >>> strip_compression("a.CSV.GZ"), strip_compression("a.csv")
    ('a.CSV', 'a.csv')
    """
    return name[: -len(Path(name).suffix)] if name.lower().endswith(COMPRESSED) else name


def open_input(file: str | Path) -> IO[bytes]:
    """Open a file, decompressed if its name ends with one of :data:`READ_HERE`.

    Reading what is not so compressed raises one of :data:`READ_ERRORS`.

    :raises OSError: when there is no such file, or only Spark reads its compression.
    """
    path = Path(file)
    match path.suffix.lower():
        case ".gz":
            return cast("IO[bytes]", gzip.open(path))
        case ".bz2":
            return cast("IO[bytes]", bz2.open(path))
        case ".zst":
            import pyarrow as pa

            return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))
        case ".deflate":
            return io.BufferedReader(_InflatingReader(path.open("rb")))
        case ".snappy" | ".lz4":
            raise OSError(
                "this compression is only supported without offsets, headers and encodings"
            )
    return path.open("rb")


class _InflatingReader(io.RawIOBase):
    """Decompresses a stream of zlib piece by piece, so that a small file cannot fill the memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decompressor = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        inflater = self._decompressor
        while not inflater.eof:
            compressed = inflater.unconsumed_tail or self._stream.read(len(buffer))
            try:
                data = inflater.decompress(compressed, len(buffer))
            except zlib.error as error:
                raise OSError(str(error)) from None
            if data:
                buffer[: len(data)] = data
                return len(data)
            if not compressed:
                raise EOFError("the compressed file ends before its end mark")
        return 0

    def close(self) -> None:
        self._stream.close()
        super().close()
