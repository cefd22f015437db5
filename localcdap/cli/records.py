"""Records, read from JSON files and printed on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import BadRequestError
from localcdap.cli.output import StyledText, echo, print_error, print_table, secho
from localcdap.expectations.results import RuleResult, describe_result
from localcdap.files.json_records import parse_document_or_lines
from localcdap.runs.model import format_payload
from localcdap.text import sanitize_for_terminal

if TYPE_CHECKING:
    from localcdap.api.schema import Schema
    from localcdap.engine.messages.samples import AlteredValues, RejectedRecord, StageProblem

_WIDEST: Final = 40
"""The most characters of a value that are printed."""


def read_json(name: str) -> Any:
    """Return the JSON document in a file, or the list of its lines if each is a document.

    :param name: the path; ``-`` is standard input.
    :raises BadRequestError: when the file cannot be read, or is not JSON; with line and column.
    """
    text = _read_text(name)
    try:
        return parse_document_or_lines(text)
    except ValueError as error:
        raise BadRequestError(
            f"{name} is neither JSON nor lines of JSON: {error}.",
            'Write the records as an array of objects: [{"name": "ada"}].',
        ) from None


def _read_text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadRequestError(f"{name}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"{name} cannot be read: {error}.") from None


def print_records(schema: Schema | None, records: Sequence[Any], most: int) -> None:
    """Print at most ``most`` records as a table."""
    if not records:
        echo("  no records")
        return
    names = schema.field_names if schema is not None else list(records[0])
    numbers = " ".join(name for name in names if " " not in name and _is_number(records, name))
    rows = [[_format_cell(record.get(name)) for name in names] for record in records[:most]]
    print_table([_format_cell(name) for name in names], rows, numbers)
    if len(records) > most:
        echo(f"… and {len(records) - most:,} more")


def print_rejected(errors: Sequence[RejectedRecord], most: int) -> None:
    """Print at most ``most`` error records, one per line."""
    for each in errors[:most]:
        mark = StyledText("✗", "yellow")
        echo(mark, f" {each.code}: {each.message or ''}  {json.dumps(each.record)}")
    if len(errors) > most:
        echo(f"… and {len(errors) - most:,} more error records")


def print_alerts(alerts: Sequence[Mapping[str, str | None]], count: int, most: int) -> None:
    """Print at most ``most`` alerts, one per line, and how many more of ``count`` there are."""
    for each in alerts[:most]:
        echo(StyledText("!", "yellow"), f" alert: {format_payload(each)}")
    if count > min(most, len(alerts)):
        echo(f"… and {count - min(most, len(alerts)):,} more alerts")


def print_altered(altered: Sequence[AlteredValues]) -> None:
    """Print the values that stages have altered, a line for each kind of change."""
    for each in altered:
        echo(StyledText("!", "yellow"), f" {each.stage}: {each.describe()}")


def print_results(
    results: Sequence[RuleResult], changes: Mapping[tuple[str, str], str], *, err: bool = False
) -> None:
    """Print the results of expectations, a line for each.

    :param changes: how results differ from those before, by stage and label.
    :param err: print on stderr.
    """
    for each in results:
        mark, colour = ("✗", "yellow") if each.violations else ("✓", "green")
        if each.is_failure:
            colour = "red"
        change = changes.get((each.stage, each.label))
        more = f"; {change}" if change else ""
        where = f"{each.stage}: " if each.stage else ""
        text = f"{mark} {where}{each.label}: {describe_result(each)}{more}"
        secho(text, fg=colour, err=err)


def print_problem(problem: StageProblem) -> None:
    """Print an error of a stage, with the frames of the plugin's own code."""
    position = f"record {problem.record}: " if problem.record is not None else ""
    where = f"{problem.field}: " if problem.field else position
    print_error(f"✗ {where}{problem.message}", problem.corrective_action, indent="  ")
    for line in (problem.trace or "").splitlines():
        echo(f"    {line.rstrip()}")


def _is_number(records: Sequence[Any], name: str) -> bool:
    values = [record.get(name) for record in records]
    return all(isinstance(value, int | float | None) for value in values)


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = sanitize_for_terminal(" ".join(text.splitlines()))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
