"""Operations of stages and of the platform, in short."""

from __future__ import annotations

from localcdap.api.lineage import (
    EndPoint,
    FieldReadOperation,
    FieldTransformOperation,
    FieldWriteOperation,
)
from localcdap.api.pipeline import StageConnection
from localcdap.metadata.lineage.pipeline_operations import (
    InputField,
    PlatformRead,
    PlatformTransform,
    PlatformWrite,
)


def connect(*pairs):
    """Connections from texts such as ``n1-n2-n3``."""
    return [
        StageConnection(source, target)
        for pair in pairs
        for source, target in zip(pair.split("-"), pair.split("-")[1:], strict=False)
    ]


def reads(name, end_point, *fields, **properties):
    return FieldReadOperation(name, "reads", EndPoint(end_point, "ns", properties), fields)


def makes(name, taken, *made):
    return FieldTransformOperation(name, "makes", taken, made)


def writes(name, end_point, *fields, **properties):
    return FieldWriteOperation(name, "writes", EndPoint(end_point, "ns", properties), fields)


def taken(*pairs):
    """Input fields from texts such as ``n1.read:body``."""
    return tuple(InputField(*pair.split(":")) for pair in pairs)


def read(name, end_point, *fields, **properties):
    stage = name.split(".")[0]
    source = EndPoint(end_point, "ns", {**properties, "stageName": stage})
    return PlatformRead(name, "reads", source, fields)


def make(name, inputs, *made):
    return PlatformTransform(name, "makes", taken(*inputs), made)


def merge(stages, field, *origins):
    inputs = taken(*(f"{origin}:{field}" for origin in origins))
    return PlatformTransform(
        f"{stages}.merge.{field}", f"Merged stages: {stages}", inputs, (field,)
    )


def write(name, end_point, *inputs, **properties):
    stage = name.split(".")[0]
    destination = EndPoint(end_point, "ns", {**properties, "stageName": stage})
    return PlatformWrite(name, "writes", destination, taken(*inputs))


def assert_same(found, expected):
    assert {each.name: each for each in found} == {each.name: each for each in expected}
    assert len(found) == len(expected)
