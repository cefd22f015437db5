"""What directives say of rows that they refuse."""

from __future__ import annotations

from localcdap.api.directive import DirectiveError, ErrorRow


def said(value: object) -> str:
    """What a value is, for messages: ``null``, ``a float``."""
    return "null" if value is None else f"a {type(value).__name__}"


def mismatch(column: str, value: object, wanted: str = "a text is needed") -> str:
    """That a column holds a value of another kind than is wanted."""
    return f"column '{column}' is {said(value)}; {wanted}"


def mismatched(column: str, value: object, wanted: str = "a text is needed") -> DirectiveError:
    """What a row fails with, see :func:`mismatch`."""
    return DirectiveError(mismatch(column, value, wanted))


def coded(message: str, code: int, directive: str) -> str:
    """The message of an error record, with its code and directive in it as the original."""
    return f"{message} (ecode: {code}, directive: {directive})"


def refused(message: str, code: int, directive: str) -> ErrorRow:
    """What sends a row to the error port, see :func:`coded`."""
    return ErrorRow(coded(message, code, directive), code)
