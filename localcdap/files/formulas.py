"""Formulas of Excel workbooks without a stored result, as programs write them that do not calculate."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from typing import IO, Final

_CHUNK: Final = 2**20
_SHEET: Final = re.compile(rb"<(?:\w+:)?sheet\s[^>]*>")
_SHEET_ID: Final = re.compile(rb'\sr:id="([^"]*)"')
_RELATION: Final = re.compile(rb"<Relationship\s[^>]*>")
_ID: Final = re.compile(rb'\sId="([^"]*)"')
_TARGET: Final = re.compile(rb'\sTarget="([^"]*)"')
_WITHOUT_RESULT: Final = re.compile(
    rb'<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v>\s*</v>|<v\s*/>)?\s*</c>'
)
"""A cell with a formula and no value. A formula whose result is an empty text has the type ``str``."""


def count_formulas_without_result(file: str, sheet: int) -> int:
    """Return how many cells of a sheet have a formula, but no stored result, so that they are read as empty.

    :param sheet: its number, from 0.
    """
    if not zipfile.is_zipfile(file):
        return 0
    with zipfile.ZipFile(file) as archive:
        part = _find_part(archive, sheet)
        if part is None:
            return 0
        with archive.open(part) as stream:
            return sum(len(_WITHOUT_RESULT.findall(cells)) for cells in _read_cells(stream))


def _read_cells(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the text of a sheet in pieces that end where a cell begins."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        rest += chunk
        begin = rest.rfind(b"<c ")
        if begin > 0:
            yield rest[:begin]
            rest = rest[begin:]
    yield rest


def _find_part(archive: zipfile.ZipFile, sheet: int) -> str | None:
    """Return the name of the part with the cells of a sheet; None in a workbook of another program."""
    names = frozenset(archive.namelist())
    if not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= names:
        return None
    sheets = _SHEET.findall(archive.read("xl/workbook.xml"))
    id = _SHEET_ID.search(sheets[sheet]) if sheet < len(sheets) else None
    for relation in _RELATION.findall(archive.read("xl/_rels/workbook.xml.rels")):
        found, target = _ID.search(relation), _TARGET.search(relation)
        if id and found and target and found[1] == id[1]:
            path = target[1].decode("utf-8", "replace")
            part = path[1:] if path.startswith("/") else f"xl/{path}"
            return part if part in names else None
    return None
