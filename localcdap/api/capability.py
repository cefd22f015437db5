"""Capabilities: what a plugin can run on, as its author declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from localcdap.api.declarations import reject_declaration

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


_RESERVED: Final = (",", "(", ")", "&&", "||")
"""What separates and combines capabilities in ``plugin.required.capabilities``."""
_MARK: Final = "__localcdap_capabilities__"


def normalize_capability(value: str) -> str:
    """Return a capability in lower case, with aliases replaced."""
    folded = value.strip().casefold()
    return _ALIASES.get(folded, folded)


def capability(*values: str) -> Callable[[_Class], _Class]:
    """Declare capabilities of a plugin class; several uses on one class add up.

    :raises TypeError: (where the class is created) when there is no value, or a value is not text, is empty,
        or contains a comma, a parenthesis, ``&&`` or ``||``, which have a meaning in the settings.
    """

    def mark(cls: _Class) -> _Class:
        if not values:
            reject_declaration(
                cls,
                "@capability names no capability; remove it to declare all capabilities of the system.",
            )
        for value in values:
            if problem := _find_problem(value):
                reject_declaration(cls, problem)
        declared = {normalize_capability(value) for value in values if not _find_problem(value)}
        # setattr, because the mark is not part of the interface of the class.
        setattr(cls, _MARK, vars(cls).get(_MARK, frozenset()) | declared)
        return cls

    if len(values) == 1 and isinstance(values[0], type):
        # Used without parentheses: the class itself is the value.
        reject_declaration(
            values[0], '@capability needs its values, for instance @capability("mode_native").'
        )
        return values[0]
    return mark


def get_capabilities(cls: type) -> frozenset[str]:
    """Return what a class declares itself, else all capabilities of the system.

    A declaration is not inherited: a plugin class without one of its own is undeclared, whatever its base
    declares (design "CDAP Capabilities", section API).
    """
    declared: frozenset[str] = vars(cls).get(_MARK, frozenset())
    return declared or frozenset(SYSTEM_CAPABILITIES)


def _find_problem(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return f"A capability is a non-empty string, not {value!r:.100}."
    if not value.isprintable() or any(sign in value for sign in _RESERVED):
        return (
            f"A capability holds no control character and none of {' '.join(_RESERVED)}, "
            f"as {value!r:.100} does."
        )
    return None
