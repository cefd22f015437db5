"""The base class of CSVFormatter and JSONFormatter, which format a record as the text of one field."""

from __future__ import annotations

from typing import Any

from localcdap.api import (
    Emitter,
    LineageRecorder,
    Record,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
)


class FormattedRecord(Transform):
    """Formats each record as text in the only field of the output schema."""

    types_of_text: tuple[Type, ...]
    """The types that the field may have."""

    config: Any

    def format_record(self, record: Record) -> str:
        """Return the text of a record."""
        raise NotImplementedError

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage_schema = self.config.schema
        fields = list(stage_schema or ())
        if stage_schema is not None and len(fields) != 1:
            failure = stage.failures.add(
                f"Output schema must have exactly one field, it has {len(fields)}.",
                "Keep one field for the text of the record.",
            ).with_config_property("schema")
            for extra in fields[1:]:
                failure.with_output_field(extra.name)
        for made in fields[:1]:
            inner = made.schema.non_nullable
            if inner.type not in self.types_of_text or inner.logical_type is not None:
                wanted = " or ".join(each.value for each in self.types_of_text)
                stage.failures.add(
                    f"Invalid output field type '{inner.display_name}' for field '{made.name}'.",
                    f"Output field type must be {wanted}.",
                ).with_output_field(made.name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(lineage.outputs, lineage.input_fields, "Format")

    def initialize(self, context: StageContext) -> None:
        made = self.config.schema.fields[0]
        self._name = made.name
        self._is_text = made.schema.non_nullable.type is Type.STRING
        self._given = context.input_schema.field_names

    def transform(self, record: Record, emit: Emitter) -> None:
        text = self.format_record(record)
        emit({self._name: text if self._is_text else text.encode()})
