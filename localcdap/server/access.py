"""Who may use a server of this machine: only its user, and no page of another site.

Any web page that the user visits could otherwise open a connection to a port of this machine. Several checks
prevent that, each of which is enough against one kind of attack: the ``Host`` header (a foreign name that
resolves to this machine), the ``Origin`` header (a foreign page), and a secret. For the studio that is a
cookie that other sites cannot send (``SameSite=Strict``) and scripts cannot read (``HttpOnly``), for the REST
API a token.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Final

_BYTES: Final = 32
"""Random bytes of a token and of a cookie's value."""


class SiteCheck:
    """Refuses requests that a page of another site, or a foreign name of this machine, has caused.

    :param port: the port at which the server listens.
    """

    def __init__(self, port: int) -> None:
        self.hosts: Final = frozenset((f"127.0.0.1:{port}", f"localhost:{port}"))
        """The values of ``Host`` that are accepted."""
        self._origins: Final = frozenset(f"http://{host}" for host in self.hosts)

    def find_refusal(self, headers: Mapping[str, str], *, needs_origin: bool = False) -> str | None:
        """Return why a request is refused, or None.

        :param headers: by name, in any case.
        :param needs_origin: whether a request without ``Origin`` is refused, as one for a websocket is.
        """
        if headers.get("Host", "") not in self.hosts:
            return "The request names another host."
        origin = headers.get("Origin")
        if origin not in self._origins and (origin is not None or needs_origin):
            return "The request comes from another site."
        return None


class Access(SiteCheck):
    """The tokens and cookies of the server of the studio.

    :param port: the port at which the server listens.
    """

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._address: Final = f"http://127.0.0.1:{port}"
        self.cookie: Final = f"localcdap-{port}"
        """The name of the cookie; browsers send a cookie to every port of a host."""
        self._token = ""
        self._sessions: Final[set[str]] = set()

    @property
    def socket_sources(self) -> str:
        """The addresses of websockets that the page may connect to, for its content security policy."""
        return " ".join(f"ws://{host}" for host in sorted(self.hosts))

    def create_link(self) -> str:
        """Return an address that opens the page once; an earlier link stops working."""
        self._token = create_secret()
        return f"{self._address}/?token={self._token}"

    def exchange_token(self, token: str) -> str | None:
        """Return the value of a new cookie for the token of the last link; None for any other token."""
        if not self._token or not are_equal(token, self._token):
            return None
        self._token = ""
        session = create_secret()
        self._sessions.add(session)
        return session

    def has_session(self, cookie: str | None) -> bool:
        """Return whether the value is that of a cookie of this server."""
        return cookie is not None and any(are_equal(cookie, each) for each in self._sessions)


def create_secret() -> str:
    """Return a random text that nobody can guess; it has no characters that an address would escape."""
    return secrets.token_urlsafe(_BYTES)


def are_equal(one: str, other: str) -> bool:
    """Compare two secrets, in a time that does not depend on how much of them is equal."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
