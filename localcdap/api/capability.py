"""Capabilities: what a plugin is able to run on, as its author declares it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

_Class = TypeVar("_Class", bound=type)


class Capabilities:
    """The capabilities that the system defines. A plugin that declares none has all of these."""

    class Mode:
        NATIVE: Final = "mode_native"
        CLOUD: Final = "mode_cloud"

    class Spark:
        V1: Final = "spark_1"
        V2: Final = "spark_2"
        V3: Final = "spark_3"
        V4: Final = "spark_4"


SYSTEM_CAPABILITIES: Final = (
    Capabilities.Mode.NATIVE,
    Capabilities.Mode.CLOUD,
    Capabilities.Spark.V1,
    Capabilities.Spark.V2,
    Capabilities.Spark.V3,
    Capabilities.Spark.V4,
)
_ALIASES: Final = {
    "native": Capabilities.Mode.NATIVE,
    "cloud": Capabilities.Mode.CLOUD,
    "remote": Capabilities.Mode.CLOUD,
    "mode_remote": Capabilities.Mode.CLOUD,
}


def canonical(value: str) -> str:
    """The one spelling of a capability: lower case, aliases of the design document resolved."""
    lowered = value.strip().lower()
    return _ALIASES.get(lowered, lowered)


def capability(*values: str) -> Callable[[_Class], _Class]:
    """Declare capabilities of a plugin class; several uses add up.

    :raises TypeError: when a value is not a string, or is empty.
    """
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise TypeError(f"A capability is a non-empty string, not {value!r}.")

    def mark(cls: _Class) -> _Class:
        inherited = frozenset(getattr(cls, "__localcdap_capabilities__", ()))
        # setattr: the mark is not part of the class's own interface.
        setattr(cls, "__localcdap_capabilities__", inherited | {canonical(v) for v in values})  # noqa: B010
        return cls

    return mark


def capabilities_of(cls: type) -> frozenset[str]:
    """What ``cls`` is capable of: exactly what it declares, else everything of the system."""
    return getattr(cls, "__localcdap_capabilities__", None) or frozenset(SYSTEM_CAPABILITIES)
