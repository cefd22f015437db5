"""The words in the name of a field."""

from __future__ import annotations

import re
from typing import Final

_BORDER: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")


def split_words(name: str) -> list[str]:
    """Return the words of a name in lower case, divided by signs and by capital letters.

    >>> split_words("CustomerID_key")
    ['customer', 'id', 'key']
    """
    return [word.lower() for word in _BORDER.split(name) if word]
