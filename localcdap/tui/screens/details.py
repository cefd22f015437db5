"""Formats the details of a highlighted item for all screens."""

from __future__ import annotations

from typing import Final

from textual.content import Content

MUTED: Final = "$foreground 60%"
"""The style of secondary text."""


def format_title(name: str, kind: str) -> Content:
    """Return the name of an item in bold, followed by its kind."""
    return Content.assemble(Content.styled(name, "bold"), Content.styled(f"  {kind}", MUTED))


def join_parts(*parts: Content | str) -> Content:
    """Join the parts that are not empty, with an empty line between them."""
    contents = [Content(part) if isinstance(part, str) else part for part in parts]
    return Content("\n\n").join(part for part in contents if part.plain)
