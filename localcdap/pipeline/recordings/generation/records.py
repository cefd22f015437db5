"""Whole generated records of a source, and what the stages of its pipeline say about them.

Texts that later stages take apart become lines of CSV, JSON objects, lines of logs or XML. What stages say is
guessed from properties by their names in CDAP's plugins; without them, records are plain. The values of key
fields are drawn from pools that all generated sources share, so that they join.
"""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api.errors import SchemaError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import LogicalType, Schema, Type
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.recordings.generation.field_values import (
    MakeValue,
    Person,
    build_value_maker,
    load_provider,
    split_words,
)
from localcdap.pipeline.rules.graph import JOINER

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
_XML_STEP: Final = re.compile(r"(//?)(@?[A-Za-z_][\w.-]*)(?:\[\d+\])?(?:/text\(\))?")
"""A step of a path that names an element or an attribute."""
_JSON_STEP: Final = re.compile(r"(\.)([A-Za-z_][\w-]*)(?:\[\d+\])?")
_SAMPLE: Final = (("name", Schema.STRING), ("city", Schema.STRING), ("amount", Schema.DOUBLE))
"""The values of a document that a stage converts whatever it has."""
_HIERARCHY: Final = "HierarchyToRelational"
_NODES: Final = "node"
"""The name of the keys of a hierarchy."""

Path = tuple[str, ...]
"""The names from the root of a document to a value; that of an attribute begins with ``@``."""


class ParsedText(msgspec.Struct):
    """A text field that a later stage takes apart."""

    form: str
    """``csv``, ``json``, ``log`` or ``xml``."""
    fields: list[tuple[str, Schema]]
    """The values inside of it."""
    delimiter: str = ","
    paths: dict[str, Path] = {}
    """Where the values of a document are, by field; without one, below its root."""
    repeated: Path = ()
    """The element that the document has several times, with the fields as its children."""
    line_format: str = ""
    """The format of a line of a log, as the plugin LogParser calls it; "" for the common one."""


class GenerationHints:
    """The hints in the stages of a pipeline. Nothing is remembered: ask once for a source."""

    def __init__(self, document: PipelineDocument) -> None:
        self._document: Final = document
        self.domains: Final = KeyDomains.of_stages(document.stages)

    def list_all(self, stage: str) -> tuple[object, ...]:
        """Return all hints for a source, to tell whether they have changed."""
        return (
            self.domains.joined,
            self.find_parsed_texts(stage),
            self.list_required(stage),
            self.find_hierarchy(stage),
        )

    def find_parsed_texts(self, stage: str) -> dict[str, ParsedText]:
        """Return what stages directly after a source take apart, by field in lower case."""
        return {
            name.lower(): text for each in self._list_readers(stage) for name, text in _find(each)
        }

    def list_required(self, stage: str) -> set[str]:
        """Return the words of recipes after a source, in lower case: such fields are better not null."""
        recipes = (r.plugin.properties.get(_RECIPE, "") for r in self._list_readers(stage))
        return {word for recipe in recipes for word in _WORD.findall(recipe.lower())}

    def find_hierarchy(self, stage: str) -> tuple[str, str] | None:
        """Return the fields with the parent and the child in a hierarchy, in lower case; None without one."""
        for each in self._list_readers(stage):
            given = each.plugin.properties
            parent, child = given.get("parentField", ""), given.get("childField", "")
            if each.plugin.name == _HIERARCHY and parent and child:
                return parent.lower(), child.lower()
        return None

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
        paths = _read_paths(properties.get("mapping", ""), _JSON_STEP)
        yield properties.get("field", "body"), ParsedText(form, fields, delimiter, paths)
    yield from _find_documents(stage.plugin.name, properties, schema)
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


