"""The exceptions of localcdap, as one tree.

::

    LocalcdapError
    ├── SchemaError               a schema document is invalid
    ├── MacroError                a macro cannot be parsed or has no value
    ├── BadRequestError           the input cannot be used
    │   ├── DocumentError         a file is not a pipeline; has line and column
    │   ├── SettingsError         localcdap.toml is invalid; names line and key
    │   ├── QueryError            SQL is invalid, not a query or too expensive; has line and column
    │   ├── DatasetPropertiesError  a property of a dataset is invalid; names it
    │   └── TableUsageError       an argument is invalid for a structured table
    │       └── InvalidTableFieldError  … a field is unknown, has another type or is not a key; has the fields
    ├── NotFoundError             there is no such namespace, artifact, plugin, run, table …
    ├── UnauthorizedError         the user lacks a permission
    ├── ConflictError             the thing exists already or is in use
    │   ├── IncompatibleTableError    a structured table cannot be changed as requested
    │   └── IncompatibleUpdateError   a dataset cannot get the requested properties; has all reasons
    ├── InvalidStageError         a plugin rejects its configuration; has all reasons
    │   └── InvalidFieldError     … because of one configuration property
    ├── InvalidPipelineError      a pipeline has failures; has all of them
    ├── IncapableError            plugins of a pipeline lack capabilities that the run requires
    ├── DatasetAccessError        a method of a dataset calls one that does more than itself
    ├── PluginError               user code raised, crashed, hung or exceeded its memory
    │   ├── SessionLostError      … the process of a session crashed or was ended; what it kept is gone
    │   └── ApplicationLostError  … the process of an application ended in a call, or did not start
    ├── StageError                a stage failed during a run; has the stage
    ├── ProgramFailureError       a plugin classifies its own error; has category, reason, type and code
    ├── OAuthError                an OAuth provider gives no token; has the status of its answer
    ├── EngineError               Spark cannot be started or reached
    ├── StoreError                the instance's folder or database file cannot be used
    │   ├── DamagedStoreError     … because it is damaged, or not a database
    │   ├── DiskFullError         … because the disk has no space left
    │   └── TransactionError      a transaction is nested, ended or read-only
    │       ├── TransactionConflictError  … conflicts with others, and was rolled back
    │       └── TransactionTimeoutError   … exceeded its time, and was rolled back
    └── HostError                 the other process cannot be reached, or failed
        ├── HostLostError         … ended during a call
        └── HostSilentError       … has the instance open and does not answer

A user must be able to act on the message alone. ``corrective_action`` is a sentence in the imperative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any


@dataclass(eq=False, repr=False)
class LocalcdapError(Exception):
    """Base class of all errors of localcdap.

    A subclass with arguments of its own is a dataclass too, and declares them as keywords.

    :param message: what is wrong and where, one sentence.
    :param corrective_action: what to do, or None when nothing is known to help.
    """

    message: str
    corrective_action: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    @property
    def full_message(self) -> str:
        """The message and the corrective action, as one text."""
        return " ".join(part for part in (self.message, self.corrective_action) if part)

    def attributes(self) -> dict[str, Any]:
        """Return the constructor arguments by name, from which another process rebuilds the error."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.attributes())


class SchemaError(LocalcdapError):
    """A schema document is invalid."""


class MacroError(LocalcdapError):
    """A macro is malformed, has no value or refers to itself."""


class BadRequestError(LocalcdapError):
    """The input cannot be used; nothing was changed."""


