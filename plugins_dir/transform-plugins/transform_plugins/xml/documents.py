"""Common parts of the XML transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.java import xml

if TYPE_CHECKING:
    from lxml.etree import _Element

MALFORMED: Final = 31
"""The error code of a text that is not XML, or does not fit the schema."""


def find_path_problem(path: str) -> str | None:
    """Return why an XPath 1.0 expression is invalid; None if it is valid."""
    why = xml.find_path_problem(path)
    return None if why is None else f"failed to compile xpath '{path}': {why}"


def get_qualified_name(element: _Element) -> str:
    """Return the name of an element as written: ``prefix:name``."""
    from lxml import etree

    local: str = etree.QName(element).localname
    return f"{element.prefix}:{local}" if element.prefix else local


def get_text(node: Any) -> str:
    """Return all text in an element, or the text of an attribute, string, number or boolean."""
    if hasattr(node, "itertext"):
        return "".join(node.itertext())
    if isinstance(node, bool):
        return str(node).lower()
    return str(node)
