"""Artifact versions and ranges of them.

The rules and the error texts are those of CDAP 6 ``ArtifactVersion`` and ``ArtifactVersionRange``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.artifacts.model import SYSTEM_NAMESPACE

# Eighteen digits are enough for a date and time, and keep the conversion to a number cheap.
_NUMBERS: Final = r"([0-9]{1,18})(?:\.([0-9]{1,18}))?(?:\.([0-9]{1,18}))?(?:[.\-](.*))?\Z"
_VERSION: Final = re.compile(_NUMBERS)
_IN_FILE_NAME: Final = re.compile("-" + _NUMBERS)
_SUFFIX: Final = re.compile(r"[a-zA-Z0-9.-]+")
_ABSENT: Final = -1


class ArtifactVersion:
    """A version such as ``1.2.3-SNAPSHOT``: up to three numbers and a suffix.

    Equal only when the texts are equal; ordered by meaning, so neither ``a < b`` nor ``b < a`` does not
    imply ``a == b`` (``1.0-a`` and ``1.0.a``). An absent number is smaller than any, a snapshot smaller
    than its release, any other suffix greater: ``1`` < ``1.0`` < ``1.0.0-SNAPSHOT`` < ``1.0.0`` <
    ``1.0.0-alpha``.
    """

    __slots__ = ("_order", "fix", "major", "minor", "suffix", "text")

    def __init__(self, text: str) -> None:
        """:raises BadRequestError: when the text is not a version."""
        match = _VERSION.match(text)
        suffix = match[4] if match else None
        if match is None or (suffix is not None and _SUFFIX.fullmatch(suffix) is None):
            raise BadRequestError(
                f"Could not parse '{text}' as an artifact version.",
                "Write a version such as 1.2.0 or 1.2.0-SNAPSHOT.",
            )
        self.text: Final = text
        self.major: Final = int(match[1])
        self.minor: Final = None if match[2] is None else int(match[2])
        self.fix: Final = None if match[3] is None else int(match[3])
        self.suffix: Final = suffix
        self._order: Final = (
            self.major,
            _ABSENT if self.minor is None else self.minor,
            _ABSENT if self.fix is None else self.fix,
            not self.is_snapshot,
            suffix is not None,
            suffix or "",
        )

    @property
    def is_snapshot(self) -> bool:
        """Whether this is not a release yet: the suffix starts with ``snapshot`` in any case."""
        return self.suffix is not None and self.suffix.lower().startswith("snapshot")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArtifactVersion) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __lt__(self, other: ArtifactVersion) -> bool:
        return self._order < other._order

    def __gt__(self, other: ArtifactVersion) -> bool:
        return self._order > other._order

    def __le__(self, other: ArtifactVersion) -> bool:
        return self._order <= other._order

    def __ge__(self, other: ArtifactVersion) -> bool:
        return self._order >= other._order

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"ArtifactVersion({self.text!r})"


def split_file_name(stem: str) -> tuple[str, str | None]:
    """Return name and version in a file name without its extension; None when it holds no version.

    The version is the first part after a ``-`` that is a version up to the end of the name:
    ``my-plugins-1.2.3-SNAPSHOT`` is ``my-plugins`` in version ``1.2.3-SNAPSHOT``.
    """
    match = _IN_FILE_NAME.search(stem)
    if match is None:
        return stem, None
    return stem[: match.start()], stem[match.start() + 1 :]


class VersionRange(msgspec.Struct, frozen=True):
    """The versions between two bounds, each of which is inclusive or exclusive."""

    lower: ArtifactVersion
    upper: ArtifactVersion
    lower_inclusive: bool = True
    upper_inclusive: bool = True

    @staticmethod
    def parse(text: str) -> VersionRange:
        """Read ``[1.0.0,2.0.0)`` with any of the four brackets, or one exact version.

        :raises BadRequestError: when the text is neither, with the message of CDAP 6.
        """
        text = text.strip()
        if not text.startswith(("[", "(")):
            exact = ArtifactVersion(text)
            return VersionRange(exact, exact)
        return _parse_range(text)

    def __contains__(self, version: ArtifactVersion) -> bool:
        above = version > self.lower or (self.lower_inclusive and version >= self.lower)
        below = version < self.upper or (self.upper_inclusive and version <= self.upper)
        return above and below

    @property
    def is_exact(self) -> bool:
        return self.lower == self.upper and self.lower_inclusive and self.upper_inclusive

    def __str__(self) -> str:
        if self.is_exact:
            return self.lower.text
        opening = "[" if self.lower_inclusive else "("
        closing = "]" if self.upper_inclusive else ")"
        return f"{opening}{self.lower},{self.upper}{closing}"


def _parse_range(text: str) -> VersionRange:
    comma = text.find(",")
    if comma < 0:
        # The misspelling is CDAP's; clients compare the text.
        raise _make_range_error(text, "Could not find ',' separating lower and upper verions.")
    lower = _parse_bound(text, "Lower", text[1:comma])
    closing = re.search(r"[\])]", text[comma:])
    if closing is None:
        raise _make_range_error(text, "Could not find enclosing ']' or ')'.")
    end = comma + closing.start()
    if end != len(text) - 1:
        raise _make_range_error(text, "There are extra characters after enclosing ']' or ')'.")
    upper = _parse_bound(text, "Upper", text[comma + 1 : end])
    result = VersionRange(lower, upper, text[0] == "[", text[end] == "]")
    if lower > upper:
        message = f"Lower version {lower} is greater than upper version {upper}."
        raise _make_range_error(text, message)
    if lower >= upper and result.lower_inclusive and not result.upper_inclusive:
        message = (
            f"Lower and upper versions {lower} are equal, "
            "but lower is inclusive and upper is exclusive."
        )
        raise _make_range_error(text, message)
    return result


def _parse_bound(text: str, which: str, bound: str) -> ArtifactVersion:
    try:
        return ArtifactVersion(bound.strip())
    except BadRequestError:
        raise _make_range_error(text, f"{which} version {bound.strip()} is invalid.") from None


def _make_range_error(text: str, problem: str) -> BadRequestError:
    return BadRequestError(
        f"Invalid version range {text}. {problem}", "Write a range such as [1.0.0,2.0.0)."
    )


APP_VERSION: Final = ArtifactVersion("6.10.0")
"""The version of CDAP's applications that localcdap implements."""
APPS: Final = ("cdap-data-pipeline", "cdap-data-streams")
"""The applications of CDAP; both are system artifacts."""
_RANGE: Final = re.compile(r"(?:([^:\[(]*):)?([a-zA-Z0-9._-]+)([\[(].*)", re.DOTALL)


