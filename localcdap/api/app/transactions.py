"""Transactions on structured tables and datasets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import msgspec

from localcdap.api.app.table import StructuredTable, StructuredTableSpecification
from localcdap.api.errors import BadRequestError

T = TypeVar("T")


class TransactionKind(StrEnum):
    """The isolation of the operations of a function."""

    DEFAULT = "DEFAULT"
    """One serializable transaction with a time limit."""
    LONG = "LONG"
    """One transaction without a time limit. Other transactions may change what it only reads."""
    READ_ONLY = "READ_ONLY"
    """One snapshot. Writes are rejected, and there are no conflicts."""
    NONE = "NONE"
    """Each operation is a separate transaction, and is kept when the function fails later."""


class TransactionContext(Protocol):
    """The tables and datasets inside a transaction. Do not use it in other threads, or after it."""

    def table(self, table: str) -> StructuredTable:
        """Return a table by its id.

        :raises NotFoundError: when there is none; the message lists the existing tables.
        """
        ...

    def dataset(
        self, name: str, *, namespace: str | None = None, arguments: Mapping[str, str] | None = None
    ) -> Any:
        """Open a dataset: an object of the class of its type, see :mod:`localcdap.api.dataset.classes`.

        :param namespace: by default that of the program.
        :param arguments: what the type makes of them, such as the path of a file set.
        :raises NotFoundError: when there is none of that name, or its type is missing.
        :raises UnauthorizedError: when the principal of the program has no permission on it.
        """
        ...


class TransactionRunner(Protocol):
    """Runs functions as transactions. Threads may share it."""

    def run(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> T:
        """Call a function in a transaction, commit, and return its result.

        When the function raises, the transaction is rolled back and the exception is raised. On a conflict
        with another transaction the function is called again after a short wait, until its time is over, so
        it must be repeatable.

        :param timeout_s: the seconds for all attempts together, of each operation for kind NONE; by default
            the setting ``data.tx.timeout``, unlimited for LONG. A running operation is then interrupted;
            other code of the function is not.
        :raises BadRequestError: when the timeout exceeds the setting ``data.tx.max.timeout``.
        :raises TransactionConflictError: when every attempt has a conflict.
        :raises TransactionTimeoutError: when the time is over.
        :raises TransactionError: inside of another transaction.
        """
        ...

    def dataset(
        self, name: str, *, namespace: str | None = None, arguments: Mapping[str, str] | None = None
    ) -> Any:
        """Open a dataset outside of a transaction, for its files; see :meth:`TransactionContext.dataset`.

        Operations on its rows raise TransactionError.
        """
        ...

    def submit(
        self,
        body: Callable[[TransactionContext], T],
        *,
        kind: TransactionKind = TransactionKind.DEFAULT,
        timeout_s: float | None = None,
    ) -> Future[T]:
        """Call :meth:`run` in another thread. The time starts with the first call of the function."""
        ...


class StructuredTableAdmin(Protocol):
    """Creates, changes and drops tables. Each call is a separate transaction."""

    def create_or_update(self, specification: StructuredTableSpecification) -> None:
        """Create a table, or add the fields and indexes that it lacks; new fields are null.

        :raises IncompatibleTableError: when a field or index would be removed, the type of a field or the
            primary key would change; the message lists all.
        """
        ...

    def exists(self, table: str) -> bool:
        """Return whether there is a table with this id."""
        ...

    def get_schema(self, table: str) -> StructuredTableSpecification:
        """Return the specification of a table.

        :raises NotFoundError: when there is none; the message lists the existing tables.
        """
        ...

    def drop(self, table: str) -> None:
        """Drop a table with its rows; nothing happens when there is none."""
        ...


TIMEOUT_ARGUMENT: Final = "system.data.tx.timeout"
"""The seconds of a run's transactions; with ``<scope>.<name>.`` in front of it, those of one stage."""
LIMIT_SETTING: Final = "data.tx.max.timeout"


class TransactionLimits(msgspec.Struct, frozen=True):
    """How long transactions may take, in seconds; one of kind LONG may take any time."""

    timeout_s: float = 30.0
    """Without another one."""
    limit_s: float = 600.0
    """The longest that a program may ask for."""

    def check(self, timeout_s: float, name: str = "timeout_s") -> float:
        """Return a timeout that a program asks for.

        :param name: of the argument.
        :raises BadRequestError: when it is not above 0 or exceeds the limit.
        """
        if not timeout_s > 0 or not math.isfinite(timeout_s):
            raise BadRequestError(
                f"The timeout of a transaction must be above 0 s, not {timeout_s:g}."
            )
        if timeout_s > self.limit_s:
            raise BadRequestError(
                f"Transaction timeout ({name}) of {timeout_s:g} seconds must not exceed the transaction "
                f"timeout limit ({LIMIT_SETTING}) of {self.limit_s:g}",
                f"Use a shorter one, the kind LONG, or raise '{LIMIT_SETTING}' in localcdap.toml.",
            )
        return timeout_s


def has_timeouts(arguments: Mapping[str, str]) -> bool:
    """Return whether arguments of a run change timeouts."""
    return any(_is_timeout(name) for name in arguments)


def check_timeouts(arguments: Mapping[str, str], limits: TransactionLimits) -> None:
    """Check the timeouts in the arguments of a run, those of scopes too.

    :raises BadRequestError: when one is not a number above 0, or exceeds the limit.
    """
    for name, text in arguments.items():
        if _is_timeout(name):
            limits.check(_parse(name, text), name)


def find_timeout(arguments: Mapping[str, str], stage: str) -> float | None:
    """Return the timeout for the transactions of a stage; None: the arguments have none.

    The argument of a scope, such as ``action.STAGE.system.data.tx.timeout``, is preferred.
    """
    scoped = f".{stage}.{TIMEOUT_ARGUMENT}"
    found = next((name for name in arguments if name.endswith(scoped)), TIMEOUT_ARGUMENT)
    text = arguments.get(found)
    return None if text is None else _parse(found, text)


def _is_timeout(name: str) -> bool:
    return name == TIMEOUT_ARGUMENT or name.endswith(f".{TIMEOUT_ARGUMENT}")


def _parse(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadRequestError(
            f"Argument '{name}' must be a number of seconds, not '{text}'."
        ) from None
