"""Entities: the rules and messages of CDAP 6 ``MetadataEntity``, and its JSON."""

from __future__ import annotations

import msgspec
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import KEY_SEQUENCES, Metadata, MetadataEntity, ScopedMetadata
from localcdap.decoders import decode_json

PROGRAM = MetadataEntity.of_program("DataPipelineWorkflow", "Workflow", "sales", "ns")


def test_the_last_key_is_the_type_unless_another_is_given() -> None:
    assert MetadataEntity({"field": "value", "hype": "custom"}).type == "hype"
    assert MetadataEntity({"field": "value", "hype": "custom"}, "field").type == "field"


def test_keys_are_stored_in_lower_case_and_values_as_they_are() -> None:
    entity = MetadataEntity({"NameSpace": "N", "DataSet": "D"}, "DATASET")
    assert entity == MetadataEntity.of_dataset("D", "N")
    assert entity.details == {"namespace": "N", "dataset": "D"}


@pytest.mark.parametrize("sequence", [each for some in KEY_SEQUENCES.values() for each in some])
def test_each_key_sequence_of_a_cdap_type_is_allowed(sequence: tuple[str, ...]) -> None:
    type = next(each for each, allowed in KEY_SEQUENCES.items() if sequence in allowed)
    assert MetadataEntity(dict.fromkeys(sequence, "x"), type).type == type


@pytest.mark.parametrize(
    ("details", "type", "message"),
    [
        ({}, "", "key-value pair must be specified"),
        ({"": "x"}, "", "Key cannot be null or empty"),
        ({"a": "x", "A": "y"}, "", "key 'A' already exists in '{a=x}'"),
        (
            {"dataset": "d", "namespace": "n"},
            "dataset",
            (
                "Failed to build MetadataEntity of type 'dataset' from '{dataset=d, namespace=n}'. "
                "Type 'dataset' is a CDAP entity type and must follow one of the following key hierarchies "
                "'[[namespace, dataset], [dataset]]'."
            ),
        ),
        ({"a": "x"}, "b", "The type 'b' of an entity is none of its keys ['a']."),
    ],
)
def test_what_is_no_entity_is_refused(details: dict[str, str], type: str, message: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        MetadataEntity(details, type)
    assert refused.value.message == message


def test_an_artifact_needs_its_version() -> None:
    with pytest.raises(BadRequestError, match="Type 'artifact' is a CDAP entity type"):
        MetadataEntity({"namespace": "n", "artifact": "a"})


def test_append_makes_an_entity_inside_another_one() -> None:
    field = MetadataEntity.of_dataset("d").append("field", "email")
    assert (field.type, field.name) == ("field", "email")
    assert field.append("Part", "x").type == "part"
    with pytest.raises(BadRequestError, match="key 'field' already exists in"):
        field.append("field", "other")


def test_a_relative_entity_gets_the_namespace_and_others_keep_theirs() -> None:
    relative = MetadataEntity.of_dataset("d").append("field", "f")
    assert relative.resolve("n").details == {"namespace": "n", "dataset": "d", "field": "f"}
    assert MetadataEntity.of_dataset("d", "m").resolve("n").namespace == "m"


def test_head_is_the_entity_up_to_a_key() -> None:
    assert PROGRAM.head("Application") == {"namespace": "ns", "application": "sales"}
    with pytest.raises(BadRequestError, match="The given key dataset does not exists in"):
        PROGRAM.head("dataset")


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (MetadataEntity.of_namespace("n"), "namespace: n"),
        (MetadataEntity.of_dataset("d", "n"), "dataset: d which exists in namespace: n"),
        (MetadataEntity.of_application("a", "n"), "application: a deployed in namespace: n"),
        (
            MetadataEntity({"namespace": "n", "application": "a", "version": "1"}, "application"),
            "application: a of version: 1 deployed in namespace: n",
        ),
        (
            MetadataEntity.of_artifact("a", "1.0", "n"),
            "artifact: a of version: 1.0 deployed in namespace: n",
        ),
        (
            PROGRAM,
            "workflow: DataPipelineWorkflow in application: sales deployed in namespace: ns",
        ),
        (
            PROGRAM.append("program_run", "r"),
            (
                "program_run: r of workflow: DataPipelineWorkflow in application: sales "
                "deployed in namespace: ns"
            ),
        ),
        (
            MetadataEntity({"namespace": "n", "application": "a", "schedule": "s"}),
            "schedule: s in application: a deployed in namespace: n",
        ),
        (MetadataEntity({"k": "v", "l": "w"}), "k=v,l=w of type 'l'"),
    ],
)
def test_entities_are_described_as_the_original_does(entity: MetadataEntity, text: str) -> None:
    assert entity.describe() == text


def test_json_has_details_and_type_and_is_checked_when_it_is_read() -> None:
    text = b'{"details":{"namespace":"ns1","dataset":"ds1"},"type":"dataset"}'
    entity = decode_json(text, MetadataEntity)
    assert entity == MetadataEntity.of_dataset("ds1", "ns1")
    assert msgspec.json.encode(entity) == text
    with pytest.raises(BadRequestError, match="Type 'dataset' is a CDAP entity type"):
        decode_json(b'{"details":{"dataset":"d","field":"f"},"type":"dataset"}', MetadataEntity)


def test_equal_entities_are_equal_keys() -> None:
    assert {MetadataEntity.of_dataset("d", "n"): 1}[
        MetadataEntity({"namespace": "n", "dataset": "d"})
    ]


def test_metadata_is_json_by_scope() -> None:
    metadata = ScopedMetadata(user=Metadata.of({"k": "v"}, ["b", "a", "b"]))
    assert msgspec.json.encode(metadata) == (
        b'{"USER":{"properties":{"k":"v"},"tags":["a","b"]},"SYSTEM":{"properties":{},"tags":[]}}'
    )
    assert not metadata.is_empty()
    assert metadata.system.is_empty()
