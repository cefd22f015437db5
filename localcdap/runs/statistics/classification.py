"""Why a run failed: the category, the reason, and who can do something about it.

Names and values are those of CDAP 6.11: ``ErrorClassificationResponse``, ``ErrorCategory``, ``ErrorType``.
CDAP reads them from exceptions in the log that provide them (``FailureDetailsProvider``); here they follow
from the error of the run, which names its stage: from the details that its plugin or the engine gave it, else
from its text.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from localcdap.api.errors import ErrorDetails
from localcdap.runs.model import RunError

PLUGIN: Final = "Plugin"
NETWORKING: Final = "Networking"
PROVISIONING: Final = "Provisioning"
ACCESS: Final = "Access"
OTHERS: Final = "Others"
USER: Final = "USER"
SYSTEM: Final = "SYSTEM"
UNKNOWN: Final = "UNKNOWN"


class ErrorClassification(msgspec.Struct, rename="camel", omit_defaults=True):
    """One cause of the failure of a run (CDAP 6.11 ``ErrorClassificationResponse``)."""

    stage_name: str | None
    error_category: str
    """``Plugin``, ``Networking``, ``Provisioning``, ``Access`` or ``Others``; of a stage with its name, as
    ``Plugin-'Sales'``."""
    error_reason: str
    """What kind of failure it is, in a few words."""
    error_message: str
    error_type: str
    """``USER``: the pipeline or its data must change; ``SYSTEM``: what it runs on; or ``UNKNOWN``."""
    dependency: str = "false"
    """``true`` when another system caused it."""
    error_code_type: str | None = None
    error_code: str | None = None
    supported_documentation_url: str | None = None
    corrective_action: str | None = None
    """What to do about it; CDAP has no such key."""


class Reason(msgspec.Struct, frozen=True):
    """A kind of failure."""

    category: str
    text: str
    type: str
    dependency: bool = False


class _Sign(msgspec.Struct, frozen=True):
    """What an error message of a kind contains."""

    pattern: re.Pattern[str]
    reason: Reason


def _sign(pattern: str, category: str, text: str, type: str, *, dependency: bool = False) -> _Sign:
    return _Sign(re.compile(pattern, re.IGNORECASE), Reason(category, text, type, dependency))


_SIGNS: Final = (
    _sign(r"no space left|disk is full", PROVISIONING, "the disk is full", SYSTEM),
    _sign(
        r"ran out of memory|out ?of ?memory|memory limit", PROVISIONING, "memory ran out", SYSTEM
    ),
    _sign(
        r"permission denied|access was denied|access denied|forbidden|unauthorized|not authorized|"
        r"lacks? the (privilege|permission)|may not (read|write)|\b40[13]\b",
        ACCESS,
        "access was denied",
        USER,
    ),
    _sign(
        r"connection (was )?(refused|reset)|unknown host|name or service not known|unreachable|"
        r"cannot be reached|could not be reached|timed? ?out|did not answer|no route to host",
        NETWORKING,
        "another system was not reached",
        SYSTEM,
        dependency=True,
    ),
    _sign(r"secure (key|value)|no secure key", ACCESS, "a secure key is missing", USER),
    _sign(
        r"path_not_found|does not exist|no such file|not found|there is no (file|table|dataset|path)",
        PLUGIN,
        "something it reads is missing",
        USER,
    ),
    _sign(r"already exists", PLUGIN, "the target exists already", USER),
    _sign(
        r"schema|is not in the (input|record)|unresolved_column|has no (field|column)",
        PLUGIN,
        "schemas do not fit",
        USER,
    ),
    _sign(
        r"overflow|cast|cannot be parsed|could not be parsed|cannot parse|malformed|invalid value|divide|"
        r"division by|is not a |null|cannot become|cannot be converted|expected|constraint|too long for|"
        r"must be of type|is not of type",
        PLUGIN,
        "a value does not fit",
        USER,
    ),
    _sign(r"error while reading file|cannot be read", PLUGIN, "a file is not readable", USER),
    _sign(
        r"os\._exit|crashed|process (was )?(ended|killed)|worker exited|exited with code|killed by",
        PROVISIONING,
        "a process ended",
        SYSTEM,
    ),
    _sign(
        r"\bspark\b|engine|connect server|\bjava\b",
        PROVISIONING,
        "Spark could not do its part",
        SYSTEM,
    ),
)
_INVALID: Final = Reason(PLUGIN, "the pipeline is invalid", USER)
_IN_STAGE: Final = Reason(PLUGIN, "a plugin failed", USER)
_OTHER: Final = Reason(OTHERS, "another reason", UNKNOWN)
_HTTP: Final = re.compile(r"\b(?:HTTP|status|code)\D{0,12}([45]\d\d)\b", re.IGNORECASE)
_SPARK: Final = re.compile(r"\[([A-Z][A-Z_]+(?:\.[A-Z_]+)?)\]")


def find_reason(error: RunError) -> Reason:
    """Return the kind of a failure."""
    if error.failures:
        return _INVALID
    given, text = error.details, error.message
    if given is not None and given.reason is not None:
        return Reason(given.category, given.reason, given.type, given.dependency)
    found = next((each.reason for each in _SIGNS if each.pattern.search(text)), None)
    if found is not None:
        return found
    return _IN_STAGE if error.stage is not None else _OTHER


def classify(error: RunError) -> list[ErrorClassification]:
    """Return the causes of a failure: one for each failure of an invalid pipeline, else one."""
    reason = find_reason(error)
    if not error.failures:
        return [
            _build(reason, error.stage, error.message, error.corrective_action, error.details),
        ]
    return [
        _build(reason, each.stage, each.message, each.corrective_action) for each in error.failures
    ]


def _build(
    reason: Reason,
    stage: str | None,
    message: str,
    action: str | None,
    details: ErrorDetails | None = None,
) -> ErrorClassification:
    code_type, code = _find_code(message)
    if details is not None and details.code is not None:
        code_type, code = details.code_type, details.code
    return ErrorClassification(
        stage_name=stage,
        error_category=reason.category if stage is None else f"{reason.category}-'{stage}'",
        error_reason=reason.text,
        error_message=message,
        error_type=reason.type,
        dependency="true" if reason.dependency else "false",
        error_code_type=code_type,
        error_code=code,
        supported_documentation_url=None if details is None else details.documentation,
        corrective_action=action,
    )


def _find_code(message: str) -> tuple[str | None, str | None]:
    """Return the kind of a code in a message, and the code."""
    for kind, pattern in (("HTTP", _HTTP), ("SPARK", _SPARK)):
        found = pattern.search(message)
        if found is not None:
            return kind, found[1]
    return None, None
