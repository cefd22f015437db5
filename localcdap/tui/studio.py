"""The interface of the studio for its screens and widgets.

Screens, dialogs and widgets know the app only as a :class:`Studio`, so that they import no app, and the
app can import all of them. :class:`StudioNode` gives a widget its studio and calls services for it::

    self.call(lambda cdap: cdap.runs.list(namespace), on_result=self._show, group="runs")

The function runs in a thread as soon as there is a connection. ``on_result`` gets what it returns on
the thread of the screen, unless the widget has gone or a newer call of the same group was made.

A node may also explain the keys that do nothing at times, and wait until the user pauses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar, cast

from textual.message_pump import MessagePump
from textual.notifications import SeverityLevel
from textual.timer import Timer
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.metadata import MetadataEntity
from localcdap.files.atomic import write_file
from localcdap.host.cdap import Cdap
from localcdap.tui.labels import sanitize_name
from localcdap.tui.machine import UserState
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.service_calls import (
    FollowedSource,
    HostConnection,
    OnError,
    OnResult,
    ServiceCalls,
    Work,
)


class ExplainedActions(MessagePump):
    """Mixed into a widget or screen some of whose keys do nothing at times, and say why."""

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works. Called only while mounted."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Show an action as disabled, as Textual's None does, while there is a reason or no widget."""
        if not cast(Widget, self).is_mounted or self.explain_disabled(action) is not None:
            return None
        return True


_T = TypeVar("_T")


@dataclass(frozen=True)
class Choice(Generic[_T]):
    """One thing to choose.

    :param hint: stands at the right end of its line, such as a key.
    :param detail: stands below the list while this one is highlighted.
    :param reason: why it cannot be chosen now; None when it can.
    :param group: choices of one group stand below its heading while nothing is typed; they follow each other.
    """

    label: str
    value: _T
    hint: str = ""
    detail: str = ""
    reason: str | None = None
    group: str = ""


class Studio(Protocol):
    """The terminal studio as its screens, dialogs and widgets see it."""

    namespace: str
    """The namespace that all screens show."""
    calls: ServiceCalls
    connection: HostConnection
    user_state: UserState

    @property
    def connected(self) -> bool:
        """Whether the instance is open; calls wait until it is."""

    @property
    def busy(self) -> bool:
        """Whether an answer has been awaited for a noticeable time."""

    def navigate(self, target: NavigationTarget) -> None:
        """Show a target in its area."""

    def show_metadata(self, entity: MetadataEntity) -> None:
        """Show the tags and properties of an entity in a dialog, in which they can be changed."""

    def reopen(self, on_refused: Callable[[], object] | None = None) -> None:
        """Have the host replaced, so that changed settings apply. Runs go on.

        :param on_refused: called when others use the host, which then stays; a notice says who.
        """

    def report_error(self, error: Exception) -> None:
        """Show an error that no caller handled; write a report when it is a fault of localcdap."""

    def show_notice(
        self, message: str, detail: str = "", severity: SeverityLevel = "information"
    ) -> None:
        """Show a notice for some seconds and keep it in the list of notices."""

    def explain_no_effect(self, reason: str, what: str = "") -> None:
        """Show why a key had no effect, unless that is on the screen already.

        :param reason: a clause, such as "no stage is selected".
        :param what: what the key is for, such as "rename".
        """

    def copy_text(self, text: str, what: str = "text") -> None:
        """Put a text into the clipboard of the terminal and show a notice.

        :param what: what the text is, such as "cell".
        """

    def save_user_state(self) -> None:
        """Write :attr:`user_state` to its file."""

    async def choose(
        self,
        choices: Sequence[Choice[_T]],
        *,
        title: str = "",
        current: object = None,
        on_highlight: Callable[[_T], object] | None = None,
    ) -> _T | None:
        """Let the user choose one. Await it in a worker, as every method that opens a dialog.

        :param current: the value that is highlighted at first; the first one when there is no such value.
        """

    async def confirm(self, question: str, detail: str = "", verb: str = "Delete") -> bool:
        """Ask before an action that cannot be undone."""

    async def confirm_by_name(
        self, name: str, question: str, detail: str = "", verb: str = "Delete"
    ) -> bool:
        """Ask the user to type the name of what will be deleted for good."""

    async def ask(
        self,
        question: str,
        value: str = "",
        *,
        detail: str = "",
        verb: str = "OK",
        check: Callable[[str], str | None] | None = None,
        suggestions: Sequence[str] = (),
        password: bool = False,
    ) -> str | None:
        """Ask for one line of text. None when the user cancels.

        :param check: returns what is wrong with an answer, or None.
        """

    async def pick_file(
        self,
        title: str,
        *,
        suffixes: Sequence[str] = (".json",),
        for_saving: bool = False,
        typed: str = "",
    ) -> Path | None:
        """Let the user choose a file. None when the user cancels."""

    async def edit_text(self, text: str, suffix: str = ".txt") -> str | None:
        """Open a text in the user's editor, which gets the terminal meanwhile. None when unchanged."""


