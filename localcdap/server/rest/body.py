"""The body of a request: small ones are kept in memory, large ones in a file."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from typing import IO, Final

from localcdap.server.rest.answers import RestError
from localcdap.text import format_size

_IN_MEMORY: Final = 5 * 1024 * 1024
"""The bytes from which a body is kept in a temporary file; the original streams such bodies too."""
_MOST_IN_DOCUMENT: Final = 64 * 1024 * 1024
"""The most bytes of a body that is read as a whole. The original takes pipelines of up to 5 MB."""


class Body:
    """A body that has been received. Close it afterwards."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file: Final = file
        """Open for reading, from its beginning."""
        self.size: Final = size

    def read(self) -> bytes:
        """Return the whole body.

        :raises RestError: when it is too large for a document (413).
        """
        if self.size > _MOST_IN_DOCUMENT:
            raise RestError(
                413, f"The body has more than {format_size(_MOST_IN_DOCUMENT)}; send a smaller one."
            )
        self.file.seek(0)
        return self.file.read()

    def close(self) -> None:
        """Remove it."""
        self.file.close()


async def receive_body(parts: AsyncIterator[bytes]) -> Body:
    """Receive a body part by part."""
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the body closes it
    try:
        size = 0
        async for part in parts:
            size += len(part)
            file.write(part)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Body(file, size)
