"""Connections of SSH: opening one, and its errors in words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from localcdap.api import ActionContext, StageError

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection

CONNECT_S: Final = 30.0
"""Seconds to wait for a connection, as CDAP's actions do."""
_INSTALL: Final = "Install it with: pip install 'localcdap[ssh]'."
_Result = TypeVar("_Result")


class SshTarget(msgspec.Struct, frozen=True):
    """A server, and who logs in there."""

    host: str
    port: int
    user: str
    password: str | None = None
    private_key: str | None = None
    """The text of a private key in PEM; it is used instead of the password."""
    passphrase: str | None = None
    """Of the private key."""
    checks_host_key: bool = False
    """Whether the server must be in the ``known_hosts`` of the user account."""

    @property
    def name(self) -> str:
        """The server, for messages."""
        return f"{self.user}@{self.host}:{self.port}"


def run_session(
    context: ActionContext,
    target: SshTarget,
    work: Callable[[SSHClientConnection], Awaitable[_Result]],
) -> _Result:
    """Call :func:`open_session` in an action.

    :raises StageError: as it does, with the stage.
    """
    try:
        return open_session(target, work)
    except StageError as error:
        if error.stage is not None:
            raise
        raise context.fail(error.message, error.corrective_action) from None


def open_session(
    target: SshTarget, work: Callable[[SSHClientConnection], Awaitable[_Result]]
) -> _Result:
    """Connect, do some work, and disconnect.

    :raises StageError: (without a stage) when the library is missing, the server refuses or goes away, or the
        work fails.
    """
    try:
        import asyncssh
    except ImportError:
        raise StageError("The library asyncssh is missing.", _INSTALL) from None

    async def run() -> _Result:
        async with _connect(target) as connection:
            return await work(connection)

    try:
        return asyncio.run(run())
    except (asyncssh.PermissionDenied, asyncssh.HostKeyNotVerifiable) as error:
        raise StageError(
            f"{target.name} refuses the login: {error.reason}",
            "Correct the user, and the password or the key; or add the server to known_hosts.",
        ) from None
    except asyncssh.KeyImportError as error:
        raise StageError(f"The private key cannot be used: {error}", "Correct it.") from None
    except (asyncssh.ConnectionLost, asyncssh.DisconnectError) as error:
        raise StageError(f"The connection to {target.name} is lost: {error.reason}") from None
    except asyncssh.SFTPError as error:
        raise StageError(f"{target.name} answers: {error.reason}", "Check the path.") from None
    except TimeoutError:
        raise StageError(
            f"{target.name} has not answered for {CONNECT_S:g} seconds.",
            "Correct the host and the port.",
        ) from None
    except OSError as error:
        raise StageError(
            f"{target.name} cannot be reached, or a file cannot be used: {error}",
            "Correct the host, the port or the path.",
        ) from None


@asynccontextmanager
async def _connect(target: SshTarget) -> AsyncIterator[SSHClientConnection]:
    import asyncssh

    given: dict[str, Any] = {"client_keys": [], "agent_path": None, "config": None}
    if target.private_key:
        key = asyncssh.import_private_key(target.private_key, target.passphrase or None)
        given["client_keys"] = [key]
    else:
        given["password"] = target.password
    if not target.checks_host_key:
        given["known_hosts"] = None
    async with asyncssh.connect(
        target.host,
        target.port,
        username=target.user,
        connect_timeout=CONNECT_S,
        keepalive_interval=CONNECT_S,
        **given,
    ) as connection:
        yield connection
