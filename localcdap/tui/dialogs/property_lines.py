"""Properties as the lines of a text, each ``name=value``."""

from __future__ import annotations

from collections.abc import Mapping


def format_properties(properties: Mapping[str, str]) -> str:
    """Return the lines of properties."""
    return "\n".join(f"{name}={value}" for name, value in properties.items())


def parse_properties(text: str, problems: list[str]) -> dict[str, str]:
    """Return the properties of lines; empty lines are left out.

    :param problems: gets a sentence for each line that is not ``name=value``.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if name.strip() and equals:
            found[name.strip()] = value.strip()
        elif line.strip():
            problems.append(f"Line {number} of the properties is not name=value.")
    return found
