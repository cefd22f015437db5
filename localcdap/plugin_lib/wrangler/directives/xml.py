"""Directives that read XML in texts: as JSON objects (org.json ``XML.toJSONObject``), or by XPath.

In objects, elements and attributes become members, repeated ones arrays, and text among them the member
``content``. A text may have several roots; comments, prologs and document types are skipped. Entities
are never resolved, except the five of XML and character references; others stay as they are written.
"""

from __future__ import annotations

import functools
import html
import re
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.java import xml
from localcdap.java.numbers import NumberFormatError, parse_double, parse_long
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.wrangler.directives.json import FlattenDirective
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    ColumnMap,
    make_type_error,
    report_missing_column,
)

if TYPE_CHECKING:
    from lxml.etree import XPath as CompiledPath
    from lxml.etree import _Element


_CONTENT: Final = "content"
_TOKEN: Final = re.compile(
    r"<!--.*?-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<\?.*?\?>|(?P<meta><!)(?!--|\[CDATA\[)"
    r"|</\s*(?P<close>[^\s<>/=]+)\s*>|<\s*(?P<open>[^\s<>/=!?]+)|(?P<text>[^<]+)",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(
    r"""\s*(?:(?P<end>/?>)|(?P<name>[^\s=/<>"'!?&]+)
    (?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s=/<>"'!?]+)))?)""",
    re.VERBOSE,
)
_META: Final = re.compile(r""""[^"]*"|'[^']*'|[<>]|[^<>"']+""")
_ENTITY: Final = re.compile(r"&([0-9A-Za-z#]*)(;?)")
_KNOWN: Final = {"amp": "&", "apos": "'", "gt": ">", "lt": "<", "quot": '"'}
_WORDS: Final = {"true": True, "false": False, "null": None}
_PLAIN: Final = 1e7
"""From this number on Java writes doubles with an exponent."""


class XmlFormatError(ValueError):
    """A text is not XML."""


def parse_xml_object(text: str, *, keeps_texts: bool) -> dict[str, Any]:
    """Parse a text to an object.

    :param keeps_texts: whether texts stay texts; otherwise numbers, ``true``, ``false`` and ``null`` become
        values.
    :raises XmlError: for elements that are not closed, or closed in the wrong order.
    """
    return _XmlReader(text, str if keeps_texts else _parse_value).read()


class _XmlReader:
    """Reads one text as an object."""

    def __init__(self, text: str, convert: Callable[[str], Any]) -> None:
        self._text = text
        self._convert_text = convert
        self._at = 0
        self._open: list[tuple[str, dict[str, Any]]] = []
        self._root: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        while self._at < len(self._text):
            token = _TOKEN.match(self._text, self._at)
            if token is None:
                raise self._make_error("a tag is not closed or not understood")
            self._at = token.end()
            self._handle_token(token)
        if self._open:
            raise XmlFormatError(f"the element '{self._open[-1][0]}' is not closed")
        return self._root

    def _make_error(self, problem: str) -> XmlFormatError:
        line = self._text.count("\n", 0, self._at) + 1
        return XmlFormatError(f"{problem}, line {line}: {self._text[self._at : self._at + 30]!r}")

    def _handle_token(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "open":
                self._open_element(token["open"])
            case "close":
                self._close_element(token["close"])
            case "meta":
                self._skip_meta()
            case "data" if self._open and token["data"]:
                _accumulate(self._open[-1][1], _CONTENT, token["data"])
            case "text" if self._open:
                text = self._replace_entities(token["text"].strip(TRIM_CHARACTERS))
                if text:
                    _accumulate(self._open[-1][1], _CONTENT, self._convert_text(text))

    def _open_element(self, name: str) -> None:
        members: dict[str, Any] = {}
        while True:
            found = _ATTRIBUTE.match(self._text, self._at)
            if found is None:
                raise self._make_error(f"the tag of '{name}' is not understood")
            self._at = found.end()
            if found["end"] is not None:
                break
            given = found["double"] or found["single"] or found["bare"] or ""
            _accumulate(members, found["name"], self._convert_text(self._replace_entities(given)))
        if found["end"] == ">":
            self._open.append((name, members))
        else:
            self._add(name, members or "")

    def _close_element(self, name: str) -> None:
        if not self._open or self._open[-1][0] != name:
            expected = f"'{self._open[-1][0]}' is open" if self._open else "nothing is open"
            raise XmlFormatError(f"the element '{name}' is closed, but {expected}")
        _, members = self._open.pop()
        if len(members) == 1 and members.get(_CONTENT) is not None:
            self._add(name, members[_CONTENT])
        else:
            self._add(name, members or "")

    def _add(self, name: str, value: Any) -> None:
        _accumulate(self._open[-1][1] if self._open else self._root, name, value)

    def _skip_meta(self) -> None:
        depth = 1
        while depth:
            token = _META.match(self._text, self._at)
            if token is None:
                raise self._make_error("'<!' is not closed")
            self._at = token.end()
            depth += {"<": 1, ">": -1}.get(token[0], 0)

    def _replace_entities(self, text: str) -> str:
        return _ENTITY.sub(_replace_entity, text) if "&" in text else text


def _replace_entity(found: re.Match[str]) -> str:
    name, end = found.groups()
    if not end:
        raise XmlFormatError(f"a ';' is missing after '&{name}'")
    if name.startswith("#"):
        return html.unescape(found[0])
    return _KNOWN.get(name.lower(), found[0])


def _accumulate(members: dict[str, Any], name: str, value: Any) -> None:
    if name not in members:
        members[name] = [value] if isinstance(value, list) else value
        return
    present = members[name]
    if isinstance(present, list):
        present.append(value)
    else:
        members[name] = [present, value]


def _parse_value(text: str) -> Any:
    lower = text.lower()
    if lower in _WORDS:
        return _WORDS[lower]
    if not text or not (text[0] == "-" or "0" <= text[0] <= "9"):
        return text
    try:
        if "." in lower or "e" in lower or text == "-0":
            return _to_number(text)
        number = parse_long(text)
        return number if str(number) == text else text
    except NumberFormatError:
        return text


def _to_number(text: str) -> Any:
    number = parse_double(text)
    if number != number or abs(number) == float("inf"):
        return text
    return int(number) if number.is_integer() and abs(number) < _PLAIN else number


_PROLOG: Final = re.compile(r"\s*<\?xml\s[^>]*\?>")


@functools.lru_cache(maxsize=1)
def open_document(text: str) -> tuple[_Element, tuple[tuple[str, str], ...]]:
    """Return the root of a document, and its namespaces by prefix. The last document is cached.

    :raises XmlError: as :func:`localcdap.java.xml.read_document`.
    """
    from lxml import etree

    root = xml.read_document(_PROLOG.sub("", text, count=1))
    spaces: dict[str, str] = {}
    for element in root.iter(etree.Element):
        spaces.update((prefix, uri) for prefix, uri in element.nsmap.items() if prefix)
    return root, tuple(spaces.items())


def select_texts(text: str, path: str) -> list[str]:
    """Return the texts that a path selects: of attributes, and of elements that begin with a text.

    :raises XmlError: as :func:`open_document`, and for a path that cannot be evaluated.
    """
    root, spaces = open_document(text)
    texts = map(_find_text, xml.evaluate_path(_compile_path(path, spaces), root))
    return [each for each in texts if each is not None]


@functools.lru_cache(maxsize=512)
def _compile_path(path: str, spaces: tuple[tuple[str, str], ...]) -> CompiledPath:
    from lxml import etree

    return etree.XPath(path, namespaces=dict(spaces), regexp=False, smart_strings=False)


def _find_text(node: Any) -> str | None:
    if isinstance(node, bool):
        return str(node).lower()
    if isinstance(node, float):
        return str(int(node)) if node.is_integer() else str(node)
    if not hasattr(node, "itertext"):
        return str(node)
    if not _has_leading_text(node):
        return None
    return "".join(each for each in node.itertext(with_tail=False) if each.strip())


def _has_leading_text(element: Any) -> bool:
    texts = [element.text]
    for child in element:
        if isinstance(child.tag, str):
            break
        texts.append(child.tail)
    return any(text and text.strip() for text in texts)


@plugin(
    name="parse-as-xml",
    description="Checks that a text is XML that xpath and xpath-array can select from. The text stays.",
)
class ParseAsXml(ColumnMap):
    categories = ("parser", "xml")
    examples = ("parse-as-xml :body",)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.column, "parse", fails=False)

    def map(self, value: Any) -> Any:
        if isinstance(value, str):
            try:
                open_document(value)
            except xml.XmlError as error:
                raise DirectiveError(f"column '{self.column}': {error}") from None
        return value

    def end(self) -> None:
        open_document.cache_clear()


class XPathDirective(Directive):
    """A directive that puts the texts that an XPath selects into a column."""

    categories = ("xml",)
    makes = ("destination",)
    source: str = argument.column("The column with XML.")
    destination: str = argument.column("The column for the selected text.")
    xpath: str = argument.text("The path, an XPath 1.0 such as /catalog/book/@id.")

    def problem(self) -> str | None:
        path = self.xpath.strip()
        problem = xml.find_path_problem(path)
        return None if problem is None else f"'{path}' is not an XPath: {problem}"

    @abstractmethod
    def choose(self, texts: list[str]) -> Any:
        """Return the column's value for the selected texts."""

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.source)
        if found is None:
            row.put(self.destination, None)
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.source, text, "XML is needed")
        try:
            texts = select_texts(text, self.xpath.strip())
        except xml.XmlError as error:
            raise DirectiveError(f"column '{self.source}': {error}") from None
        row.put(self.destination, self.choose(texts))

    def end(self) -> None:
        open_document.cache_clear()


