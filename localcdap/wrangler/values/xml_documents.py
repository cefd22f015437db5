"""XML documents that paths are evaluated on, read without anything that reaches outside of them."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lxml.etree import XPath, _Element

_PROLOG: Final = re.compile(r"\s*<\?xml\s[^>]*\?>")


class XmlError(ValueError):
    """A text is no XML document that may be read, or a path cannot be evaluated."""


@functools.lru_cache(maxsize=1)
def read_document(text: str) -> tuple[_Element, tuple[tuple[str, str], ...]]:
    """The root of a document, and its namespaces by prefix. The last one read is kept: paths come in rows.

    Elements of a default namespace lose it, so that paths name elements as they are written.

    :raises XmlError: for a text that is not well-formed, nested more than 256 times, holds a text over 10 MB,
        or declares entities: they can hide files of the machine or gigabytes.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, encoding="utf-8"
    )
    try:
        root = etree.fromstring(_PROLOG.sub("", text, count=1).encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise XmlError(f"it is no well-formed XML: {error}") from None
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise XmlError("it declares entities, which are not read for safety")
    spaces: dict[str, str] = {}
    for element in root.iter(etree.Element):
        spaces.update((prefix, uri) for prefix, uri in element.nsmap.items() if prefix)
        if element.prefix is None and element.tag.startswith("{"):
            element.tag = etree.QName(element).localname
    return root, tuple(spaces.items())


def selected(text: str, path: str) -> list[str]:
    """The texts of what a path selects: of elements that hold text before their first child, of attributes.

    :raises XmlError: as :func:`read_document`, and when the path cannot be evaluated.
    """
    from lxml import etree

    root, spaces = read_document(text)
    try:
        found = _compiled(path, spaces)(root.getroottree())
    except etree.XPathError as error:
        raise XmlError(f"the path '{path}' cannot be evaluated: {error}") from None
    nodes = found if isinstance(found, list) else [found]
    texts = map(_text_of, nodes)
    return [each for each in texts if each is not None]


def path_problem(path: str) -> str | None:
    """Why an XPath 1.0 expression cannot be compiled; None when it can be."""
    from lxml import etree

    try:
        etree.XPath(path)
    except (etree.XPathSyntaxError, ValueError) as error:
        return f"'{path}' is no XPath: {error}"
    return None


@functools.lru_cache(maxsize=512)
def _compiled(path: str, spaces: tuple[tuple[str, str], ...]) -> XPath:
    from lxml import etree

    return etree.XPath(path, namespaces=dict(spaces), regexp=False, smart_strings=False)


def _text_of(node: Any) -> str | None:
    if isinstance(node, bool):
        return str(node).lower()
    if isinstance(node, float):
        return str(int(node)) if node.is_integer() else str(node)
    if not hasattr(node, "itertext"):
        return str(node)
    if not _begins_with_text(node):
        return None
    return "".join(each for each in node.itertext(with_tail=False) if each.strip())


def _begins_with_text(element: Any) -> bool:
    texts = [element.text]
    for child in element:
        if isinstance(child.tag, str):
            break
        texts.append(child.tail)
    return any(text and text.strip() for text in texts)
