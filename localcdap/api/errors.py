"""Every exception that localcdap raises on purpose, one tree.

::

    LocalcdapError
    ├── SchemaError               a schema document that cannot be read
    ├── MacroError                a macro that cannot be parsed or has no value
    ├── BadRequestError           input that cannot be used at all
    │   ├── DocumentError         a file that is not a pipeline; knows line and column
    │   ├── SettingsError         localcdap.toml is wrong; knows line and key
    │   ├── QueryError            SQL that is no query, is wrong or takes too much; knows line and column
    │   └── TableUsageError       an argument that makes no sense for a structured table
    │       └── InvalidTableFieldError  … a field unknown, of another type, or no key; knows the fields
    ├── NotFoundError             a namespace, artifact, plugin, run, table … that is not there
    ├── ConflictError             the thing exists already or is in use
    │   └── IncompatibleTableError    a structured table cannot become what is asked for
    ├── InvalidStageError         a plugin refuses its configuration, with all reasons
    │   └── InvalidFieldError     … because of one configuration property
    ├── InvalidPipelineError      a pipeline has failures; carries all of them
    ├── IncapableError            a pipeline holds plugins that cannot run where they are asked to
    ├── PluginError               user code raised, crashed, hung or ate its memory
    ├── StageError                a stage failed during a run; knows the stage
    ├── EngineError               Spark cannot be started or reached
    ├── StoreError                the instance's folder or database file cannot be used
    │   ├── DamagedStoreError     … because it is damaged, or no database at all
    │   └── TransactionError      a transaction is used where it cannot be: nested, over, read-only
    │       ├── TransactionConflictError  … others got in its way; nothing of it was kept
    │       └── TransactionTimeoutError   … took too long; nothing of it was kept
    └── HostError                 the process at the other end cannot be reached, or failed
        ├── HostLostError         … went away in the middle of a call
        └── HostSilentError       … holds the instance and does not answer

A message alone must let a user act; every error may also carry ``corrective_action``, a sentence in
the imperative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class LocalcdapError(Exception):
    """Base of all errors of localcdap.

    :param message: what is wrong and where, one sentence.
    :param corrective_action: what to do about it, or None where nothing is known to help.
    """

    def __init__(self, message: str, corrective_action: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.corrective_action = corrective_action

    def __str__(self) -> str:
        return self.message

    @property
    def full_message(self) -> str:
        """The message followed by the corrective action, for a human reader."""
        return " ".join(part for part in (self.message, self.corrective_action) if part)

    def attributes(self) -> dict[str, Any]:
        """Constructor arguments by name, plain values only: what a remote copy is rebuilt from."""
        return {"message": self.message, "corrective_action": self.corrective_action}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.attributes())


class SchemaError(LocalcdapError):
    """A schema document is not a schema."""


class MacroError(LocalcdapError):
    """A macro is malformed, undefined or recursive without end."""


class BadRequestError(LocalcdapError):
    """The input cannot be used at all; nothing was done."""


class DocumentError(BadRequestError):
    """A file is not a pipeline document.

    :param line: 1-based line of the problem, None when the problem has no single place.
    :param column: 1-based column, None likewise.
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, corrective_action)
        self.file = file
        self.line = line
        self.column = column

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {
            "file": self.file,
            "line": self.line,
            "column": self.column,
        }


class SettingsError(BadRequestError):
    """``localcdap.toml`` or an override of it is wrong. The message names file, line and key."""


class QueryError(BadRequestError):
    """A query on the tables of the instance is refused, wrong, cancelled, or takes more than it may.

    :param line: 1-based line of the problem, None when it has no single place.
    :param column: 1-based column, None likewise.
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, corrective_action)
        self.line = line
        self.column = column

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"line": self.line, "column": self.column}


class TableUsageError(BadRequestError, ValueError):
    """A structured table is used or specified in a way that makes no sense.

    What CDAP raises as IllegalArgumentException.
    """


class InvalidTableFieldError(TableUsageError):
    """A field is unknown, of another type than its value, null in a key, or in the wrong place of one.

    :param table: id of the structured table; empty where it is not known.
    :param fields: their names.
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        table: str = "",
        fields: Sequence[str] = (),
    ) -> None:
        super().__init__(message, corrective_action)
        self.table = table
        self.fields = list(fields)

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"table": self.table, "fields": self.fields}