def _find_documents(
    plugin: str, properties: Mapping[str, str], schema: Schema | None
) -> Iterator[tuple[str, ParsedText]]:
    """Yield the fields with XML, or with lines of logs, that a plugin takes apart."""
    match plugin:
        case "LogParser":
            form = properties.get("logFormat", "")
            yield properties.get("inputName", ""), ParsedText("log", [], line_format=form)
        case "XMLToJSON":
            yield properties.get("inputField", ""), ParsedText("xml", list(_SAMPLE))
        case "XMLMultiParser" if schema is not None:
            fields = [(each.name, each.schema) for each in schema]
            path = _read_path(properties.get("xPath", ""), _XML_STEP)
            yield properties.get("field", ""), ParsedText("xml", fields, repeated=path)
        case "XMLParser":
            paths = _read_paths(properties.get("xPathMappings", ""), _XML_STEP)
            pairs = (
                each.partition(":") for each in properties.get("fieldTypeMapping", "").split(",")
            )
            types = {name.strip(): type.strip().lower() for name, _, type in pairs}
            simple = {each.value for each in Type if each.is_simple}
            fields = [
                (name, Schema.of(Type(types[name])) if types.get(name) in simple else Schema.STRING)
                for name in paths
            ]
            yield properties.get("input", ""), ParsedText("xml", fields, paths=paths)


def _read_paths(text: str, step: re.Pattern[str]) -> dict[str, Path]:
    """Return the paths of a mapping ``field:path,field:path``, without those that are not plain paths."""
    found: dict[str, Path] = {}
    for entry in text.split(","):
        name, _, path = entry.partition(":")
        read = _read_path(path.replace("%2C", ",").replace("%3A", ":"), step)
        if read:
            found[name.strip()] = read
    return found


def _read_path(text: str, step: re.Pattern[str]) -> Path:
    """Return the names of a path such as ``/book/title`` or ``$.name.first``; none for any other path."""
    rest, names = text.strip().removeprefix("$"), list[str]()
    while rest:
        found = step.match(rest)
        if found is None:
            return ()
        if found[1] == "//" and not names:
            names.append("record")
        names.append(found[2])
        rest = rest[found.end() :]
    return tuple(names)


def _read_schema(text: str | None) -> Schema | None:
    try:
        return Schema.parse_record(text) if text else None
    except SchemaError:
        return None


MakeText = Callable[[Person, Random], str]
_PATHS: Final = ("/", "/index.html", "/cart", "/products/7", "/login")


def build_text_maker(text: ParsedText) -> MakeText:
    """Return what makes the texts of a field that a later stage takes apart."""
    makers = [(name, build_value_maker(name, schema)) for name, schema in text.fields]

    def make_values(person: Person, random: Random) -> list[tuple[str, Any]]:
        return [(name, encode_json_record(make(person, random))) for name, make in makers]

    match text.form:
        case "csv":
            return lambda person, random: _write_line(make_values(person, random), text.delimiter)
        case "json":
            return lambda person, random: json.dumps(_nest(make_values(person, random), text.paths))
        case "xml" if text.repeated:
            return lambda person, random: _write_elements(
                [make_values(person, random) for _ in range(random.randint(1, _MOST_ELEMENTS))],
                text.repeated,
            )
        case "xml":
            return lambda person, random: _write_xml(make_values(person, random), text.paths)
    return _LOG_LINES.get(text.line_format, _make_log_line)


def _write_line(values: Sequence[tuple[str, Any]], delimiter: str) -> str:
    """Return a line whose values need no quotes."""
    texts = (value if isinstance(value, str) else json.dumps(value) for _, value in values)
    cleaned = (" ".join(text.replace(delimiter, " ").replace('"', "").split()) for text in texts)
    return delimiter.join(cleaned)


def _nest(values: Iterable[tuple[str, Any]], paths: Mapping[str, Path]) -> dict[str, Any]:
    """Return the tree of values at paths; one without a path is at its name."""
    tree: dict[str, Any] = {}
    for name, value in values:
        *parents, last = paths.get(name, (name,))
        place = tree
        for each in parents:
            inner = place.setdefault(each, {})
            place = inner if isinstance(inner, dict) else {}
        place.setdefault(last, value)
    return tree


