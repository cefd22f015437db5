"""What a service of a system application is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.schema import Schema


class ArtifactSummary(msgspec.Struct, rename="camel"):
    """An artifact that a namespace sees."""

    artifact: ArtifactId
    namespace: str
    """Of the artifact; ``system`` for those that every namespace sees."""
    plugins: list[tuple[str, str]]
    """Types and names of the plugins in it."""


class ConfiguredPlugin(msgspec.Struct, rename="camel"):
    """What configuring a plugin gave. All is well when there are no failures."""

    failures: list[ValidationFailure]
    output_schema: Schema | None = None
    error_schema: Schema | None = None


class EmittedError(msgspec.Struct, rename="camel"):
    """A record that a plugin gave to ``emit.error``."""

    record: dict[str, Any]
    code: int
    message: str


class TransformedRecords(msgspec.Struct, rename="camel"):
    """What a plugin made of records."""

    output_schema: Schema
    records: list[dict[str, Any]]
    errors: list[EmittedError]


class Message(msgspec.Struct):
    """A message on a topic."""

    id: int
    """Larger than those of all messages before it."""
    topic: str
    payload: Any


class UserPlugin(Protocol):
    """A plugin with properties. Its code runs in a process of its own, within limits of time and memory:
    one that raises, hangs or crashes is a PluginError here.
    """

    @property
    def artifact(self) -> ArtifactId:
        """The one that it came in."""
        ...

    def configure(self, input_schemas: Mapping[str, Schema | None]) -> ConfiguredPlugin:
        """Validate the properties and propagate the schema.

        :param input_schemas: by input stage.
        """
        ...

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of a new object of the plugin's class.

        :param arguments: plain values: None, texts, numbers, bytes, dates, lists, dicts.
        :returns: what the method returned, as a plain value.
        :raises InvalidStageError: when its properties do not fit.
        :raises PluginError: when it raised, hung, crashed, or has no such public method.
        """
        ...

    def transform(self, records: Sequence[Mapping[str, Any]], schema: Schema) -> TransformedRecords:
        """Let a transform of record grain work on some records.

        :param schema: of the records.
        :raises BadRequestError: when the records do not fit the schema.
        :raises InvalidStageError: when configuring it gives failures.
        :raises PluginError: when it raised, hung, crashed, or is no such transform.
        """
        ...


class SystemContext(Protocol):
    """What a service can do beyond its own code. Threads may share it."""

    transactions: TransactionRunner
    """Runs bodies of code as transactions on structured tables."""

    def namespace_exists(self, namespace: str) -> bool: ...

    def get_namespace_summary(self, namespace: str) -> NamespaceSummary | None:
        """The namespace; None when there is none of that name."""
        ...

    def list_namespaces(self) -> list[NamespaceSummary]:
        """All namespaces, by name."""
        ...

    def list_artifacts(self, namespace: str) -> list[ArtifactSummary]:
        """The artifacts that a namespace sees: its own and those of the system.

        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def plugin(
        self,
        namespace: str,
        type: str,
        name: str,
        properties: Mapping[str, str] | None = None,
        *,
        artifact: str | None = None,
        version: str | None = None,
    ) -> UserPlugin:
        """A plugin that a namespace sees.

        :param artifact: name of its artifact; None for any.
        :param version: of the artifact, or a range such as ``[1.0.0,2.0.0)``; None for the highest.
        :raises NotFoundError: when there is no such plugin or namespace; the message lists near names.
        """
        ...

    def get_preferences(self, namespace: str, *, resolved: bool = True) -> dict[str, str]:
        """The preferences of a namespace.

        :param resolved: also those of the instance, where the namespace does not have its own.
        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def evaluate_macros(
        self,
        namespace: str,
        properties: Mapping[str, str],
        arguments: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """The properties with their macros replaced by arguments, preferences and secure keys.

        :param arguments: values of ``${key}``; they win over the preferences.
        :raises MacroError: when a macro is malformed or has no value.
        :raises NotFoundError: when there is no such namespace.
        """
        ...

    def create_topic(self, namespace: str, topic: str) -> None:
        """Make a topic, unless it is there."""
        ...

    def publish(self, namespace: str, topic: str, *payloads: Any) -> list[int]:
        """Publish messages, all or none; their ids.

        :raises NotFoundError: when there is no such topic or namespace.
        """
        ...

    def fetch(
        self, namespace: str, topic: str, after: int = 0, limit: int = 100, wait_s: float = 0.0
    ) -> list[Message]:
        """The oldest messages behind ``after``, in their order; waits while there is none.

        :raises NotFoundError: when there is no such topic or namespace.
        """
        ...
