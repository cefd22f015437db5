"""XML documents and XPath 1.0, without external entities or entities that grow in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lxml.etree import XPath, _Element


class XmlError(ValueError):
    """An XML document is not accepted, or a path cannot be evaluated; the message says why."""


def read_document(text: str, *, allows_doctype: bool = True) -> _Element:
    """Parse a document and return its root element. The encoding that it declares is ignored.

    Elements of a default namespace lose it, so that paths name them as the document does; elements with a
    prefix keep their namespace.

    :param allows_doctype: whether a document may have a document type declaration.
    :raises XmlError: for a document that is not well-formed, has over 256 levels or a text over 10 MB, or
        declares entities, which could read files of the machine or expand to gigabytes.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, encoding="utf-8"
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise XmlError(f"it is not well-formed XML: {error}") from None
    if not allows_doctype and root.getroottree().docinfo.doctype:
        raise XmlError(
            "it has a document type declaration (DOCTYPE), which 'disallowDocTypeDTD' forbids"
        )
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise XmlError("it declares entities, which are not read for safety")
    for element in root.iter(etree.Element):
        if element.prefix is None and element.tag.startswith("{"):
            element.tag = etree.QName(element).localname
    return root


def evaluate_path(path: XPath, root: _Element) -> list[Any]:
    """Return the nodes that a compiled path selects; a text, number or boolean is returned as the only one.

    :raises XmlError: when the path cannot be evaluated.
    """
    from lxml import etree

    try:
        found = path(root.getroottree())
    except etree.XPathError as error:
        raise XmlError(f"the path '{path.path}' cannot be evaluated: {error}") from None
    return found if isinstance(found, list) else [found]


def find_path_problem(path: str) -> str | None:
    """Return why an expression cannot be compiled; None when it can be."""
    from lxml import etree

    try:
        etree.XPath(path)
    except (etree.XPathSyntaxError, ValueError) as error:
        return str(error)
    return None
