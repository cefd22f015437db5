"""What every screen may have its user told and asked: notices, the clipboard, dialogs, an editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from textual.app import App
from textual.notifications import SeverityLevel

from localcdap.api.errors import LocalcdapError
from localcdap.tui.manners import clipboard, editor, memory
from localcdap.tui.manners.choosing import Choice, Chooser
from localcdap.tui.manners.dialogs import AskDialog, ConfirmDialog, TypedConfirmDialog
from localcdap.tui.manners.files import FilePicker
from localcdap.tui.manners.notices import Kind, Notices

_T = TypeVar("_T")


class Asking(App[None]):
    """An app that tells and asks. What asks is awaited in a worker."""

    def __init__(self) -> None:
        super().__init__()
        self.notices = Notices()
        self.memory = memory.recall()

    def tell(self, message: str, detail: str = "", kind: Kind = "information") -> None:
        """Show a notice for some seconds and keep it among the notices."""
        self.notify(detail, title=message, severity=kind, markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        self.notices.add(severity, title or message, message if title else "")
        if title and not message:
            message, title = title, ""
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def copy(self, text: str, what: str = "text") -> None:
        """Put a text into the clipboard of the terminal and say so.

        :param what: what it is, such as "cell".
        """
        if len(text.encode("utf-8", "replace")) > clipboard.MOST_BYTES:
            self.tell(
                f"The {what} is too large for the clipboard.",
                "Save it to a file instead.",
                "warning",
            )
            return
        self.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.tell(f"Copied the {what}" + (f", {lines} lines." if lines > 1 else "."))

    def copy_to_clipboard(self, text: str) -> None:
        """As Textual's, and out of tmux and GNU screen."""
        self._clipboard = text
        if self._driver is not None:
            self._driver.write(clipboard.sequence(text))

    async def choose(
        self,
        choices: Sequence[Choice[_T]],
        *,
        title: str = "",
        start: int = 0,
        highlighted: Callable[[_T], object] | None = None,
    ) -> _T | None:
        """Let the user choose one; to be awaited in a worker, as everything that asks here."""
        return await self.push_screen_wait(
            Chooser(choices, title=title, start=start, highlighted=highlighted)
        )

    async def confirm(self, question: str, detail: str = "", verb: str = "Delete") -> bool:
        """Ask before what cannot be undone."""
        answer: bool | None = await self.push_screen_wait(ConfirmDialog(question, detail, verb))
        return answer is True

    async def confirm_typed(
        self, name: str, question: str, detail: str = "", verb: str = "Delete"
    ) -> bool:
        """Ask for the name of what will be gone for good."""
        dialog = TypedConfirmDialog(name, question, detail, verb)
        return await self.push_screen_wait(dialog) is not None

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
        """Ask for one line. None when the user does not want to say.

        :param check: what is wrong with an answer, or None.
        """
        dialog = AskDialog(
            question,
            value,
            detail=detail,
            verb=verb,
            check=check,
            suggestions=suggestions,
            password=password,
        )
        return await self.push_screen_wait(dialog)

    async def pick_file(
        self,
        title: str,
        *,
        suffixes: Sequence[str] = (".json",),
        for_saving: bool = False,
        typed: str = "",
    ) -> Path | None:
        """Let the user choose a file."""
        picker = FilePicker(
            title,
            typed=typed,
            suffixes=suffixes,
            for_saving=for_saving,
            recent=() if for_saving else self.memory.files,
        )
        return await self.push_screen_wait(picker)

    async def edit_text(self, text: str, suffix: str = ".txt") -> str | None:
        """Have a text edited in the user's editor, which gets the terminal meanwhile. None when unchanged."""
        try:
            with self.suspend():
                return editor.edit(text, suffix)
        except LocalcdapError as error:
            self.tell(error.message, error.corrective_action or "", "error")
        except Exception as error:  # a terminal that cannot be lent, a full disk
            self.tell("The text could not be edited outside.", str(error), "error")
        return None

    def remember(self) -> None:
        """Keep what is remembered of the user."""
        memory.keep(self.memory)