class NotFoundError(LocalcdapError):
    """Something asked for by name is not there. The message lists the nearest names."""


class ConflictError(LocalcdapError):
    """The thing exists already, or is in use."""


class IncompatibleTableError(ConflictError):
    """A structured table exists, and cannot become what is asked for. The message says every reason."""


class InvalidStageError(LocalcdapError):
    """Raised by a plugin's ``configure``: all the reasons why its configuration is refused.

    The exception style of the studio's design document; adding to ``stage.failures`` means the same.

    :param errors: the reasons, at least one; nested :class:`InvalidStageError` are flattened.
    """

    def __init__(self, errors: Sequence[Exception | str]) -> None:
        self.errors: tuple[Exception, ...] = tuple(_flatten(errors))
        super().__init__("; ".join(str(error) for error in self.errors) or "invalid stage")

    def attributes(self) -> dict[str, Any]:
        return {"errors": [str(error) for error in self.errors]}


class InvalidFieldError(InvalidStageError):
    """One configuration property is wrong.

    :param field: the property's name as it stands in the pipeline document.
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


class InvalidPipelineError(LocalcdapError):
    """A pipeline has failures.

    :param failures: each as its plain JSON form (see :mod:`localcdap.api.failures`).
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        failures: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(message, corrective_action)
        self.failures = list(failures)

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"failures": self.failures}


class IncapableError(LocalcdapError):
    """A pipeline holds plugins that lack capabilities which its run requires; nothing was started."""


class PluginError(LocalcdapError):
    """User code raised, exited, hung or ate its memory.

    :param traceback: the plugin's own frames, innermost last; empty when the process died.
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        traceback: Sequence[str] = (),
    ) -> None:
        super().__init__(message, corrective_action)
        self.traceback = list(traceback)

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"traceback": self.traceback}


class StageError(LocalcdapError):
    """A stage failed during a run.

    :param stage: the stage's name; also part of the message.
    """

    def __init__(
        self, message: str, corrective_action: str | None = None, *, stage: str | None = None
    ) -> None:
        super().__init__(message, corrective_action)
        self.stage = stage

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"stage": self.stage}


class EngineError(LocalcdapError):
    """Spark cannot be started or reached."""


class StoreError(LocalcdapError):
    """The instance's folder or its database file cannot be used."""


class DamagedStoreError(StoreError):
    """A database file is damaged, or no database at all."""


class TransactionError(StoreError):
    """A transaction is used where it cannot be: in another one, after its end, to write in a reader."""


class TransactionConflictError(TransactionError):
    """Other transactions got in the way of this one; nothing of it was kept. Running it again may help."""


class TransactionTimeoutError(TransactionError):
    """A transaction took longer than it may; nothing of it was kept."""


class HostError(LocalcdapError):
    """The process at the other end (mostly the host) cannot be reached, or a fault happened in it.

    :param traceback: the other process's own frames, innermost last; empty when nothing was raised.
    """

    def __init__(
        self,
        message: str,
        corrective_action: str | None = None,
        *,
        traceback: Sequence[str] = (),
    ) -> None:
        super().__init__(message, corrective_action)
        self.traceback = list(traceback)

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"traceback": self.traceback}


class HostLostError(HostError):
    """The process at the other end went away; whether the call took effect is unknown."""


class HostSilentError(HostError):
    """Another process holds the instance and does not answer: it is stopped, or not done yet."""


def _rebuilt(cls: type[LocalcdapError], attributes: dict[str, Any]) -> LocalcdapError:
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
