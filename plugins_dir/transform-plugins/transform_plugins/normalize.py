"""The Normalize transform: emits one record for each of some fields of a wide record."""

from __future__ import annotations

from typing import NamedTuple

from localcdap.api import (
    EdgeKind,
    Emitter,
    FailureCollector,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.record_texts import former_texts_field, make_text_writer


class NormalizedField(NamedTuple):
    """A field for which a record is emitted."""

    name: str
    type_field: str
    """Output field for the field's name."""
    value_field: str
    """Output field for the field's value."""

    def __str__(self) -> str:
        return ":".join(self)


@plugin(
    name="Normalize",
    description="Emits one record for each chosen field that is not null, with the field's name, its value "
    "and copies of other fields.",
)
class Normalize(Transform):
    class Config(PluginConfig):
        mapping: str = field(
            name="fieldMapping",
            description="Fields to copy into every record, a comma-separated list of 'input:output', such as "
            "'CustomerID:ID'. Values are converted to text, null to the text 'null'.",
            form="{input-field}:{output field},",
        )
        normalizing: str = field(
            name="fieldNormalizing",
            description="Fields for which a record is emitted, a comma-separated list of "
            "'input:type field:value field', such as 'ItemId:AttributeType:AttributeValue'. The "
            "type field takes the input field's name, the value field takes its value as text.",
            form="{input-field}:{type field}:{value field},",
        )
        output_schema: Schema = field(
            name="outputSchema", description="The output schema; all fields must be strings."
        )
        former_texts: bool = former_texts_field()

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        output, failures = self.config.output_schema, stage.failures
        for declared in output or ():
            if declared.schema.non_nullable.type is not Type.STRING:
                failures.add(
                    f"Invalid type '{declared.schema.display_name}' for output schema field "
                    f"'{declared.name}'.",
                    "All output schema fields must be of type string.",
                ).with_output_field(declared.name)
        stage.output_schema = output
        stage.error_schema = stage.input_schema
        mapping = self._parse_mapping(failures)
        for source, target in mapping:
            _check_mapping(stage, output, source, target)
        for entry in self._parse_normalized(failures):
            _check_normalized(stage, output, entry, {source for source, _ in mapping})
        self._check_same_targets(failures)

    def _parse_mapping(self, failures: FailureCollector) -> list[tuple[str, str]]:
        found = []
        for entry in (self.config.mapping or "").split(","):
            parts = [part.strip() for part in entry.split(":")]
            if len(parts) == 2 and all(parts):
                found.append((parts[0], parts[1]))
            elif self.config.mapping:
                failures.add("Field name and mapping must be provided.").with_config_property(
                    "fieldMapping", element=entry
                )
        return found

    def _parse_normalized(self, failures: FailureCollector) -> list[NormalizedField]:
        found = []
        for entry in (self.config.normalizing or "").split(","):
            parts = [part.strip() for part in entry.split(":")]
            if len(parts) == 3 and all(parts):
                found.append(NormalizedField(*parts))
            elif self.config.normalizing:
                failures.add(
                    "Normalizing field, field name, and field value must all be provided."
                ).with_config_property("fieldNormalizing", element=entry)
        return found

    def _check_same_targets(self, failures: FailureCollector) -> None:
        entries = self._parse_normalized(FailureCollector())
        for entry in entries[1:]:
            first = entries[0]
            for kind, wanted, given in (
                ("type", first.type_field, entry.type_field),
                ("value", first.value_field, entry.value_field),
            ):
                if wanted != given:
                    failures.add(
                        f"Invalid normalizing field {kind} output column name '{given}'.",
                        f"All normalizing field {kind} output column names must be the same.",
                    ).with_config_property("fieldNormalizing", element=str(entry))

    def initialize(self, context: StageContext) -> None:
        self._copied = self._parse_mapping(FailureCollector())
        self._chosen = self._parse_normalized(FailureCollector())
        self._write = make_text_writer(context.input_schema, former=self.config.former_texts)

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        ignored = FailureCollector()
        names = [source for source, _ in self._parse_mapping(ignored)]
        return names + [entry.name for entry in self._parse_normalized(ignored)]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        ignored = FailureCollector()
        for source, target in self._parse_mapping(ignored):
            lineage.derive(target, [source], f"Copy {source} to {target}")
        chosen = self._parse_normalized(ignored)
        names = [entry.name for entry in chosen]
        lineage.influence(EdgeKind.FILTER, names)
        for entry in chosen[:1]:
            lineage.derive(entry.value_field, names)
            lineage.derive(entry.type_field, [], "Generate " + entry.type_field)
            lineage.influence(EdgeKind.CONDITIONAL, names, entry.type_field)

    def transform(self, record: Record, emit: Emitter) -> None:
        texts = self._write(record)
        copies = {
            target: "null" if texts[source] is None else texts[source]
            for source, target in self._copied
        }
        for name, type_field, value_field in self._chosen:
            if texts[name] is not None:
                emit({type_field: name, value_field: texts[name]} | copies)


def _check_mapping(stage: StageConfigurer, output: Schema | None, source: str, target: str) -> None:
    element = f"{source}:{target}"
    if stage.input_schema is not None and stage.input_schema.field(source) is None:
        stage.failures.add(
            f"Field '{source}' must be present in input schema."
        ).with_config_property("fieldMapping", element=element)
    if output is not None and output.field(target) is None:
        stage.failures.add(
            f"Mapping '{target}' must be present in output schema."
        ).with_config_property("fieldMapping", element=element)


def _check_normalized(
    stage: StageConfigurer, output: Schema | None, entry: NormalizedField, mapped: set[str]
) -> None:
    messages = []
    if stage.input_schema is not None and stage.input_schema.field(entry.name) is None:
        messages.append(f"Normalizing field '{entry.name}' must be present in input schema.")
    if entry.name in mapped:
        messages.append(f"Field '{entry.name}' cannot be used for both mapping and normalizing.")
    for kind, target in (("type", entry.type_field), ("value", entry.value_field)):
        if output is not None and output.field(target) is None:
            messages.append(
                f"Normalizing field {kind} output column name '{target}' must be present in output "
                "schema."
            )
    for message in messages:
        failure = stage.failures.add(message)
        failure.with_config_property("fieldNormalizing", element=str(entry))
