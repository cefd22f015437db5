"""The transformations of SensitiveRecordRedaction: reading them, checking them, and applying them.

Their properties and failures are those of dlp-plugins, ``configs/*.java``.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import random
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.api import Schema, Type
from localcdap.plugin_lib.wrangler.semantic_types.findings import (
    ALL,
    CARD,
    MAC,
    NATIONAL_ID,
    PHONE,
    TextFinding,
)

TEMPLATE: Final = "NONE"
"""The filter for what an inspection template of the service finds."""
FILTERS: Final[Mapping[str, tuple[str, ...]]] = {
    TEMPLATE: ALL,
    "DEMOGRAPHIC": (PHONE,),
    "LOCATION": (MAC,),
    "TAX": (),
    "CREDIT_CARD": (CARD,),
    "PASSPORT": (),
    "HEALTH": (),
    "NATIONAL_ID": (NATIONAL_ID,),
    "DRIVER_LICENSE": (),
    "INSURANCE": (),
}
"""The findings of each group of ``SensitiveDataMapping.java`` for which there is a detector here."""
_MOST_DAYS: Final = 365_250
_IGNORED: Final = {
    "COMMON_CHARS_TO_IGNORE_UNSPECIFIED": "",
    "NUMERIC": string.digits,
    "ALPHA_UPPER_CASE": string.ascii_uppercase,
    "ALPHA_LOWER_CASE": string.ascii_lowercase,
    "PUNCTUATION": string.punctuation,
    "WHITESPACE": string.whitespace,
}
_KEY_LENGTHS: Final = (16, 24, 32)
_ENCRYPTIONS: Final = ("FORMAT_PRESERVING_ENCRYPTION", "DETERMINISTIC_ENCRYPTION")
_SHIFTED: Final = (Type.INT, Type.LONG)
Replace = Callable[[str], str]
"""Returns what takes the place of a finding."""


class Problem(NamedTuple):
    """What is wrong with a transformation."""

    message: str
    action: str = ""


class Transformation(msgspec.Struct):
    """One of the transformations, as the property ``fieldsToTransform`` has it."""

    transform: str
    fields: list[str]
    filters: list[str]
    properties: dict[str, str]
    text: str
    """Its JSON."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types of findings that it replaces."""
        chosen = {type for each in self.filters for type in FILTERS.get(each, ())}
        return tuple(type for type in ALL if type in chosen)

    @property
    def is_date_shift(self) -> bool:
        """Whether it moves dates."""
        return self.transform == "DATE_SHIFT"


def parse_transformations(text: str) -> list[Transformation]:
    """Return the transformations: a JSON list of texts, each an object as JSON.

    :raises ValueError: when it is none.
    """
    try:
        each = msgspec.json.decode(text, type=list[str])
        return [_parse(one) for one in each]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None


def _parse(text: str) -> Transformation:
    node = msgspec.json.decode(text, type=dict[str, Any])
    if "transform" not in node:
        raise ValueError("a transformation has no 'transform'")
    if node["transform"] not in (*_CHECKS, *_ENCRYPTIONS):
        raise ValueError(
            f"Transform {node['transform']} does not have an associated transform config"
        )
    properties = node.get("transformProperties") or {}
    return Transformation(
        node["transform"],
        [each for each in (node.get("fields") or "").split(",") if each],
        [each for each in (node.get("filters") or "").split(",") if each],
        {key: str(value) for key, value in properties.items() if value is not None},
        text,
    )


def find_problems(one: Transformation, schema: Schema | None) -> Iterator[Problem]:
    """Yield what is wrong with a transformation."""
    if not one.fields:
        yield Problem(f"No fields were selected to apply '{one.transform}' transform.")
    allowed = _SHIFTED if one.is_date_shift else (Type.STRING,)
    for name in one.fields if schema is not None else ():
        assert schema is not None
        found = schema.field(name)
        if found is None:
            yield Problem(f"Field '{name}' is not present in the input schema")
        elif found.schema.non_nullable.type not in allowed:
            yield Problem(
                f"Field '{name}' has type '{found.schema.display_name}' which is not supported by "
                f"'{one.transform}' transform"
            )
    if not one.filters:
        yield Problem("At least one filter must be selected.")
    if one.transform in _ENCRYPTIONS:
        yield Problem(
            f"The transform '{one.transform}' needs the service of Google Cloud.",
            "Use CRYPTO_HASH or MASKING, or run the pipeline in the cloud.",
        )
        return
    yield from _CHECKS[one.transform](one.properties)


def _check_mask(given: Mapping[str, str]) -> Iterator[Problem]:
    mask = given.get("maskingChar", "")
    if not mask:
        yield Problem(
            "Masking Character is a required field for this transform.", "Please provide a value."
        )
    elif len(mask) != 1:
        yield Problem(
            f"Masking Character must be a single character, string '{mask}' of length {len(mask)} is "
            "invalid."
        )
    number = given.get("numberToMask") or "0"
    if not number.isdecimal():
        yield Problem("Number to mask must be a positive number")
    kind = given.get("charsToIgnoreEnum", "COMMON_CHARS_TO_IGNORE_UNSPECIFIED")
    if kind not in _IGNORED:
        yield Problem(
            f"'{kind}' names no characters to ignore.", f"Use one of {', '.join(_IGNORED)}."
        )


