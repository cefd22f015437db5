"""A request as routes see it.

The body of a request: small ones are kept in memory, large ones in a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import IO, Any, Final, TypeVar, overload
from urllib.parse import parse_qsl

import msgspec

from localcdap.api.serialization.value_types import decode_schema
from localcdap.decoders import convert, decode_json
from localcdap.host import Cdap
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


_T = TypeVar("_T")
_BOM: Final = b"\xef\xbb\xbf"
"""What PowerShell writes before a text."""
_MOST_PARAMETERS: Final = 1000
INVALID_JSON: Final = "Request body is invalid json: {}"
_LARGEST: Final = 2**63 - 1


class RestRequest:
    """A request, with the services that answer it.

    :param path: the values of the parameters in the path.
    :param query: the query as it was sent, without ``?``.
    :param headers: by name, in any case.
    """

    def __init__(
        self,
        cdap: Cdap,
        method: str,
        path: Mapping[str, str],
        query: str,
        headers: Mapping[str, str],
        body: Body,
    ) -> None:
        self.cdap: Final = cdap
        self.method: Final = method
        self.path: Final = path
        self.headers: Final = headers
        self.body: Final = body
        self._query: dict[str, list[str]] = {}
        for name, value in _parse_query(query):
            self._query.setdefault(name, []).append(value)

    @property
    def namespace(self) -> str:
        """The parameter ``namespace`` of the path."""
        return self.path["namespace"]

    @property
    def query(self) -> Mapping[str, list[str]]:
        """The parameters of the query, with all values of each."""
        return self._query

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: str) -> str: ...
    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a parameter of the query."""
        found = self._query.get(name)
        return found[0] if found else default

    def list_values(self, name: str) -> list[str]:
        """Return the values of a parameter that may be repeated, or separated by commas."""
        found = ",".join(self._query.get(name, ()))
        return [each for each in found.split(",") if each]

    def get_number(self, name: str, default: int) -> int:
        """Return a number of the query; one that is left empty counts as absent.

        :raises RestError: when it is not a number of 64 bits (400).
        """
        text = self.get(name) or str(default)
        try:
            number = int(text) if len(text) < 20 and text.isascii() else None
        except ValueError:
            number = None
        if number is None or abs(number) > _LARGEST:
            raise RestError(400, f"Invalid value '{text}' of '{name}': it must be a whole number.")
        return number

    def get_flag(self, name: str, *, default: bool = False) -> bool:
        """Return a parameter of the query that is ``true`` or not."""
        found = self.get(name)
        return default if found is None else found.lower() == "true"

    def decode(self, type: type[_T], invalid: str = INVALID_JSON, *, missing: Any = None) -> _T:
        """Return the body as a value; numbers and booleans are taken for texts, as by the original.

        :param invalid: the text of the error when the body cannot be read; ``{}`` becomes the reason.
        :param missing: the value for an empty body, or ``null``.
        :raises RestError: when the body cannot be read, or is missing although no value is given (400).
        """
        data = self.body.read().removeprefix(_BOM)
        try:
            value = decode_json(data) if data.strip() else None
            if value is None and missing is not None:
                return missing  # type: ignore[no-any-return]
            return convert(value, type, strict=False, hook=decode_schema)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RestError(400, invalid.replace("{}", str(error))) from None

    def decode_texts(self, invalid: str = INVALID_JSON) -> dict[str, str]:
        """Return the body as texts by name, empty for an empty body.

        :raises RestError: when it is anything else (400).
        """
        return to_texts(self.decode(dict, invalid, missing={}), invalid)


def to_texts(value: Mapping[str, Any], invalid: str = INVALID_JSON) -> dict[str, str]:
    """Return values as texts, as Gson reads a map of them: numbers and booleans too, without nulls.

    :raises RestError: when a value is a list or an object (400).
    """
    texts = {}
    for name, each in value.items():
        if isinstance(each, (dict, list)):
            raise RestError(400, invalid.replace("{}", f"Expected a string for '{name}'"))
        if isinstance(each, bool):
            texts[name] = str(each).lower()
        elif each is not None:
            texts[name] = str(each)
    return texts


def _parse_query(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query, keep_blank_values=True, errors="replace", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise RestError(
            400, f"The query has more than {_MOST_PARAMETERS} parameters; send fewer."
        ) from None
