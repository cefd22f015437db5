"""The service with which clients control a background host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from localcdap.security.access import open_to_all

CONTROL: Final = "host"
"""The name of the service among those of the host."""

Leave = Callable[[int | None, bool], Sequence[str]]
"""See :meth:`HostControl.leave`."""


class HostControl:
    """The control of a host.

    :param leave: ends the host unless somebody needs it.
    :param sync: brings the index of artifacts up to date.
    """

    def __init__(self, leave: Leave, sync: Callable[[], object]) -> None:
        self._leave = leave
        self._sync = sync

    @open_to_all("the index follows the folders in any case")
    def look_again(self) -> None:
        """Look at the plugin folders, as a host that starts does."""
        self._sync()

    @open_to_all("the host stays while somebody needs it")
    def leave(self, without_pid: int | None = None, keep_for_runs: bool = True) -> list[str]:
        """Have the host end unless somebody else needs it; return who does. It ends after this answer.

        Once the answer is empty no client can connect to this host any more; the next process that opens
        the instance waits for its end and starts another one.

        :param without_pid: a process whose connections do not count as others, because it will connect to
            the next host. The connection of this call never counts.
        :param keep_for_runs: whether the host stays for active runs. They do not need it: a caller that
            starts the next host at once may do without.
        """
        return list(self._leave(without_pid, keep_for_runs))