def _check_value(given: Mapping[str, str]) -> Iterator[Problem]:
    if not given.get("newValue"):
        yield Problem(
            "New Value is a required field for this transform.", "Please provide a value."
        )


def _check_key(given: Mapping[str, str]) -> Iterator[Problem]:
    kind = given.get("keyType")
    if kind not in ("TRANSIENT", "UNWRAPPED", "KMS_WRAPPED"):
        yield Problem(
            "Crypto Key Type is a required field for this transform.", "Please provide a value."
        )
    elif kind == "KMS_WRAPPED":
        yield Problem(
            "A key of the type KMS_WRAPPED is known to Google Cloud only.",
            "Use a key of the type UNWRAPPED or TRANSIENT.",
        )
    elif kind == "UNWRAPPED":
        yield from _check_given_key(given.get("key", ""))


def _check_given_key(key: str) -> Iterator[Problem]:
    if not key:
        yield Problem("Key is a required field for this transform.", "Please provide a value.")
        return
    try:
        decoded = base64.b64decode(key, validate=True)
    except binascii.Error:
        yield Problem("Key must be base64 encoded.")
        return
    if len(decoded) not in _KEY_LENGTHS:
        yield Problem(
            "Key must be 16/24/32 bytes long.", "Please provide a key of the correct length."
        )


def _check_days(given: Mapping[str, str]) -> Iterator[Problem]:
    bounds: dict[str, int] = {}
    for name, shown in (("upperBoundDays", "Upper Bound"), ("lowerBoundDays", "Lower Bound")):
        try:
            bounds[name] = int(given[name])
        except (KeyError, ValueError):
            yield Problem(
                f"{shown} is a required field for this transform.", "Please provide a value."
            )
            continue
        if abs(bounds[name]) > _MOST_DAYS:
            yield Problem(
                f"{shown} cannot be more than 10 years ({_MOST_DAYS} days) in either direction.",
                "Please provide that is within this range.",
            )
    if len(bounds) > 1 and bounds["lowerBoundDays"] > bounds["upperBoundDays"]:
        yield Problem("Lower Bound cannot be greater than Upper Bound.")


_CHECKS: Final[dict[str, Callable[[Mapping[str, str]], Iterator[Problem]]]] = {
    "MASKING": _check_mask,
    "REPLACE_VALUE": _check_value,
    "REDACT": lambda _: iter(()),
    "CRYPTO_HASH": _check_key,
    "DATE_SHIFT": _check_days,
}


def create_replacement(one: Transformation, run_id: str) -> Replace:
    """Return the function that replaces a finding.

    :param run_id: makes a transient key, which is the same in all of Spark's workers.
    """
    given = one.properties
    match one.transform:
        case "MASKING":
            ignored = _IGNORED[given.get("charsToIgnoreEnum", next(iter(_IGNORED)))]
            number = int(given.get("numberToMask") or 0)
            backwards = given.get("reverseOrder", "").lower() == "true"
            return lambda text: mask(
                text, given["maskingChar"], number, ignored, backwards=backwards
            )
        case "CRYPTO_HASH":
            key = _get_key(given, run_id)
            return lambda text: base64.b64encode(
                hmac.digest(key, text.encode(), hashlib.sha256)
            ).decode()
        case "REPLACE_VALUE":
            return lambda _: given["newValue"]
    return lambda _: ""


def _get_key(given: Mapping[str, str], run_id: str) -> bytes:
    if given["keyType"] == "UNWRAPPED":
        return base64.b64decode(given["key"])
    return hashlib.sha256(f"{run_id}/{given.get('name', '')}".encode()).digest()


def mask(text: str, char: str, number: int, ignored: str, *, backwards: bool) -> str:
    """Return a text whose characters are masked.

    :param number: how many characters are masked at most; 0 for all.
    :param ignored: the characters that stay, and do not count.
    :param backwards: whether masking begins at the end.
    """
    places = [i for i, each in enumerate(text) if each not in ignored]
    if backwards:
        places.reverse()
    masked = set(places[:number] if number else places)
    return "".join(char if i in masked else each for i, each in enumerate(text))


def replace_findings(text: str, findings: list[TextFinding], replace: Replace) -> str:
    """Return a text in which findings are replaced."""
    parts, position = [], 0
    for found in findings:
        parts += [text[position : found.start], replace(text[found.start : found.end])]
        position = found.end
    return "".join(parts) + text[position:]


def shift_date(value: Any, one: Transformation, chance: random.Random) -> Any:
    """Return a date or a time moved by a random number of days; another value unchanged."""
    if not isinstance(value, datetime.date):
        return value
    low, high = (int(one.properties[name]) for name in ("lowerBoundDays", "upperBoundDays"))
    return value + datetime.timedelta(days=chance.randint(low, high))
