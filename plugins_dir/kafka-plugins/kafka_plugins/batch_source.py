"""The batch source Kafka.

Offsets of the partitions of a topic, and the file in which a source keeps them between runs.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    BatchSource,
    FinishContext,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    Type,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.files.atomic import write_internal_file

from .client_config import KafkaClientConfig
from .message_formats import FORMATS, find_schema_problem
from .partition_reader import MessageFields, plan_ranges, read_range

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_KEY: Final = "partitionOffsets"


def parse_offsets(text: str | None) -> tuple[dict[int, int], list[tuple[str, str]]]:
    """Parse ``partition:offset`` pairs, separated by commas.

    :returns: the offsets by partition, and each pair that is wrong with the reason.
    """
    offsets: dict[int, int] = {}
    wrong: list[tuple[str, str]] = []
    for pair in filter(None, map(str.strip, (text or "").split(","))):
        partition, _, offset = (part.strip() for part in pair.partition(":"))
        if not partition.isdecimal():
            wrong.append((pair, f"Invalid partition '{partition}' in initialPartitionOffsets."))
        elif not offset.isdecimal():
            wrong.append(
                (
                    pair,
                    f"Invalid offset '{offset}' in initialPartitionOffsets for partition {partition}.",
                )
            )
        else:
            offsets[int(partition)] = int(offset)
    return offsets, wrong


class OffsetsFile:
    """The file with the offsets at which the next run begins, of one pipeline.

    It has the name and the content of CDAP's (``KafkaPartitionOffsets``).
    """

    def __init__(self, directory: str, namespace: str, pipeline: str) -> None:
        self.path: Final = Path(directory) / f"{namespace}.{pipeline}.offsets.json"

    def load(self) -> dict[int, int] | None:
        """Return the offsets by partition; None before the first run.

        :raises StageError: when the file cannot be read.
        """
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            return {int(partition): int(value) for partition, value in document[_KEY].items()}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise StageError(
                f"The file with the offsets, '{self.path}', cannot be read: {error}",
                "Correct it, or remove it to begin with 'initialPartitionOffsets'.",
            ) from None

    def save(self, offsets: dict[int, int]) -> None:
        """Replace the file; after a crash it has the old offsets or the new ones.

        :raises OSError: when it cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({_KEY: {str(key): value for key, value in sorted(offsets.items())}})
        write_internal_file(self.path, text.encode())


_OWN = (("key_field", Type.BYTES), ("partition_field", Type.INT), ("offset_field", Type.LONG))
"""The properties that name fields beside those of the message, with their types."""


class KafkaSourceConfig(KafkaClientConfig, rename="camel"):
    """The properties of the source."""

    reference_name: str = field("Name of this source in lineage and metadata.")
    brokers: str = field(
        "The addresses of brokers, as host:port, comma-separated.", macro=True, name="kafkaBrokers"
    )
    topic: str = field("The topic to read.", macro=True)
    offset_dir: str | None = field(
        "Folder in which the offsets are kept after each run that succeeds, so that the next run goes on "
        "there. Without it, each run begins at the same place.",
        default=None,
        macro=True,
        form="{folder}",
    )
    partitions: list[str] = field(
        "The partitions to read, comma-separated; by default all.", default=[], macro=True
    )
    initial_partition_offsets: str | None = field(
        "Where the first run begins: the offset of the first message of each partition, as '0:5,1:0'. By "
        "default, it is the first message that the brokers have.",
        default=None,
        macro=True,
        form="{partition}:{offset},",
    )
    max_number_records: int = field(
        "The most messages of each partition that a run reads; -1 for all.", default=-1, macro=True
    )
    schema: Schema = field(
        "Schema of the records: the fields of the message, and those named below.",
    )
    format: str | None = field(
        f"Format of the messages: {', '.join(FORMATS)}. Without it, the message is a field of bytes.",
        default=None,
        form="{format:" + "|".join(FORMATS) + "}",
    )
    key_field: str | None = field(
        "Field of type bytes that gets the key of the message.", default=None, form="{output-field}"
    )
    partition_field: str | None = field(
        "Field of type int that gets the partition.", default=None, form="{output-field}"
    )
    offset_field: str | None = field(
        "Field of type long that gets the offset.", default=None, form="{output-field}"
    )

    def find_brokers(self) -> tuple[str, str | None]:
        return "kafkaBrokers", self.brokers

    def select_message(self) -> Schema:
        """Return the schema of the message: the fields that no other property names."""
        own = {self.key_field, self.partition_field, self.offset_field}
        return Schema.record("kafka.message", [f for f in self.schema if f.name not in own])


