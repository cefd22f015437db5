"""Repairs: stages that get the suggested artifact in place of one that is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from localcdap.api.failures import ArtifactId
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.pipeline.document.changes import StageChange, change_stages, get_plugin_node
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import artifact_to_json
from localcdap.pipeline.validation.plugins import describe_selector


class Repair(msgspec.Struct, rename="camel"):
    """A stage that gets another artifact than the requested one, which is missing."""

    stage: str
    plugin_type: str
    plugin_name: str
    requested: ArtifactSelector
    artifact: ArtifactId
    """The artifact that the stage gets."""

    def __str__(self) -> str:
        chosen = f"{self.artifact.name} {self.artifact.version}"
        return f"Stage '{self.stage}' uses {chosen} instead of {describe_selector(self.requested)}."


def create_repair(stage: StageUse, suggested: PluginRef) -> Repair:
    use = stage.plugin
    requested = use.artifact or ArtifactSelector()
    return Repair(stage.name, use.type, use.name, requested, suggested.artifact)


def apply_repairs(document: PipelineDocument, repairs: Iterable[Repair]) -> Any:
    """Return a copy of the document's source in which repaired stages name their new artifacts."""

    def change(repair: Repair) -> StageChange:
        return lambda stage: get_plugin_node(stage).update(
            artifact=artifact_to_json(repair.artifact)
        )

    return change_stages(document, {repair.stage: change(repair) for repair in repairs})
