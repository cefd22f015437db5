"""The rows of a file that are not in the result, and the file that lists them."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api import Schema
from localcdap.api.record_json import encode_json_record
from localcdap.files.writers import OutputFile


class RowProblem(msgspec.Struct):
    """Why a row of the input is not in the output."""

    row: int
    """Its number, from 1, without a line of names."""
    message: str
    code: int = 0
    is_sent: bool = False
    """Whether a directive sent it to the error port; otherwise it failed."""


class ErrorFile:
    """The file of rows that are left out; it is there only when the job is done."""

    def __init__(self, path: str | None) -> None:
        schema = Schema.record("error", [("row", Schema.LONG)])
        self._file = None if path is None else OutputFile(path, "json", schema)

    def add(self, problem: RowProblem, record: Any) -> None:
        """Append a row that is left out, and why."""
        if self._file is not None:
            shown = record if isinstance(record, str) else encode_json_record(record)
            line = {"row": problem.row, "message": problem.message, "code": problem.code}
            self._file.write([{**line, "record": shown}])

    def finish(self) -> None:
        """Give the file its name."""
        if self._file is not None:
            self._file.finish()
            self._file = None

    def discard(self) -> None:
        """Remove what is written, unless the file is finished."""
        if self._file is not None:
            self._file.discard()
            self._file = None
