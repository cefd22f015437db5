"""The principal of the current call.

A front end acts as the user of the operating system who started it, unless it names somebody else with
:func:`act_as`. The name travels with each call between processes, and the called process acts as that user
for the time of the call. Threads of the host that nobody called act as localcdap itself.
"""

from __future__ import annotations

import contextlib
import getpass
import os
from collections.abc import Iterator
from contextvars import ContextVar

from localcdap.api.security import Principal

_current: ContextVar[Principal | None] = ContextVar("localcdap_principal", default=None)
_of_process: list[Principal] = []
"""At most one: the principal of threads that nobody called; without one, the user of the process."""


def current_principal() -> Principal:
    """Return who acts in the current call; outside of calls, the principal of this process."""
    principal = _current.get()
    if principal is not None:
        return principal
    return _of_process[0] if _of_process else Principal(get_process_user())


def get_current_user() -> str | None:
    """Return the name of the user who acts; None when localcdap itself acts."""
    principal = current_principal()
    return None if principal.is_system else principal.name


@contextlib.contextmanager
def act_as(principal: Principal | None) -> Iterator[None]:
    """Act as a principal for the time of a block, in this thread or task; None changes nothing."""
    if principal is None:
        yield
        return
    token = _current.set(principal)
    try:
        yield
    finally:
        _current.reset(token)


def set_process_principal(principal: Principal) -> None:
    """Set who acts in the threads of this process outside of calls."""
    _of_process[:] = [principal]


def get_process_user() -> str:
    """Return the name of the user who runs this process; the number of a user without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no entry for its user
        return str(os.getuid())
