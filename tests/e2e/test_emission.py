"""``kill -9`` of the host and the run of the installed program loses nothing that a plugin has emitted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcdap.api.serialization.value_types import unpack
from localcdap.engine.messages.spool import Message, MetadataOperations
from localcdap.messaging.consumer import SpoolReader
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, write
from tests.e2e.program import Program, wait_until
from tests.e2e.test_host import kill_host
from tests.run_processes import run_process

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COUNT = 600
EMITTER = f"""
from localcdap.api import MetadataEntity, SparkCompute, plugin


@plugin(type="sparkcompute", name="Emit", description="Emits numbered properties, and waits.")
class Emit(SparkCompute):
    def prepare_run(self, context):
        for number in range({COUNT}):
            entity = MetadataEntity({{"jar": f"e{{number % 3}}"}})
            context.add_properties(entity, {{"n": str(number)}})

    def apply(self, df, context):
        import time

        while True:
            time.sleep(0.1)
"""


def list_numbers(program: Program, entity: str) -> list[int]:
    """The values that the property ``n`` of an entity has had, from the audit log."""
    answer = program("audit", f"jar/{entity}", "--json", "--limit", str(COUNT))
    messages = json.loads(answer.out) if answer.out.strip() else []
    return [int(each["payload"]["additions"]["USER"]["properties"]["n"]) for each in messages][::-1]


def wait_for_count(program: Program, entity: str, count: int) -> None:
    wait_until(lambda: len(list_numbers(program, entity)) >= count, f"all of {entity} is stored")


def test_what_was_emitted_outlives_the_host_and_the_run(program: Program, tmp_path: Path) -> None:
    plugins = program.home / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "emitter-1.0.0.py").write_text(EMITTER)
    (tmp_path / "in.csv").write_text("1\n")
    stages = [
        csv_source("In", tmp_path / "in.csv", schema(id="int")),
        {"name": "Emit", "plugin": {"type": "sparkcompute", "name": "Emit", "properties": {}}},
        json_sink("Out", tmp_path / "out"),
    ]
    document = pipeline(stages, ("In", "Emit"), ("Emit", "Out"))
    command = program.start("run", write(document, tmp_path / "p.json"), "--json")
    spool = wait_until(lambda: list((program.home / "runs").glob("*/spool")), "a spool")[0]
    wait_until(lambda: spool.stat().st_size > COUNT * 20, "emissions are in the spool")
    command.kill()
    kill_host(program)
    run_process(spool.parent.name).kill()
    command.communicate()

    found = [unpack(data, Message) for _, data in SpoolReader(spool).read()]
    emitted = [
        each.operations[0].properties["n"] for each in found if isinstance(each, MetadataOperations)
    ]
    assert [int(each) for each in emitted] == list(range(len(emitted)))
    assert emitted
    for place in range(3):
        expected = list(range(place, len(emitted), 3))
        wait_for_count(program, f"e{place}", len(expected))
        assert list_numbers(program, f"e{place}") == expected
