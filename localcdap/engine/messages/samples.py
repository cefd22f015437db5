"""What runs and previews show of records: samples, profiles of sinks, values that stages have altered.

A strict run fails for altered values, for rows that were dropped because of an error, and for keys that
differ from a field by case or blanks only: before its commit, with all of them.

Samples are in the form that front ends receive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.schema import Schema
from localcdap.api.stage import NoticeKind
from localcdap.expectations.results import RuleResult
from localcdap.text import plural

_NOUNS: Final = {
    NoticeKind.VALUES: "altered value",
    NoticeKind.ROWS: "dropped row",
    NoticeKind.KEYS: "differing key",
}


class AlteredValues(msgspec.Struct):
    """Values that a stage has altered in one way, such as rounded; or rows that it dropped for an error, or
    keys that differ from a field by case or blanks only.
    """

    stage: str
    change: str
    """What became of the values."""
    count: int
    first: str
    """The first of them: where it is, or what it was."""
    kind: NoticeKind = NoticeKind.VALUES

    def describe(self) -> str:
        """Return the warning."""
        return f"{plural(self.count, _NOUNS[self.kind])}: {self.change}. The first: {self.first}"


STRICT_ARGUMENT: Final = "system.strict"
"""The runtime argument, or preference, with which a run fails for what it notices."""


def is_strict(arguments: Mapping[str, str]) -> bool:
    """Return whether the arguments of a run make it fail for what it notices.

    :raises BadRequestError: when the argument is neither ``true`` nor ``false``.
    """
    value = arguments.get(STRICT_ARGUMENT, "false").strip().lower()
    if value not in ("true", "false"):
        raise BadRequestError(
            f"The argument '{STRICT_ARGUMENT}' is '{arguments[STRICT_ARGUMENT]}'.",
            "Set it to 'true' or 'false'.",
        )
    return value == "true"


def explain_noticed(altered: Sequence[AlteredValues]) -> StageError | None:
    """Return the error of a strict run, with all that was noticed; None when it noticed nothing."""
    if not altered:
        return None
    lines = [f"Stage '{each.stage}': {each.describe()}" for each in altered]
    return StageError(
        "\n".join(("The run is strict, and noticed:", *lines)),
        "Correct the data or the pipeline. Without --strict, or with the argument "
        f"'{STRICT_ARGUMENT}' set to 'false', the run only says it.",
        stage=altered[0].stage,
    )


def add_up_altered(altered: Iterable[AlteredValues]) -> dict[NoticeKind, int]:
    """Return the number of what was noticed, by kind, without kinds of which there is none."""
    totals: dict[NoticeKind, int] = {}
    for each in altered:
        totals[each.kind] = totals.get(each.kind, 0) + each.count
    return totals


def describe_totals(altered: Iterable[AlteredValues]) -> list[str]:
    """Return the numbers of what was noticed, such as ``2 altered values``, one text for each kind."""
    return [plural(number, _NOUNS[kind]) for kind, number in add_up_altered(altered).items()]


class StageProblem(msgspec.Struct, rename="camel", omit_defaults=True):
    """An exception that a stage's plugin raised, or a value that does not fit the stage's schema."""

    message: str
    corrective_action: str | None = None
    stage: str | None = None
    field: str | None = None
    """The property that is wrong, if a property is."""
    trace: str | None = None
    """The plugin's own stack frames, one per line, innermost last; then the exception."""
    record: int | None = None
    """The 1-based number of the input record at fault; None when it is not known."""


class RejectedRecord(msgspec.Struct):
    """An error record."""

    record: Any
    """As JSON, see :mod:`localcdap.api.record_json`."""
    code: int | None
    message: str | None


class PortSample(msgspec.Struct):
    """Records of one port of a splitter."""

    schema: Schema
    records: list[Any]
    count: int
    """The number of all records; the sample contains the first of them."""


class StageSample(msgspec.Struct, rename="camel"):
    """The records that a stage gave; of a sink, the records that reached it."""

    schema: Schema | None = None
    """The schema of the records; None for a splitter, and for a stage that failed before its schema was
    known.
    """
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`; the first ones when there are too many."""
    errors: list[RejectedRecord] = []
    ports: dict[str, PortSample] = {}
    """The samples of a splitter, by port."""
    count: int = 0
    """The number of all output records of the stage."""
    error_count: int = 0
    alerts: list[dict[str, str | None]] = []
    """What the alerts of the stage say; the first ones when there are too many."""
    alert_count: int = 0
    altered: list[AlteredValues] = []
    """The values that the stage has altered, by kind of change."""
    problems: list[StageProblem] = []
    expectations: list[RuleResult] = []
    """The results of the stage's expectations for all of its records."""


class StageDebugResult(msgspec.Struct):
    """The result of running a single stage."""

    sample: StageSample
    lines: list[str]
    """The lines that the plugin logged or printed."""


class SinkColumn(msgspec.Struct):
    """A column in the sample of a sink's records."""

    name: str
    type: str
    """As :attr:`localcdap.api.schema.Schema.display_name`."""
    nulls: int = 0
    distinct: int | None = None
    """Different values without null; None for nested values and bytes, which are not looked at."""
    lowest: str | None = None
    highest: str | None = None


class SinkProfile(msgspec.Struct):
    """The records that reached a sink, as a sample shows them."""

    stage: str
    rows: int
    """All records."""
    sampled: int
    """The records of the sample: those at the beginning of each part of the data, and some of the others."""
    columns: list[SinkColumn]
    """The first 200."""