def _write_xml(values: Sequence[tuple[str, Any]], paths: Mapping[str, Path]) -> str:
    """Return a document with values at paths; it has the root of the first one."""
    tree = _nest(values, paths)
    roots = [path[0] for path in paths.values()]
    if not roots:
        return _write_element("record", tree)
    inner = tree.get(roots[0])
    if not isinstance(inner, dict) and len(tree) == 1:
        return _write_element(roots[0], inner)
    others = {name: value for name, value in tree.items() if name not in roots}
    return _write_element(roots[0], {**(inner if isinstance(inner, dict) else {}), **others})


def _write_elements(elements: Sequence[Sequence[tuple[str, Any]]], path: Path) -> str:
    """Return a document that has elements at a path."""
    *parents, last = path
    shown = elements if parents else elements[:1]  # a document has one root
    text = "".join(_write_element(last, dict(values)) for values in shown)
    for name in reversed(parents):
        text = f"<{name}>{text}</{name}>"
    return text


def _write_element(name: str, value: Any) -> str:
    if not isinstance(value, dict):
        shown = value if isinstance(value, str) else json.dumps(value)
        return f"<{name}>{html.escape(shown, quote=False)}</{name}>"
    attributes = "".join(
        f' {key[1:]}="{html.escape(str(each))}"' for key, each in value.items() if key[0] == "@"
    )
    inner = "".join(_write_element(key, each) for key, each in value.items() if key[0] != "@")
    return f"<{name}{attributes}>{inner}</{name}>"


class _Request(NamedTuple):
    """A request as servers log it."""

    address: str
    at: datetime.datetime
    path: str
    status: int
    size: int
    agent: str

    @property
    def time(self) -> str:
        return self.at.strftime("%d/%b/%Y:%H:%M:%S +0000")


def _make_request(person: Person, random: Random) -> _Request:
    return _Request(
        person.make("internet.ip_v4"),
        _FIRST_REQUEST + datetime.timedelta(seconds=random.randint(0, 28 * 86_400)),
        random.choice(_PATHS),
        random.choice((200, 200, 200, 304, 404, 500)),
        random.randint(100, 9999),
        person.make("internet.user_agent"),
    )


def _make_log_line(person: Person, random: Random) -> str:
    """Return a line in the common format of web servers."""
    made = _make_request(person, random)
    request = f"GET {made.path} HTTP/1.1"
    return f'{made.address} - - [{made.time}] "{request}" {made.status} {made.size}'


def _make_combined_line(person: Person, random: Random) -> str:
    """Return a line in the combined format of web servers."""
    made = _make_request(person, random)
    request = f"GET {made.path} HTTP/1.1"
    return (
        f'{made.address} - - [{made.time}] "{request}" {made.status} {made.size} '
        f'"https://www.example.com/" "{made.agent}"'
    )


def _make_s3_line(person: Person, random: Random) -> str:
    """Return a line of the access log of an S3 bucket."""
    made = _make_request(person, random)
    key = made.path.lstrip("/") or "-"
    return (
        f"79a59df900b949e5 sales [{made.time}] {made.address} - 3E57427F3E{random.randint(10, 99)} "
        f'REST.GET.OBJECT {key} "GET {made.path} HTTP/1.1" {made.status} - {made.size} {made.size} '
        f'{random.randint(5, 90)} {random.randint(5, 90)} "https://www.example.com/" "{made.agent}" -'
    )


def _make_cloudfront_line(person: Person, random: Random) -> str:
    """Return a line of the log of a Cloudfront distribution, whose values are separated by tabs."""
    made = _make_request(person, random)
    day, time = made.at.strftime("%Y-%m-%d"), made.at.strftime("%H:%M:%S")
    start = [day, time, "FRA2", str(made.size), made.address, "GET", "d1.cloudfront.net"]
    return "\t".join([*start, made.path, str(made.status), "-", made.agent, "-", "-"])


_FIRST_REQUEST: Final = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_MOST_ELEMENTS: Final = 3
_LOG_LINES: Final[dict[str, MakeText]] = {
    "CLF": _make_combined_line,
    "S3": _make_s3_line,
    "Cloudfront": _make_cloudfront_line,
}
"""What makes lines, by the format of LogParser."""