@plugin(name="Kafka", description="Reads the messages of a topic of Kafka up to now.")
class KafkaBatchSource(BatchSource):
    """Properties and failures are those of CDAP's plugin (kafka-plugins,
    ``io/cdap/plugin/kafka/batch/source/KafkaBatchConfig.java``, ``KafkaBatchSource.java``).

    The offsets are stored when the output of a run is committed: after a crash in between, messages are read
    again, and none is lost. As the manual says, and unlike the source, initial offsets count in the first
    run of a pipeline that keeps offsets, too. An offset that the brokers do not have is an error here.
    """

    class Config(KafkaSourceConfig):
        """Kafka."""

    config: Config
    _file: OffsetsFile | None = None
    _ends: dict[int, int] | None = None

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        config.check_client(stage)
        for each in config.partitions:
            if not each.isdecimal():
                stage.failures.add(
                    f"Invalid partition '{each}'. Partitions must be integers."
                ).with_config_property("partitions", element=each)
        for pair, problem in parse_offsets(config.initial_partition_offsets)[1]:
            stage.failures.add(problem, "Write partition:offset.").with_config_property(
                "initialPartitionOffsets", element=pair
            )
        if config.schema is not None:
            self._check_schema(stage)
            stage.output_schema = config.schema

    def _check_schema(self, stage: StageConfigurer) -> None:
        for attribute, type in _OWN:
            name = getattr(self.config, attribute)
            if name is None:
                continue
            property = attribute.removesuffix("_field") + "Field"
            found = self.config.schema.field(name)
            if found is None:
                stage.failures.add(
                    f"{property} '{name}' does not exist in the schema. Please add it to the schema."
                ).with_config_property(property)
            elif found.schema.non_nullable != Schema.of(type):
                word = property.removesuffix("Field")
                kind = "bytes or nullable bytes" if type is Type.BYTES else type.value
                stage.failures.add(
                    f"The {word} field must be of type {kind}."
                ).with_config_property(property).with_output_field(name)
        message = self.config.select_message()
        if not message.field_names:
            stage.failures.add(
                "Schema must contain at least one other field besides the time and key fields."
            ).with_config_property("schema")
        elif self.config.format:
            self._check_format(stage, message)
        else:
            _check_bytes(stage, message)

    def _check_format(self, stage: StageConfigurer, message: Schema) -> None:
        problem = find_schema_problem((self.config.format or "").lower(), message)
        if problem is not None:
            stage.failures.add(
                f"Unable to instantiate a message parser from format '{self.config.format}' and message "
                f"schema '{message}': {problem}"
            ).with_config_property("format")

    def read(self, context: SourceContext) -> DataFrame:
        config = self.config
        client = config.build_client(context, {})
        try:
            ranges = plan_ranges(
                client,
                config.topic,
                {int(each) for each in config.partitions},
                self._find_starts(context),
                config.max_number_records,
            )
        except StageError as error:
            raise context.fail(error.message, error.corrective_action) from None
        self._ends = {each.partition: each.end for each in ranges}
        fields = MessageFields(
            config.schema,
            config.select_message(),
            (config.format or "").lower(),
            config.key_field,
            config.partition_field,
            config.offset_field,
        )
        read = functools.partial(read_range, client, fields)
        return context.generate(config.schema, [each for each in ranges if each.count], read)

    def _find_starts(self, context: SourceContext) -> dict[int, int]:
        """Return the offsets at which the run begins; those of other partitions are the first ones."""
        initial, _ = parse_offsets(self.config.initial_partition_offsets)
        if self.config.offset_dir is None:
            return initial
        if context.is_remote:
            raise StageError(
                "Offsets cannot be kept in a run on a cluster.",
                "Run the pipeline on this machine, or remove 'offsetDir'.",
            )
        folder = context.resolve_path(self.config.offset_dir)
        self._file = OffsetsFile(folder, context.namespace, context.pipeline)
        held = self._file.load()
        return initial if held is None else held

    def on_run_finish(self, succeeded: bool, context: FinishContext) -> None:
        if succeeded and self._file is not None and self._ends is not None:
            # Offsets of partitions that this run has not read stay.
            self._file.save((self._file.load() or {}) | self._ends)


def _check_bytes(stage: StageConfigurer, message: Schema) -> None:
    names = message.field_names
    if len(names) > 1:
        stage.failures.add(
            "Without a format, the schema must contain just a single message field of type bytes or nullable "
            f"bytes. Found {len(names)} message fields ({','.join(names)})."
        ).with_config_property("format")
    first = next(iter(message))
    if first.schema.non_nullable != Schema.BYTES:
        stage.failures.add(
            "Without a format, the message field must be of type bytes or nullable bytes, but field "
            f"{first.name} is of type {first.schema.display_name}."
        ).with_config_property("format").with_output_field(first.name)
