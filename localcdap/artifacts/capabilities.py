"""Requirements on the capabilities of plugins, and the vocabulary that an instance fixes for them.

An instance, a compute profile and a preview each have a requirement. It is a comma-separated text or a
list, all parts of which must hold (design "CDAP Capabilities", section Filtering, Approach 1). A part is a
capability, or an expression of capabilities with ``&&``, ``||`` and parentheses (Approach 2, which the design
keeps for the future); ``&&`` binds tighter than ``||``.

>>> required = CapabilityRequirement.parse("(mode_cloud && spark_2) || (mode_native && spark_1), PII")
>>> required.is_met_by(["mode_native", "spark_1", "pii"])
True
>>> required.find_unmet(["mode_native", "spark_2"])
['(mode_cloud && spark_2) || (mode_native && spark_1)', 'pii']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

from localcdap.api.capability import SYSTEM_CAPABILITIES, normalize_capability
from localcdap.text import nearest_name

_OPERATORS: Final = re.compile(r"&&|\|\||[()]")
_AND: Final = "&&"
_OR: Final = "||"
_DEEPEST: Final = 50
"""The nesting of parentheses, far above what a person writes, that a hostile text may not exceed."""

_Test = Callable[[Collection[str]], bool]


class CapabilityRequirement:
    """Conditions on the capabilities of a plugin, all of which must hold; without conditions, any plugin
    meets it.
    """

    def __init__(self, expressions: Iterable[CapabilityExpression] = ()) -> None:
        self._expressions: Final = list({each.text: each for each in expressions}.values())

    @classmethod
    def parse(cls, value: str | Iterable[str]) -> CapabilityRequirement:
        """Read a comma-separated text, or texts that each are one.

        :raises ValueError: when an expression is malformed; the message says where.
        """
        texts = [value] if isinstance(value, str) else value
        parts = [part for text in texts for part in text.split(",") if part.strip()]
        return cls(CapabilityExpression(part) for part in parts)

    def __bool__(self) -> bool:
        return bool(self._expressions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CapabilityRequirement) and set(self.texts) == set(other.texts)

    def __hash__(self) -> int:
        return hash(frozenset(self.texts))

    @property
    def texts(self) -> list[str]:
        """The expressions in their standard form, in the order in which they were given."""
        return [each.text for each in self._expressions]

    @property
    def names(self) -> frozenset[str]:
        """All capabilities that occur in the expressions."""
        return frozenset[str]().union(*(each.names for each in self._expressions))

    def is_met_by(self, capabilities: Collection[str]) -> bool:
        return all(each.is_met_by(capabilities) for each in self._expressions)

    def find_unmet(self, capabilities: Collection[str]) -> list[str]:
        """Return the expressions that these capabilities do not meet, in alphabetical order."""
        return sorted(each.text for each in self._expressions if not each.is_met_by(capabilities))


class CapabilityVocabulary:
    """The capabilities that plugins of an instance may declare (design "CDAP Capabilities", Standardization).

    :param known: those besides the capabilities of the system; empty: any capability is known.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.own: Final = frozenset(map(normalize_capability, known))
        self._names = self.own | set(SYSTEM_CAPABILITIES)

    def is_known(self, capability: str) -> bool:
        return not self.own or capability in self._names

    def find_warning(self, who: str, capabilities: Iterable[str]) -> str | None:
        """Return a warning that names the unknown capabilities, each with the nearest known one.

        :param who: what names the capabilities, with its verb: ``Plugin 'X' declares``.
        """
        unknown = sorted(each for each in capabilities if not self.is_known(each))
        if not unknown:
            return None
        return (
            f"{who} {', '.join(map(self._describe, unknown))}, which 'plugin.capabilities.known' "
            "does not list."
        )

    def _describe(self, unknown: str) -> str:
        nearest = nearest_name(unknown, self._names)
        return f"'{unknown}'" + (f" (nearest: '{nearest}')" if nearest else "")


class CapabilityExpression:
    """One condition on capabilities.

    :param text: capabilities in any case, with ``&&``, ``||`` and parentheses.
    :raises ValueError: when it is malformed; the message says where.
    """

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self.text, self.is_met_by = parser.parse()
        self.names: Final = frozenset(parser.names)


class _Parser:
    """Reads an expression by recursive descent: alternatives, then conjunctions, then single conditions.

    Each method returns the standard form of what it read, and its test.
    """

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self._text = text.strip()
        self._parts = _split(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> tuple[str, _Test]:
        found = self._read_alternatives()
        if self._next is not None:
            raise self._fail(f"'{self._next}' is not expected there")
        return found

    def _read_alternatives(self) -> tuple[str, _Test]:
        return self._read_chain(_OR, any, _AND, self._read_conjunction)

    def _read_conjunction(self) -> tuple[str, _Test]:
        return self._read_chain(_AND, all, _OR, self._read_condition)

    def _read_chain(
        self,
        operator: str,
        combine: Callable[[Iterable[bool]], bool],
        other: str,
        read_part: Callable[[], tuple[str, _Test]],
    ) -> tuple[str, _Test]:
        """Read parts with an operator between them; those that contain the other one get parentheses."""
        parts = [read_part()]
        while self._next == operator:
            self._at += 1
            parts.append(read_part())
        if len(parts) == 1:
            return parts[0]
        text = f" {operator} ".join(f"({text})" if other in text else text for text, _ in parts)
        return text, lambda capabilities: combine(test(capabilities) for _, test in parts)

    def _read_condition(self) -> tuple[str, _Test]:
        part = self._next
        if part is None or part in (_AND, _OR, ")"):
            raise self._fail(
                "A capability is missing" + (f" before '{part}'" if part else " at the end")
            )
        self._at += 1
        if part != "(":
            name = normalize_capability(part)
            self.names.add(name)
            return name, lambda capabilities: name in capabilities
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._fail("Its parentheses are nested too deeply")
        found = self._read_alternatives()
        if self._next != ")":
            raise self._fail("A ')' is missing")
        self._at += 1
        self._depth -= 1
        return found

    @property
    def _next(self) -> str | None:
        return self._parts[self._at] if self._at < len(self._parts) else None

    def _fail(self, problem: str) -> ValueError:
        return ValueError(
            f"{problem}: '{self._text}'. An expression consists of capabilities, '{_AND}', '{_OR}' and "
            "parentheses"
        )


def _split(text: str) -> list[str]:
    """Return the names and operators of a text; what stands between two operators is one name."""
    parts: list[str] = []
    done = 0
    for found in _OPERATORS.finditer(text):
        parts += (text[done : found.start()].strip(), found.group())
        done = found.end()
    return [part for part in (*parts, text[done:].strip()) if part]
