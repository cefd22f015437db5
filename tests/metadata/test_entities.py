"""Paths of entities are read as CDAP 6 ``MetadataHttpHandler`` reads them, and can be written again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import MetadataEntity
from localcdap.metadata.entities import format_entity, from_key, parse_entity, to_key

PROGRAM = MetadataEntity.of_program("p", "Workflow", "a", "n")


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("namespaces/n", MetadataEntity.of_namespace("n")),
        ("namespaces/n/datasets/d", MetadataEntity.of_dataset("d", "n")),
        ("datasets/d", MetadataEntity.of_dataset("d", "default")),
        ("dataset:d", MetadataEntity.of_dataset("d", "default")),
        ("dataset:a:b", MetadataEntity.of_dataset("a:b", "default")),
        (
            "datasets/orders/field/email",
            MetadataEntity.of_dataset("orders", "default").append("field", "email"),
        ),
        ("apps/Sales", MetadataEntity.of_application("Sales", "default")),
        ("namespaces/n/apps/a/workflows/p", PROGRAM),
        (
            "apps/a/versions/1.0",
            MetadataEntity(
                {"namespace": "default", "application": "a", "version": "1.0"}, "application"
            ),
        ),
        ("artifacts/a/versions/1.0", MetadataEntity.of_artifact("a", "1.0", "default")),
        (
            "apps/a/spark/s/program_runs/r",
            MetadataEntity.of_program("s", "Spark", "a", "default").append("program_run", "r"),
        ),
        (
            "apps/a/schedules/s",
            MetadataEntity({"namespace": "default", "application": "a", "schedule": "s"}),
        ),
        ("Jar/x/part/y", MetadataEntity({"namespace": "default", "jar": "x", "part": "y"})),
    ],
)
def test_paths_are_read(text: str, entity: MetadataEntity) -> None:
    assert parse_entity(text, "default") == entity


def test_another_key_can_be_the_type() -> None:
    entity = parse_entity("field/f/hype/h", type="FIELD")
    assert entity == MetadataEntity({"field": "f", "hype": "h"}, "field")
    with pytest.raises(BadRequestError, match="The type 'x' is none of the keys of 'field/f'"):
        parse_entity("field/f", type="x")


@pytest.mark.parametrize(
    "text", ["", "orders", "datasets", "datasets/", "datasets/a/field", "a//b"]
)
def test_incomplete_paths_are_refused(text: str) -> None:
    with pytest.raises(BadRequestError, match="is not the path of an entity"):
        parse_entity(text)


def test_a_key_may_be_there_once() -> None:
    with pytest.raises(BadRequestError, match="has the key 'dataset' twice"):
        parse_entity("datasets/a/dataset/b")


NAMES = st.text(
    st.characters(categories=["L", "N"], include_characters=" .:-_\x1e\x1f01"), min_size=1
)


@given(
    st.one_of(
        st.builds(MetadataEntity.of_dataset, NAMES, NAMES),
        st.builds(MetadataEntity.of_application, NAMES, NAMES),
        st.builds(MetadataEntity.of_artifact, NAMES, NAMES, NAMES),
        st.builds(
            MetadataEntity.of_program, NAMES, st.sampled_from(["Workflow", "Spark"]), NAMES, NAMES
        ),
        st.builds(lambda d, f: MetadataEntity.of_dataset(d).append("field", f), NAMES, NAMES),
    )
)
def test_entities_are_written_so_that_they_are_read_back(entity: MetadataEntity) -> None:
    assert parse_entity(format_entity(entity)) == entity
    assert from_key(to_key(entity)) == entity


def test_the_own_namespace_is_left_out() -> None:
    entity = MetadataEntity.of_dataset("d", "n")
    assert format_entity(entity, relative_to="n") == "datasets/d"
    assert format_entity(entity, relative_to="m") == "namespaces/n/datasets/d"
    assert format_entity(MetadataEntity.of_namespace("n"), relative_to="n") == "namespaces/n"
    assert format_entity(PROGRAM, relative_to="n") == "apps/a/workflows/p"


@pytest.mark.parametrize("spelling", ["WORKFLOW", "workflow", "Workflow"])
def test_the_type_of_a_program_has_one_spelling(spelling: str) -> None:
    entity = MetadataEntity.of_program("DataPipelineWorkflow", spelling, "a", "n")
    assert entity == parse_entity("namespaces/n/apps/a/workflows/DataPipelineWorkflow")
    assert to_key(entity) == to_key(from_key(to_key(entity)))
    assert entity.details["type"] == "Workflow"
    custom = MetadataEntity({"type": "WORKFLOW", "jar": "x"})
    assert custom.details["type"] == "WORKFLOW"
