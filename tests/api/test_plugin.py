from __future__ import annotations

from typing import Any

import pytest

from localcdap.api import (
    BatchAggregator,
    BatchJoiner,
    BatchSink,
    BatchSource,
    ErrorTransform,
    Plugin,
    Schema,
    SparkCompute,
    SparkSink,
    SplitterTransform,
    StageConfigurer,
    Transform,
    plugin,
)
from localcdap.api.errors import ConflictError
from localcdap.api.plugin import PLUGIN_MARK, Grain

ROW = Schema.record("row", [("a", Schema.INT)])


def sub(base: type[Plugin], *methods: str) -> Any:
    return type("Sub", (base,), {name: lambda self, *args: None for name in methods})


@pytest.mark.parametrize(
    ("base", "methods", "grain"),
    [
        (Transform, ["transform"], Grain.RECORD),
        (Transform, ["transform_batch"], Grain.BATCH),
        (Transform, ["apply"], Grain.DATAFRAME),
        (Transform, ["transform", "transform_batch"], Grain.BATCH),
        (Transform, ["transform", "transform_batch", "apply"], Grain.DATAFRAME),
        (Transform, [], Grain.NONE),
        (SplitterTransform, ["transform"], Grain.RECORD),
        (SplitterTransform, ["apply"], Grain.DATAFRAME),
        (ErrorTransform, ["transform"], Grain.RECORD),
        (BatchAggregator, ["group_by", "aggregate"], Grain.RECORD),
        (BatchAggregator, ["apply"], Grain.DATAFRAME),
        (BatchJoiner, ["apply"], Grain.DATAFRAME),
        (SparkCompute, ["apply"], Grain.DATAFRAME),
        (BatchSource, ["read"], Grain.DATAFRAME),
        (BatchSink, ["write"], Grain.DATAFRAME),
        (SparkSink, ["write"], Grain.DATAFRAME),
        (Plugin, [], Grain.NONE),
    ],
)
def test_the_widest_grain_that_a_class_offers(base, methods, grain):
    assert sub(base, *methods).grain() is grain


def test_a_method_may_come_from_a_base_or_a_mixin():
    parent = sub(Transform, "transform")
    mixin = type("Mixin", (), {"apply": lambda self, df, context: df})

    assert sub(parent).grain() is Grain.RECORD
    mixed: Any = type("Mixed", (mixin, parent), {})
    assert mixed.grain() is Grain.DATAFRAME


def test_a_class_becomes_a_plugin():
    @plugin(type="transform", name=" Hasher ", description="Hashes. ")
    class Hasher(Transform):
        pass

    assert vars(Hasher)[PLUGIN_MARK] == ("transform", "Hasher", "Hashes.")
    assert PLUGIN_MARK not in vars(sub(Hasher))


def test_a_plugin_has_the_type_of_its_base_class():
    @plugin(name="Hasher", description="Hashes.")
    class Hasher(Transform):
        pass

    assert vars(Hasher)[PLUGIN_MARK] == ("transform", "Hasher", "Hashes.")


@pytest.mark.parametrize("base", [Plugin, object])
def test_a_class_without_a_type_is_no_plugin(base):
    with pytest.raises(TypeError, match="extends one of the plugin base classes"):
        plugin(name="Hasher", description="Hashes.")(type("Hasher", (base,), {}))


@pytest.mark.parametrize(
    ("base", "type_", "message"),
    [
        (Transform, "batchsource", "Sub: unknown plugin type 'batchsource'; allowed: transform."),
        (SparkSink, "batchsink", "Sub: unknown plugin type 'batchsink'; allowed: sparksink."),
        (Plugin, "action", "Sub: unknown plugin type 'action'; allowed: none; extend one of"),
    ],
)
def test_the_type_must_be_one_of_the_base_class(base, type_, message):
    with pytest.raises(TypeError) as caught:
        plugin(type=type_, name="x", description="y")(sub(base))

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("name", "description"), [("", "x"), ("x", " ")])
def test_a_plugin_needs_name_and_description(name, description):
    with pytest.raises(TypeError, match="Sub: a plugin needs a name and a description"):
        plugin(type="transform", name=name, description=description)(sub(Transform))


def test_by_default_the_input_schema_is_passed_on_but_not_by_sinks():
    through, sink = (StageConfigurer("s", {"in": ROW}) for _ in range(2))
    Transform(None).configure(through)
    BatchSink(None).configure(sink)

    assert through.output_schema == ROW
    assert sink.output_schema is None


def test_the_input_schema_is_the_first_known_one():
    assert StageConfigurer("s", {"a": None, "b": ROW}).input_schema == ROW
    assert StageConfigurer("s", {"a": None}).input_schema is None
    assert StageConfigurer("s", {}).input_schema is None


def test_failures_of_a_stage_know_stage_and_inputs():
    stage = StageConfigurer("s", {"a": ROW, "b": None}, output_ports=["big"])
    failure = stage.failures.add("Wrong.").with_input_field("x").failure

    assert failure.stage == "s"
    assert [c.attributes["inputStage"] for c in failure.causes] == ["a", "b"]
    assert stage.output_ports == ("big",)


def test_a_pipeline_property_has_one_value():
    stage = StageConfigurer("s", {})
    stage.set_pipeline_property("k", "v")
    stage.set_pipeline_property("k", "v")

    with pytest.raises(ConflictError, match="Stage 's' sets pipeline property 'k' twice"):
        stage.set_pipeline_property("k", "other")
    assert stage.pipeline_properties == {"k": "v"}


@pytest.mark.parametrize(
    ("base", "method", "arguments"),
    [
        (BatchSource, "read", 1),
        (BatchSink, "write", 2),
        (Transform, "transform", 2),
        (Transform, "transform_batch", 1),
        (Transform, "apply", 2),
        (SplitterTransform, "transform", 2),
        (ErrorTransform, "transform", 2),
        (BatchAggregator, "group_by", 1),
        (BatchAggregator, "aggregate", 3),
        (BatchJoiner, "apply", 2),
        (SparkCompute, "apply", 2),
    ],
)
def test_what_a_class_does_not_offer_is_not_implemented(base, method, arguments):
    with pytest.raises(NotImplementedError):
        getattr(base(None), method)(*[None] * arguments)
