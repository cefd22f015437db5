"""Connectors: plugins that look into another system, so that people find data before they build a pipeline.

The names are those of CDAP's ``io.cdap.cdap.etl.api.connector`` (``Connector``, ``DirectConnector``,
``BrowseRequest``, ``BrowseDetail``, ``BrowseEntity``, ``SampleRequest``, ``ConnectorSpec``).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.failures import FailureCollector
from localcdap.api.locations import Locations
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record, StageConfigurer

DEFAULT_LIMIT: Final = 1000
"""Records of a sample, and entries of a listing, unless a request says otherwise."""
MOST_RECORDS: Final = 100_000
"""The most records of a sample."""


class SampleType(enum.StrEnum):
    """Which records a sample has (CDAP ``SampleType``; the last two are localcdap's)."""

    DEFAULT = "default"
    """The first ones."""
    FIRST = "first"
    RANDOM = "random"
    """Each record has the same chance."""
    STRATIFIED = "stratified"
    """Of each value of the column ``strata`` in proportion, and at least one as far as the limit allows."""
    MATCHING = "matching"
    """The first ones for which a JEXL condition is true: the property ``condition``."""
    FAILING = "failing"
    """The first ones for which a recipe fails: the property ``recipe``."""


class BrowseRequest(msgspec.Struct, frozen=True, rename="camel"):
    """What to list."""

    path: str | None = None
    """With ``/`` between its parts; ``/`` or nothing is the root of the connection."""
    limit: int | None = None
    """The most entities; None: 1,000."""
    search: str | None = None
    """Only entities whose names contain this text, in whatever case."""
    properties: dict[str, str] = {}


class BrowseProperty(msgspec.Struct):
    """A property of an entity, such as its size."""

    value: str
    type: str = "STRING"
    """``STRING``, ``NUMBER``, ``SIZE_BYTES`` or ``TIMESTAMP_MILLIS`` (CDAP ``PropertyType``)."""


class BrowseEntity(msgspec.Struct, rename="camel"):
    """A file, folder, bucket, database or table."""

    name: str
    path: str
    type: str
    """Such as ``file``, ``directory``, ``bucket``, ``schema``, ``table``."""
    can_sample: bool = False
    can_browse: bool = False
    properties: dict[str, BrowseProperty] = {}


class BrowseDetail(msgspec.Struct, rename="camel"):
    """What is at a path: its entities, or the one entity that cannot be browsed."""

    entities: list[BrowseEntity] = []
    total_count: int = 0
    """Of all entities, when the list has only the first ones."""
    property_headers: list[str] = []
    """The properties that the entities have, in their order."""
    sample_properties: list[Any] = []


class SampleRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Which records to read."""

    path: str | None = None
    limit: int = DEFAULT_LIMIT
    """From 1 to 100,000."""
    properties: dict[str, str] = {}
    """How to read, such as ``format``, ``delimiter``, ``header`` and ``encoding``. What is missing is
    detected."""
    timeout_ms: int | None = None
    """After this time the sample is made of what has been read."""
    strata: str | None = None
    """The column of a stratified sample."""
    sampling_type: SampleType = SampleType.DEFAULT
    seed: int | None = None
    """Of a random or stratified sample; the same one gives the same records. None: another sample each
    time."""


class RecordSample(msgspec.Struct):
    """Some of the records at a path."""

    schema: Schema | None
    """None when there are no records, and nothing else says the columns."""
    records: list[Any]
    """As JSON, see :mod:`localcdap.api.record_json`."""
    total: int | None = None
    """Of how many records; None when that is not known."""
    is_estimate: bool = False
    """Whether ``total`` is computed from the share of the data that was read."""
    read: int = 0
    """The records that were looked at; all of them when the sample is complete."""
    is_complete: bool = True
    """Whether everything that the sampling needs was read; False when the time was over before."""
    unreadable: list[str] = []
    """Why records were left out; the first ones."""
    properties: dict[str, str] = {}
    """How the records were read: the detected format, delimiter, header and encoding."""
    description: str = ""
    """Such as ``1,000 of 2.4 M records``."""
    seed: int | None = None
    """The one that was used."""


class SpecificationRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Whose stages are wanted (CDAP ``SpecGenerationRequest``)."""

    path: str | None = None
    properties: dict[str, str] = {}
    """As those of a sample: how to read."""
    plugin_name: str | None = None
    """Only plugins of this name."""
    plugin_type: str | None = None


class RelatedPlugin(msgspec.Struct, rename="camel"):
    """A plugin that reads or writes what a path names (CDAP ``PluginSpec``)."""

    name: str
    type: str
    properties: dict[str, str]


class ConnectorSpec(msgspec.Struct):
    """The plugins for a path, and the schema of its records."""

    related_plugins: Sequence[RelatedPlugin]
    schema: Schema | None = None


class ConnectorFailure(msgspec.Struct, rename="camel"):
    """Why a connection does not work."""

    message: str
    corrective_action: str | None = None
    property: str | None = None


class Unreadable(msgspec.Struct, frozen=True):
    """A record that is not as its format says."""

    message: str


class RecordStream(msgspec.Struct):
    """The records of a path, from the first one on. The caller reads as many as it needs."""

    records: Iterable[Record | Unreadable]
    schema: Schema | None = None
    """None when only the records say it, see ``find_schema``."""
    total: int | None = None
    """The number of all records, as far as it is known without reading them."""
    properties: dict[str, str] = {}
    """How they are read."""
    share: Callable[[], float | None] | None = None
    """Returns how much of the data is read, from 0 to 1, or None."""
    find_schema: Callable[[Sequence[Record]], Schema | None] | None = None
    """Returns the schema of records that were read, where only they say it."""
    is_sampled: bool = False
    """Whether these are the wanted records already: the system has sampled by itself."""


class PageRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Which part of all records to read."""

    path: str | None = None
    properties: dict[str, str] = {}
    """As those of a sample: how to read."""
    after: int | str | None = None
    """The position of the last record that was read; None to begin with the first one."""
    limit: int = MOST_RECORDS
    """The most records that localcdap takes."""


class PositionedRecords(msgspec.Struct):
    """Records with their positions, always in the same order. The caller reads as many as it has time for."""

    records: Iterable[tuple[int | str, Record]]
    """Each with the position that a later request names to go on after it: a key, or its number from 1."""
    schema: Schema | None = None
    """None when only the records say it, see ``find_schema``."""
    total: int | None = None
    """The number of all records. It is asked for with the first ones only."""
    version: str = ""
    """Changes with the data. A copy fails when two of its parts have different ones."""
    find_schema: Callable[[Sequence[Record]], Schema | None] | None = None
    """Returns the schema of records that were read, where only they say it."""


class RecordPage(msgspec.Struct):
    """The next of all records at a path."""

    arrow: bytes
    """An Arrow stream; empty when there are no more, and nothing says the columns."""
    rows: int
    after: int | str | None
    """The position of the last one; None without records."""
    is_last: bool
    total: int | None = None
    """The number of all records, as far as it is known."""
    version: str = ""


class StageOutline(msgspec.Struct):
    """A stage of a pipeline that handles records."""

    name: str
    type: str
    ports: tuple[str, ...] = ()
    """Of a splitter, those that lead to other stages."""
    records: int | None = None
    """How many it gave in a run, or how many reached a sink; None where they were not counted."""


class PipelineOutline(msgspec.Struct):
    """A deployed pipeline, or a run of a pipeline."""

    name: str
    run: str | None = None
    """The id of the run; None for a deployed pipeline."""
    status: str | None = None
    start: int | None = None
    """Milliseconds since 1970 at which the run was asked for."""
    stages: list[StageOutline] = []
    """In the order of the document; empty in a list of pipelines."""


class DatabaseTable(msgspec.Struct, frozen=True):
    """A table or view of a database file."""

    schema: str
    name: str
    rows: int | None
    """None for a view."""


class FileDatabase(Protocol):
    """A DuckDB file that is open for reading."""

    def list_tables(self) -> list[DatabaseTable]:
        """Return its tables and views, by schema and name."""
        ...

    def read(self, schema: str, table: str, request: SampleRequest) -> RecordStream:
        """Return the records of a table; the first, random or stratified ones as the request asks.

        :raises NotFoundError: when there is no such table.
        """
        ...

    def read_page(self, schema: str, table: str, request: PageRequest) -> PositionedRecords:
        """Return the records of a table after a position, in the order of the table.

        :raises NotFoundError: when there is no such table.
        """
        ...

    def close(self) -> None: ...


class ConnectorContext(Protocol):
    """What a connector may ask of the instance."""

    connection: str
    """The name of the connection; empty for one that is tested before it has one."""
    namespace: str
    failures: FailureCollector
    """Why the connection does not work, for :meth:`Connector.test`."""
    locations: Locations
    """Where foreign paths are on this machine."""

    def resolve_path(self, path: str) -> str:
        """Return where a path is on this machine, as for sources.

        :raises StageError: for a foreign path without a location.
        """
        ...

    def list_tables(self) -> Mapping[str, int | None]:
        """Return the tables, views and file sets of the namespace that the caller may read, with their
        numbers of rows; None where they are not known.
        """
        ...

    def read_table(self, table: str, request: SampleRequest) -> RecordStream:
        """Return records of a table of the namespace, the first, random or stratified ones as asked.

        :raises NotFoundError: when there is no such table.
        :raises UnauthorizedError: when the caller may not read it.
        """
        ...

    def read_source(
        self, plugin: str, properties: Mapping[str, str], limit: int, schema: Schema | None = None
    ) -> RecordStream:
        """Return the first records that a batch source reads on Spark (CDAP ``BatchConnector``).

        :param schema: the output schema of the source; None has it look for itself.
        :raises BadRequestError: when its properties are wrong, or it cannot read.
        """
        ...

    def list_pipelines(self) -> list[PipelineOutline]:
        """Return the deployed pipelines of the namespace that the caller may see, without their stages."""
        ...

    def list_runs(self) -> list[PipelineOutline]:
        """Return the newest 1,000 runs of the namespace that the caller may see, without their stages."""
        ...

    def describe_pipeline(self, name: str, *, is_run: bool = False) -> PipelineOutline:
        """Return a deployed pipeline, or a run, with the stages that handle records.

        :param name: of the pipeline, or the id of the run.
        :raises NotFoundError: when there is none.
        """
        ...

    def read_stage(
        self,
        pipeline: str,
        stage: str,
        limit: int,
        *,
        port: str | None = None,
        is_run: bool = False,
        arguments: Mapping[str, str] = MappingProxyType({}),
    ) -> RecordStream:
        """Return records that a stage gives, or that reach a sink, from a preview of its pipeline.

        :param pipeline: its name, or the id of a run, whose document and arguments are taken.
        :param limit: the most records that the preview reads from each source, up to 10,000.
        :param port: of a splitter.
        :param arguments: runtime arguments of a deployed pipeline.
        :raises NotFoundError: when there is no such pipeline, run or stage.
        :raises BadRequestError: when the preview fails.
        """
        ...

    def open_duckdb(self, path: str) -> FileDatabase:
        """Open a DuckDB file for reading.

        :raises BadRequestError: when it cannot be opened.
        """
        ...


class Connector(Plugin):
    """Looks into another system. Its properties are those of a connection.

    Each call gets a new object. It runs in a plugin worker, with limits of time and memory.
    """

    types = ("connector",)
    sample_types: Sequence[SampleType] = tuple(SampleType)
    """How its records can be sampled. localcdap samples what :meth:`read` returns."""

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any properties."""

    def test(self, context: ConnectorContext) -> None:
        """Try to reach the system. Add failures to ``context.failures``, or raise an error."""
        raise NotImplementedError

    def browse(self, context: ConnectorContext, request: BrowseRequest) -> BrowseDetail:
        """Return what is at a path; one that cannot be browsed has itself as the only entity.

        localcdap applies ``limit`` and ``search``.

        :raises NotFoundError: when there is nothing at the path.
        """
        raise NotImplementedError

    def read(self, context: ConnectorContext, request: SampleRequest) -> RecordStream:
        """Return the records at a path, lazily.

        :raises NotFoundError: when there is nothing at the path.
        :raises BadRequestError: when it has no records, as a folder has none.
        """
        raise NotImplementedError

    def read_page(
        self, context: ConnectorContext, request: PageRequest
    ) -> PositionedRecords | None:
        """Return all records at a path after a position, lazily. None, the default, says that this system
        gives its records in no order that calls can rely on; a sample is all that can be read then, unless
        :meth:`specify` names a source.

        :raises NotFoundError: when there is nothing at the path.
        """
        return None

    def specify(self, context: ConnectorContext, request: SpecificationRequest) -> ConnectorSpec:
        """Return the plugins that read the path in a pipeline, with ``connection`` as ``${conn(name)}``
        where the plugin takes one. By default there are none.
        """
        return ConnectorSpec([])


def format_connection_macro(name: str) -> str:
    """Return the macro that expands to the properties of a connection (CDAP ``ConnectorSpecRequest``)."""
    return f"${{conn({name})}}"
