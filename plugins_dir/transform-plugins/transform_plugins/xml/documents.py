"""Common parts of the XML transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import PluginConfig, StageConfigurer, field
from localcdap.java import xml

if TYPE_CHECKING:
    from lxml.etree import _Element

MALFORMED: Final = 31
"""The error code of a text that is not XML, or does not fit the schema."""


class DocumentConfig(PluginConfig):
    """The properties that say what the XML parser of CDAP may read besides the document."""

    enable_general_entities: bool = field(
        "Whether external entities are read. They are not read here, for safety.",
        default=False,
        name="enableExternalGeneralEntities",
        group="more",
    )
    enable_parameter_entities: bool = field(
        "Whether external parameter entities are read. They are not read here, for safety.",
        default=False,
        name="enableExternalParameterEntities",
        group="more",
    )
    load_external_dtd: bool = field(
        "Whether an external DTD is loaded. It is not loaded here, for safety.",
        default=False,
        name="loadExternalDTD",
        group="more",
    )
    disallow_doctype: bool = field(
        "Whether a document with a document type declaration (DOCTYPE) is an error.",
        default=False,
        name="disallowDocTypeDTD",
        group="more",
    )

    def warn_of_entities(self, stage: StageConfigurer) -> None:
        """Add a warning for each property that has no effect here."""
        for name, value in (
            ("enableExternalGeneralEntities", self.enable_general_entities),
            ("enableExternalParameterEntities", self.enable_parameter_entities),
            ("loadExternalDTD", self.load_external_dtd),
        ):
            if value:
                stage.warnings.add(
                    f"'{name}' has no effect: external entities and DTDs are never read here.",
                    "Set it to false; a document that declares entities is an error.",
                ).with_config_property(name)


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
