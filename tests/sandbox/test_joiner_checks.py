"""What the framework checks of joiners that say which stages they join."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.api.failures import ArtifactId
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage

CODE = """
from localcdap.api import BatchJoiner, PluginConfig, field, plugin

@plugin(type="batchjoiner", name="J", description="Joins.")
class J(BatchJoiner):
    class Config(PluginConfig):
        stages: list[str] = field("Stages.", default=None)
    def configure(self, stage):
        if self.config.stages:
            stage.joined_stages = self.config.stages
"""
SCHEMA = Schema.record("r", [("a", Schema.INT)])


@pytest.mark.parametrize(
    ("joined", "reported"),
    [
        ("", []),
        ("a,b", []),
        ("b", ["Joiner stage 'join' did not include input stage a in the join."]),
        ("a,b,c", ["Joiner stage 'join' is trying to join stage c, which is not an input."]),
        (
            "c,d",
            [
                "Joiner stage 'join' did not include input stages a, b in the join.",
                "Joiner stage 'join' is trying to join stages c, d, which are not inputs.",
            ],
        ),
    ],
)
def test_joined_stages_must_be_the_inputs(tmp_path: Path, joined: str, reported: list[str]):
    file = tmp_path / "join-1.0.0.py"
    file.write_text(CODE)
    ref = PluginRef(
        ArtifactId("join", "1.0.0", "USER"), str(file), joined, "batchjoiner", "J", "join.J"
    )

    result = configure_stage(
        ConfigureRequest(ref, "join", {"stages": joined}, input_schemas={"a": SCHEMA, "b": SCHEMA})
    )

    assert [failure.message for failure in result.failures] == reported
