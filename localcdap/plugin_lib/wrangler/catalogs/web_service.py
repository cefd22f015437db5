"""Web services that are posted JSON and answer with an object of JSON."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from localcdap.java.gson import JsonError, read_json

_SECONDS: Final = 30
"""How long a service may keep silent."""
_MOST: Final = 64 * 2**20


class NoAnswerError(Exception):
    """A service gave no answer that can be used; the text says why."""


class WebService:
    """A service at an address, http or https."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {"Content-type": "application/json; charset=UTF-8", **headers}

    def ask(self, body: str) -> dict[str, Any]:
        """What it answers. All numbers are doubles, as Gson reads them without a type.

        :raises NoAnswerError: for any status from 300 on (what is posted is not sent elsewhere), silence of
            30 seconds, more than 64 MB, or an answer that is no object.
        """
        import http.client
        import urllib.error
        import urllib.request

        content = body.encode("utf-8", "surrogatepass")
        request = urllib.request.Request(self._url, content, self._headers, method="POST")  # noqa: S310
        try:
            with _opener().open(request, timeout=_SECONDS) as answer:
                found = answer.read(_MOST + 1)
        except urllib.error.HTTPError as error:
            told = f"status code: {error.code}, reason phrase: {error.reason}"
            raise NoAnswerError(told) from None
        except urllib.error.URLError as error:
            raise NoAnswerError(f"there is no connection: {error.reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise NoAnswerError(str(error) or type(error).__name__) from None
        return _object(found)


@functools.cache
def _opener() -> Any:
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return urllib.request.build_opener(NoRedirects)


def _object(content: bytes) -> dict[str, Any]:
    if len(content) > _MOST:
        raise NoAnswerError(f"the answer is larger than {_MOST >> 20} MB")
    try:
        answer = read_json(content.decode("utf-8", "replace"))
    except JsonError as error:
        raise NoAnswerError(str(error)) from None
    if not isinstance(answer, dict):
        raise NoAnswerError("the answer is no object of JSON")
    return {name: _with_doubles(value) for name, value in answer.items()}


def _with_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_doubles(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_doubles(each) for each in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole else value