@dataclass(eq=False, repr=False, kw_only=True)
class DocumentError(BadRequestError):
    """A file is not a pipeline document.

    :param line: the 1-based line of the problem; None when it has no single position.
    :param column: the 1-based column; None when there is no line.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None


class SettingsError(BadRequestError):
    """``localcdap.toml`` or an override of it is invalid. The message names file, line and key."""


@dataclass(eq=False, repr=False, kw_only=True)
class QueryError(BadRequestError):
    """A query on the tables of the instance is not allowed, invalid, cancelled, or exceeds a limit.

    :param line: the 1-based line of the problem; None when it has no single position.
    :param column: the 1-based column; None when there is no line.
    """

    line: int | None = None
    column: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class DatasetPropertiesError(BadRequestError):
    """A property of a dataset is missing or invalid. CDAP raises IllegalArgumentException.

    :param property: its name; None when the problem is not one property's.
    """

    property: str | None = None


class DatasetAccessError(LocalcdapError):
    """A method of a dataset class calls one that does more than its own annotation says."""


class TableUsageError(BadRequestError, ValueError):
    """A structured table is used or specified in an invalid way.

    CDAP raises IllegalArgumentException.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidTableFieldError(TableUsageError):
    """A field is unknown, has another type than its value, or is null or misplaced in a key.

    :param table: the id of the structured table; empty when it is not known.
    :param fields: the names of the fields.
    """

    table: str = ""
    fields: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fields = list(self.fields)


@dataclass(eq=False, repr=False, kw_only=True)
class NotFoundError(LocalcdapError):
    """There is nothing of a requested name. The message lists the nearest names.

    :param entity: what there is not, as CDAP writes the ids of entities (6.10 ``EntityId.toString``):
        ``application:default.sales.-SNAPSHOT``; None for anything else.
    """

    entity: str | None = None


class UnauthorizedError(LocalcdapError):
    """A user lacks a permission on an entity; nothing was changed."""


class ConflictError(LocalcdapError):
    """The thing exists already, or is in use."""


class IncompatibleTableError(ConflictError):
    """An existing structured table cannot be changed as requested. The message lists all reasons."""


@dataclass(eq=False, repr=False)
class IncompatibleUpdateError(ConflictError):
    """A dataset cannot get the requested properties; nothing was changed.

    :param reasons: what is incompatible, one sentence each with the old value, the new one and the rule; the
        message has a line for each. By default, ``message`` is the only one.
    :param property: the property that would be changed; None when there are several.
    """

    message: str = ""
    _: KW_ONLY
    reasons: Sequence[str] = ()
    property: str | None = None

    def __post_init__(self) -> None:
        self.message = self.message or "\n".join(self.reasons)
        self.reasons = list(self.reasons) or [self.message]
        super().__post_init__()


class InvalidStageError(LocalcdapError):
    """Raised by a plugin's ``configure``, with all reasons why it rejects its configuration.

    This is the exception style of the design document; adding to ``stage.failures`` has the same effect.

    :param errors: the reasons, at least one; nested :class:`InvalidStageError` are flattened.
    """

    def __init__(self, errors: Sequence[Exception | str]) -> None:
        self.errors: tuple[Exception, ...] = tuple(_flatten(errors))
        super().__init__("; ".join(str(error) for error in self.errors) or "invalid stage")

    def attributes(self) -> dict[str, Any]:
        return {"errors": [str(error) for error in self.errors]}


class InvalidFieldError(InvalidStageError):
    """One configuration property is invalid.

    :param field: the name of the property in the pipeline document.
    """

    def __init__(self, field: str, message: str, corrective_action: str | None = None) -> None:
        LocalcdapError.__init__(self, message, corrective_action)
        self.field = field
        self.errors = (self,)

    def attributes(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "message": self.message,
            "corrective_action": self.corrective_action,
        }


