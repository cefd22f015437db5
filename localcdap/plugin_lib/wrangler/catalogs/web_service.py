"""Web services to which JSON is posted, and which answer with a JSON object."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json

_SECONDS: Final = 30
"""The time limit of a call."""
_MAX_BYTES: Final = 64 * 2**20


class NoAnswerError(Exception):
    """A service gave no usable answer; the message says why."""


class WebService:
    """A service at an HTTP or HTTPS URL."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-type": "application/json; charset=UTF-8", **headers}

    def post(self, body: str) -> dict[str, Any]:
        """Post JSON and return the answer. All numbers are doubles, as Gson reads them without a type.

        :raises NoAnswerError: for any status from 300 on (what is posted is not sent elsewhere), silence of
            30 seconds, more than 64 MB, or an answer that is not an object.
        """
        import http.client
        import urllib.error
        import urllib.request

        content = body.encode("utf-8", "surrogatepass")
        request = urllib.request.Request(self._url, content, self._headers, method="POST")  # noqa: S310
        try:
            with _load_opener().open(request, timeout=_SECONDS) as answer:
                found = answer.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            reason = f"status code: {error.code}, reason phrase: {error.reason}"
            raise NoAnswerError(reason) from None
        except urllib.error.URLError as error:
            raise NoAnswerError(f"there is no connection: {error.reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NoAnswerError(str(error) or type(error).__name__) from None
        return _parse_object(found)


@functools.cache
def _load_opener() -> Any:
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return urllib.request.build_opener(NoRedirects)


def _parse_object(content: bytes) -> dict[str, Any]:
    if len(content) > _MAX_BYTES:
        raise NoAnswerError(f"the answer is larger than {_MAX_BYTES >> 20} MB")
    try:
        answer = read_json(content.decode("utf-8", "replace"))
    except JsonError as error:
        raise NoAnswerError(str(error)) from None
    if not isinstance(answer, dict):
        raise NoAnswerError("the answer is not an object of JSON")
    return {name: _convert_to_doubles(value) for name, value in answer.items()}


def _convert_to_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _convert_to_doubles(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_convert_to_doubles(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole else value
