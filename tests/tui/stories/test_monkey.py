"""A monkey at the studio for some seconds; ``python -m tests.tui.stories.monkey`` goes on for longer."""

from __future__ import annotations

import pytest

from localcdap.cli.instance.maintenance import diagnose
from localcdap.cli.options import Instance
from tests.tui.stories import monkey


@pytest.mark.parametrize(
    ("seed", "events"), [(8, 120), pytest.param(21, 400, marks=pytest.mark.soak)]
)
def test_random_keys_and_clicks_break_nothing(tmp_path, seed, events):
    with monkey.cage(tmp_path) as home:
        monkey.furnish(home)

        monkey.play(home, events, seed)

        findings = diagnose(Instance(home, "default", json=False)).findings
        assert all(each.good for each in findings if each.what == "instance")
