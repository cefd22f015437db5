"""Files of records for pipeline tests: CSV with a header, a JSON array, or lines of JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.files.atomic import write_file
from localcdap.files.result_files import format_json_records, format_plain
from localcdap.files.writers import format_delimited
from localcdap.pipeline.recordings.rows import read_csv
from localcdap.pipeline_tests.model import Records

SUFFIXES: Final = (".csv", ".json", ".jsonl")


def read_records(file: Path) -> Records:
    """Return the records of a file.

    :raises BadRequestError: when the file cannot be read; the message has the line.
    """
    if file.suffix not in SUFFIXES:
        raise BadRequestError(f"{file.name} does not end in {' or '.join(SUFFIXES)}.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadRequestError(f"there is no file {file}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"{file} cannot be read: {error}.") from None
    if file.suffix == ".csv":
        return Records(_parse_csv(file, text), are_text=True, file=file)
    return Records(_parse_json(file, text), file=file)


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


def _parse_csv(file: Path, text: str) -> list[Any]:
    def check_header(header: list[str]) -> None:
        if not header or len(set(header)) < len(header):
            raise BadRequestError(f"{file}:1: the header must name every column once.")

    return list(read_csv(io.StringIO(text), file, ",", check_header))


def _parse_json(file: Path, text: str) -> list[Any]:
    try:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"{file} is not valid JSON: {error}.") from None
    if not isinstance(found, list):
        raise BadRequestError(f"{file}: expected an array of records.")
    return found
