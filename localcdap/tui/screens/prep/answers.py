"""What the plugin Wrangler answers to the prep area, as far as the area shows it."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.tui.screens.prep.meanings import PrepMeaning


class PrepValueCount(msgspec.Struct):
    value: str
    count: int


class PrepProfile(msgspec.Struct):
    """What the values of a column are like; see the plugin method ``workspace``."""

    rows: int
    nulls: int
    empty: int
    distinct: int
    lowest: str | None = None
    highest: str | None = None
    bars: list[int] = []
    top: list[PrepValueCount] = []
    patterns: list[PrepValueCount] = []
    meaning: PrepMeaning | None = None


class PrepColumn(msgspec.Struct):
    name: str
    type: str
    profile: PrepProfile | None = None


class PrepCounts(msgspec.Struct):
    directive: str
    rows_in: int
    rows_out: int
    failed: int
    sent: int


class PrepProblem(msgspec.Struct):
    message: str
    line: int = 0
    column: int = 0
    is_warning: bool = False
    corrective_action: str | None = None
    nearest: str | None = None


class PrepFailure(msgspec.Struct):
    step: int
    record: int
    message: str
    is_sent: bool
    values: dict[str, str | None]


class PrepFormat(msgspec.Struct):
    format: str
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"
    skip_lines: int = 0


class PrepFacetBin(msgspec.Struct):
    """:param condition: an expression for exactly these rows; None when none can be written."""

    key: str
    label: str
    count: int
    is_chosen: bool = False
    condition: str | None = None


class PrepFacetView(msgspec.Struct):
    """A facet with its counts, or why it has none."""

    column: str
    kind: str
    bins: list[PrepFacetBin] = []
    problem: str = ""


class PrepChange(msgspec.Struct):
    """What a step did to a row: same, changed, dropped or new.

    :param before: the values that it has changed, each with the place of its column.
    """

    kind: str
    before: list[tuple[int, str | None]] = []


class PrepCheck(msgspec.Struct):
    """What was found for a rule on the sample, or why it was not checked there."""

    violations: int = 0
    checked: int = 0
    problem: str = ""


class PrepView(msgspec.Struct):
    """The rows of the sample after a recipe, or after one of its steps.

    :param is_complete: whether all is there; otherwise more follows.
    :param has_rows: whether there are rows to show yet.
    :param head_count: the rows are those of so many first records; None for those of all.
    :param checks: of the rules of the request; empty before all steps ran.
    :param description: of what the records of a connection are a sample.
    :param reading: how the connection read them, such as the format that it found.
    """

    is_open: bool
    is_complete: bool
    columns: list[PrepColumn]
    column_count: int
    rows: list[list[str | None]]
    row_count: int
    record_count: int
    steps: list[PrepCounts]
    problems: list[PrepProblem]
    failures: list[PrepFailure]
    unreadable: list[str]
    total_count: int | None = None
    share: float = 1.0
    head_count: int | None = None
    has_rows: bool = True
    facets: list[PrepFacetView] = []
    kept_count: int | None = None
    facet_kinds: dict[str, list[str]] = {}
    checks: list[PrepCheck] = []
    changes: list[PrepChange] = []
    format: PrepFormat | None = None
    description: str = ""
    reading: dict[str, str] = {}
    schema: Any = None

    @property
    def errors(self) -> list[PrepProblem]:
        return [each for each in self.problems if not each.is_warning]


class PrepCluster(msgspec.Struct):
    values: list[PrepValueCount]


class PrepClusters(msgspec.Struct):
    is_open: bool
    is_complete: bool
    clusters: list[PrepCluster]


class PrepExampleResult(msgspec.Struct):
    text: str
    made: list[str | None]


class PrepCandidate(msgspec.Struct):
    """Directives by example; see the plugin method ``by-example``."""

    label: str
    directives: list[str]
    columns: list[str]
    rows: int
    total: int
    lost: int
    results: list[PrepExampleResult]


class PrepCandidates(msgspec.Struct):
    is_open: bool
    is_complete: bool
    candidates: list[PrepCandidate]
    question: str | None = None


class PrepRecords(msgspec.Struct):
    """Records and the rows made of them, as JSON; see the plugin method ``records``."""

    is_open: bool
    is_complete: bool
    records: list[Any]
    made: list[Any]


class PrepMatch(msgspec.Struct):
    """Two columns with equal values; see the plugin method ``match``."""

    left: str
    right: str
    rows: int
    total: int
    is_unique: bool


class PrepMatches(msgspec.Struct):
    is_open: bool
    is_complete: bool
    matches: list[PrepMatch]
