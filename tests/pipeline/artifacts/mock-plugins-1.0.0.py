"""One small plugin of each type, for the tests of the studio."""

import pathlib
import time

from localcdap.api import (
    BatchAggregator,
    BatchJoiner,
    BatchSink,
    BatchSource,
    ErrorTransform,
    Plugin,
    PluginConfig,
    Schema,
    SplitterTransform,
    StageConfigurer,
    Transform,
    field,
    plugin,
)


class Control(Plugin):
    types = ("action", "sparkprogram", "condition", "alertpublisher", "postaction")

    def configure(self, stage: StageConfigurer) -> None:
        if any(schema is not None for schema in stage.input_schemas.values()):
            stage.output_schema = stage.input_schema


@plugin(type="batchsource", name="Source", description="Declares its schema.")
class Source(BatchSource):
    class Config(PluginConfig):
        schema: Schema | None = field("Schema.", default=None, macro=True)
        path: str = field("Path.", default="/in", macro=True)
        literal: str = field("No macros here.", default="")

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema
        if self.config.path == "bad":
            stage.failures.add("No such path.").with_config_property("path")


@plugin(type="batchsource", name="Looking", description="Takes its fields from a file.")
class Looking(BatchSource):
    class Config(PluginConfig):
        path: str = field("Where the names of the fields stand.", macro=True)

    def configure_connected(self, stage: StageConfigurer) -> None:
        try:
            names = pathlib.Path(stage.resolve_path(self.config.path)).read_text().split()
        except OSError:
            stage.failures.add("There is no such file.").with_config_property("path")
        else:
            fields = [(name, Schema.STRING) for name in names]
            stage.output_schema = Schema.record("found", fields)


@plugin(type="transform", name="Pass", description="Passes records on.")
class Pass(Transform):
    class Config(PluginConfig):
        wanted: str | None = field("A field of the input.", default=None, name="field")
        note: str = field("Any text.", default="", macro=True)
        engine: str | None = field("Value of the property 'p'.", default=None)
        output: Schema | None = field("Output schema.", default=None)

    def configure(self, stage: StageConfigurer) -> None:
        schema, wanted = stage.input_schema, self.config.wanted
        if wanted and schema is not None and schema.field(wanted) is None:
            failure = stage.failures.add(f"Field '{wanted}' must exist in the input schema.")
            failure.with_config_property("field").with_input_field(wanted)
        if self.config.engine:
            stage.set_pipeline_property("p", self.config.engine)
        stage.output_schema = self.config.output or schema


@plugin(type="transform", name="Listed", description="Its input must have the fields of a file.")
class Listed(Transform):
    class Config(PluginConfig):
        path: str = field("Where the names of the fields stand.")

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if stage.input_schema is None:
            stage.failures.add("The fields of the input are not known.")

    def configure_connected(self, stage: StageConfigurer) -> None:
        names = pathlib.Path(stage.resolve_path(self.config.path)).read_text().split()
        known = stage.input_schema.field_names if stage.input_schema is not None else []
        for name in names:
            if name not in known:
                stage.failures.add(f"The input has no field '{name}'.")


@plugin(type="transform", name="Strict", description="Has a required property and no schema.")
class Strict(Transform):
    class Config(PluginConfig):
        needed: str = field("Required.", macro=True)
        number: int = field("A number.", default=1)

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema


@plugin(type="transform", name="Coded", description="Has an error schema of its own.")
class Coded(Transform):
    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        stage.error_schema = Schema.record("error", [("code", Schema.INT)])


@plugin(type="transform", name="Quote", description="Tells the value of a property.")
class Quote(Transform):
    class Config(PluginConfig):
        text: str | None = field("Quoted in a failure.", default=None, macro=True)
        property: str | None = field("Value of the property 'p'.", default=None, macro=True)

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if self.config.text:
            stage.failures.add(f"'{self.config.text}' is wrong.").with_config_property("text")
        if self.config.property:
            stage.set_pipeline_property("p", self.config.property)


@plugin(type="transform", name="Slow", description="Does not come to an end.")
class Slow(Transform):
    class Config(PluginConfig):
        until: str = field("It ends when there is this file.", default="/nowhere/at/all")

    def configure(self, stage: StageConfigurer) -> None:
        while not pathlib.Path(self.config.until).exists():
            time.sleep(0.01)


@plugin(type="batchsink", name="Sink", description="Swallows records.")
class Sink(BatchSink):
    class Config(PluginConfig):
        path: str = field("Path.", default="/out", macro=True)
        wanted: str | None = field("A field of the input.", default=None, name="field")

    def configure(self, stage: StageConfigurer) -> None:
        schema, wanted = stage.input_schema, self.config.wanted
        if wanted and schema is not None and schema.field(wanted) is None:
            failure = stage.failures.add(f"Field '{wanted}' must exist in the input schema.")
            failure.with_config_property("field")


@plugin(type="batchjoiner", name="Join", description="Joins.")
class Join(BatchJoiner):
    def configure(self, stage: StageConfigurer) -> None:
        if all(schema is not None for schema in stage.input_schemas.values()):
            fields = [
                (f"{s}_{f.name}", f.schema) for s, x in stage.input_schemas.items() for f in x
            ]
            stage.output_schema = Schema.record("join", fields)


@plugin(type="batchaggregator", name="Count", description="Counts.")
class Count(BatchAggregator):
    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = Schema.record("count", [("n", Schema.LONG)])


@plugin(type="splittertransform", name="Split", description="Ports A and B.")
class Split(SplitterTransform):
    def configure(self, stage: StageConfigurer) -> None:
        if stage.input_schema is not None:
            other = Schema.record("b", [("b", Schema.LONG)])
            stage.port_schemas = {"A": stage.input_schema, "B": other}


@plugin(type="errortransform", name="Errors", description="Collects errors.")
class Errors(ErrorTransform):
    pass


@plugin(type="action", name="Act", description="Does something.")
class Act(Control):
    pass


@plugin(type="sparkprogram", name="Program", description="Runs something.")
class Program(Control):
    pass


@plugin(type="condition", name="If", description="Decides.")
class If(Control):
    pass


@plugin(type="alertpublisher", name="Alert", description="Publishes alerts.")
class Alert(Control):
    pass


@plugin(type="postaction", name="Mail", description="Tells somebody.")
class Mail(Control):
    class Config(PluginConfig):
        to: str = field("Address.")
