from __future__ import annotations

import datetime
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given

from localcdap.api.errors import SchemaError
from localcdap.api.failures import ArtifactId, FailureCollector
from localcdap.api.pipeline import (
    OutputPort,
    PipelineSpec,
    PipelineValidation,
    PluginSpec,
    PostActionSpec,
    Resources,
    StageConnection,
    StageSpec,
    StageValidation,
)
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import decode_schema, encode_schema, pack, unpack
from tests.api.strategies import SCHEMAS

ROW = Schema.record("row", [("a", Schema.INT)])
PLUGIN = PluginSpec("transform", "Hasher", {"hash": "MD5"}, ArtifactId("core", "1.0.0", "SYSTEM"))


def stage() -> StageSpec:
    return StageSpec(
        name="hash",
        plugin=PLUGIN,
        input_schemas={"src": ROW, "other": None},
        input_stages=["src", "other"],
        output_ports={"sink": OutputPort(None, ROW)},
        port_schemas={},
        output_schema=ROW,
        error_schema=None,
    )


def pipeline() -> PipelineSpec:
    return PipelineSpec(
        stages=[stage()],
        connections=[StageConnection("src", "hash"), StageConnection("split", "x", port="big")],
        resources=Resources(),
        driver_resources=Resources(2048, 2),
        client_resources=Resources(),
        stage_logging_enabled=True,
        process_timing_enabled=False,
        num_of_records_preview=100,
        properties={"spark.x": "1"},
        ending_actions=[PostActionSpec("mail", PLUGIN)],
        engine="spark",
    )


def as_json(value) -> dict:
    return json.loads(msgspec.json.encode(value, enc_hook=encode_schema))


def test_a_stage_in_json_has_cdaps_keys_and_schemas_as_objects():
    document = ROW.to_json()

    assert as_json(stage()) == {
        "name": "hash",
        "plugin": {
            "type": "transform",
            "name": "Hasher",
            "properties": {"hash": "MD5"},
            "artifact": {"name": "core", "version": "1.0.0", "scope": "SYSTEM"},
        },
        "inputSchemas": {"src": document, "other": None},
        "inputStages": ["src", "other"],
        "outputPorts": {"sink": {"port": None, "schema": document}},
        "portSchemas": {},
        "outputSchema": document,
        "errorSchema": None,
        "stageLoggingEnabled": True,
        "processTimingEnabled": True,
        "maxPreviewRecords": 100,
    }


def test_a_pipeline_in_json_has_cdaps_keys():
    made = as_json(pipeline())

    assert set(made) == {
        "stages",
        "connections",
        "resources",
        "driverResources",
        "clientResources",
        "stageLoggingEnabled",
        "processTimingEnabled",
        "numOfRecordsPreview",
        "properties",
        "endingActions",
        "engine",
        "connectionsUsed",
    }
    assert made["connections"][1] == {"from": "split", "to": "x", "port": "big", "condition": None}
    assert made["driverResources"] == {"memoryMB": 2048, "virtualCores": 2}


def answers() -> list:
    failures = FailureCollector("hash")
    failures.add("Wrong.").with_config_property("hash")
    return [
        PipelineValidation([], pipeline()),
        PipelineValidation(list(failures), None),
        StageValidation([], stage()),
        StageValidation(list(failures), None),
    ]


@pytest.mark.parametrize(
    "answer", answers(), ids=["pipeline", "failures", "stage", "stage failures"]
)
def test_answers_survive_json_and_messagepack(answer):
    encoded = msgspec.json.encode(answer, enc_hook=encode_schema)

    assert msgspec.json.decode(encoded, type=type(answer), dec_hook=decode_schema) == answer
    assert unpack(pack(answer), type(answer)) == answer


def test_integers_beyond_64_bits_become_floats():
    value = {"a": [2**70, -(10**400)], "b": 2**64 - 1, "c": datetime.date(2020, 1, 1), "d": b"x"}
    read = unpack(pack(value), Any)
    assert read == value | {"a": [float(2**70), -math.inf], "c": "2020-01-01"}


@given(SCHEMAS)
def test_schemas_survive_both_codecs(schema):
    port = OutputPort("p", schema)
    encoded = msgspec.json.encode(port, enc_hook=encode_schema)

    assert msgspec.json.decode(encoded, type=OutputPort, dec_hook=decode_schema) == port
    assert unpack(pack(port), OutputPort) == port


def test_what_is_no_struct_is_refused():
    with pytest.raises(NotImplementedError, match="A object cannot be encoded"):
        pack(object())
    with pytest.raises(NotImplementedError, match="A object cannot be encoded"):
        msgspec.json.encode(object(), enc_hook=encode_schema)


@pytest.mark.parametrize("garbage", [b"", b"\xc1", b"\x91" * 5000, pack({"port": 5})])
def test_garbage_is_a_decoding_error(garbage):
    with pytest.raises(msgspec.DecodeError):
        unpack(garbage, OutputPort)


def test_a_wrong_schema_in_a_message_is_a_schema_error():
    with pytest.raises((SchemaError, msgspec.ValidationError), match="Unknown type 'nope'"):
        unpack(pack({"port": None, "schema": "nope"}), OutputPort)


def test_a_connection_is_shown_as_an_arrow():
    assert str(StageConnection("a", "b")) == "a -> b"