_NULLS: Final = 0.05
"""The share of nulls in a nullable field that is not a key."""
_SHARED_KEYS: Final = 10
"""Of as many records of a source, about one key that others refer to: ten orders a customer."""
_BATCH: Final = 10_000
_KEY_DAYS: Final = datetime.date(2025, 1, 1)

MakeField = Callable[[int, Person], Any]
"""Makes a value from the number of the record, 1-based, and its person."""


class RecordGenerator:
    """Generates the records of a source.

    :param stage: its name, which is part of the seed: two sources of a pipeline differ.
    :param hints: what the other stages of the pipeline say about the records.
    :raises LocalcdapError: when the library for names is not installed.
    """

    def __init__(
        self, schema: Schema, stage: str, *, count: int, seed: int, hints: GenerationHints
    ) -> None:
        self._count = count
        self._random = Random(f"{seed}/{stage}")  # noqa: S311 - nothing secret
        self._provider = load_provider(self._random.getrandbits(32))
        self._texts: Final = hints.find_parsed_texts(stage)
        self._required: Final = hints.list_required(stage)
        self._hierarchy: Final = hints.find_hierarchy(stage)
        self._makers: Final = {
            field.name: self._build_maker(field.name, field.schema, stage, hints.domains)
            for field in schema
        }

    def generate(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the records in batches."""
        for first in range(1, self._count + 1, _BATCH):
            last = min(first + _BATCH - 1, self._count)
            yield [self._make_record(number) for number in range(first, last + 1)]

    def _make_record(self, number: int) -> dict[str, Any]:
        person = Person(self._provider, self._random)
        return {name: make(number, person) for name, make in self._makers.items()}

    def _build_maker(self, name: str, schema: Schema, stage: str, domains: KeyDomains) -> MakeField:
        domain, random = domains.find(name, stage), self._random
        if self._hierarchy is not None and name.lower() in self._hierarchy:
            make_node = self._build_node_maker(name, schema)
            if make_node is not None:
                return make_node
        text = self._texts.get(name.lower())
        if text is not None and schema.non_nullable in (Schema.STRING, Schema.BYTES):
            write_text = build_text_maker(text)
            is_bytes = schema.non_nullable == Schema.BYTES
            return lambda _, person: (
                write_text(person, random).encode() if is_bytes else write_text(person, random)
            )
        write = _build_key_writer(schema.non_nullable, domain) if domain is not None else None
        if write is not None:
            if domains.is_own(name, stage):
                return lambda number, _: write(number)
            most = max(1, self._count // _SHARED_KEYS)
            return lambda _, __: write(random.randint(1, most))
        make: MakeValue = build_value_maker(name, schema)
        if not schema.is_nullable or name.lower() in self._required:
            return lambda _, person: make(person, random)
        return lambda _, person: None if random.random() < _NULLS else make(person, random)

    def _build_node_maker(self, name: str, schema: Schema) -> MakeField | None:
        """Return what makes the children of a tree, one for each record, and their parents.

        The parent of each child is one of an earlier record; that of the first child is null, or the child.
        """
        assert self._hierarchy is not None
        write = _build_key_writer(schema.non_nullable, _NODES)
        if write is None:
            return None
        if name.lower() != self._hierarchy[0]:
            return lambda number, _: write(number)
        root = None if schema.is_nullable else write(1)
        return lambda number, _: write(number // 2) if number > 1 else root


def _build_key_writer(schema: Schema, domain: str) -> Callable[[int], Any] | None:
    """Return what writes the number of a key as a value of a type; None for a type that keys do not have."""
    if schema.logical_type is LogicalType.DATE:
        return lambda number: _KEY_DAYS + datetime.timedelta(number)
    if schema.logical_type is not None:
        return None
    match schema.type:
        case Type.INT | Type.LONG:
            return lambda number: number
        case Type.FLOAT | Type.DOUBLE:
            return float
        case Type.STRING:
            prefix = domain[:4].upper()
            return lambda number: f"{prefix}-{number:06d}"
    return None
