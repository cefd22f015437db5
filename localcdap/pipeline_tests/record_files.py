"""Files of records for pipeline tests: CSV with a header, an array of JSON objects, or lines of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.files.atomic import write_file
from localcdap.files.delimited import UnreadableRow, read_named_records
from localcdap.files.encodings import open_text
from localcdap.files.json_records import read_json_records
from localcdap.files.result_files import format_json_records, format_plain
from localcdap.files.writers import format_delimited
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
    """Replace the records in a file, and keep its format.

    :raises BadRequestError: when the file cannot be written.
    """
    if file.suffix == ".csv":
        names = list(dict.fromkeys(name for record in records for name in record))
        rows = ([format_plain(record.get(name)) for name in names] for record in records)
        write_file(file, format_delimited([names, *rows]))
    elif file.suffix == ".jsonl":
        lines = (json.dumps(record, ensure_ascii=False) for record in records)
        write_file(file, "".join(f"{line}\n" for line in lines))
    else:
        write_file(file, format_json_records(records))


def _read_json(file: Path, text: IO[str]) -> Iterator[dict[str, Any]]:
    for record in read_json_records(text):
        if isinstance(record, UnreadableRow):
            raise BadRequestError(f"{file}: {record.message}")
        yield record
