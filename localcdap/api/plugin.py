"""The base classes of plugins, one for each plugin type.

A data plugin implements one of three grains of execution, and the engine uses the widest that a class
overrides: ``apply`` (Spark DataFrames), ``transform_batch`` (Arrow record batches), ``transform`` (one
record). Import heavy libraries inside these methods, so that configuring stays fast.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from localcdap.api.config import PluginConfig
from localcdap.api.declarations import reject_declaration
from localcdap.api.errors import ProgramFailureError
from localcdap.api.lineage import LineageRecorder
from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.api.stage import (
    Emitter,
    ErrorRecord,
    FinishContext,
    PortEmitter,
    PrepareContext,
    Record,
    SampleContext,
    SchemaContext,
    SinkContext,
    SinkSampleContext,
    SourceContext,
    SourceSampleContext,
    SparkContext,
    StageConfigurer,
    StageContext,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_Plugin = TypeVar("_Plugin", bound="type[Plugin]")


class Grain(enum.Enum):
    """How much data one call of a plugin gets."""

    RECORD = "record"
    BATCH = "batch"
    DATAFRAME = "dataframe"
    NONE = "none"
    """None: the plugin handles no records, such as an action or a condition."""


class Plugin:
    """Base class of all plugins. Extend one of its subclasses, which are named after the plugin types."""

    types: ClassVar[tuple[str, ...]] = ()
    """The plugin types that this base class may be registered as."""
    Config: ClassVar[type[PluginConfig]] = PluginConfig

    def __init__(self, config: Any) -> None:
        self.config = config

    def configure(self, stage: StageConfigurer) -> None:
        """Validate the configuration against the input schemas, and set the output schema.

        Called while the stage is edited, at deployment, and at the start of a run with macros evaluated. It
        must be a pure function of configuration and input schemas. The default sets the input schema as
        output.
        """
        stage.output_schema = stage.input_schema

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Run checks that need files, databases or a network. Called on demand and at the start of a run."""

    def prepare_run(self, context: PrepareContext) -> None:
        """Prepare a run: called once for each stage and run, before the first record (CDAP ``prepareRun``).

        It runs in the run's own process, for all types of plugins. The methods of DataFrame grain, and those
        of actions, are called on the same object; record and batch grain work on other objects, in Spark's
        workers. By default nothing is done.
        """

    def on_run_finish(self, succeeded: bool, context: FinishContext) -> None:
        """Finish a run: called once for each data stage that has prepared it (CDAP ``onRunFinish``).

        It runs in the run's own process, on the object of :meth:`prepare_run` and of the methods of DataFrame
        grain. After a success the output of all sinks is committed; what must follow the output, such as
        the position up to which a source has read, is stored here. An exception is logged, and does not
        change the result of the run. After a crash of the process it is not called, even if the output was
        committed. Previews never call it. By default nothing is done.

        :param succeeded: whether the output is committed.
        """

    def get_error_details(self, error: BaseException) -> ProgramFailureError | None:
        """Return what an exception in the stage means: message, what helps, category, reason, type and code.

        CDAP 6.11's ``ErrorDetailsProvider``. It is asked about what the plugin's code raises, in Spark's
        workers and in the run's own process, and about the errors that Spark reports of the stage. By
        default, and for None, the message of the exception is shown, and classified by its text.
        """
        return None

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record which output fields come from which input fields, and what else decides about them.

        It must be a pure function of the configuration and the fields, as :meth:`configure` is: lineage is
        asked for while a pipeline is designed, too. What is only known in a run, :meth:`prepare_run` records.
        A source or sink need not override it. For any other plugin that overrides neither, each output
        field is assumed to come from all input fields.
        """

    @classmethod
    def grain(cls) -> Grain:
        """Return the widest grain that this class implements."""
        for grain, method in (
            (Grain.DATAFRAME, "apply"),
            (Grain.BATCH, "transform_batch"),
            (Grain.RECORD, "transform"),
        ):
            if has_override(cls, method):
                return grain
        return Grain.NONE


class BatchSource(Plugin):
    """Base class of sources, which read records; always of DataFrame grain."""

    types = ("batchsource",)

    def read(self, context: SourceContext) -> DataFrame:
        """Return the records as a lazy DataFrame with the columns of the output schema."""
        raise NotImplementedError

    def find_schema(self, context: SchemaContext) -> Schema:
        """Return the output schema, if ``configure`` has left it open because only the system tells it.

        Called in the run's own process at the start of a run or preview, before the stages after this one are
        configured with the schema; :meth:`read` is called on the same object. By default such a source
        cannot be run.
        """
        raise NotImplementedError

    def sample(self, context: SourceSampleContext, limit: int) -> Iterable[pa.RecordBatch] | None:
        """Return the first records without Spark, for previews; None when only :meth:`read` can tell them.

        They must be exactly those that :meth:`read` gives first: the same values and types in the same order.
        Batches after the first ``limit`` records are not asked for. After an exception, and for a batch that
        does not fit the output schema, :meth:`read` is called, whose records or error are shown instead.
        """
        return None

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME


class BatchSink(Plugin):
    """Base class of sinks, which write records; always of DataFrame grain."""

    types = ("batchsink",)

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input. A sink has no output schema."""

    def write(self, df: DataFrame, context: SinkContext) -> None:
        """Write all records with exactly one Spark action, and never to the final path itself."""
        raise NotImplementedError

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Fail where :meth:`write` would fail for these records, and write nothing that stays.

        What a preview's context stages (:meth:`SinkContext.staging_directory`, ``write_table`` and so on) is
        removed: a sink that writes in no other way calls :meth:`write`. By default nothing is checked.
        """

    def accepts(self, batch: pa.RecordBatch, context: SinkSampleContext) -> bool:
        """Return whether :meth:`preview` is certain to find no error in these records, without Spark.

        A preview calls it first, and :meth:`preview` only after False or an exception.

        :param batch: the records that reach the sink, every field of which may be null.
        """
        return False

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME


class _DataTransform(Plugin):
    """Base class of plugins that turn records into records."""

    one_to_one: ClassVar[bool] = False
    """Whether every input record becomes exactly one output record and never an error record, so that the
    engine counts the records once for the stage and its input."""

    def metadata_entities(self, arguments: Mapping[str, str]) -> Sequence[MetadataEntity]:
        """Return the entities for ``context.get_metadata`` in ``initialize`` (record and batch grain only).

        Their metadata is read when a run begins, and copied to the workers.

        :param arguments: of the run.
        """
        return ()

    def initialize(self, context: StageContext) -> None:
        """Prepare for records; called once in each worker before the first (record and batch grain only)."""

    def destroy(self) -> None:
        """Release resources; called once in each worker after the last record."""

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        """Return the names of the input fields to load, or None for all."""
        return None

    def lookup_tables(self) -> Sequence[str]:
        """Return the names of the tables for ``context.lookup`` (record and batch grain only).

        The tables must exist when a run begins; their rows are copied to the workers.
        """
        return ()


class Transform(_DataTransform):
    """Base class of transforms: one record in, any number of records and error records out."""

    types = ("transform",)

    def transform(self, record: Record, emit: Emitter) -> None:
        """Transform one record (record grain)."""
        raise NotImplementedError

    def transform_records(self, records: Sequence[Record], emit: Emitter) -> None:
        """Transform records in order, as :meth:`transform` does one by one.

        Override it together with :meth:`transform` when a call is expensive and can handle many records,
        such as a call into another language.
        """
        for record in records:
            self.transform(record, emit)

    def transform_sample(
        self, records: Sequence[Record], emit: Emitter, context: SampleContext
    ) -> None:
        """Transform records in this process, as ``apply`` does on Spark (DataFrame grain).

        Override it so that system applications can use the transform on samples (``UserPlugin.transform``).
        """
        raise NotImplementedError

    def transform_batch(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        """Transform one Arrow batch (batch grain)."""
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        """Transform the DataFrame of all records (DataFrame grain)."""
        raise NotImplementedError


class SplitterTransform(_DataTransform):
    """Base class of splitters, which send a record to any number of ports.

    ``configure`` sets ``stage.port_schemas``.
    """

    types = ("splittertransform",)

    def transform(self, record: Record, emit: PortEmitter) -> None:
        """Emit one record to ports (record grain)."""
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        """Return the records by port, derived from ``df`` by filters and columns only (DataFrame grain)."""
        raise NotImplementedError


class ErrorTransform(_DataTransform):
    """Base class of error transforms, which turn error records of their input stages into records."""

    types = ("errortransform",)

    def transform(self, record: ErrorRecord, emit: Emitter) -> None:
        """Transform one error record."""
        raise NotImplementedError


class BatchAggregator(_DataTransform):
    """Base class of aggregators: override ``apply``, or both ``group_by`` and ``aggregate``."""

    types = ("batchaggregator",)

    def group_by(self, record: Record) -> Iterable[Any]:
        """Return the keys of the groups of a record; a key is a string or a tuple."""
        raise NotImplementedError

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        """Emit the result of one group. ``records`` can be iterated once."""
        raise NotImplementedError

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        """Transform the DataFrame of all records (DataFrame grain)."""
        raise NotImplementedError

    @classmethod
    def grain(cls) -> Grain:
        return Grain.DATAFRAME if has_override(cls, "apply") else Grain.RECORD


class BatchReducibleAggregator(BatchAggregator):
    """Base class of aggregators that need no more than a value for each group, such as a sum.

    Workers reduce the records of each group to a value before the shuffle, so that values are sent and
    sorted instead of records (CDAP 6 ``etl.api.ReducibleAggregator``). Prefer it to :class:`BatchAggregator`
    where it can be had. An aggregate value is whatever ``pickle`` takes, and may be changed in place.

    The order of records and of values is not certain, nor is how many values a group is reduced to at first:
    the result must not depend on it.
    """

    def initialize_aggregate_value(self, record: Record) -> Any:
        """Return the value of a group of one record."""
        raise NotImplementedError

    def merge_values(self, value: Any, record: Record) -> Any:
        """Return the value of a group with one more record."""
        raise NotImplementedError

    def merge_partitions(self, value: Any, other: Any) -> Any:
        """Return the value of a group from the values of two of its parts."""
        raise NotImplementedError

    def finalize(self, key: Any, value: Any, emit: Emitter) -> None:
        """Emit the result of one group."""
        raise NotImplementedError

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        """Emit the result of one group, without parts: what the result must be equal to."""
        value = self.initialize_aggregate_value(next(records))
        for record in records:
            value = self.merge_values(value, record)
        self.finalize(key, value, emit)


class BatchJoiner(_DataTransform):
    """Base class of joiners, which join the records of two or more inputs with different schemas."""

    types = ("batchjoiner",)

    def input_fields_by_stage(self, stage: StageConfigurer) -> dict[str, list[str]] | None:
        """Return the names of the input fields to load by input stage, or None for all."""
        return None

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        """Return the joined records.

        :param inputs: DataFrames by input stage.
        """
        raise NotImplementedError


class SparkCompute(_DataTransform):
    """Base class of computations on a whole DataFrame."""

    types = ("sparkcompute",)
    caches_input: ClassVar[bool] = False
    """Whether Spark computes the input once and keeps it while the phase runs, because the plugin reads it
    several times. CDAP caches each input."""

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        """Transform the DataFrame of all records (DataFrame grain)."""
        raise NotImplementedError


class SparkSink(BatchSink):
    """Base class of sinks that compute on a whole DataFrame, for instance to train a model."""

    types = ("sparksink",)
    caches_input: ClassVar[bool] = False
    """As :attr:`SparkCompute.caches_input`."""


def plugin(*, name: str, description: str, type: str | None = None) -> Callable[[_Plugin], _Plugin]:
    """Make a class a plugin of an artifact.

    :param name: the name in pipeline documents.
    :param description: what the plugin does, for the person who selects it.
    :param type: the plugin type in lower case; by default the first that the base class allows.
    :raises TypeError: when the base class does not allow the type, or name or description is empty.
    """

    def mark(cls: _Plugin) -> _Plugin:
        type_ = type or next(iter(getattr(cls, "types", ())), None)
        problem = _find_problem(cls, type_, name, description)
        if problem:
            reject_declaration(cls, problem)
        else:
            # setattr, because the mark is not part of the interface of the class.
            setattr(cls, PLUGIN_MARK, (type_, name.strip(), description.strip()))
        return cls

    return mark


def _find_problem(cls: object, type_: object, name: object, description: object) -> str | None:
    if not isinstance(cls, type) or not issubclass(cls, Plugin) or type_ is None:
        return "a plugin extends one of the plugin base classes, for instance Transform."
    if type_ not in cls.types:
        allowed = ", ".join(cls.types) or "none; extend one of the plugin base classes"
        return f"unknown plugin type '{type_}'; allowed: {allowed}."
    texts = [text for text in (name, description) if isinstance(text, str) and text.strip()]
    if len(texts) < 2:
        return "a plugin needs a name and a description."
    if not texts[0].isprintable():
        return f"the name {texts[0]!r} contains characters that cannot be printed."
    return None


PLUGIN_MARK: Final = "__localcdap_plugin__"
"""The attribute (type, name, description) that :func:`plugin` sets; it is not inherited: read
``vars(cls)``."""


def has_override(cls: type, method: str) -> bool:
    """Return whether a plugin class, or a base class outside this module, defines the method."""
    for owner in cls.__mro__:
        if method in vars(owner):
            return owner.__module__ != __name__
    return False
