"""What the stages of a pipeline say about the records that its sources should have.

These are guesses from properties by their names in CDAP's plugins; without them, records are plain.

Key fields: their values are drawn from pools that all generated sources share, so that they join.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from localcdap.api.errors import SchemaError
from localcdap.api.schema import Schema
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.recordings.generation.words import split_words
from localcdap.pipeline.rules.plugin_types import JOINER

_KEY_WORDS: Final = frozenset(("id", "ids", "key", "pk", "fk", "sk", "guid", "uuid"))
_EQUAL: Final = re.compile(r"([^.=&,]+)\.([^=&,]+)")
"""A field in the property ``joinKeys`` of CDAP's joiners: ``left.a = right.b & left.c = right.d``."""
_JOIN_KEYS: Final = "joinKeys"


class KeyDomains:
    """Says which fields are keys, and which of them have the same values.

    A field ``customer_id`` has the keys of customers, as has the field ``id`` of a stage ``Customers``.
    Fields that a joiner of the pipeline compares have the same keys, whatever their names.
    """

    def __init__(self, joined: Iterable[Sequence[str]] = ()) -> None:
        self.joined: Final[dict[str, str]] = {}
        """By field that a joiner compares, the name of its keys."""
        for names in joined:
            self._join(names)

    @classmethod
    def of_stages(cls, stages: Iterable[StageUse]) -> KeyDomains:
        """Return the domains for a pipeline, with the fields that its joiners compare."""
        texts = [
            each.plugin.properties.get(_JOIN_KEYS, "")
            for each in stages
            if each.plugin.type == JOINER
        ]
        return cls(
            [field.strip() for _, field in _EQUAL.findall(condition)]
            for text in texts
            for condition in text.split("&")
        )

    def find(self, field: str, stage: str) -> str | None:
        """Return the name of the keys that a field has; None for any other field."""
        joined = self.joined.get(field)
        if joined is not None:
            return joined
        words = split_words(field)
        if not _KEY_WORDS.intersection(words):
            return None
        rest = [word for word in words if word not in _KEY_WORDS]
        return _make_singular(rest[-1] if rest else (split_words(stage) or ["record"])[-1])

    def is_own(self, field: str, stage: str) -> bool:
        """Return whether the records of a stage are identified by a field."""
        words = split_words(field)
        rest = [word for word in words if word not in _KEY_WORDS]
        if not _KEY_WORDS.intersection(words):
            return False
        return not rest or _make_singular(rest[-1]) in map(_make_singular, split_words(stage))

    def _join(self, names: Sequence[str]) -> None:
        domains = [self.joined[name] for name in names if name in self.joined]
        domain = domains[0] if domains else (names[0] if names else "")
        moved = [name for name, old in self.joined.items() if old in domains]
        self.joined.update(dict.fromkeys((*moved, *names), domain))


def _make_singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


_RECIPE: Final = "directives"
"""The property with the recipe of a Wrangler stage."""
_PARSING: Final = re.compile(r"parse-(?:as-)?(csv|json|log|xml)[\w-]*\s+:?(\w+)(?:\s+'([^']*)')?")
_PARSERS: Final = {"CSVParser": "csv", "JSONParser": "json"}
_DELIMITERS: Final = {"TDF": "\t", "Tab Delimited": "\t", "PDL": "|", "Pipe Delimited": "|"}
_WORD: Final = re.compile(r"\w+")


class ParsedText(msgspec.Struct):
    """A text field that a later stage takes apart."""

    form: str
    """``csv``, ``json``, ``log`` or ``xml``."""
    fields: list[tuple[str, Schema]]
    """The values inside of it."""
    delimiter: str = ","


class GenerationHints:
    """The hints in the stages of a pipeline. Nothing is remembered: ask once for a source."""

    def __init__(self, document: PipelineDocument) -> None:
        self._document: Final = document
        self.domains: Final = KeyDomains.of_stages(document.stages)

    def list_all(self, stage: str) -> tuple[object, ...]:
        """Return all hints for a source, to tell whether they have changed."""
        return self.domains.joined, self.find_parsed_texts(stage), self.list_required(stage)

    def find_parsed_texts(self, stage: str) -> dict[str, ParsedText]:
        """Return what stages directly after a source take apart, by field in lower case."""
        return {
            name.lower(): text for each in self._list_readers(stage) for name, text in _find(each)
        }

    def list_required(self, stage: str) -> set[str]:
        """Return the words of recipes after a source, in lower case: such fields are better not null."""
        recipes = (r.plugin.properties.get(_RECIPE, "") for r in self._list_readers(stage))
        return {word for recipe in recipes for word in _WORD.findall(recipe.lower())}

    def _list_readers(self, stage: str) -> list[StageUse]:
        targets = {each.target for each in self._document.connections if each.source == stage}
        return [each for each in self._document.stages if each.name in targets]


def _find(stage: StageUse) -> Iterator[tuple[str, ParsedText]]:
    """Yield the fields that a stage takes apart."""
    properties = stage.plugin.properties
    schema = _read_schema(properties.get("schema"))
    form = _PARSERS.get(stage.plugin.name)
    if form is not None and schema is not None:
        delimiter = _DELIMITERS.get(properties.get("format", ""), ",")
        fields = [(each.name, each.schema) for each in schema]
        yield properties.get("field", "body"), ParsedText(form, fields, delimiter)
    recipe = properties.get(_RECIPE, "")
    for form, field, delimiter in _PARSING.findall(recipe):
        text = f"{recipe} {' '.join(schema.field_names if schema else ())}"
        numbers = [int(each) for each in re.findall(rf"\b{field}_([0-9]{{1,3}})\b", text)]
        # Numbers are texts too, and fit what the recipe may do with a column.
        fields = [(f"column_{n}", Schema.INT) for n in range(1, max(numbers, default=1) + 1)]
        if form in ("json", "xml") and schema is not None:
            inner = [(each.name.removeprefix(f"{field}_"), each.schema) for each in schema]
            fields = [each for each in inner if each[0] != field]
        yield field, ParsedText(form, fields, delimiter if len(delimiter) == 1 else ",")


def _read_schema(text: str | None) -> Schema | None:
    try:
        return Schema.parse_record(text) if text else None
    except SchemaError:
        return None