def get_studio(node: MessagePump) -> Studio:
    """Return the studio that a widget or screen is shown in."""
    return cast(Studio, node.app)  # Textual types it as an App of any kind


async def run_explained(widget: Widget, action: str, what: str = "") -> None:
    """Run an action of the screen, the dialog or the panel that a widget is in, or say why it does nothing.

    :param what: what the action is for, as for :meth:`Studio.explain_no_effect`.
    """
    node = next(each for each in widget.ancestors if isinstance(each, StudioNode))
    reason = node.explain_disabled(action)
    if reason is None:
        await widget.app.run_action(action, node)
    else:
        node.studio.explain_no_effect(reason, what)


class StudioNode(ExplainedActions):
    """Mixed into a widget or screen that needs its studio. Nothing may be called from ``__init__``."""

    @property
    def studio(self) -> Studio:
        """The studio that this is shown in."""
        return get_studio(self)

    def call(
        self,
        work: Work[_T],
        on_result: OnResult[_T] | None = None,
        *,
        on_error: OnError | None = None,
        group: str | None = None,
        ordered: bool = False,
    ) -> None:
        """Call services in a thread.

        :param work: gets the services; it runs in a thread, so it touches no widget.
        :param on_result: gets the result on the thread of the screen, while the widget is mounted.
        :param on_error: gets an error of localcdap. Without it, the error becomes a notice with its
            corrective action.
        :param group: calls of one group run one at a time. A newer call replaces those that wait, and the
            result of the one that runs is discarded. A call without a group is independent of others.
        :param ordered: all calls of this group are made, in order, and all results are handed over.
        """
        self.studio.calls.make(self, work, on_result, on_error, group, ordered=ordered)

    async def call_and_wait(self, work: Work[_T], *, group: str | None = None) -> _T:
        """Call services and return the result, for code that runs in a worker of the screen.

        :param group: a group of ordered calls, which this one is made in.
        :raises LocalcdapError: when the call does.
        """
        answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        def take_result(result: _T) -> None:
            if not answer.done():
                answer.set_result(result)

        def take_error(error: Exception) -> None:
            if not answer.done():
                answer.set_exception(error)

        self.call(work, take_result, on_error=take_error, group=group, ordered=group is not None)
        return await answer

    def report_unless_deleted(self, error: LocalcdapError) -> None:
        """Show an error, unless something was deleted meanwhile: of that a screen hears by an event."""
        if not isinstance(error, NotFoundError):
            self.studio.report_error(error)

    def save_text(self, path: Path, read: Work[str]) -> None:
        """Replace a file that the user chose by a text, and say so.

        :param read: gets the services and returns the text; it runs in a thread, and its error is a notice.
        """
        self.call(
            lambda cdap: write_file(path, read(cdap)),
            lambda _: self.studio.show_notice(f"Saved {path}."),
        )

    def discard_results(self, group: str) -> None:
        """Discard the results of the running calls of a group."""
        self.studio.calls.discard_results(self, group)

    def follow(
        self,
        source: Callable[[Cdap], Iterator[_T | None]],
        on_item: OnResult[_T],
        *,
        on_error: OnError | None = None,
    ) -> FollowedSource:
        """Hand over every item of a source, which waits for items in a thread of its own.

        :param source: a generator function over the services, iterated in the thread. It must yield from
            time to time, at least None, which is not handed over (after a long poll without an answer):
            only then is it noticed that the widget has gone. After an error the source is opened again,
            a second later; the second error in a row is reported.
        :param on_item: gets every item on the thread of the screen.
        """
        return FollowedSource(self.studio.calls, self, source, on_item, on_error)


class Debouncer:
    """Calls a function when it was not scheduled again for a while.

    While it waits it counts as a pending call, because the screen is not up to date.

    :param widget: whose timer it is. It calls :meth:`drop` when it goes.
    :param after_s: the pause in seconds.
    """

    def __init__(self, widget: Widget, do: Callable[[], object], after_s: float) -> None:
        self._widget = widget
        self._do = do
        self._after_s = after_s
        self._timer: Timer | None = None

    def schedule(self) -> None:
        """Call the function after the pause."""
        if self._timer is None:
            get_studio(self._widget).calls.begin()
            self._timer = self._widget.set_timer(self._after_s, self.flush)
        else:
            self._timer.reset()

    def flush(self) -> None:
        """Call the function now if it is scheduled."""
        if self._timer is not None:
            try:
                self._do()
            finally:
                self.cancel()

    def cancel(self) -> None:
        """Cancel the scheduled call."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            get_studio(self._widget).calls.end()


async def choose_field(studio: Studio, names: Sequence[str], *, whole: bool = True) -> str | None:
    """Let the user choose a field. Await it in a worker.

    :param whole: whether the dataset itself can be chosen too.
    :returns: an empty text for the dataset itself; None when the user cancels.
    """
    fields = [Choice(sanitize_name(name), name) for name in names]
    choices = [Choice("the whole dataset", ""), *fields] if whole else fields
    return await studio.choose(choices, title="Lineage of the field")
