"""Both ends prove that they know the key before the first frame.

The proof is that of :mod:`multiprocessing.connection` (a keyed digest of random bytes, in both
directions); only here it may not take for ever.
"""

from __future__ import annotations

import os
import socket
import struct
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from localcdap.api.errors import HostError


def introduce(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """The handshake of the end that connected.

    :raises HostError: when the other end refuses, is not localcdap, or is silent.
    """
    _shake_hands(connection, authkey, timeout_s, challenge_first=False)


def welcome(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """The handshake of the end that was connected to.

    :raises HostError: when the other end does not know the key, or is silent.
    """
    _shake_hands(connection, authkey, timeout_s, challenge_first=True)


def _shake_hands(
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
        raise HostError(f"The other process was silent for {timeout_s:.2g} s.") from None
    except (OSError, EOFError, AssertionError) as error:  # an assertion is how garbage shows
        raise HostError(
            f"The other process broke off the greeting: {error or 'it ended'}."
        ) from None


def _limit_reads(connection: Connection, seconds: float) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as twin:
        limit_waiting(twin, socket.SO_RCVTIMEO, seconds)


def limit_waiting(end: socket.socket, option: int, seconds: float) -> None:
    """Let a read (``SO_RCVTIMEO``) or connect (``SO_SNDTIMEO``) that waits longer fail; 0 for no limit.

    Unlike ``settimeout`` it holds for the socket, whoever uses it, and leaves it a blocking one.
    """
    whole = int(seconds)
    limit = struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
    end.setsockopt(socket.SOL_SOCKET, option, limit)
