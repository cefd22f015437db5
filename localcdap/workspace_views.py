"""What is asked of a workspace of Wrangler and what it shows of its rows, as JSON between plugin and studio.

A workspace is a sample that the process of a plugin keeps, with what a recipe makes of it. The methods of
the plugin Wrangler answer with these types, and the prep area of the studio reads them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.schema import Schema
from localcdap.expectations.rules import Expectation
from localcdap.files.formats import FileFormat


class Facet(msgspec.Struct, frozen=True):
    """A question about a column, and the answers whose rows are kept."""

    column: str
    """For duplicates, the columns that are compared, separated by commas; "" for all."""
    kind: str
    """One of ``values``, ``range``, ``year``, ``month``, ``form``, ``length``, ``state``, or duplicates."""
    chosen: list[str] = []
    """The keys of the bins whose rows are kept; none of them keeps all rows."""


class ViewRequest(msgspec.Struct, frozen=True):
    """Which rows and columns are shown."""

    step: int | None = None
    """The rows after which step, from 1; 0 for the sample, None for the last one."""
    offset: int = 0
    limit: int = 100
    sort: str | None = None
    """The column by which the rows are sorted; null values come last."""
    is_descending: bool = False
    first_column: int = 0
    most_columns: int = 300
    profiles: list[str] | None = None
    """The columns with profiles; None for all that are shown."""
    nearest: int = 0
    """The place of the column, among those that are shown, from which on profiles are made."""
    profile_seconds: float | None = None
    """How long the profiles may take; later ones have to wait for another call. None for all at once."""
    seconds: float = 5.0
    """How long the steps may take; the rest has to wait for another call."""
    facets: list[Facet] = []
    """Keep some of the rows, and count them."""
    compares: bool = False
    """Whether the rows before the step are shown, too."""
    rules: list[Expectation] = []
    """Rules for the rows after all steps."""


class PrivacyHint(msgspec.Struct, frozen=True):
    """A directive that protects the values of a column."""

    label: str
    directive: str


class ColumnMeaning(msgspec.Struct):
    """The semantic type of a column, with what protects it."""

    type: str
    label: str
    share: float
    """See :class:`~localcdap.plugin_lib.wrangler.semantic_types.detection.SemanticMatch`."""
    hints: list[PrivacyHint]
    """The directives have ``{c}`` in the place of the column's name."""
    tags: list[str]


class ValueCount(msgspec.Struct):
    """A value, and in how many rows it is."""

    value: str
    count: int


class ValueSummary(msgspec.Struct):
    """What the values of a column are like."""

    rows: int
    nulls: int
    """Null, or not there."""
    empty: int
    """Texts without a character other than blanks."""
    distinct: int
    """Different values, null not counted."""
    lowest: str | None = None
    highest: str | None = None
    bars: list[int] = []
    """How many values are in each tenth of the range of numbers and times; for texts, the counts of the most
    frequent values."""
    top: list[ValueCount] = []
    """The most frequent values, at most 20."""
    patterns: list[ValueCount] = []
    """The five most frequent forms of texts: ``A`` for capital letters, ``a`` for small ones, ``9`` for
    digits."""
    formed: int = 0
    """Of how many different texts, the most frequent ones, the forms are counted."""
    date_forms: list[str] = []
    """The forms in which these texts are dates, as patterns of ``SimpleDateFormat``."""
    meaning: ColumnMeaning | None = None
    """What texts mean; None when their meaning is not known."""


class ColumnView(msgspec.Struct):
    """A column as its header shows it."""

    name: str
    type: str
    profile: ValueSummary | None = None


class StepCounts(msgspec.Struct):
    """What a step made of the rows before it."""

    directive: str
    rows_in: int
    rows_out: int
    failed: int
    """Records that are left out because the directive failed."""
    sent: int
    """Records that the directive sent to the error port."""


class RecipeProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem in a recipe, with its position. Lines and columns count from 1, in the text as given."""

    message: str
    line: int
    column: int
    usage: str | None = None
    """The usage of the directive at that position."""
    nearest: str | None = None
    """A known name that is similar to an unknown one."""
    is_warning: bool = False
    """Whether the recipe can run in spite of it."""
    corrective_action: str | None = None
    """The corrective action, if it is neither a usage nor a similar name."""

    @property
    def text(self) -> str:
        """The whole problem as one line for a human reader."""
        parts = [f"line {self.line}, column {self.column}: {self.message}"]
        if self.usage:
            parts.append(f"Usage: {self.usage}.")
        if self.nearest:
            parts.append(f"Did you mean '{self.nearest}'?")
        if self.corrective_action:
            parts.append(self.corrective_action)
        return " ".join(parts)


MOST_FAILURES: Final = 200
"""Records that are left out, of which a view has the messages."""


class FailureView(msgspec.Struct):
    """A record that is left out."""

    step: int
    """The number of the directive, from 1."""
    record: int
    """The number of the record in the sample, from 1."""
    message: str
    is_sent: bool
    values: dict[str, str | None]
    """The record as it came."""


class RowChange(msgspec.Struct):
    """What a step did to a row."""

    kind: str
    """same, changed, dropped, or new."""
    before: list[tuple[int, str | None]] = []
    """The values that the step has changed, each with the place of its column."""


class FacetBin(msgspec.Struct):
    """Some of the rows."""

    key: str
    """Tells the bin from the others of its facet, also after a change of the recipe."""
    label: str
    count: int
    is_chosen: bool = False
    condition: str | None = None
    """An expression that is true for exactly these rows; None when none can be written."""


class FacetView(msgspec.Struct):
    """A facet with its counts."""

    column: str
    kind: str
    bins: list[FacetBin] = []
    problem: str = ""
    """Why it has no bins, such as a column that is gone."""


class RuleCheck(msgspec.Struct):
    """What was found for a rule."""

    violations: int = 0
    checked: int = 0
    """The rows that were looked at."""
    problem: str = ""
    """Why the rule cannot be checked on the sample, or on any rows of the schema."""


class WorkspaceView(msgspec.Struct):
    """A part of the rows of a workspace."""

    is_open: bool = True
    """Whether the workspace is open; the process that had it may be lost, and then nothing else counts."""
    is_complete: bool = True
    """Whether all known steps ran, and all profiles are there; another call goes on."""
    share: float = 1.0
    """How much of the recipe ran."""
    head_count: int | None = None
    """The rows are those of so many first records, while the recipe runs on the others; None for all."""
    has_rows: bool = True
    """Whether the recipe came far enough to show rows."""
    columns: list[ColumnView] = []
    """At most :attr:`ViewRequest.most_columns`."""
    column_count: int = 0
    rows: list[list[str | None]] = []
    row_count: int = 0
    """Of all rows after the step."""
    record_count: int = 0
    """Of the sample."""
    total_count: int | None = None
    """Of the data from which the sample comes; None when it is not known."""
    format: FileFormat | None = None
    """How the file was read; None for records."""
    description: str = ""
    """What the caller said of its records, as ``description`` and ``reading`` of its source."""
    reading: dict[str, str] = {}
    schema: Schema | None = None
    """Of the rows after the step; None without columns."""
    steps: list[StepCounts] = []
    problems: list[RecipeProblem] = []
    failures: list[FailureView] = []
    """The first :data:`MOST_FAILURES`; :attr:`left_out` counts all."""
    unreadable: list[str] = []
    """Why records of the source are not in the sample."""
    facets: list[FacetView] = []
    kept_count: int | None = None
    """The rows that the facets keep; None without a chosen bin."""
    facet_kinds: dict[str, list[str]] = {}
    """The kinds of facets of each column that is shown."""
    checks: list[RuleCheck] = []
    """What was found for each rule; empty before all steps ran."""
    changes: list[RowChange] = []
    """For each row of a comparison, what the step did to it; ``rows`` has the rows before it, too."""

    @property
    def left_out(self) -> int:
        """How many records the directives have left out."""
        return sum(each.failed + each.sent for each in self.steps)

    @property
    def errors(self) -> list[RecipeProblem]:
        """The problems with which the recipe cannot run."""
        return [problem for problem in self.problems if not problem.is_warning]


class ValueCluster(msgspec.Struct):
    """Values that are probably meant to be the same."""

    values: list[ValueCount]
    """The most frequent one first."""


class ClusterView(msgspec.Struct):
    """The clusters of the values of a column, those of most rows first."""

    is_open: bool = True
    is_complete: bool = True
    clusters: list[ValueCluster] = []


class ExampleResult(msgspec.Struct):
    """What a candidate makes of a text."""

    text: str
    made: list[str | None]


class DirectiveCandidate(msgspec.Struct):
    """Directives that give the wanted texts of all examples."""

    label: str
    directives: list[str]
    columns: list[str]
    """Those with the wanted texts."""
    rows: int
    """The rows in which they make something of the text."""
    total: int
    """The rows with a text."""
    lost: int
    """The different texts that they take away without making something of them."""
    results: list[ExampleResult]
    """Of some different texts."""


class CandidateList(msgspec.Struct):
    """The candidates, those that suit most rows first."""

    is_open: bool = True
    is_complete: bool = True
    candidates: list[DirectiveCandidate] = []
    question: str | None = None
    """The most frequent text of which the candidates make different ones, or none; None without any."""


class ColumnMatch(msgspec.Struct):
    """Two columns, and how many rows have the same value in both."""

    left: str
    right: str
    rows: int
    """The rows of the left side whose value is on the right side."""
    total: int
    """The rows of the left side."""
    is_unique: bool
    """Whether no value is in two rows of the right side, so that a join repeats no row."""


class MatchList(msgspec.Struct):
    """The columns that match best; without any of the two workspaces nothing else counts."""

    is_open: bool = True
    is_complete: bool = True
    matches: list[ColumnMatch] = []


class SampleRecords(msgspec.Struct):
    """Records of a sample, and the rows that the recipe makes of them, with their types."""

    is_open: bool = True
    is_complete: bool = True
    schema: Schema | None = None
    """Of the records."""
    records: list[Any] = []
    """As JSON, see :mod:`localcdap.api.record_json`."""
    made_schema: Schema | None = None
    """Of the rows; None without columns."""
    made: list[Any] = []


class ColumnTotals(msgspec.Struct):
    """What the values of a column of all rows are like; see the plugin method ``apply``."""

    name: str
    type: str
    rows: int = 0
    nulls: int = 0
    empty: int = 0
    """Texts without a character other than blanks."""
    distinct: int = 0
    """Different values, null not counted."""
    has_more: bool = False
    """Whether there are more different values than are counted."""
    lowest: str | None = None
    highest: str | None = None
