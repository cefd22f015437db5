"""The records of JSON files: lines of objects, or documents.

Numbers with a point or an exponent keep their literals where the caller wants them.
What programs write though JSON does not allow it is read, too: numbers that are none, and several documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import IO, Any, Final

import msgspec

from localcdap.decoders import decode_json
from localcdap.files import limits
from localcdap.files.delimited import UnreadableRow
from localcdap.java.strings import LiteralFloat


def _parse_double(text: str) -> float:
    return float(_parse_literal(text))


def _parse_literal(text: str) -> LiteralFloat:
    number = LiteralFloat(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


_DECODER: Final = json.JSONDecoder(parse_float=_parse_double)
"""Reads ``NaN`` and ``Infinity``, as pandas and others write them."""
_LITERAL_DECODER: Final = json.JSONDecoder(parse_float=_parse_literal)


def _choose_decoder(keeps_literals: bool) -> json.JSONDecoder:
    return _LITERAL_DECODER if keeps_literals else _DECODER


def decode_document(text: str, *, keeps_literals: bool = False) -> Any:
    """Return the value of a JSON document.

    :param keeps_literals: whether numbers with a point or an exponent are
        :class:`~localcdap.java.strings.LiteralFloat`, which other processes do not take.
    :raises msgspec.DecodeError: when the text is something else.
    """
    try:
        return decode_json(text, parse_float=_parse_literal if keeps_literals else None)
    except msgspec.DecodeError as error:
        try:
            return _choose_decoder(keeps_literals).decode(text)
        except (ValueError, RecursionError):
            raise error from None


def decode_documents(text: str, *, keeps_literals: bool = False) -> list[Any]:
    """Return the elements of a JSON array, or the JSON documents that follow each other.

    :param keeps_literals: as for :func:`decode_document`.
    :raises msgspec.DecodeError: when the text is something else.
    """
    try:
        document = decode_document(text, keeps_literals=keeps_literals)
    except msgspec.DecodeError as error:
        found = _decode_following(text, _choose_decoder(keeps_literals))
        if len(found) < 2:
            raise error from None
        return found
    return document if isinstance(document, list) else [document]


def _decode_following(text: str, decoder: json.JSONDecoder) -> list[Any]:
    """Return the JSON documents of a text with blanks or commas between them; none for another text."""
    found, start = [], 0
    while start < len(text):
        if text[start] in " \t\r\n,":
            start += 1
            continue
        try:
            document, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return []
        found.append(document)
    return found


def parse_document_or_lines(text: str) -> Any:
    """Return the value of a JSON document, or the list of the values of the lines if each is a document.

    :raises ValueError: when the text is neither; it has the position at which the text is not a document.
    """
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [_DECODER.decode(line.strip()) for line in lines]
        except (ValueError, RecursionError):
            raise ValueError(str(error)) from None


def read_json_records(
    text: IO[str], *, keeps_literals: bool = False
) -> Iterator[dict[str, Any] | UnreadableRow]:
    """Yield the objects of a file: of each line, of an array, or of documents that follow each other.

    A file whose first line is an object has lines, which are read one after the other; any other one is read
    in one piece.

    :param keeps_literals: as for :func:`decode_document`.
    :raises ValueError: when the file is neither.
    """
    has_lines = False
    lines = (
        (number, line)
        for number, line in enumerate(limit_lines(text), 1)
        if isinstance(line, UnreadableRow) or line.strip()
    )
    for number, line in lines:
        record = _to_record(line, number, keeps_literals)
        if isinstance(record, UnreadableRow) and isinstance(line, str) and not has_lines:
            document = line + text.read(limits.LARGEST_DOCUMENT)
            yield from _read_documents(document, keeps_literals)
            return
        has_lines = True
        yield record


def limit_lines(text: IO[str]) -> Iterator[str | UnreadableRow]:
    """Yield the lines; of one that is too long, what follows the limit is not kept."""
    while line := text.readline(limits.LARGEST_VALUE):
        if len(line) < limits.LARGEST_VALUE or line.endswith(("\n", "\r")):
            yield line
            continue
        while (rest := text.readline(limits.LARGEST_VALUE)) and not rest.endswith(("\n", "\r")):
            pass
        yield UnreadableRow(
            f"it has more than {limits.LARGEST_VALUE:,} characters.", line[: limits.SHOWN]
        )


def _read_documents(text: str, keeps_literals: bool) -> Iterator[dict[str, Any] | UnreadableRow]:
    if len(text) >= limits.LARGEST_DOCUMENT:
        raise ValueError(
            f"it has more than {limits.LARGEST_DOCUMENT:,} characters and is read in one piece; write each "
            "object on a line"
        )
    try:
        documents = decode_documents(text, keeps_literals=keeps_literals)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(
            f"it holds neither lines of JSON objects nor JSON documents: {error}"
        ) from None
    for number, document in enumerate(documents, 1):
        if isinstance(document, dict):
            yield document
        else:
            shown = str(document)[: limits.SHOWN]
            yield UnreadableRow(f"Element {number} is not a JSON object.", shown)


def _to_record(
    line: str | UnreadableRow, number: int, keeps_literals: bool
) -> dict[str, Any] | UnreadableRow:
    if isinstance(line, UnreadableRow):
        return msgspec.structs.replace(line, message=f"Line {number}: {line.message}")
    record = _parse(line, keeps_literals)
    if isinstance(record, dict):
        return record
    return UnreadableRow(f"Line {number} is not a JSON object.", line[: limits.SHOWN].rstrip())


def _parse(text: str, keeps_literals: bool) -> Any:
    try:
        return decode_document(text, keeps_literals=keeps_literals)
    except (msgspec.DecodeError, RecursionError):
        return None
