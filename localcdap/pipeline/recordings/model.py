"""What stands in for a stage, and the rules that say so."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError

DEFAULT_COUNT: Final = 100
"""The records that are generated when no number is given."""
MOST_GENERATED: Final = 1_000_000
_GENERATE: Final = re.compile(r"generate(?::(?P<count>[0-9_]+))?(?:,(?P<seed>-?[0-9]+))?")
_FORMS: Final = (
    "a file, table:NAME, dataset:NAME, generate[:N[,SEED]], discard (sinks), pass (transforms) "
    "or skip (actions)"
)
COMMAND_LINE: Final = "command line"
INSTANCE: Final = "instance"
SETTINGS: Final = "localcdap.toml"


class Kind(enum.StrEnum):
    """What a recording is."""

    NAMED = "named"
    """A file, table or dataset: whichever has that name."""
    FILE = "file"
    TABLE = "table"
    DATASET = "dataset"
    GENERATE = "generate"
    DISCARD = "discard"
    """A sink computes and counts its records, and writes nothing."""
    PASS = "pass"  # noqa: S105 - no password
    """A placeholder that passes its records on."""
    SKIP = "skip"
    """A placeholder of an action that does nothing."""


class Recording(msgspec.Struct, frozen=True):
    """A recording or placeholder as a person writes it; see :func:`parse_recording`."""

    kind: Kind
    target: str = ""
    """The path of a file, or the name of a table or dataset."""
    key: str | None = None
    """The field that is the key of the rows of a table that a sink writes."""
    count: int = DEFAULT_COUNT
    """The number of generated records."""
    seed: int = 0
    """The seed of generated records: the same seed gives the same records."""

    @property
    def is_placeholder(self) -> bool:
        return self.kind in (Kind.PASS, Kind.SKIP)


class RecordingRule(msgspec.Struct, frozen=True, rename="camel"):
    """A rule: which stages have which recording."""

    key: str
    """``NAME`` or ``stage:[PIPELINE/]NAME`` for a stage, else ``reference:NAME``, ``plugin:[TYPE/]NAME`` or
    ``type:TYPE``."""
    recording: str
    """See :func:`parse_recording`."""
    origin: str = INSTANCE
    """Where the rule was set; :data:`COMMAND_LINE` goes before :data:`INSTANCE` and :data:`SETTINGS`."""

    @property
    def subject(self) -> str:
        """The key, with ``stage:`` before the name of a stage."""
        prefix = self.key.partition(":")[0]
        return self.key if prefix in ("stage", *_OTHER_KEYS) else f"stage:{self.key}"


_OTHER_KEYS: Final = ("reference", "plugin", "type")
_ORDER: Final = (COMMAND_LINE, INSTANCE, SETTINGS)


class RuleSubject(msgspec.Struct, frozen=True):
    """What rules may name a stage by."""

    stage: str
    plugin_type: str
    plugin_name: str
    reference: str | None
    pipeline: str | None

    def list_keys(self) -> Iterator[str]:
        """Yield the keys of the rules that apply, the most specific one first."""
        if self.pipeline is not None:
            yield f"stage:{self.pipeline}/{self.stage}"
        yield f"stage:{self.stage}"
        if self.reference:
            yield f"reference:{self.reference}"
        yield f"plugin:{self.plugin_type}/{self.plugin_name}"
        yield f"plugin:{self.plugin_name}"
        yield f"type:{self.plugin_type}"


class RecordingRules:
    """The rules that apply in one call. A rule of the command line wins, then one of the instance, then one
    of the settings; of several, the more specific one.
    """

    def __init__(self, rules: Iterable[RecordingRule]) -> None:
        self._rules: Final = {
            origin: {each.subject: each for each in found}
            for origin, found in _group_by_origin(rules).items()
        }

    def __bool__(self) -> bool:
        return any(self._rules.values())

    def find(self, subject: RuleSubject) -> RecordingRule | None:
        """Return the rule for a stage."""
        for origin in _ORDER:
            rules = self._rules.get(origin)
            for key in subject.list_keys() if rules else ():
                if rules and key in rules:
                    return rules[key]
        return None

    def list_given(self) -> list[RecordingRule]:
        """Return the rules of the command line, each of which must apply to a stage."""
        return list(self._rules.get(COMMAND_LINE, {}).values())


def _group_by_origin(rules: Iterable[RecordingRule]) -> dict[str, list[RecordingRule]]:
    found: dict[str, list[RecordingRule]] = {}
    for each in rules:
        found.setdefault(each.origin, []).append(each)
    return found


def list_given_rules(given: Mapping[str, str]) -> list[RecordingRule]:
    """Return the rules of one call, such as those of ``--record``."""
    return [RecordingRule(key, recording, COMMAND_LINE) for key, recording in given.items()]


def parse_recording(text: str) -> Recording:
    """Return the recording that a text names.

    ``generate:1000,7`` are 1,000 records with the seed 7; ``table:orders,id`` is, for a sink, the table with
    the key ``id``. A text without one of these words is the name of a file, table or dataset.

    :raises BadRequestError: for an empty text, and for one that begins like another form.
    """
    text = text.strip()
    word, separator, rest = text.partition(":")
    if text in (Kind.DISCARD, Kind.PASS, Kind.SKIP):
        return Recording(Kind(text))
    if word.partition(",")[0] == Kind.GENERATE:
        return _parse_generate(text)
    if separator and word in (Kind.FILE, Kind.TABLE, Kind.DATASET):
        return _parse_target(Kind(word), rest.strip(), text)
    if not text:
        raise BadRequestError("A recording is empty.", f"Write {_FORMS}.")
    return Recording(Kind.NAMED, text)


def _parse_generate(text: str) -> Recording:
    found = _GENERATE.fullmatch(text)
    count = int(found["count"] or DEFAULT_COUNT) if found else 0
    if found is None or not 1 <= count <= MOST_GENERATED:
        raise BadRequestError(
            f"'{text}' does not say how many records to generate.",
            f"Write generate:N or generate:N,SEED with N from 1 to {MOST_GENERATED:,}.",
        )
    return Recording(Kind.GENERATE, count=count, seed=int(found["seed"] or 0))


def _parse_target(kind: Kind, target: str, text: str) -> Recording:
    key = None
    if kind is Kind.TABLE:
        target, _, named = target.partition(",")
        key = named.strip() or None
    if not target:
        raise BadRequestError(f"'{text}' names no {kind}.", f"Write {_FORMS}.")
    return Recording(kind, target.strip(), key)
