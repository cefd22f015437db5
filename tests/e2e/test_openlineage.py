"""Events of OpenLineage from a host in the background, which is killed again and again."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from localcdap.home import Home
from localcdap.host import connect
from localcdap.pipeline.library.application_model import DeployRequest
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema
from tests.e2e.program import Program
from tests.openlineage.validation import read_events, wait_until

ROW = schema(id="int")


def deploy(home: Path, name: str) -> None:
    """Deploy a pipeline; the host is killed right after."""
    stages = [csv_source("In", home / f"{name}.csv", ROW), json_sink("Out", home / "out")]
    document = pipeline(stages, ("In", "Out")) | {"name": name}
    with connect(Home(home)) as cdap:
        assert cdap.applications.deploy(DeployRequest(document)).application
        os.kill(cdap.host_pid, signal.SIGKILL)


@pytest.mark.slow
def test_each_deployment_has_one_event_although_the_host_is_killed(program: Program) -> None:
    file = program.home / "lineage" / "events.jsonl"
    settings = '[openlineage]\nfile = "lineage/events.jsonl"\n'
    (program.home / "localcdap.toml").write_text(settings, encoding="utf-8")
    names = [f"p{number}" for number in range(5)]
    for name in names:
        deploy(program.home, name)
    with connect(Home(program.home)) as cdap:
        wait_until(lambda: len(read_events(file)) >= len(names))
        wait_until(lambda: not cdap.openlineage.list_destinations()[0].waiting)
    events = read_events(file)
    assert Counter(each["job"]["name"] for each in events) == Counter(names)
    for event in events:
        (read,) = event["inputs"]
        assert read["name"] == str(program.home / f"{event['job']['name']}.csv")
    assert program("openlineage").code == 0
