"""Messages and errors of directives for rows that they cannot handle."""

from __future__ import annotations

from localcdap.api.directive import DirectiveError, ErrorRow


def describe_value(value: object) -> str:
    """Return the type of a value for messages: ``null``, ``a float``."""
    return "null" if value is None else f"a {type(value).__name__}"


def format_type_mismatch(column: str, value: object, wanted: str = "a text is needed") -> str:
    """Return the message for a value of another type than the wanted one."""
    return f"column '{column}' is {describe_value(value)}; {wanted}"


def make_type_error(column: str, value: object, wanted: str = "a text is needed") -> DirectiveError:
    """Return the error with which a row fails, see :func:`format_type_mismatch`."""
    return DirectiveError(format_type_mismatch(column, value, wanted))


def format_error_record(message: str, code: int, directive: str) -> str:
    """Return the message of an error record, with its code and directive as in the original."""
    return f"{message} (ecode: {code}, directive: {directive})"


def make_error_row(message: str, code: int, directive: str) -> ErrorRow:
    """Return the error that sends a row to the error port, see :func:`format_error_record`."""
    return ErrorRow(format_error_record(message, code, directive), code)
