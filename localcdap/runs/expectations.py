"""The trends of expectations over the runs of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from localcdap.expectations.results import RuleTrend, collect_trends
from localcdap.runs.model import Run

RECENT_RUNS: Final = 20
"""The newest runs of a pipeline that a trend shows by default."""


def collect_run_trends(runs: Iterable[Run]) -> list[RuleTrend]:
    """Return the trend of each rule over runs of one pipeline.

    :param runs: in any order; those that have checked nothing do not count.
    """
    ordered = sorted(runs, key=lambda run: (run.starting, run.run))
    return collect_trends((run.run, run.starting, run.expectations) for run in ordered)


def find_changes(run: Run, runs: Iterable[Run]) -> dict[tuple[str, str], str]:
    """Return what has changed in a run since the run before, as a sentence by stage and label of the rule.

    :param runs: runs of the same pipeline, those before the run among them.
    """
    until = [each for each in runs if each.starting <= run.starting and each.run != run.run]
    changes = {}
    for trend in collect_run_trends([*until, run]):
        change = trend.describe_change() if trend.runs[-1] == run.run else None
        if change is not None:
            changes[trend.stage, trend.label] = change
    return changes
