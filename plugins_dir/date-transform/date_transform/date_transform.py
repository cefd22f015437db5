"""The transform DateTransform: writes dates with another pattern."""

from __future__ import annotations

import datetime
from typing import Final

from localcdap.api import (
    Emitter,
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
from localcdap.java.dates.simple_date_format import (
    check_simple_date,
    format_simple_date,
    parse_simple_date,
)
from localcdap.plugin_lib.text_values import find_text_converter

_EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
_NO_DATE: Final = 31
"""The code of error records."""


@plugin(name="DateTransform", description="Formats dates, which are texts or Unix times.")
class DateTransform(Transform):
    """Applies the rules of ``DateTransform`` of CDAP's artifact date-transform 1.4, in the zone UTC.

    There a constant has the wrong value, so that 'Milliseconds' multiplies by 1000; here 'Seconds' does, as
    its manual says.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        source_fields: list[str] = field(
            "Fields with a date: a text, or a long with a Unix time.", form="{input-field},"
        )
        source_format: str | None = field(
            "Pattern of texts, as of Java's SimpleDateFormat; not needed for Unix times.",
            default=None,
        )
        target_fields: list[str] = field(
            "Fields for the formatted dates, as many as source fields.", form="{output-field},"
        )
        target_format: str = field("Pattern of the formatted dates.")
        seconds_or_milliseconds: str = field(
            "The unit of Unix times.",
            default="Milliseconds",
            choices=("Seconds", "Milliseconds"),
            macro=False,
        )
        schema: Schema = field("The output schema.", macro=False)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema
        self._check_patterns(stage)
        self._check_targets(stage)
        self._check_sources(stage)

    def _check_patterns(self, stage: StageConfigurer) -> None:
        patterns = {
            "targetFormat": self.config.target_format,
            "sourceFormat": self.config.source_format,
        }
        for name, pattern in patterns.items():
            if self.config.contains_macro(name) or pattern is None:
                continue
            try:
                check_simple_date(pattern)
            except ValueError:
                stage.failures.add(
                    f"Field '{name}' contains invalid date pattern '{pattern}'.",
                    "Use format specified in "
                    "https://docs.oracle.com/javase/8/docs/api/java/text/SimpleDateFormat.html.",
                ).with_config_property(name)

    def _check_targets(self, stage: StageConfigurer) -> None:
        if self.config.contains_macro("targetFields"):
            return
        for name in self.config.target_fields:
            found = self.config.schema.field(name) if self.config.schema is not None else None
            if found is None:
                stage.failures.add(
                    f"Target field '{name}' is not present in output schema."
                ).with_config_property("targetFields", element=name).with_output_field(name)
            elif find_text_converter(found.schema) is None:
                stage.failures.add(
                    f"Target field '{name}' is of type '{found.schema.display_name}', which a formatted date "
                    "cannot become.",
                    "Make it a string.",
                ).with_config_property("targetFields", element=name).with_output_field(name)
        if self.config.contains_macro("sourceFields"):
            return
        if len(self.config.target_fields) != len(self.config.source_fields):
            stage.failures.add(
                "Target and source fields must contain the same number of fields."
            ).with_config_property("sourceFields").with_config_property("targetFields")

    def _check_sources(self, stage: StageConfigurer) -> None:
        given = stage.input_schema
        if given is None or self.config.contains_macro("sourceFields"):
            return
        for name in self.config.source_fields:
            found = given.field(name)
            if found is None:
                stage.failures.add(
                    f"Source field '{name}' is not present in input schema."
                ).with_config_property("sourceFields", element=name).with_input_field(name)
                continue
            inner = found.schema.non_nullable
            if inner.logical_type is not None or inner.type not in (Type.STRING, Type.LONG):
                stage.failures.add(
                    f"Source Field '{name}' is unexpected type '{inner.display_name}'.",
                    "Supported types are 'string' or 'long'.",
                ).with_config_property("sourceFields", element=name).with_input_field(name)
            elif inner.type is Type.STRING and not (
                self.config.source_format or self.config.contains_macro("sourceFormat")
            ):
                stage.failures.add(
                    f"Source field '{name}' is a string, and there is no source format.",
                    "Set the pattern of its dates.",
                ).with_config_property("sourceFormat")
        self._check_values(stage, given)

    def _check_values(self, stage: StageConfigurer, given: Schema) -> None:
        """Report the fields of the output schema that have a value in no record, and need one."""
        if self.config.schema is None or self.config.contains_macro("targetFields"):
            return
        known = {*given.field_names, *self.config.target_fields}
        for each in self.config.schema:
            if each.name not in known and not each.schema.is_nullable:
                stage.failures.add(
                    f"Field '{each.name}' of the output schema is neither a field of the input nor a target "
                    "field.",
                    "Remove it, make it nullable, or make it a target field.",
                ).with_output_field(each.name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        targets = dict(zip(self.config.target_fields, self.config.source_fields, strict=False))
        for name in self.config.schema.field_names:
            if name in targets:
                lineage.derive(name, [targets[name]], "Formatted the date")
            elif name in lineage.input_fields:
                lineage.keep(name, name)

    def initialize(self, context: StageContext) -> None:
        targets = self.config.target_fields
        self._kept = [name for name in self.config.schema.field_names if name not in targets]
        self._dates = [
            (source, found, find_text_converter(found.schema))
            for source, target in zip(self.config.source_fields, targets, strict=True)
            if (found := self.config.schema.field(target)) is not None
        ]

    def transform(self, record: Record, emit: Emitter) -> None:
        made = {name: record.get(name) for name in self._kept}
        for source, target, convert in self._dates:
            value = record.get(source)
            if value is None or value == "":
                if not target.schema.is_nullable:
                    emit.error(
                        record, _NO_DATE, f"Field '{source}' has no date for '{target.name}'."
                    )
                    return
                made[target.name] = None
            else:
                assert convert is not None
                made[target.name] = convert(self._format(value))
        emit(made)

    def _format(self, value: str | int) -> str:
        """Format a date.

        :raises ValueError: when a text does not match the source format, or the time is before the year 1 or
            after 9999.
        """
        try:
            return format_simple_date(self._read(value), self.config.target_format)
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"Cannot parse value {value} for format {self.config.target_format}. {error}."
            ) from None

    def _read(self, value: str | int) -> datetime.datetime:
        if isinstance(value, str):
            return parse_simple_date(value, self.config.source_format or "")
        unit = 1000 if self.config.seconds_or_milliseconds == "Seconds" else 1
        return _EPOCH + datetime.timedelta(milliseconds=value * unit)
