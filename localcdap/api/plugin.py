"""Plugin classes: what an author extends, one base class for each plugin type.

Data plugins offer one of three grains of execution, and the engine takes the widest that a class
overrides: ``apply`` (Spark DataFrames), ``transform_batch`` (Arrow record batches), ``transform`` (one
record). Heavy libraries are imported inside these methods, so that configuring stays fast.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from localcdap.api.config import PluginConfig
from localcdap.api.declarations import reject_declaration
from localcdap.api.stage import (
    Emitter,
    ErrorRecord,
    PortEmitter,
    Record,
    SinkContext,
    SourceContext,
    SparkContext,
    StageConfigurer,
    StageContext,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_Plugin = TypeVar("_Plugin", bound="type[Plugin]")


class Grain(enum.Enum):
    """How much of the data one call of a plugin sees."""

    RECORD = "record"
    BATCH = "batch"
    DATAFRAME = "dataframe"
    NONE = "none"
    """The plugin handles no data: actions, conditions, formats."""


class Plugin:
    """Base of all plugins. Use one of the subclasses, which are named after the plugin types."""

    types: ClassVar[tuple[str, ...]] = ()
    """The plugin types that this base class may be registered as."""
    Config: ClassVar[type[PluginConfig]] = PluginConfig

    def __init__(self, config: Any) -> None:
        self.config = config

    def configure(self, stage: StageConfigurer) -> None:
        """Validate the configuration against the input schemas and set the output schema.

        Called live while the stage is edited, at deploy, and at run start with macros evaluated. Must
        be a pure function of configuration and input schemas. The default passes the input through.
        """
        stage.output_schema = stage.input_schema

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Further checks that need files, databases or a network. On demand and at run start."""

    @classmethod
    def grain(cls) -> Grain:
        """The widest grain that this class offers."""
        for grain, method in (
            (Grain.DATAFRAME, "apply"),
            (Grain.BATCH, "transform_batch"),
            (Grain.RECORD, "transform"),
        ):
            if has_override(cls, method):
                return grain
        return Grain.NONE


class BatchSource(Plugin):
    """Reads records. Always of DataFrame grain."""

    types = ("batchsource",)

    def read(self, context: SourceContext) -> DataFrame:
        """The records, as a lazy DataFrame with the columns of the output schema."""
        raise NotImplementedError

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME


class BatchSink(Plugin):
    """Writes records. Always of DataFrame grain."""

    types = ("batchsink",)

    def configure(self, stage: StageConfigurer) -> None:
        """The default accepts anything. A sink has no output schema."""

    def write(self, df: DataFrame, context: SinkContext) -> None:
        """Write all records with exactly one Spark action; never to the final place itself."""
        raise NotImplementedError

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME


class _DataTransform(Plugin):
    """What plugins that turn records into records have in common."""

    one_to_one: ClassVar[bool] = False
    """Whether every input record gives exactly one output record and never an error record.

    The engine then counts records once for the stage and its input.
    """

    def initialize(self, context: StageContext) -> None:
        """Called once in each worker before the first record (record and batch grain only)."""

    def destroy(self) -> None:
        """Called once in each worker after the last record."""

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        """Names of the input fields that are read; None means all. Others are not even loaded."""
        return None

    def lookup_tables(self) -> Sequence[str]:
        """Names of the structured datasets that ``context.lookup`` is asked for (record and batch grain
        only). Their rows are at hand in the workers; there must be such tables when a run begins.
        """
        return ()


class Transform(_DataTransform):
    """One record in, any number of records and error records out."""

    types = ("transform",)

    def transform(self, record: Record, emit: Emitter) -> None:
        raise NotImplementedError

    def transform_records(self, records: Sequence[Record], emit: Emitter) -> None:
        """Transform records in their order, as :meth:`transform` does one by one.

        Override it beside :meth:`transform` where a call is dear and many records share one, for
        instance to cross into another language.
        """
        for record in records:
            self.transform(record, emit)

    def transform_batch(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        raise NotImplementedError


class SplitterTransform(_DataTransform):
    """Sends each record to any number of named ports. ``configure`` sets ``stage.port_schemas``."""

    types = ("splittertransform",)

    def transform(self, record: Record, emit: PortEmitter) -> None:
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        """The records of each port. Each must be derived from ``df`` by filters and columns only."""
        raise NotImplementedError


class ErrorTransform(_DataTransform):
    """Turns error records of the stages before it into records."""

    types = ("errortransform",)

    def transform(self, record: ErrorRecord, emit: Emitter) -> None:
        raise NotImplementedError


class BatchAggregator(_DataTransform):
    """Groups records. Either grain ``apply``, or ``group_by`` with ``aggregate``."""

    types = ("batchaggregator",)

    def group_by(self, record: Record) -> Iterable[Any]:
        """The keys of the groups that the record belongs to; a key is a string or a tuple."""
        raise NotImplementedError

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        """Emit the records of one group. ``records`` can be read once."""
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        raise NotImplementedError

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME if has_override(cls, "apply") else Grain.RECORD


class BatchJoiner(_DataTransform):
    """Joins the records of two or more input stages, whose schemas may differ."""

    types = ("batchjoiner",)

    def input_fields_by_stage(self, stage: StageConfigurer) -> dict[str, list[str]] | None:
        """Like ``input_fields``, for each input stage."""
        return None

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        """The joined records. ``inputs`` holds one DataFrame for each input stage."""
        raise NotImplementedError


class SparkCompute(_DataTransform):
    """Any computation on a whole DataFrame."""

    types = ("sparkcompute",)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        raise NotImplementedError


class SparkSink(BatchSink):
    """A sink that computes on the whole DataFrame, for instance to train a model."""

    types = ("sparksink",)


def plugin(*, type: str, name: str, description: str) -> Callable[[_Plugin], _Plugin]:
    """Make a class a plugin of an artifact.

    :param type: the plugin type, lower case; one that the base class allows.
    :param name: the name that pipeline documents use.
    :param description: what it does, for the person who chooses it.
    :raises TypeError: when the type does not fit the base class, or name or description is empty.
    """

    def mark(cls: _Plugin) -> _Plugin:
        problem = _declaration_problem(cls, type, name, description)
        if problem:
            reject_declaration(cls, problem)
        else:
            # setattr: the mark is not part of the class's own interface.
            setattr(cls, PLUGIN_MARK, (type, name.strip(), description.strip()))
        return cls

    return mark


def _declaration_problem(
    cls: object, type_: object, name: object, description: object
) -> str | None:
    if not isinstance(cls, type) or not issubclass(cls, Plugin):
        return "a plugin extends one of the plugin base classes, for instance Transform."
    if type_ not in cls.types:
        allowed = ", ".join(cls.types) or "none; extend one of the plugin base classes"
        return f"unknown plugin type '{type_}'; allowed: {allowed}."
    texts = [text for text in (name, description) if isinstance(text, str) and text.strip()]
    if len(texts) < 2:
        return "a plugin needs a name and a description."
    if not texts[0].isprintable():
        return f"the name {texts[0]!r} holds characters that cannot be shown."
    return None


PLUGIN_MARK: Final = "__localcdap_plugin__"
"""Class attribute (type, name, description) set by :func:`plugin`; look in the class's own ``vars``."""


def has_override(cls: type, method: str) -> bool:
    """Whether a plugin class, or a base of it outside this module, provides the method itself."""
    for owner in cls.__mro__:
        if method in vars(owner):
            return owner.__module__ != __name__
    return False
