"""The two ways in which commons-lang splits a text."""

from __future__ import annotations


def split_characters(
    text: str | None, separators: str | None, limit: int, *, keep: bool
) -> list[str] | None:
    """Splits at each of the separators (white space when None).

    :param limit: the most parts; the last has the rest as it is. 0 or less: no limit.
    :param keep: keep the empty parts between adjacent separators and at the ends.
    """
    if text is None:
        return None
    if not text:
        return []
    parts: list[str] = []
    start = at = 0
    while at < len(text):
        is_separator = text[at].isspace() if separators is None else text[at] in separators
        if is_separator and (keep or at > start):
            if len(parts) + 1 == limit:
                return [*parts, text[start:]]
            parts.append(text[start:at])
        at += 1
        if is_separator:
            start = at
    if keep or start < len(text):
        parts.append(text[start:])
    return parts


def split_whole(
    text: str | None, separator: str | None, limit: int, *, keep: bool
) -> list[str] | None:
    """Splits at a separator as a whole; the parameters are those of :func:`split_characters`."""
    if not text or not separator:
        return split_characters(text, None, limit, keep=keep)
    parts: list[str] = []
    start = 0
    while (found := text.find(separator, start)) >= 0:
        if keep or found > start:
            if len(parts) + 1 == limit:
                return [*parts, text[start:]]
            parts.append(text[start:found])
        start = found + len(separator)
    return [*parts, text[start:]]  # commons-lang gives an empty last part here whatever is kept
