"""The ErrorCollector error transform: error records become records with the error's description."""

from __future__ import annotations

from localcdap.api import (
    Emitter,
    ErrorRecord,
    ErrorTransform,
    Field,
    FieldEdge,
    FieldTransformOperation,
    LineageRecorder,
    PluginConfig,
    Schema,
    StageConfigurer,
    field,
    plugin,
)


@plugin(
    name="ErrorCollector",
    description="Turns the error records of earlier stages into records with additional fields: the error "
    "message, the error code and the stage that emitted the error.",
)
class ErrorCollector(ErrorTransform):
    one_to_one = True

    class Config(PluginConfig, rename="camel"):
        message_field: str | None = field(
            "Field for the error message, a string. If not set, there is no such field.",
            default=None,
        )
        code_field: str | None = field(
            "Field for the error code, an int. If not set, there is no such field.", default=None
        )
        stage_field: str | None = field(
            "Field for the name of the stage that emitted the error, a string. If not set, there "
            "is no such field.",
            default=None,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema = stage.input_schema
        if schema is None:
            return
        config = self.config
        added = (
            ("message", config.message_field, Schema.STRING),
            ("code", config.code_field, Schema.INT),
            ("stage", config.stage_field, Schema.STRING),
        )
        fields = list(schema)
        for kind, name, type in added:
            if name is None:
                continue
            if any(f.name == name for f in fields):
                stage.failures.add(
                    f"Input schema already contains field '{name}'.",
                    f"Set {kind} field to a different value.",
                ).with_config_property(f"{kind}Field").with_input_field(name)
            fields.append(Field(name, type))
        stage.output_schema = Schema.record(f"error{schema.name}", fields)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record operations as the original (``ErrorCollector.prepareRun``): any field may be the cause of an
        error.
        """
        fields = lineage.input_fields
        for name in fields:
            lineage.keep(name, name, f"Error collector for field {name}")
        config = self.config
        for name in filter(None, (config.message_field, config.code_field, config.stage_field)):
            lineage.record(
                FieldTransformOperation(f"Error collector for field {name}", "", fields, [name])
            )
            lineage.add_edges(FieldEdge(each, name, assumed=True) for each in fields)

    def transform(self, record: ErrorRecord, emit: Emitter) -> None:
        out = dict(record.record)
        config = self.config
        if config.message_field is not None:
            out[config.message_field] = record.message
        if config.code_field is not None:
            out[config.code_field] = record.code
        if config.stage_field is not None:
            out[config.stage_field] = record.stage
        emit(out)
