"""XML documents and XPath 1.0, without external entities or entities that grow in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

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


def select_nodes(path: XPath, root: _Element) -> list[Any]:
    """Return the nodes that a compiled path selects. As in Java's parser without namespaces, a name with a
    prefix is not found.

    :raises XmlError: when the path cannot be evaluated, or gives a text, number or boolean instead of nodes.
    """
    from lxml import etree

    try:
        found = path(root.getroottree())
    except etree.XPathError as error:
        if str(error) == "Undefined namespace prefix":
            return []
        raise XmlError(f"the path '{path.path}' cannot be evaluated: {error}") from None
    if not isinstance(found, list):
        kind = {bool: "boolean", float: "number"}.get(type(found), "text")
        raise XmlError(f"the path '{path.path}' gives a {kind}, not nodes")
    return found


def format_nested(text: str, place: int) -> str | None:
    """Return an element as XML if the first or the second of its child nodes is an element, else None.

    That is the rule of CDAP's XMLParser (``XMLParser.getValue``), for which comments, instructions and CDATA
    sections are nodes of their own. The XML is that of Java's ``Transformer``: attributes are in the order
    of their names, characters beyond U+FFFF are references, and only namespaces that the element itself
    declares are written.

    :param text: a document that :func:`read_document` accepts.
    :param place: the number of the element among all elements of the document, from 0.
    """
    from xml.dom import expatbuilder

    # Entities, which could grow, were refused by lxml before.
    document = expatbuilder.parseString(text.encode(), namespaces=False)  # noqa: S316
    element = document.getElementsByTagName("*")[place]
    if not any(child.nodeType == child.ELEMENT_NODE for child in element.childNodes[:2]):
        return None
    parts: list[str] = []
    _write_node(element, parts)
    return "".join(parts)


def _write_node(node: Any, parts: list[str]) -> None:
    if node.nodeType == node.CDATA_SECTION_NODE:
        parts.append(f"<![CDATA[{node.data}]]>")
    elif node.nodeType == node.TEXT_NODE:
        parts.append(_escape(node.data, _TEXT_ESCAPES))
    elif node.nodeType == node.COMMENT_NODE:
        parts.append(f"<!--{node.data}-->")
    elif node.nodeType == node.PROCESSING_INSTRUCTION_NODE:
        parts.append(f"<?{node.target} {node.data}?>".replace(" ?>", "?>"))
    else:
        _write_element(node, parts)


def _write_element(element: Any, parts: list[str]) -> None:
    parts.append(f"<{element.tagName}")
    for name, value in sorted(element.attributes.items()):
        parts.append(f' {name}="{_escape(value, _ATTRIBUTE_ESCAPES)}"')
    if not element.childNodes:
        parts.append("/>")
        return
    parts.append(">")
    for child in element.childNodes:
        _write_node(child, parts)
    parts.append(f"</{element.tagName}>")


_TEXT_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ATTRIBUTE_ESCAPES: Final = {
    **_TEXT_ESCAPES,
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
}
_ESCAPED: Final = re.compile('[&<>"\t\n\r\x7f-\x9f\U00010000-\U0010ffff]')


def _escape(text: str, escapes: dict[str, str]) -> str:
    def write(found: re.Match[str]) -> str:
        character = found.group()
        if character in escapes:
            return escapes[character]
        return character if character in '"\t\n' else f"&#{ord(character)};"

    return _ESCAPED.sub(write, text)


def find_path_problem(path: str) -> str | None:
    """Return why an expression cannot be compiled; None when it can be."""
    from lxml import etree

    try:
        etree.XPath(path)
    except (etree.XPathSyntaxError, ValueError) as error:
        return str(error)
    return None
