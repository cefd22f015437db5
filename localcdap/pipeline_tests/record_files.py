"""Files of records for pipeline tests: CSV with a header, a JSON array, or lines of JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Final

from localcdap.api.errors import BadRequestError
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


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
