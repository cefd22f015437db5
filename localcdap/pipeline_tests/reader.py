"""Reader of test files, which reports every mistake at once.

This test file shows every key::

    pipeline = "pipeline.json"           # relative to this file; or: application = "NAME[@VERSION]"
    description = "…"                    # optional, like all following keys
    start = 2026-01-02T03:04:05Z         # the start time of the run
    skip = ["Move files"]                # actions that do not run
    records = 10000                      # the most records that each source reads
    timeout = 60                         # seconds

    [arguments]
    "input.date" = "2026-01-02"

    [decisions]
    "Is weekend" = true                  # the result of the condition, which is not evaluated

    [given]                              # replaces the output of sources or other stages
    Purchases = [{ customer = "ada", price = 1.2 }]
    Customers = "customers.csv"          # or .json, .jsonl
    "Split.big" = []                     # a port of a splitter
    "Parse.errors" = [{ record = { body = "x" }, code = 31, message = "…" }]

    [expect]                             # of a sink: the records that it would write
    "Spending" = [{ customer = "ada", spent = 1.2 }]
    "Parse.errors" = 1                   # a number of records

    [expect."By customer"]
    records = "expected.json"
    ordered = true                       # otherwise the order does not count
    tolerance = 0.01                     # numbers may differ by this much
    fields = ["customer", "spent"]       # compare only these; "named": those of the expected record
    key = ["customer"]                   # the fields that identify a record in a diff
    count = 1

    [fails]                              # the pipeline must fail
    when = "validation"                  # or "run"
    stage = "Parse"
    message = "is not defined"           # a part of the message

A file may be JSON with the same keys instead. Records are in the form of :mod:`localcdap.api.record_json`.

Checks of the values of test files.

Each function returns the value, or raises a ValueError whose message is the expected kind of value.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import encode_json_record, format_json_value
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.model import (
    Expectation,
    ExpectedFailure,
    PipelineTest,
    Records,
    TestFileProblem,
    parse_output,
    read_records,
)


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def read_argument(value: Any) -> str:
    """Return a runtime argument, which is text; numbers and booleans are formatted as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ValueError("text")


def read_texts(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError("an array of texts")
    return value


def read_fields(value: Any) -> list[str]:
    try:
        return read_texts(value)
    except ValueError:
        raise ValueError('an array of names, or "named"') from None


def read_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def read_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a number of records")
    return value


def read_positive(value: Any) -> int:
    if read_count(value) == 0:
        raise ValueError("a number of records above 0")
    return int(value)


def _read_number(value: Any, expected: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(expected)
    return float(value)


def read_tolerance(value: Any) -> float:
    if _read_number(value, "a number that is not negative") < 0:
        raise ValueError("a number that is not negative")
    return float(value)


def read_seconds(value: Any) -> float:
    if _read_number(value, "a number of seconds above 0") <= 0:
        raise ValueError("a number of seconds above 0")
    return float(value)


def read_when(value: Any) -> str:
    if value not in ("validation", "run"):
        raise ValueError('"validation" or "run"')
    return str(value)


def read_time(value: Any) -> int:
    """Return a time in milliseconds since 1970; a time without a zone is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        moment = None
    if not isinstance(moment, datetime.datetime):
        raise ValueError("a time such as 2026-01-02T03:04:05Z")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return int(moment.timestamp() * 1000)


SUFFIXES: Final = (".test.toml", ".test.json")
_KEYS: Final = [
    "pipeline",
    "application",
    "description",
    "arguments",
    "given",
    "skip",
    "decisions",
    "expect",
    "fails",
    "start",
    "records",
    "timeout",
]
_EXPECT_KEYS: Final = ["records", "count", "ordered", "tolerance", "fields", "key"]
_FAILS_KEYS: Final = ["message", "stage", "when"]

_Value = TypeVar("_Value")


def find_tests(paths: Sequence[Path]) -> list[Path]:
    """Return the test files among the paths, and those in the folders among them, sorted by name.

    :raises BadRequestError: for a path that does not exist, or is not a test file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (each for suffix in SUFFIXES for each in path.rglob(f"*{suffix}"))
            found |= dict.fromkeys(sorted(inside))
        elif not path.exists():
            raise BadRequestError(f"{path}: there is no such file or folder.")
        elif not path.name.endswith(SUFFIXES):
            raise BadRequestError(
                f"{path} is not a test file: its name ends with neither {' nor '.join(SUFFIXES)}.",
                f"Write a test of a pipeline: localcdap test --new {path}",
            )
        else:
            found[path] = None
    return list(found)


def read_test(file: Path) -> tuple[PipelineTest | None, list[TestFileProblem]]:
    """Return the test in a file, and all mistakes in it; None when the file cannot be read at all."""
    reader = _Reader(file)
    return reader.read_test(), reader.mistakes


def check_stages(test: PipelineTest, document: PipelineDocument) -> list[TestFileProblem]:
    """Return the mistakes in names of stages: unknown stages, and stages of a wrong type."""
    reader = _Reader(test.file)
    reader.check_stages(test, document)
    return reader.mistakes


def get_test_name(file: Path) -> str:
    """Return the name of the test in a file."""
    return file.name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1])


