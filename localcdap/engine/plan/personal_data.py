"""Fields with personal data, the values of which are not shown in failures.

A field holds personal data when it has the tag ``pii`` in a dataset that the run has read. ``localcdap
metadata add`` sets the tag, and Data Prep does for columns in which it finds such data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataEntity, ScopedMetadata
from localcdap.api.record_json import HIDDEN_VALUE

_TAG: Final = "pii"
_SHORTEST: Final = 4
"""Characters of a value that is hardly part of another word."""
_MOST_FIELDS: Final = 500
"""The most fields of which the host is asked."""
_LEFT_OUT: Final = "(left out: it has personal data)"
_LINE: Final = re.compile(r"; line: .*", re.DOTALL)
_ROW: Final = re.compile(r"Failing row contains \(.*?\)\.", re.DOTALL)
_VALUE: Final = r"(?:'(?:[^']|'')*'|\"[^\"]*\"|[^\s,;)]+)"


def find_personal_fields(
    datasets: Iterable[MetadataEntity],
    fields: Collection[str],
    read: Callable[[MetadataEntity], ScopedMetadata],
) -> set[str]:
    """Return those of the fields that hold personal data in one of the datasets.

    :param read: returns the metadata of an entity; raises LocalcdapError when there is none.
    """
    found: set[str] = set()
    asked = 0
    for dataset in datasets:
        for field in fields:
            asked += 1
            if field in found or asked > _MOST_FIELDS:
                continue
            try:
                metadata = read(dataset.append("field", field))
            except LocalcdapError:  # no such dataset, or no host
                break
            tags = (*metadata.user.tags, *metadata.system.tags)
            if any(tag.lower() == _TAG for tag in tags):
                found.add(field)
    return found


def hide_personal_values(
    message: str, fields: Collection[str], record: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Return a message without the values of fields, and without the line of a file that has such values.

    >>> hide_personal_values("Field 'a' must be of type int, but it is 'x'. File: f; line: 1,x", ["a"])
    "Field 'a' must be of type int, but it is ***. File: f; line: (left out: it has personal data)"

    :param record: the record at fault; its values of the fields are hidden wherever the message has them.
    """
    if not fields:
        return message
    for field in fields:
        name = re.escape(field)
        value = record.get(field)
        known = [] if value is None else [str(value)]
        for value in (*known, *re.findall(rf"\b{name} = '((?:[^']|'')*)'", message)):
            message = _hide_everywhere(value, message)
        for place in (
            rf"([Ff]ield '{name}' is not of type [^:]*: )",
            rf"([Ff]ield '{name}'[^.]*? (?:is|holds|was) (?!not |of type |null\b))",
            rf"(\b{name} = )",
        ):
            message = re.sub(place + _VALUE, lambda found: found[1] + HIDDEN_VALUE, message)
        message = re.sub(rf"(\({name}\)=\()[^)]*", rf"\g<1>{HIDDEN_VALUE}", message)
    message = _LINE.sub(f"; line: {_LEFT_OUT}", message)
    return _ROW.sub(f"Failing row contains {_LEFT_OUT}.", message)


def _hide_everywhere(value: str, message: str) -> str:
    """Return a message without a value; a short one may be part of any word, and is hidden between quotes."""
    if not value:
        return message
    text = re.escape(value)
    return re.sub(
        text if len(value) >= _SHORTEST else rf"(?<=['\"]){text}(?=['\"])", HIDDEN_VALUE, message
    )
