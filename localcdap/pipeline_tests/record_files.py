"""Files of records for pipeline tests: CSV with a header, an array of JSON objects, or lines of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.files.delimited import UnreadableRow, read_named_records
from localcdap.files.encodings import open_text
from localcdap.files.json_records import read_json_records
from localcdap.pipeline_tests.model import Records

SUFFIXES: Final = (".csv", ".json", ".jsonl")


def read_records(file: Path) -> Records:
    """Return the records of a file.

    :raises BadRequestError: when the file cannot be read; the message has the line.
    """
    if file.suffix not in SUFFIXES:
        raise BadRequestError(f"{file.name} does not end in {' or '.join(SUFFIXES)}.")
    try:
        with open_text(file) as text:
            if file.suffix == ".csv":
                return Records(list(read_named_records(text, str(file))), are_text=True, file=file)
            return Records(list(_read_json(file, text)), file=file)
    except FileNotFoundError:
        raise BadRequestError(f"there is no file {file}.") from None
    except (OSError, ValueError) as error:
        raise BadRequestError(f"{file} cannot be read: {error}.") from None


def write_records(file: Path, records: list[Any]) -> None:
    """Replace the records in a file, and keep its format."""
    if file.suffix == ".csv":
        names = list(dict.fromkeys(name for each in records for name in each))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _format_cell(v) for k, v in each.items()} for each in records)
        file.write_text(text.getvalue(), encoding="utf-8")
        return
    lines = [json.dumps(each, ensure_ascii=False) for each in records]
    if file.suffix == ".jsonl":
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        listed = ",\n  ".join(lines)
        file.write_text(f"[\n  {listed}\n]\n" if lines else "[]\n", encoding="utf-8")


def _read_json(file: Path, text: IO[str]) -> Iterator[dict[str, Any]]:
    for record in read_json_records(text):
        if isinstance(record, UnreadableRow):
            raise BadRequestError(f"{file}: {record.message}")
        yield record


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
