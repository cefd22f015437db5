"""Requests that follow no redirection."""

from __future__ import annotations

import urllib.request


class RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would turn a request into one without its body."""

    def redirect_request(self, *_: object) -> None:
        return None
