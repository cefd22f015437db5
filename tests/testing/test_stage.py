"""The stage tester: plugins of every kind without Spark."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from localcdap.api import (
    Action,
    ActionContext,
    BatchAggregator,
    BatchJoiner,
    BatchReducibleAggregator,
    BatchSink,
    BatchSource,
    Condition,
    ControlContext,
    Emitter,
    ErrorRecord,
    ErrorTransform,
    FormatContext,
    InputFile,
    InputFormat,
    Plugin,
    PluginConfig,
    PortEmitter,
    PostAction,
    PostActionContext,
    Record,
    Schema,
    SparkCompute,
    SplitterTransform,
    StageConfigurer,
    StageContext,
    StageError,
    StageStatistics,
    Transform,
    field,
    plugin,
)
from localcdap.api.errors import BadRequestError, InvalidPipelineError
from localcdap.testing import FormatTester, StageTester

PEOPLE = Schema.record("people", [("name", Schema.STRING), ("age", Schema.INT.as_nullable)])
ADA = {"name": "ada", "age": 36}
BOB = {"name": "bob", "age": None}


@plugin(type="transform", name="Watch", description="Uses all that a transform has.")
class Watch(Transform):
    class Config(PluginConfig):
        limit: int = field("Ages.", default=18, macro=True)
        day: str | None = field("A day.", default=None, macro=True)

    calls: list[str] = []

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if self.config.limit is not None and self.config.limit < 0:
            stage.failures.add("It is negative.", "Add.").with_config_property("limit")
            stage.failures.add("It is bad.")
        stage.set_pipeline_property("spark.x", "1")

    def configure_connected(self, stage: StageConfigurer) -> None:
        stage.failures.add(stage.locations.resolve("a.txt"))

    def initialize(self, context: StageContext) -> None:
        self.calls.append(f"initialize {context.stage_name} {context.arguments.get('who')}")
        self.context = context

    def transform(self, record: Record, emit: Emitter) -> None:
        self.context.metrics.count("seen", 2)
        if record["age"] is None:
            emit.error(record, 4, "no age")
            emit.alert({"name": record["name"]})
        elif record["age"] > self.config.limit:
            emit({"age": record["age"], "name": self.config.day or record["name"], "more": 1})

    def destroy(self) -> None:
        self.calls.append("destroy")

    def on_run_finish(self, succeeded: bool, context: StageContext) -> None:
        self.calls.append(f"finish {context.stage_name} {succeeded}")


def test_records_errors_alerts_and_metrics():
    Watch.calls.clear()
    run = StageTester(Watch, {}, PEOPLE, arguments={"who": "me"}).run([ADA, BOB])

    assert run.records == [ADA]
    assert run.errors == [{"record": BOB, "code": 4, "message": "no age", "stage": "stage"}]
    assert run.alerts == [{"name": "bob"}]
    assert run.metrics == {"seen": 4}
    assert run.ports == {}
    assert Watch.calls == ["initialize stage me", "destroy", "finish stage True"]


def test_what_configuring_gives():
    stage = StageTester(Watch, {"limit": "-1"}, PEOPLE)

    assert stage.problems == ["limit: It is negative.", "It is bad."]
    assert [f.stage for f in stage.failures] == ["stage", "stage"]
    assert stage.output_schema == PEOPLE
    assert stage.error_schema is None
    assert stage.pipeline_properties == {"spark.x": "1"}
    with pytest.raises(InvalidPipelineError, match="It is negative. Add. .*It is bad."):
        stage.run([ADA])


def test_properties_that_do_not_parse_are_failures():
    (problem,) = StageTester(Watch, {"limit": "many"}, PEOPLE).problems

    assert problem.startswith("limit: ")


def test_macros_stay_until_they_have_a_value():
    properties = {"limit": "${least}", "day": "${logicalStartTime(yyyy-MM-dd)}"}
    stage = StageTester(Watch, properties, PEOPLE)

    assert stage.problems == []
    with pytest.raises(InvalidPipelineError, match="least"):
        stage.run([ADA])
    reported = StageTester(Watch, properties, PEOPLE, arguments={"least": "35"})
    assert reported.run([ADA, {"name": "x", "age": 35}]).records == [
        {"name": "2026-01-02", "age": 36}
    ]


def test_connected_checks_are_made_in_a_directory(tmp_path: Path):
    stage = StageTester(Watch, {}, PEOPLE, directory=tmp_path)

    assert stage.problems == [f"{tmp_path}/a.txt"]


def test_a_record_that_does_not_fit_its_schema_is_named():
    stage = StageTester(Watch, {}, PEOPLE)

    with pytest.raises(StageError, match="'age'"):
        stage.run([{"name": "ada", "age": "old"}])


def test_an_unknown_input_schema():
    stage = StageTester(Watch, {}, {"in": None})

    assert stage.problems == []
    with pytest.raises(BadRequestError, match="without the schema of its input"):
        stage.run([ADA])


def test_classes_inside_a_function_and_what_they_emit_and_raise():
    @plugin(type="transform", name="Inner", description="Wrong in two ways.")
    class Inner(Transform):
        def transform(self, record: Record, emit: Emitter) -> None:
            if record["age"] is None:
                raise KeyError("age")
            emit({"name": 1, "age": 2})

    stage = StageTester(Inner, {}, PEOPLE)

    with pytest.raises(StageError, match="'name'"):
        stage.run([ADA])
    with pytest.raises(KeyError):
        stage.run([BOB])


def test_a_transform_without_an_output_schema():
    @plugin(type="transform", name="Silent", description="Sets no schema.")
    class Silent(Transform):
        def configure(self, stage: StageConfigurer) -> None: ...

        def transform(self, record: Record, emit: Emitter) -> None: ...

    with pytest.raises(StageError, match="no output schema"):
        StageTester(Silent, {}, PEOPLE).run([ADA])


def test_a_transform_gets_the_fields_that_it_reads_and_many_records_at_once():
    @plugin(type="transform", name="Few", description="Reads one field.")
    class Few(Transform):
        def configure(self, stage: StageConfigurer) -> None:
            stage.output_schema = Schema.record("o", [("fields", Schema.STRING)])

        def input_fields(self, stage: StageConfigurer) -> list[str]:
            return ["age"]

        def transform(self, record: Record, emit: Emitter) -> None:
            raise AssertionError("all at once")

        def transform_records(self, records: Sequence[Record], emit: Emitter) -> None:
            emit({"fields": " ".join(name for record in records for name in record)})

    assert StageTester(Few, {}, PEOPLE).run([ADA, BOB]).records == [{"fields": "age age"}]


def test_batches():
    import pyarrow as pa
    import pyarrow.compute as pc

    @plugin(type="transform", name="Batch", description="Upper case.")
    class Batch(Transform):
        def transform_batch(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
            upper = pc.utf8_upper(batch["name"])
            yield pa.RecordBatch.from_arrays([batch["age"], upper], names=["age", "name"])

    run = StageTester(Batch, {}, PEOPLE).run([ADA, BOB])

    assert run.records == [{"name": "ADA", "age": 36}, {"name": "BOB", "age": None}]


def test_splitters():
    @plugin(type="splittertransform", name="Split", description="By age.")
    class Split(SplitterTransform):
        def configure(self, stage: StageConfigurer) -> None:
            ports = {"old": stage.input_schema, "none": stage.input_schema}
            stage.port_schemas = ports | dict.fromkeys(stage.output_ports, PEOPLE)

        def transform(self, record: Record, emit: PortEmitter) -> None:
            emit("old" if record["age"] else "nowhere", record)

    assert StageTester(Split, {}, PEOPLE).run([ADA, BOB]).ports == {"old": [ADA], "none": []}
    asked = StageTester(Split, {}, PEOPLE, ports=["nowhere"])
    assert asked.run([BOB]).ports == {"old": [], "none": [], "nowhere": [BOB]}


def test_error_transforms():
    @plugin(type="errortransform", name="Why", description="The message.")
    class Why(ErrorTransform):
        def configure(self, stage: StageConfigurer) -> None:
            stage.output_schema = Schema.record("o", [("why", Schema.STRING)])

        def transform(self, record: ErrorRecord, emit: Emitter) -> None:
            name = record.record["name"]
            emit({"why": f"{name} {record.code} {record.message} {record.stage}"})

    failed = {"record": ADA, "code": 2, "message": "old"}
    run = StageTester(Why, {}, PEOPLE).run([failed, failed | {"stage": "check"}])

    assert run.records == [{"why": "ada 2 old input"}, {"why": "ada 2 old check"}]


def test_aggregators():
    @plugin(type="batchaggregator", name="Sum", description="Ages by both groups.")
    class Sum(BatchAggregator):
        def configure(self, stage: StageConfigurer) -> None:
            stage.output_schema = Schema.record("o", [("key", Schema.STRING), ("n", Schema.INT)])

        def group_by(self, record: Record) -> Iterable[tuple[str, int]]:
            yield ("all", 0)
            yield (record["name"], 1)

        def aggregate(self, key: tuple[str, int], records: Iterator[Record], emit: Emitter) -> None:
            emit({"key": key[0], "n": sum(record["age"] or 0 for record in records)})

    assert StageTester(Sum, {}, PEOPLE).run([ADA, BOB, ADA]).records == [
        {"key": "all", "n": 72},
        {"key": "ada", "n": 72},
        {"key": "bob", "n": 0},
    ]


def test_a_reducible_aggregator_gets_each_group_in_two_parts():
    @plugin(type="batchaggregator", name="Parts", description="What was merged.")
    class Parts(BatchReducibleAggregator):
        def configure(self, stage: StageConfigurer) -> None:
            stage.output_schema = Schema.record("o", [("parts", Schema.STRING)])

        def group_by(self, record: Record) -> Iterable[str]:
            yield "all"

        def initialize_aggregate_value(self, record: Record) -> str:
            return str(record["name"])

        def merge_values(self, value: str, record: Record) -> str:
            return f"{value} {record['name']}"

        def merge_partitions(self, value: str, other: str) -> str:
            return f"{value} | {other}"

        def finalize(self, key: str, value: str, emit: Emitter) -> None:
            emit({"parts": value})

    run = StageTester(Parts, {}, PEOPLE).run([ADA, BOB, ADA])

    assert run.records == [{"parts": "ada ada | bob"}]


def test_formats():
    class Lines(InputFormat):
        def get_schema(self, context: FormatContext) -> Schema:
            return Schema.record("line", [("n", Schema.INT), ("text", Schema.STRING.as_nullable)])

        def read(self, file: InputFile, schema: Schema) -> Iterator[Record]:
            for number, line in enumerate(file.content):
                yield {"n": number, "text": line.decode().strip()} if line.strip() else {"n": "x"}

    tester = FormatTester(Lines)

    assert (tester.problems, tester.detect(b"")) == ([], None)
    assert tester.read(b"a\nb") == [{"n": 0, "text": "a"}, {"n": 1, "text": "b"}]
    with pytest.raises(StageError, match="n"):
        tester.read(b"\n")
    with pytest.raises(BadRequestError, match="is not a validatingOutputFormat"):
        tester.write([])


@pytest.mark.parametrize(
    "base",
    [
        BatchSource,
        BatchSink,
        BatchJoiner,
        SparkCompute,
        Transform,
        SplitterTransform,
        BatchAggregator,
    ],
)
def test_plugins_that_need_spark_say_how_they_are_run(base: type[Plugin]):
    wide = type("Wide", (base,), {"apply": lambda self, df, context: df, "__module__": __name__})
    cls = plugin(type=base.types[0], name="Wide", description="DataFrames.")(wide)

    with pytest.raises(BadRequestError, match="without Spark") as error:
        StageTester(cls, {}, PEOPLE).run([ADA])

    assert base.types[0] in error.value.message
    assert "cdap_pipeline" in error.value.corrective_action


def test_what_is_no_plugin_is_refused():
    class Plain(Transform): ...

    with pytest.raises(BadRequestError, match="is not a plugin"):
        StageTester(Plain, {}, PEOPLE)


def test_the_logical_start_time_is_fixed():
    Watch.calls.clear()

    @plugin(type="transform", name="When", description="Says when.")
    class When(Watch):
        def transform(self, record: Record, emit: Emitter) -> None:
            assert self.context.logical_start_time == datetime.datetime(
                2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC
            )

    assert StageTester(When, {}, PEOPLE).run([ADA]).records == []


@plugin(type="action", name="Set", description="Sets an argument.")
class Set(Action):
    class Config(PluginConfig):
        value: str = field("Value.", default="x", macro=True)

    def run(self, context: ActionContext) -> None:
        if self.config.value == "fail":
            raise context.fail("asked to")
        context.metrics.count("set")
        context.set_argument("value", self.config.value)
        context.set_argument("seen", context.arguments["value"] + context.arguments["who"])
        context.set_argument("place", context.resolve_path("a"))


@plugin(type="postaction", name="Note", description="Tells how it ended.")
class Note(PostAction):
    def run(self, context: PostActionContext) -> None:
        context.set_argument("succeeded", str(context.succeeded))


@plugin(type="condition", name="Any", description="Whether there are records.")
class Any(Condition):
    def decide(self, context: ControlContext) -> bool:
        return context.stage_statistics["in"].output > 0


def test_actions(tmp_path: Path):
    given = {"who": "me", "v": "y"}
    stage = StageTester(Set, {"value": "${v}"}, arguments=given, directory=tmp_path)

    output = stage.act()

    assert output.arguments == {"value": "y", "seen": "yme", "place": f"{tmp_path}/a"}
    assert output.metrics == {"set": 1}
    with pytest.raises(StageError, match="Stage 'stage': asked to"):
        StageTester(Set, {"value": "fail"}).act()


def test_post_actions_run_when_they_are_asked_to():
    reported = StageTester(Note, {"runCondition": "failure"})

    assert reported.act().arguments == {}
    assert reported.act(succeeded=False).arguments == {"succeeded": "False"}


def test_conditions():
    stage = StageTester(Any, {}, PEOPLE)

    assert stage.decide({"in": StageStatistics(0, 1, 0)}) is True
    assert stage.decide({"in": StageStatistics(1, 0, 1)}) is False


def test_each_kind_has_its_own_way_to_run():
    for wrong in (
        lambda: StageTester(Set).run([]),
        lambda: StageTester(Set).decide(),
        lambda: StageTester(Any, {}, PEOPLE).run([ADA]),
        lambda: StageTester(Any, {}, PEOPLE).act(),
        lambda: StageTester(Watch, {}, PEOPLE).act(),
    ):
        with pytest.raises(BadRequestError) as error:
            wrong()
        assert "Use '" in error.value.corrective_action
