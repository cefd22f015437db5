"""The test kit gives metadata to plugins, and returns what they emit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from localcdap.api import (
    Action,
    ActionContext,
    Emitter,
    Metadata,
    MetadataEntity,
    MetadataScope,
    PrepareContext,
    Record,
    StageContext,
    Transform,
    plugin,
)
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.metadata import MetadataOperation, OperationKind, ScopedMetadata
from localcdap.api.schema import Schema
from localcdap.testing import StageTester

PEOPLE = Schema.record("people", [("name", Schema.STRING)])
NAME = MetadataEntity.of_dataset("people").append("field", "name")
TAGGED = {NAME: ScopedMetadata(user=Metadata.of({"owner": "Anna"}, ["confidential"]))}


@plugin(type="transform", name="Hide", description="Hides confidential names.")
class Hide(Transform):
    def prepare_run(self, context: PrepareContext) -> None:
        found = context.get_metadata(MetadataScope.USER, NAME)
        sink = MetadataEntity.of_dataset(context.arguments["sink"], "other").append("field", "name")
        context.add_properties(sink, found.properties)
        context.add_tags(sink, *found.tags)
        context.remove_tags(sink, "public")
        context.remove_properties(sink)
        context.remove_metadata(sink.append("part", "x"))

    def metadata_entities(self, arguments: Mapping[str, str]) -> list[MetadataEntity]:
        return [NAME] if arguments.get("declares") != "nothing" else []

    def initialize(self, context: StageContext) -> None:
        self.hides = "confidential" in context.get_metadata(MetadataScope.USER, NAME).tags

    def transform(self, record: Record, emit: Emitter) -> None:
        emit({"name": "hidden"} if self.hides else record)


@plugin(type="action", name="Tag", description="Tags.")
class Tag(Action):
    def prepare_run(self, context: PrepareContext) -> None:
        context.add_tags(NAME, context.arguments["tag"])

    def run(self, context: ActionContext) -> None:
        context.set_argument("done", "yes")


def make(metadata: Mapping[MetadataEntity, ScopedMetadata], **arguments: str) -> StageTester:
    return StageTester(
        Hide, inputs=PEOPLE, arguments={"sink": "copy"} | arguments, metadata=metadata
    )


def test_given_metadata_is_read_and_emissions_are_returned() -> None:
    output = make(TAGGED).run([{"name": "ada"}])
    assert output.records == [{"name": "hidden"}]
    sink = MetadataEntity.of_dataset("copy", "other").append("field", "name")
    assert output.metadata == [
        MetadataOperation(OperationKind.PUT, sink, properties={"owner": "Anna"}),
        MetadataOperation(OperationKind.PUT, sink, tags=["confidential"]),
        MetadataOperation(OperationKind.DELETE, sink, tags=["public"]),
        MetadataOperation(OperationKind.DELETE_ALL_PROPERTIES, sink),
        MetadataOperation(OperationKind.DELETE_ALL, sink.append("part", "x")),
    ]


def test_an_entity_that_is_not_given_has_no_metadata() -> None:
    assert make({}).run([{"name": "ada"}]).records == [{"name": "ada"}]


def test_undeclared_metadata_cannot_be_read_in_initialize() -> None:
    with pytest.raises(StageError, match="which its plugin does not declare"):
        make(TAGGED, declares="nothing").run([{"name": "ada"}])


def test_an_action_prepares_too_and_illegal_tags_are_refused() -> None:
    output = StageTester(Tag, arguments={"tag": "gold"}).act()
    assert [each.tags for each in output.metadata] == [["gold"]]
    assert output.metadata[0].entity.namespace == "default"
    with pytest.raises(BadRequestError, match="Illegal format for 'a b'"):
        StageTester(Tag, arguments={"tag": "a b"}).act()