@plugin(
    name="xpath",
    description="Puts the first text that an XPath selects into a column, null for nothing.",
)
class XPath(XPathDirective):
    examples = ("xpath :body :title '/catalog/book/title'", "xpath :body :id '/catalog/book/@id'")

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.STRING.as_nullable)

    def choose(self, texts: list[str]) -> Any:
        return texts[0] if texts else None


@plugin(
    name="xpath-array",
    description="Puts all texts that an XPath selects into a column, as an array.",
)
class XPathArray(XPathDirective):
    examples = ("xpath-array :body :titles '/catalog/book/title'",)

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "select from", fails=False)
        columns.put(self.destination, Schema.array(Schema.STRING).as_nullable)

    def choose(self, texts: list[str]) -> Any:
        return texts


@plugin(
    name="parse-xml-to-json",
    description="Opens XML: elements and attributes become columns <column>_<name>, repeated ones arrays.",
)
class ParseXmlToJson(FlattenDirective):
    categories = ("xml",)
    examples = ("parse-xml-to-json :body", "parse-xml-to-json :body 1 true")
    column: str = argument.column("The column with XML; it is removed.")
    depth: int | None = argument.number(
        "How many levels of elements become columns; all without it.", default=None
    )
    keep_string: bool = argument.boolean(
        "Whether texts stay texts; else numbers, true, false and null become these.", default=False
    )

    def propagate(self, columns: Columns) -> None:
        if not report_missing_column(columns, self.column, "parse", fails=False):
            columns.remove(self.column)
            columns.open = True

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        text = row[found]
        if not isinstance(text, str):
            raise make_type_error(self.column, text)
        try:
            value = parse_xml_object(text, keeps_texts=self.keep_string)
        except XmlFormatError as error:
            raise DirectiveError(f"column '{self.column}': {error}") from None
        del row[found]
        self.flatten(value, self.column, row)
