"""The handshake of a connection: both ends prove that they know the key before the first frame.

The proof is that of :mod:`multiprocessing.connection` (a keyed digest of random bytes, in both
directions), with a time limit.
"""

from __future__ import annotations

import os
import socket
import struct
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from localcdap.api.errors import HostError


def greet_server(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """Perform the handshake at the end that connected.

    :raises HostError: when the other end refuses, is not localcdap, or does not answer in time.
    """
    _perform_handshake(connection, authkey, timeout_s, challenge_first=False)


def greet_client(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """Perform the handshake at the end that accepted the connection.

    :raises HostError: when the other end does not know the key, or does not answer in time.
    """
    _perform_handshake(connection, authkey, timeout_s, challenge_first=True)


def _perform_handshake(
    connection: Connection, authkey: bytes, timeout_s: float, *, challenge_first: bool
) -> None:
    steps = [deliver_challenge, answer_challenge]
    try:
        _limit_reads(connection, timeout_s)
        for step in steps if challenge_first else reversed(steps):
            step(connection, authkey)
        _limit_reads(connection, 0)
    except AuthenticationError as error:
        raise HostError(f"Refused: the key is wrong ({error}).") from None
    except BlockingIOError:
        raise HostError(f"The other process did not answer within {timeout_s:.2g} s.") from None
    except (OSError, EOFError, AssertionError) as error:  # the library asserts on unknown messages
        raise HostError(
            f"The other process aborted the handshake: {error or 'it ended'}."
        ) from None


def _limit_reads(connection: Connection, seconds: float) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as twin:
        limit_waiting(twin, socket.SO_RCVTIMEO, seconds)


def limit_waiting(end: socket.socket, option: int, seconds: float) -> None:
    """Limit the time of a read (``SO_RCVTIMEO``) or a connect (``SO_SNDTIMEO``); 0 for no limit.

    Unlike ``settimeout``, the limit belongs to the socket itself, not to one Python object, and the socket
    stays in blocking mode.
    """
    whole = int(seconds)
    limit = struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
    end.setsockopt(socket.SOL_SOCKET, option, limit)
