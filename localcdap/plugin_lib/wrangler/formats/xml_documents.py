"""XML documents that come once for each of the paths that a recipe evaluates on them."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

from localcdap.java import xml

if TYPE_CHECKING:
    from lxml.etree import XPath, _Element

_PROLOG: Final = re.compile(r"\s*<\?xml\s[^>]*\?>")


@functools.lru_cache(maxsize=1)
def opened(text: str) -> tuple[_Element, tuple[tuple[str, str], ...]]:
    """The root of a document, and its namespaces by prefix. The last one read is kept.

    :raises XmlError: as :func:`localcdap.java.xml.read_document`.
    """
    from lxml import etree

    root = xml.read_document(_PROLOG.sub("", text, count=1))
    spaces: dict[str, str] = {}
    for element in root.iter(etree.Element):
        spaces.update((prefix, uri) for prefix, uri in element.nsmap.items() if prefix)
    return root, tuple(spaces.items())


def selected(text: str, path: str) -> list[str]:
    """The texts of what a path selects: of elements that hold text before their first child, of attributes.

    :raises XmlError: as :func:`opened`, and when the path cannot be evaluated.
    """
    root, spaces = opened(text)
    texts = map(_text_of, xml.found_by(_compiled(path, spaces), root))
    return [each for each in texts if each is not None]


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
