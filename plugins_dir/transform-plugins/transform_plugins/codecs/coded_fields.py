"""The base class of Encoder, Decoder, Compressor and Decompressor, which apply codecs to fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Emitter,
    LineageRecorder,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    Type,
)

Codec = Callable[[bytes], bytes]
NONE: Final = "NONE"
MALFORMED: Final = 31
"""The error code of a value that cannot be converted."""


class CodecError(ValueError):
    """A codec cannot convert a value; the message says why."""


class CodecOptions(NamedTuple):
    """The property of a plugin, and the types of its fields."""

    property: str
    """The property that lists fields and codecs, an attribute of the config too; messages use it as the word
    for a codec."""
    takes: tuple[Type, ...]
    """The types of input fields."""
    gives: tuple[Type, ...]
    """The types of output fields."""


class CodedFields(Transform):
    """Converts the fields of a list ``field:codec,…``; other fields of the output schema are copied.

    Null stays null. A value that cannot be converted makes its record an error record, where CDAP fails the
    run or gives null.
    """

    options: CodecOptions
    codecs: Mapping[str, Codec]

    config: Any

    def configure(self, stage: StageConfigurer) -> None:
        stage.error_schema = stage.input_schema
        stage.output_schema = self.config.schema
        coded = {name: codec for name, codec in self._parse_codecs(stage).items() if codec != NONE}
        for name, codec in coded.items():
            self._check_input(stage, name, f"{name}:{codec}")
            self._check_output(stage, name, f"{name}:{codec}")
        if stage.input_schema is not None and self.config.schema:
            _check_passed(stage, stage.input_schema, set(coded))

    def _parse_codecs(self, stage: StageConfigurer | None = None) -> dict[str, str]:
        """Return the codec of each field.

        :param stage: gets the failures; None if the list was already validated.
        """
        found: dict[str, str] = {}
        listed = getattr(self.config, self.options.property) or ""
        for element in filter(None, map(str.strip, listed.split(","))):
            name, _, codec = (part.strip() for part in element.partition(":"))
            problem = self._find_problem(name, codec.upper(), found, element)
            if problem is None:
                found[name] = codec.upper()
            elif stage is not None:
                failure = stage.failures.add(*problem)
                failure.with_config_property(self.options.property, element=element)
        return found

    def _find_problem(
        self, name: str, codec: str, found: Mapping[str, str], element: str
    ) -> tuple[str, str] | None:
        word = self.options.property
        if not name or not codec:
            return (
                f"Configuration '{element}' is incorrectly formed.",
                f"Specify the configuration in the format <fieldname>:<{word} type>.",
            )
        if codec != NONE and codec not in self.codecs:
            choices = ", ".join([*self.codecs, NONE])
            return f"Field '{name}' has an unknown {word} type '{codec}'.", f"Use one of {choices}."
        if name in found:
            return f"Field '{name}' occurs twice.", "Remove one of them."
        return None

    def _check_input(self, stage: StageConfigurer, name: str, element: str) -> None:
        if stage.input_schema is None:
            return
        given = stage.input_schema.field(name)
        if given is None:
            stage.failures.add(
                f"Field '{name}' must be present in the input schema."
            ).with_config_property(self.options.property, element=element)
        elif not _is_any(given.schema, self.options.takes):
            failure = stage.failures.add(
                f"Input field '{name}' is of unsupported type '{given.schema.display_name}'.",
                f"Supported input types: {_format_types(self.options.takes)}.",
            )
            failure.with_input_field(name)
            failure.with_config_property(self.options.property, element=element)

    def _check_output(self, stage: StageConfigurer, name: str, element: str) -> None:
        if not self.config.schema:
            return
        made = self.config.schema.field(name)
        if made is None:
            stage.failures.add(
                f"Field '{name}' must be in output schema.",
                f"Add it to the output schema, or remove it from '{self.options.property}'.",
            ).with_config_property(self.options.property, element=element)
        elif not _is_any(made.schema, self.options.gives):
            failure = stage.failures.add(
                f"Output field '{name}' is of invalid type '{made.schema.display_name}'.",
                f"Ensure the field is of type {_format_types(self.options.gives)}.",
            )
            failure.with_output_field(name)
            failure.with_config_property(self.options.property, element=element)

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        # Error records hold the whole input record.
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        coded = [name for name, codec in self._parse_codecs().items() if codec != NONE]
        for name in coded:
            lineage.derive(name, [name], f"{type(self).__name__} {name}")
        lineage.influence(EdgeKind.FILTER, coded)

    def initialize(self, context: StageContext) -> None:
        output: Schema = self.config.schema
        self._names = [name for name in output.field_names if context.input_schema.field(name)]
        texts = {each.name for each in output if _is_any(each.schema, (Type.STRING,))}
        self._coded = [
            (name, self.codecs[codec], name in texts)
            for name, codec in self._parse_codecs().items()
            if codec != NONE
        ]

    def transform(self, record: Record, emit: Emitter) -> None:
        out: dict[str, Any] = {name: record[name] for name in self._names}
        for name, codec, is_text in self._coded:
            value = record[name]
            if value is None:
                continue
            try:
                coded = codec(value.encode() if isinstance(value, str) else bytes(value))
                out[name] = coded.decode() if is_text else coded
            except ValueError as error:
                emit.error(record, MALFORMED, f"Field '{name}' cannot be converted: {error}.")
                return
        emit(out)


def _check_passed(stage: StageConfigurer, given: Schema, coded: set[str]) -> None:
    """Check that copied fields keep their type, and that other output fields are nullable."""
    for made in stage.output_schema or ():
        source = given.field(made.name)
        if source is None and made.name not in coded and not made.schema.is_nullable:
            stage.failures.add(
                f"Output field '{made.name}' is not in the input schema, so it is always null.",
                "Make it nullable, or remove it from the output schema.",
            ).with_output_field(made.name)
        if source is None or made.name in coded:
            continue
        if made.schema not in (source.schema, source.schema.as_nullable):
            stage.failures.add(
                f"Output field '{made.name}' must have same schema as input schema.",
                "Ensure input and output schema for the field is same.",
            ).with_input_field(made.name).with_output_field(made.name)


def _is_any(schema: Schema, types: tuple[Type, ...]) -> bool:
    inner = schema.non_nullable
    return inner.type in types and inner.logical_type is None


def _format_types(types: tuple[Type, ...]) -> str:
    return " or ".join(type.value for type in types)
