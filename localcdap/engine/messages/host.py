"""The services of the host that a run process calls, by the names under which the host serves them.

The classes state only the signatures: :mod:`localcdap.engine.host_client` calls them over RPC, and the host
binds its own services to the names.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from localcdap.api.dataset.definition import DatasetDeclaration, DatasetFiles
from localcdap.api.metadata import MetadataEntity, ScopedMetadata
from localcdap.api.schema import Schema
from localcdap.api.security import Permission
from localcdap.api.tables import CreatedTable, TableShape, TableWrite
from localcdap.artifacts.model import DatasetTypeRef
from localcdap.rpc.methods import non_idempotent

RUNS: Final = "runs"
"""Name of the service :class:`RunMessages`."""
TABLE_EXPORTS: Final = "table-exports"
"""Name of the service :class:`TableExports`."""
TABLE_STATEMENTS: Final = "table-statements"
"""Name of the service :class:`TableStatements`."""
ARTIFACTS: Final = "artifacts"
"""Name of the service :class:`DatasetTypeReads`."""
SECURE_KEYS: Final = "secure-keys"
"""Name of the service :class:`SecureKeys`."""
OAUTH: Final = "oauth"
"""Name of the service :class:`OAuthTokens`."""
METADATA: Final = "metadata"
"""Name of the service :class:`MetadataReads`."""
SECURITY: Final = "security"
"""Name of the service :class:`PrivilegeChecks`."""
RUN_DATASETS: Final = "run-datasets"
"""Name of the service :class:`DatasetDeclarations`."""
CONNECTIONS: Final = "connections"
"""Name of the service :class:`ConnectionProperties`."""

MESSAGING: Final = "messaging"
"""Name of the service :class:`TopicMessages`."""


class TableFiles(msgspec.Struct):
    """A snapshot of a table, as files."""

    schema: Schema
    files: list[str]
    """Parquet files; empty for a table without rows."""
    key: str | None = None
    """The field that is the primary key; None for a table to which rows are only appended."""


class TableLoad(msgspec.Struct):
    """Rows that the host writes into a table when the run has committed."""

    namespace: str
    name: str
    schema: Schema
    key: str | None
    """The field that is the primary key, by which rows are upserted; None for a table without one."""
    directory: str
    """A directory of Parquet files."""
    how: TableWrite = TableWrite()
    """How the rows are written into a table without a key."""


class StatementBatch(msgspec.Struct):
    """SQL statements that are executed one after the other, all or none."""

    namespace: str
    sql: list[str]
    """Each is a single statement of DuckDB."""
    changes: list[str]
    """Names of the tables that the statements change, create or drop; empty for queries."""
    makes: list[CreatedTable] = []
    """Of these, the tables that the statements create."""


class StatementResult(msgspec.Struct):
    """The result of a batch of statements."""

    rows: int
    """Rows that the last statement found or changed."""
    first: bytes
    """The first row of the last query, as an Arrow IPC stream; empty when there was no query."""
    reads: list[str] = []
    """The tables of which the statements have read rows, other than those that they may change."""


class RunMessages:
    """The part of the run service that a run process calls."""

    def drain_spool(self, run: str) -> None:
        """Apply everything that a run has reported so far: rows that it wrote are then in their tables.

        :raises StoreError: when the rows cannot be written.
        """
        raise NotImplementedError


class TableExports:
    """Reads of tables."""

    def export(self, namespace: str, name: str, directory: str) -> TableFiles:
        """Write the rows of a table as Parquet files into a directory of the run.

        :raises NotFoundError: when the table does not exist.
        """
        raise NotImplementedError

    def read_shapes(self, namespace: str) -> dict[str, TableShape]:
        """Return the columns and keys of the tables of a namespace, by name."""
        raise NotImplementedError


class TableStatements:
    """SQL on tables."""

    @non_idempotent
    def carry_out(self, statements: StatementBatch) -> StatementResult:
        """Execute statements in one transaction.

        :raises QueryError: when a statement is wrong or exceeds its limits.
        """
        raise NotImplementedError


class DatasetTypeReads:
    """The dataset types of modules."""

    def find_dataset_type(self, namespace: str, name: str) -> DatasetTypeRef | None:
        """Return a type; None when there is none of that name."""
        raise NotImplementedError


class SecureKeys:
    """The secure keys of a namespace."""

    def get(self, namespace: str, name: str) -> str:
        """Return the value of a key.

        :raises NotFoundError: when the key does not exist.
        """
        raise NotImplementedError


class OAuthTokens:
    """The tokens of OAuth credentials."""

    def get_recent_token(self, name: str, credential: str) -> dict[str, str]:
        """Return the token of a provider and a credential.

        :raises NotFoundError: when there is none.
        :raises OAuthError: when the provider gives no token.
        """
        raise NotImplementedError


class ConnectionProperties:
    """The connections of a namespace."""

    def get_properties(self, namespace: str, name: str) -> dict[str, str]:
        """Return the properties of a connection.

        :raises NotFoundError: when the connection does not exist.
        """
        raise NotImplementedError


class MetadataReads:
    """The metadata of entities."""

    def get(self, entity: MetadataEntity) -> ScopedMetadata:
        """Return the metadata of an entity; empty when it has none.

        :raises NotFoundError: when there is no such entity.
        """
        raise NotImplementedError


class PrivilegeChecks:
    """What the user of the run may do."""

    def enforce(self, entity: MetadataEntity, permissions: list[Permission]) -> None:
        """Check that the user has all permissions on an entity.

        :raises UnauthorizedError: when one is missing.
        """
        raise NotImplementedError


class DatasetDeclarations:
    """Datasets of sinks."""

    def declare(
        self, namespace: str, stage: str, declaration: DatasetDeclaration
    ) -> DatasetFiles | None:
        """Create a dataset, unless it exists and is as the sink of a stage declares it. Return its files.

        :raises IncompatibleUpdateError: when it exists and is not.
        """
        raise NotImplementedError


class TopicMessages:
    """The topics of a namespace."""

    def describe_topic(self, namespace: str, name: str) -> Any:
        """Return a topic.

        :raises NotFoundError: when there is none of that name.
        """
        raise NotImplementedError

    @non_idempotent
    def create_topic(self, namespace: str, name: str) -> Any:
        """Create a topic.

        :raises ConflictError: when there is one of that name.
        """
        raise NotImplementedError

    @non_idempotent
    def publish(self, namespace: str, topic: str, payloads: list[Any]) -> list[int]:
        """Publish messages, all or none.

        :raises NotFoundError: when there is no such topic.
        """
        raise NotImplementedError
