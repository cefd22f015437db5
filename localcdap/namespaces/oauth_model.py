"""What is stored about OAuth providers, the JSON that CDAP 6 ``OAuthStore`` stores, and what they answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec

from localcdap.api.errors import OAuthError
from localcdap.decoders import decode_json

FORM_BODY: Final = "FORM_BODY"
BASIC_AUTH: Final = "BASIC_AUTH"


class OAuthProvider(msgspec.Struct):
    """A provider of tokens (CDAP 6 ``OAuthProvider``), without its client credentials."""

    login_url: str
    token_refresh_url: str
    strategy: str
    """How the client credentials are sent: ``FORM_BODY`` or ``BASIC_AUTH``."""
    user_agent: str | None


class OAuthClient(msgspec.Struct, rename={"id": "clientId", "secret": "clientSecret"}):
    """The client credentials of a provider."""

    id: str
    secret: str


class RefreshToken(msgspec.Struct, rename={"token": "refreshToken", "redirect_uri": "redirectURI"}):
    """A token for which a provider gives access tokens."""

    token: str
    redirect_uri: str


class TokenAnswer(msgspec.Struct):
    """What a provider answered to a request for tokens."""

    status: int
    reason: str
    text: str
    """The body; that of a refusal without the secrets of the request."""

    def decode(self) -> dict[str, Any]:
        """Return the tokens; none when the answer is not a JSON object."""
        try:
            found = decode_json(self.text.encode())
        except msgspec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    def require_success(self, what: str) -> dict[str, Any]:
        """Return the tokens.

        :raises OAuthError: with the status of the provider, when that is another one than 200.
        """
        if self.status != HTTPStatus.OK:
            raise OAuthError(
                f"Request for {what} did not return 200. Response code: {self.status} , response message: "
                f"{self.reason} , response body: {self.text}",
                status=self.status if self.status >= 400 else 502,
            )
        return self.decode()
