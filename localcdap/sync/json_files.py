"""The canonical JSON of files, and the errors of files that hold none.

Keys are sorted, so that it makes no difference in which order a front end writes them; lists keep their
order. Each value has a line of its own, indented by two, so that Git compares value by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from localcdap.api.errors import DocumentError
from localcdap.pipeline.document.values import decode_json, format_json

_MERGE_MARKER: Final = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: |$)|^={7}$", re.MULTILINE)


def format_document(document: Any) -> str:
    """Return the canonical text of decoded JSON, with a line break at its end."""
    return format_json(json.dumps(document, ensure_ascii=False, sort_keys=True)) + "\n"


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same in canonical form; ``1``, ``1.0`` and ``true`` differ."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def is_canonical(text: str, document: Any) -> bool:
    """Return whether a text is the canonical one of a document; Git on Windows writes other line breaks."""
    return text.replace("\r\n", "\n") == format_document(document)


def read_object(text: str, file: str) -> dict[str, Any]:
    """Return the JSON object in a text.

    :param file: named in errors.
    :raises DocumentError: when it is none, has a key twice, or has an unresolved merge of Git; with the line.
    """
    marker = _MERGE_MARKER.search(text)
    if marker is not None:
        line = text.count("\n", 0, marker.start()) + 1
        raise DocumentError(
            f"File '{file}' has a merge that Git could not resolve (line {line}).",
            "Choose between the versions there, remove the lines with <<<<<<<, ======= and >>>>>>>, and "
            "synchronize again.",
            file=file,
            line=line,
        )
    document = decode_json(text, file)
    if not isinstance(document, dict):
        raise DocumentError(
            f"File '{file}' must hold a JSON object (line 1).",
            "Restore it from Git, or move it out of this folder.",
            file=file,
            line=1,
        )
    _refuse_repeated_keys(text, file)
    return document


def find_line(text: str, path: Sequence[str]) -> int:
    """Return the line of the value at a path of keys and names of elements, or of the last one found."""
    at = 0
    for key in path:
        quoted = re.escape(json.dumps(key, ensure_ascii=False))
        found = re.compile(quoted + r"\s*:").search(text, at) or re.compile(quoted).search(text, at)
        if found is None:
            break
        at = found.start()
    return text.count("\n", 0, at) + 1


def _refuse_repeated_keys(text: str, file: str) -> None:
    """Refuse an object with a key twice: readers of JSON silently take one of the values."""
    repeated: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        repeated.extend(key for key in dict.fromkeys(keys) if keys.count(key) > 1)

    json.loads(text.removeprefix("\ufeff"), object_pairs_hook=note)
    if repeated:
        key = repeated[0]
        line = text.count("\n", 0, text.rfind(json.dumps(key, ensure_ascii=False))) + 1
        raise DocumentError(
            f"File '{file}' has the key '{key}' twice in one object (line {line}).",
            "Remove one of them.",
            file=file,
            line=line,
        )