@dataclass(eq=False, repr=False, kw_only=True)
class InvalidPipelineError(LocalcdapError):
    """A pipeline has failures.

    :param failures: the failures as JSON (see :mod:`localcdap.api.failures`).
    """

    failures: Sequence[dict[str, Any]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.failures = list(self.failures)


class IncapableError(LocalcdapError):
    """Plugins of a pipeline lack capabilities that its run requires; nothing was started."""


@dataclass(eq=False, repr=False, kw_only=True)
class PluginError(LocalcdapError):
    """User code raised, exited, hung or exceeded its memory.

    :param traceback: the frames of user code, innermost last; empty when the process ended.
    """

    traceback: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.traceback = list(self.traceback)


class SessionLostError(PluginError):
    """The process of a session crashed or was ended, with all that its calls kept; another call begins
    again in a new process.
    """


class ApplicationLostError(PluginError):
    """The process of a system application ended during a call, was ended because it took too long, or could
    not be started. What the caller asked for is not at fault; another call starts the process again.
    """


@dataclass(frozen=True, kw_only=True)
class ErrorDetails:
    """The classification of an error (CDAP 6.11 ``FailureDetailsProvider``)."""

    category: str = "Others"
    """``Plugin``, ``Networking``, ``Provisioning``, ``Access``, ``Others`` …; with more after a hyphen,
    as in ``Plugin-BigQuery``."""
    reason: str | None = None
    """What kind of failure it is, in a few words."""
    type: str = "UNKNOWN"
    """``USER``: the pipeline or its data must change; ``SYSTEM``: what it runs on; or ``UNKNOWN``."""
    dependency: bool = False
    """Whether another system caused it."""
    code_type: str | None = None
    """The kind of the code, such as ``HTTP``, ``SQLSTATE`` or ``SPARK``."""
    code: str | None = None
    documentation: str | None = None
    """The address of a page about the error."""


@dataclass(eq=False, repr=False, kw_only=True)
class StageError(LocalcdapError):
    """A stage failed during a run.

    :param stage: the name of the stage, which the message contains too.
    :param record: the JSON of the record at fault; None when it is not known. It may hold secrets, so it
        stays in its process.
    :param details: the classification of the error, as far as it is known where it is raised.
    """

    stage: str | None = None
    record: str | None = None
    details: ErrorDetails | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.details, dict):  # from another process
            self.details = ErrorDetails(**self.details)

    def attributes(self) -> dict[str, Any]:
        """Return the constructor arguments by name, without the record."""
        return {**super().attributes(), "record": None}


@dataclass(eq=False, repr=False, kw_only=True)
class ProgramFailureError(LocalcdapError):
    """A plugin says what kind of error it has, and what helps (CDAP 6.11 ``ProgramFailureException``).

    A plugin raises it, or makes it of another exception in ``Plugin.get_error_details``.

    :param details: the classification, which wins over the one that is made from the text of an error.
    """

    details: ErrorDetails = ErrorDetails()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.details, dict):  # from another process
            self.details = ErrorDetails(**self.details)


@dataclass(eq=False, repr=False, kw_only=True)
class OAuthError(LocalcdapError):
    """An OAuth provider gives no token.

    :param status: the HTTP status of its answer; 502 when there is none.
    """

    status: int = 502


class EngineError(LocalcdapError):
    """Spark cannot be started or reached."""


class StoreError(LocalcdapError):
    """The instance's folder or its database file cannot be used."""


class DamagedStoreError(StoreError):
    """A database file is damaged, or is not a database."""


class DiskFullError(StoreError):
    """A disk has no space left, or a limit on the size of files or on the user's space is reached."""


class TransactionError(StoreError):
    """A transaction is started in another one, used after its end, or writes although it is read-only."""


class TransactionConflictError(TransactionError):
    """A transaction conflicts with others, and was rolled back. Running it again may succeed."""


class TransactionTimeoutError(TransactionError):
    """A transaction exceeded its time, and was rolled back."""


@dataclass(eq=False, repr=False, kw_only=True)
class HostError(LocalcdapError):
    """The other process (mostly the host) cannot be reached, or had an internal error.

    :param traceback: the frames of the other process, innermost last; empty when it raised nothing.
    """

    traceback: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.traceback = list(self.traceback)


@dataclass(eq=False, repr=False, kw_only=True)
class HostLostError(HostError):
    """The other process ended; whether the call took effect is unknown.

    :param was_sent: whether the other process may have received the call; if not, it had no effect.
    """

    was_sent: bool = True


class HostSilentError(HostError):
    """Another process has the instance open and does not answer: it is suspended or busy."""


def describe_reason(error: BaseException) -> str:
    """Return what an exception says, without a full stop; of an OSError without its number and its path."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__


def _rebuild(cls: type[LocalcdapError], attributes: dict[str, Any]) -> LocalcdapError:
    return cls(**attributes)


def _flatten(errors: Sequence[Exception | str]) -> list[Exception]:
    flat: list[Exception] = []
    for error in errors:
        if isinstance(error, str):
            flat.append(LocalcdapError(error))
        elif isinstance(error, InvalidStageError) and not isinstance(error, InvalidFieldError):
            flat.extend(error.errors)
        else:
            flat.append(error)
    return flat
