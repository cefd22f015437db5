"""Character encodings, by the names that Java uses for them."""

from __future__ import annotations

import codecs
import re
from typing import Final

_IBM: Final = re.compile(r"ibm-?0*([0-9]+)")


def python_encoding(name: str) -> str | None:
    """Python's name of an encoding, or None when Python does not have it.

    >>> python_encoding("IBM01140"), python_encoding("UTF-8"), python_encoding("klingon")
    ('cp1140', 'utf-8', None)
    """
    wanted = name.strip().lower()
    ibm = _IBM.fullmatch(wanted)
    if ibm is not None:
        wanted = f"cp{ibm.group(1).zfill(3)}"
    try:
        return codecs.lookup(wanted).name
    except LookupError:
        return None


def character_width(encoding: str) -> int:
    """Bytes of a character; 1 for encodings whose characters differ in width."""
    return 4 if "32" in encoding else 2 if "16" in encoding else 1