class _Reader:
    """Reads one file; collects mistakes and leaves the values with mistakes out."""

    def __init__(self, file: Path) -> None:
        self._file: Final = file
        self._text = ""
        self.mistakes: Final[list[TestFileProblem]] = []
        try:
            self._text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.note((), f"the file cannot be read: {error}.")

    def note(self, path: Sequence[str], message: str) -> None:
        line = find_key_line(self._text, path)
        self.mistakes.append(TestFileProblem(self._file, line, ".".join(path), message))

    # -- the whole file ------------------------------------------------------------------------------

    def read_test(self) -> PipelineTest | None:
        content = self._decode()
        if content is None:
            return None
        self._check_keys((), content, _KEYS)
        test = PipelineTest(file=self._file, name=get_test_name(self._file))
        self._read_pipeline(test, content)
        test.description = self._get((), content, "description", read_text)
        arguments = self._get((), content, "arguments", read_table) or {}
        for name, value in arguments.items():
            test.arguments[name] = self._convert(("arguments", name), value, read_argument) or ""
        for output, value in (self._get((), content, "given", read_table) or {}).items():
            records = self._read_records(("given", output), value)
            if records is not None:
                test.given[output] = records
        test.skip = self._get((), content, "skip", read_texts) or []
        for name, value in (self._get((), content, "decisions", read_table) or {}).items():
            test.decisions[name] = bool(self._convert(("decisions", name), value, read_boolean))
        for output, value in (self._get((), content, "expect", read_table) or {}).items():
            test.expect[output] = self._read_expectation(("expect", output), value)
        if "fails" in content:
            test.fails = self._read_failure(content["fails"])
        test.start_ms = self._get((), content, "start", read_time)
        test.records = self._get((), content, "records", read_positive) or test.records
        test.timeout_s = self._get((), content, "timeout", read_seconds) or test.timeout_s
        if not test.expect and test.fails is None and "expect" not in content:
            self.note((), "the test expects nothing; add [expect] or [fails].")
        return test

    def _decode(self) -> dict[str, Any] | None:
        if self.mistakes:
            return None
        try:
            content = (
                json.loads(self._text)
                if self._file.suffix == ".json"
                else tomllib.loads(self._text)
            )
        except json.JSONDecodeError as error:
            self.mistakes.append(
                TestFileProblem(
                    self._file, error.lineno, "", f"the file is not valid JSON: {error.msg}."
                )
            )
            return None
        except (ValueError, RecursionError) as error:
            self.note((), f"the file is not valid {self._file.suffix[1:].upper()}: {error}.")
            return None
        if not isinstance(content, dict):
            self.note((), "expected an object.")
            return None
        return content

    def _read_pipeline(self, test: PipelineTest, content: dict[str, Any]) -> None:
        pipeline = self._get((), content, "pipeline", read_text)
        test.application = self._get((), content, "application", read_text)
        if pipeline is not None:
            test.pipeline = self._file.parent / pipeline
            if test.application is not None:
                self.note(
                    ("application",),
                    "'pipeline' and 'application' exclude each other; remove one.",
                )
            if not test.pipeline.is_file():
                self.note(("pipeline",), f"there is no file {test.pipeline}.")
        elif test.application is None and not {"pipeline", "application"} & content.keys():
            self.note(
                (), 'the pipeline is missing: write pipeline = "FILE" or application = "NAME".'
            )

    # -- the parts ------------------------------------------------------------------------------

    def _read_expectation(self, path: tuple[str, ...], value: Any) -> Expectation:
        if isinstance(value, int) and not isinstance(value, bool):
            return Expectation(count=self._convert(path, value, read_count))
        if not isinstance(value, dict):
            return Expectation(records=self._read_records(path, value))
        for key in [each for each in value if each not in _EXPECT_KEYS]:
            hint = _suggest(key, _EXPECT_KEYS)
            if key == "errors" or not hint:
                hint = f' For an output of a stage write "{path[1]}.{key}".'
            self.note((*path, key), f"there is no such key.{hint}")
        if not {"records", "count"} & value.keys():
            self.note(path, "'records' or 'count' is missing.")
        expectation = Expectation(
            count=self._get(path, value, "count", read_count),
            ordered=bool(self._get(path, value, "ordered", read_boolean)),
            tolerance=self._get(path, value, "tolerance", read_tolerance),
            key=self._get(path, value, "key", read_texts) or [],
        )
        if "records" in value:
            expectation.records = self._read_records((*path, "records"), value["records"])
        if value.get("fields") == "named":
            expectation.named_only = True
        else:
            expectation.fields = self._get(path, value, "fields", read_fields)
        return expectation

    def _read_failure(self, value: Any) -> ExpectedFailure | None:
        if not isinstance(value, dict):
            self.note(("fails",), "expected a table with message, stage or when.")
            return None
        self._check_keys(("fails",), value, _FAILS_KEYS)
        return ExpectedFailure(
            message=self._get(("fails",), value, "message", read_text),
            stage=self._get(("fails",), value, "stage", read_text),
            when=self._get(("fails",), value, "when", read_when),
        )

    def _read_records(self, path: tuple[str, ...], value: Any) -> Records | None:
        if isinstance(value, str):
            try:
                found = read_records(self._file.parent / value)
            except BadRequestError as error:
                self.note(path, error.message)
                return None
        elif isinstance(value, list):
            found = Records([encode_json_record(each) for each in value])
        else:
            self.note(
                path,
                f"expected an array of records or the name of a file, not {format_json_value(value)}.",
            )
            return None
        wrong = [n for n, each in enumerate(found.records, 1) if not isinstance(each, dict)]
        if wrong:
            listed = ", ".join(map(str, wrong[:10]))
            self.note(
                path, f"a record must be an object; this is not the case for number {listed}."
            )
            return None
        if found.are_text and path[1].endswith(".errors"):
            self.note(path, "error records cannot come from a CSV file; use JSON.")
        return found

    # -- values ---------------------------------------------------------------------------------

    def _get(
        self,
        path: tuple[str, ...],
        content: dict[str, Any],
        key: str,
        read: Callable[[Any], _Value],
    ) -> _Value | None:
        return self._convert((*path, key), content[key], read) if key in content else None

    def _convert(
        self, path: tuple[str, ...], value: Any, read: Callable[[Any], _Value]
    ) -> _Value | None:
        try:
            return read(value)
        except ValueError as error:
            self.note(path, f"expected {error}, not {format_json_value(value)}.")
            return None

    def _check_keys(
        self, path: tuple[str, ...], content: dict[str, Any], keys: Sequence[str]
    ) -> None:
        for key in content:
            if key not in keys:
                self.note((*path, key), f"there is no such key.{_suggest(key, keys)}")

    # -- against the pipeline -------------------------------------------------------------------

    def check_stages(self, test: PipelineTest, document: PipelineDocument) -> None:
        types = {stage.name: stage.plugin.type for stage in document.stages}
        given = set()
        for output in test.given:
            if self._stage(("given", output), types, output):
                stream = parse_output(output, list(types))
                given.add(stream.stage if stream else output)
        for output in test.expect:
            stream = parse_output(output, list(types))
            self._stage(("expect", output), types, output)
            if stream and stream.stage in given:
                self.note(("expect", output), "its records are given: it is not run.")
        for name in test.skip:
            if self._stage(("skip",), types, name) and types[name] not in _ACTIONS:
                self.note(
                    ("skip",), f"'{name}' is not an action; put its records under [given] instead."
                )
        for name in test.decisions:
            if self._stage(("decisions", name), types, name) and types[name] != "condition":
                self.note(("decisions", name), f"it is not a condition but of type {types[name]}.")
        if test.fails is not None and test.fails.stage is not None:
            self._stage(("fails", "stage"), types, test.fails.stage)

    def _stage(self, path: tuple[str, ...], types: dict[str, str], output: str) -> bool:
        if parse_output(output, list(types)) is not None:
            return True
        hint = _suggest(output, list(types)) or f" Its stages: {', '.join(types) or 'none'}."
        self.note(path, f"the pipeline has no stage '{output}'.{hint}")
        return False


_ACTIONS: Final = ("action", "sparkprogram")


def _suggest(name: str, known: Sequence[str]) -> str:
    from rapidfuzz import process

    found = process.extractOne(name, known, score_cutoff=60)
    return f" Did you mean '{found[0]}'?" if found else ""


def find_key_line(text: str, path: Sequence[str]) -> int:
    """Return the 1-based line of a key, or of the part of its path that exists."""
    place = 0
    for part in path:
        key = re.escape(part)
        found = re.compile(
            rf"""(?m)(?:^[ \t]*|[\[{{,.][ \t\n]*)(?:"{key}"|'{key}'|{key})[ \t]*(?:=|:|\]|\.)"""
        ).search(text, place)
        if found is None:
            break
        # The next key may follow right behind the mark that ends this one.
        place = found.end() - 1
        line = _skip_punctuation(text, found.start(), found.end())
    return text.count("\n", 0, line) + 1 if place else 1


def _skip_punctuation(text: str, start: int, end: int) -> int:
    """Return the index of the first letter in a part of a text."""
    bare = text[start:end].lstrip("[{,. \t\n")
    return end - len(bare)
