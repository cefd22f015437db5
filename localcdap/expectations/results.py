"""What was found when rules were checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.expectations.rules import Expectation, RowCount, RuleAction

_LEAST_SHOWN: Final = 0.1


class RuleResult(msgspec.Struct, rename="camel"):
    """The result of one rule in one run."""

    stage: str
    label: str
    """See :attr:`localcdap.expectations.rules.Rule.label`."""
    action: RuleAction
    checked: int
    """The number of records; of :class:`.rules.RowCount`, 1."""
    violations: int
    allowed_percent: float = 0
    rows: int | None = None
    """Of :class:`.rules.RowCount`: the number of records that was found."""
    noun: str = "violations"
    """What a report calls the violations, such as ``nulls of email``."""

    @property
    def share(self) -> float:
        """The violations, in per cent of what was checked."""
        return 100 * self.violations / self.checked if self.checked else 0.0

    @property
    def is_failure(self) -> bool:
        """Whether a run fails for it."""
        return (
            self.action is RuleAction.FAIL
            and self.violations > 0
            and self.share > self.allowed_percent
        )


def create_result(stage: str, rule: Expectation, checked: int, violations: int) -> RuleResult:
    """Return the result of a rule.

    :param checked: the number of all records.
    :param violations: ignored for :class:`.rules.RowCount`, which is decided by the number of records.
    """
    rows = None
    if isinstance(rule, RowCount):
        rows, violations = checked, int(not _is_between(rule, checked))
        checked = 1
    noun = rule.violations_noun
    return RuleResult(
        stage, rule.label, rule.action, checked, violations, rule.allowed_percent, rows, noun
    )


def _is_between(rule: RowCount, rows: int) -> bool:
    return (rule.min is None or rows >= rule.min) and (rule.max is None or rows <= rule.max)


def describe_result(result: RuleResult) -> str:
    """Return the outcome of a rule: ``31 % (310 of 1,000)``, ``held``."""
    if result.rows is not None:
        return f"{result.rows:,} rows" if result.violations else f"held, {result.rows:,} rows"
    if not result.violations:
        return "held"
    return f"{format_share(result.share)} ({result.violations:,} of {result.checked:,})"


def format_share(share: float) -> str:
    """Return a share in per cent: ``31 %``, ``0.4 %``, ``< 0.1 %``."""
    if 0 < share < _LEAST_SHOWN:
        return "< 0.1 %"
    digits = 1 if 0 < share < 10 and round(share, 1) != round(share) else 0
    if digits == 0 and share < 100 and round(share) == 100:
        return "> 99 %"
    return f"{share:.{digits}f} %"


class RuleTrend(msgspec.Struct, rename="camel"):
    """The results of one rule over runs, the oldest first."""

    stage: str
    label: str
    runs: list[str] = []
    """The ids of the runs that checked it."""
    times: list[int] = []
    """When they were started, in milliseconds since 1970."""
    results: list[RuleResult] = []

    def describe_change(self) -> str | None:
        """Return how the violations have changed from the run before to the last one:
        ``nulls of email rose from 2 % to 31 %``.

        None when there are no two runs, or it has not changed.
        """
        change = self._find_change()
        if change is None:
            return None
        before, last, rises = change
        noun = "rows" if self.results[-1].rows is not None else self.results[-1].noun
        return f"{noun} {'rose' if rises else 'fell'} from {before} to {last}"

    def describe_step(self) -> str:
        """Return the change of :meth:`describe_change` in short, ``↑ from 2 %``; an empty text for none."""
        change = self._find_change()
        return "" if change is None else f"{'↑' if change[2] else '↓'} from {change[0]}"

    def _find_change(self) -> tuple[str, str, bool] | None:
        """Return the values of the last two runs, and whether the last one is greater."""
        if len(self.results) < 2:
            return None
        before, last = (_get_measure(result) for result in self.results[-2:])
        shown, new = (_format_measure(result) for result in self.results[-2:])
        return None if shown == new else (shown, new, last > before)


def _get_measure(result: RuleResult) -> float:
    return result.share if result.rows is None else result.rows


def _format_measure(result: RuleResult) -> str:
    return format_share(result.share) if result.rows is None else f"{result.rows:,}"


def collect_trends(
    runs: Iterable[tuple[str, int, Iterable[RuleResult]]],
) -> list[RuleTrend]:
    """Return the trend of each rule.

    :param runs: id, start time in milliseconds and results, the oldest first.
    """
    trends: dict[tuple[str, str], RuleTrend] = {}
    for run, time, results in runs:
        for each in results:
            key = each.stage, each.label
            trend = trends.setdefault(key, RuleTrend(*key))
            trend.runs.append(run)
            trend.times.append(time)
            trend.results.append(each)
    return list(trends.values())
