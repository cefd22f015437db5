"""What the bytes of text files are: their compression, which the suffix tells, and their encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import re
import zlib
from pathlib import Path
from typing import IO, Any, Final, cast

from localcdap.java.charsets import find_byte_order, find_java_name

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


_BYTE_ORDER_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOKED_AT: Final = 4096
"""Bytes in which zeros tell UTF-16 without a byte order mark."""
_LEAST_ZEROS: Final = 0.3
"""The share of zeros among every second byte of Latin text in UTF-16."""
_WINDOWS_ONLY: Final = re.compile(rb"[\x80-\x9f]")
"""Bytes that are control characters in ISO-8859-1, which no text has, and signs in Windows-1252."""
MARKING: Final = "localcdap-marking"
"""The name of the handler that puts :data:`MARK` in place of malformed bytes."""
MARK: Final = "\udcff"
"""A character that no text has once it is decoded: half of one."""
_JAVA_NAMES: Final = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
    "latin-1": "ISO-8859-1",
    "iso8859-1": "ISO-8859-1",
    "cp1252": "Windows-1252",
}


def detect_encoding(head: bytes, *, is_whole: bool) -> str:
    r"""Return the name of Python's codec for the text that begins with some bytes.

    UTF-16 has a byte order mark, or the zeros of Latin text. What is not UTF-8 is ISO-8859-1, or Windows-1252
    where it has bytes that only the latter has characters for.

    >>> [detect_encoding(each, is_whole=True) for each in ("é".encode(), b"caf\xe9", b"5 \x80")]
    ['utf-8', 'iso8859-1', 'cp1252']

    :param is_whole: whether these are all bytes; otherwise they may end within a character.
    """
    if head.startswith(_BYTE_ORDER_MARKS):
        return "utf-16"
    zeros = [head[start:_LOOKED_AT:2].count(0) for start in (0, 1)]
    if max(zeros) > _LEAST_ZEROS * min(len(head), _LOOKED_AT) / 2:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, is_whole)
    except UnicodeDecodeError:
        return "cp1252" if _WINDOWS_ONLY.search(head) else "iso8859-1"
    return "utf-8"


def decode_head(head: bytes, encoding: str) -> str:
    """Return the text of the first bytes of a file, without a byte order mark and a character that is cut.

    Malformed bytes become U+FFFD.
    """
    return codecs.getincrementaldecoder(get_reading_codec(encoding))("replace").decode(head)


def get_java_name(codec: str) -> str:
    """Return the name that Java, and so CDAP, has for a codec of Python; the codec's for a rare one.

    >>> get_java_name("utf-8-sig"), get_java_name("iso8859-1"), get_java_name("cp1140")
    ('UTF-8', 'ISO-8859-1', 'cp1140')
    """
    return _JAVA_NAMES.get(codec.lower()) or find_java_name(codec)


def get_reading_codec(encoding: str) -> str:
    """Return the codec that reads an encoding: that of UTF-8 leaves out a byte order mark."""
    return "utf-8-sig" if encoding == "utf-8" else encoding


def wrap_text(stream: IO[bytes], encoding: str, errors: str) -> io.TextIOWrapper:
    """Return the text of an open file, with its line ends as they are and without a byte order mark.

    UTF-16 and UTF-32 are big-endian unless the file begins with a byte order mark.

    :param encoding: the name of a codec of Python.
    :param errors: the name of the handler of malformed bytes.
    """
    if encoding.startswith(("utf-16", "utf-32")):
        peekable: Any = stream  # every stream of open_input is
        encoding = find_byte_order(peekable.peek(4), encoding)
    return io.TextIOWrapper(stream, get_reading_codec(encoding), errors, newline="")


def open_text(
    file: str | Path, encoding: str = "utf-8", errors: str = "strict"
) -> io.TextIOWrapper:
    """Open a text file, decompressed, with its line ends as they are and without a byte order mark.

    :param encoding: the name of a codec of Python.
    :param errors: the name of the handler of malformed bytes.
    :raises OSError: as :func:`open_input`.
    """
    return wrap_text(open_input(file), encoding, errors)


def _mark_malformed(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return MARK, error.end


codecs.register_error(MARKING, _mark_malformed)


class FallbackDecoder:
    """Decodes bytes that do not belong to UTF-8 as Windows-1252, and counts them."""

    def __init__(self) -> None:
        self.replaced = 0

    def register(self) -> str:
        """Return the name of the error handler for codecs."""
        name = f"localcdap-windows-1252-{id(self)}"
        codecs.register_error(name, self._decode)
        return name

    def _decode(self, error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        wrong = error.object[error.start : error.end]
        self.replaced += len(wrong)
        return wrong.decode("cp1252", "replace"), error.end
