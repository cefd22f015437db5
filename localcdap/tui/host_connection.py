"""The studio's connection to the host of an instance: opened after the first frame, awaited by every call."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from localcdap.api.errors import LocalcdapError
from localcdap.home import Home
from localcdap.host.cdap import Cdap

_LOG: Final = logging.getLogger(__name__)


class LeavingError(Exception):
    """The studio is exiting; the result of the call is not needed."""


class HostConnection:
    """A connection that is being opened, is open, or could not be opened. Thread-safe.

    :param home: the folder of the instance.
    :param lent: open services of the caller, which :meth:`close` leaves open.
    """

    def __init__(self, home: Home, lent: Cdap | None = None) -> None:
        self.home = home
        self._changed = threading.Condition()
        self._lent = lent
        self._cdap: Cdap | None = None
        self._is_opening = False
        self._is_closed = False

    @property
    def cdap(self) -> Cdap | None:
        """The services, or None while there is no connection."""
        return self._cdap

    def open(self, opened: Callable[[], object], failed: Callable[[Exception], object]) -> None:
        """Start opening the instance; one of the two callbacks is called, in a thread of the connection."""
        with self._changed:
            if self._is_opening or self._is_closed or self._cdap is not None:
                return
            self._is_opening = True
        threading.Thread(
            target=self._open, args=(opened, failed), name="studio-connection", daemon=True
        ).start()

    def reopen(
        self,
        opened: Callable[[], object],
        failed: Callable[[Exception], object],
        refused: Callable[[list[str]], object],
    ) -> None:
        """Have the host end and start another one, in a thread; calls wait meanwhile. Runs go on.

        :param refused: called in place of ``opened`` with those who also use the host, which then stays.
        """
        with self._changed:
            cdap = self._cdap
            if cdap is None or cdap is self._lent or self._is_closed:
                return
            self._cdap = None
            self._is_opening = True

        def run() -> None:
            users: list[str] = []
            try:
                users = cdap.leave_host()
            except LocalcdapError as error:  # the host may be gone, and a new one is started anyway
                _LOG.info("the host does not leave: %s", error)
            if users:
                self._keep(cdap)
                refused(users)
                return
            cdap.close()
            self._open(opened, failed)

        threading.Thread(target=run, name="studio-connection", daemon=True).start()

    def wait(self) -> Cdap:
        """Wait for the connection and return the services.

        :raises LeavingError: when the studio exits meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._cdap is not None or self._is_closed)
            if self._is_closed or self._cdap is None:
                raise LeavingError
            return self._cdap

    def close(self) -> None:
        """Close the instance. Runs go on."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_opening, timeout=10)
            cdap = self._cdap
        if cdap is not None and cdap is not self._lent:
            cdap.close()

    def _keep(self, cdap: Cdap) -> None:
        with self._changed:
            self._cdap = cdap
            self._is_opening = False
            self._changed.notify_all()

    def _open(self, opened: Callable[[], object], failed: Callable[[Exception], object]) -> None:
        cdap: Cdap | None = None
        error: Exception | None = None
        try:
            cdap = self._lent or Cdap(self.home)
        except Exception as raised:
            error = raised
        with self._changed:
            self._cdap = cdap
            self._is_opening = False
            self._changed.notify_all()
            is_closed = self._is_closed
        if is_closed:
            return
        if error is None:
            opened()
        else:
            failed(error)