class ParentRange(msgspec.Struct, frozen=True):
    """A parent with a range of versions, such as ``system:cdap-data-pipeline[6.0.0,7.0.0)``."""

    name: str
    versions: VersionRange
    namespace: str = SYSTEM_NAMESPACE

    @staticmethod
    def parse(text: str) -> ParentRange:
        """Parse a parent.

        :raises BadRequestError: when the text is not a name with a range of versions.
        """
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise BadRequestError(
                f"Invalid parent '{text:.200}'.",
                "Write one such as cdap-data-pipeline[6.0.0,7.0.0).",
            )
        namespace = SYSTEM_NAMESPACE if match[1] is None else match[1].strip().lower()
        return ParentRange(match[2], VersionRange.parse(match[3]), namespace)


def find_supported_apps(parents: Iterable[str]) -> frozenset[str]:
    """Return the applications of this instance that can use the plugins; all when there are no parents.

    :raises BadRequestError: when a parent is malformed.
    """
    ranges = [ParentRange.parse(parent) for parent in parents]
    if not ranges:
        return frozenset(APPS)
    return frozenset(
        parent.name
        for parent in ranges
        if parent.namespace == SYSTEM_NAMESPACE
        and parent.name in APPS
        and APP_VERSION in parent.versions
    )


def check_parents(parents: Iterable[str]) -> None:
    """Check that at least one of the parents exists in this instance.

    :raises BadRequestError: when a parent is malformed, or none of them exists.
    """
    given = list(parents)
    if not find_supported_apps(given):
        raise BadRequestError(
            f"None of its parents exists: {', '.join(given)}.",
            f"Existing parents are {' and '.join(APPS)}, both in version {APP_VERSION}.",
        )
