"""Names of files that every file system accepts, and that people recognize."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

SUFFIX: Final = ".json"
_KEPT: Final = frozenset(" _-.,+@()[]")
"""Signs that all file systems accept inside a name; letters and digits of all scripts are kept too."""
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""
_MOST_BYTES: Final = 120
"""A part of a path may have 255 bytes; some file systems encrypt names into longer ones."""


def escape_name(name: str) -> str:
    """Return a name as a part of a path, without a suffix.

    >>> escape_name("orders"), escape_name("a/b: c"), escape_name("nul"), escape_name(".git")
    ('orders', 'a%2Fb%3A c', '%6Eul', '%2Egit')
    """
    composed = unicodedata.normalize("NFC", name)
    escaped = "".join(
        each if each.isalnum() or each in _KEPT else _escape(each) for each in composed
    )
    if not escaped or escaped[0] in ". " or _RESERVED.fullmatch(escaped):
        escaped = _escape(escaped[:1]) + escaped[1:]
    if escaped[-1:] in (".", " "):
        escaped = escaped[:-1] + _escape(escaped[-1])
    if len(escaped.encode()) > _MOST_BYTES:
        cut = escaped.encode()[: _MOST_BYTES - 9].decode(errors="ignore")
        escaped = f"{cut}~{_hash(name)}"
    return escaped


def choose_path(folder: str, parts: Sequence[str], taken: Collection[str]) -> str:
    """Return the path of a new file.

    :param parts: the names that lead to the entity, such as ``["orders"]``.
    :param taken: the paths that are in use, as :func:`fold_path` gives them. A file of another entity whose
        name differs in case only has the name already; this one gets a mark then.
    """
    *outer, last = [escape_name(part) for part in parts]
    start = "/".join(filter(None, [folder, *outer]))
    path = f"{start}/{last}{SUFFIX}".removeprefix("/")
    if fold_path(path) in taken:
        path = f"{start}/{last}~{_hash('/'.join(parts))}{SUFFIX}".removeprefix("/")
    return path


def fold_path(path: str) -> str:
    """Return the form in which paths are equal on file systems that ignore case or compose letters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _escape(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode(errors="surrogatepass")) or "%00"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
