"""XML documents, read without anything that reaches outside of them or grows in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lxml.etree import _Element

MALFORMED: Final = 31
"""Code of the error record of a text that is not XML, or not the one that is expected."""


class XmlError(ValueError):
    """A text is no XML document that may be read; the message says why."""


def read_document(text: str | bytes) -> _Element:
    """The root element of a document.

    Elements of a default namespace lose it, so that paths name them as they are written; prefixes keep
    theirs. The encoding that a text declares is of no meaning: it is text already.

    :raises XmlError: for a text that is not well-formed, or declares entities: they can hide files of the
        machine or gigabytes.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    data = text.encode() if isinstance(text, str) else text
    if isinstance(text, str):
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, encoding="utf-8"
        )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise XmlError(f"it is not well-formed XML: {error}") from None
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise XmlError("it declares entities, which are not read for safety")
    for element in root.iter(etree.Element):
        if element.prefix is None and element.tag.startswith("{"):
            element.tag = etree.QName(element).localname
    return root


def qualified_name(element: _Element) -> str:
    """The name of an element as it is written: ``prefix:name``."""
    from lxml import etree

    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def found_by(path: Any, root: _Element) -> list[Any]:
    """The nodes that a compiled XPath selects; a text, number or truth value counts as one.

    :raises XmlError: when the path cannot be evaluated.
    """
    from lxml import etree

    try:
        found = path(root.getroottree())
    except etree.XPathError as error:
        raise XmlError(f"the path '{path.path}' cannot be evaluated: {error}") from None
    return found if isinstance(found, list) else [found]


def text_of(node: Any) -> str:
    """All the text in an element, or the value of an attribute, a text, a number or a truth value."""
    if hasattr(node, "itertext"):
        return "".join(node.itertext())
    if isinstance(node, bool):
        return str(node).lower()
    return str(node)


def path_problem(path: str) -> str | None:
    """Why an XPath 1.0 expression cannot be compiled; None when it can be."""
    from lxml import etree

    try:
        etree.XPath(path)
    except (etree.XPathSyntaxError, ValueError) as error:
        return f"failed to compile xpath '{path}': {error}"
    return None
