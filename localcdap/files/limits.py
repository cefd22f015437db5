"""What is read of a file at once: no file fills the memory of a process, which has 1 GB by default."""

from __future__ import annotations

from typing import Final

LARGEST_VALUE: Final = 64 * 2**20
"""Characters of a line, or of a value of delimited text; what reads it may make several copies."""
LARGEST_DOCUMENT: Final = 256 * 2**20
"""Bytes or characters of a file that is read in one piece."""
SHOWN: Final = 200
"""Characters of a line that a message shows."""
