"""The time limits of transactions, and the arguments of a run for them (CDAP 6 ``SystemArguments``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError

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
