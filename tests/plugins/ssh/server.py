"""A server of SSH and SFTP on this machine, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import msgspec

USER, PASSWORD = "ada", "secret"


class RunningServer(msgspec.Struct):
    """A server, and the private key that it accepts."""

    port: int
    key: str
    folder: Path


class _Server(asyncssh.SSHServer):
    def __init__(self, public_key: asyncssh.SSHKey) -> None:
        self._key = public_key

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == USER and key == self._key


async def _execute(process: asyncssh.SSHServerProcess[str]) -> None:
    """Answer ``say TEXT``, and fail any other command."""
    command = process.command or ""
    if command.startswith("say "):
        process.stdout.write(command.removeprefix("say ") + "\n")
        process.stderr.write("a warning")
        process.exit(0)
    else:
        process.stderr.write(f"no command {command}")
        process.exit(3)


@contextlib.contextmanager
def run_server(folder: Path) -> Iterator[RunningServer]:
    """Serve a folder as the root of SFTP."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    key = asyncssh.generate_private_key("ssh-ed25519")
    found: list[int] = []
    stopping = asyncio.Event()

    async def serve() -> None:
        listener = await asyncssh.create_server(
            lambda: _Server(key.convert_to_public()),
            "127.0.0.1",
            0,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            process_factory=_execute,
            sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=str(folder)),
        )
        found.append(listener.get_port())
        ready.set()
        await stopping.wait()
        listener.close()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield RunningServer(found[0], key.export_private_key().decode(), folder)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(60)
        loop.close()
