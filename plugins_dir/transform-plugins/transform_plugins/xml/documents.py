"""What the transforms of XML have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.java import xml

if TYPE_CHECKING:
    from lxml.etree import _Element

MALFORMED: Final = 31
"""Code of the error record of a text that is not XML, or not the one that is expected."""


def find_path_problem(path: str) -> str | None:
    """Why an XPath 1.0 expression cannot be compiled; None when it can be."""
    why = xml.find_path_problem(path)
    return None if why is None else f"failed to compile xpath '{path}': {why}"


def get_qualified_name(element: _Element) -> str:
    """The name of an element as it is written: ``prefix:name``."""
    from lxml import etree

    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def get_text(node: Any) -> str:
    """All the text in an element, or the value of an attribute, a text, a number or a truth value."""
    if hasattr(node, "itertext"):
        return "".join(node.itertext())
    if isinstance(node, bool):
        return str(node).lower()
    return str(node)
