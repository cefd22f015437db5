"""Character encodings of files."""

from __future__ import annotations


def character_width(encoding: str) -> int:
    """Bytes of a character; 1 for encodings whose characters differ in width."""
    return 4 if "32" in encoding else 2 if "16" in encoding else 1
