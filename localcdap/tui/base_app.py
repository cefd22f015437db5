"""The base of the app of the studio: notices, dialogs, clipboard, themes, and the keys of every screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from textual import work
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.theme import Theme
from textual.widget import Widget

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.files.atomic import write_internal_file
from localcdap.tui import commands, machine
from localcdap.tui.commands import (
    Command,
    KeyAction,
    build_key_choices,
    build_palette_choices,
    collect_commands,
    explain_unavailable,
    list_actions,
    list_shadowed_actions,
)
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.dialogs.dialog_screen import (
    MARKS,
    ConfirmDialog,
    InputDialog,
    Notices,
    NoticesDialog,
    TypedConfirmDialog,
)
from localcdap.tui.dialogs.jump import Jumpable, JumpScreen, list_jump_targets
from localcdap.tui.dialogs.metadata import MetadataDialog
from localcdap.tui.dialogs.path_dialog import FilePicker
from localcdap.tui.studio import Choice
from localcdap.tui.textual_internals.app import InternalsApp

DARK: Final = "localcdap-dark"
LIGHT: Final = "localcdap-light"
SIXTEEN: Final = "localcdap-16"
"""The dark one where a terminal has 16 colours: in theirs, as any other would become some neighbour."""

THEMES: Final = (
    Theme(
        name=DARK,
        primary="#7aa2c8",
        secondary="#5f7f9e",
        accent="#e0a458",
        warning="#e0b35a",
        error="#e06c75",
        success="#7fb685",
        foreground="#d5d9de",
        background="#15181c",
        surface="#1b1f24",
        panel="#22272d",
        boost="#ffffff0d",
        dark=True,
        variables={"footer-key-foreground": "#e0a458", "input-selection-background": "#7aa2c8 35%"},
    ),
    Theme(
        name=LIGHT,
        primary="#2f6690",
        secondary="#5b88ab",
        accent="#b3620f",
        warning="#a66a00",
        error="#b3261e",
        success="#2e7d4f",
        foreground="#23282e",
        background="#fafaf8",
        surface="#f2f2ef",
        panel="#e8e8e4",
        boost="#0000000a",
        dark=False,
        variables={"footer-key-foreground": "#b3620f", "input-selection-background": "#2f6690 25%"},
    ),
    Theme(
        name=SIXTEEN,
        primary="#55ffff",
        secondary="#00aaaa",
        accent="#ffff55",
        warning="#ffff55",
        error="#ff5555",
        success="#55ff55",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#000000",
        boost="#555555",
        dark=True,
        variables={
            "footer-key-foreground": "#ffff55",
            "input-selection-background": "#0000aa",
            "text-error": "#ff5555",
            "text-success": "#55ff55",
            "text-warning": "#ffff55",
            "text-accent": "#ffff55",
            "text-primary": "#55ffff",
        },
    ),
)
THEME_NAMES: Final = tuple(theme.name for theme in THEMES)
"""The themes: each has one accent colour, and otherwise muted colours."""


_T = TypeVar("_T")

_VIM_KEYS: Final = {
    "h": ("left", "left"),
    "j": ("down", "down"),
    "k": ("up", "up"),
    "l": ("right", "right"),
    "g": ("home", "to the top"),
    "G": ("end", "to the bottom"),
    "ctrl+d": ("pagedown", "page down"),
    "ctrl+u": ("pageup", "page up"),
}
"""Keys of vim, each with the key that it stands for wherever no text is typed, and a description."""


class BaseApp(InternalsApp):
    """An app with notices, dialogs, themes and the studio's common keys.

    Methods that open a dialog are awaited in a worker.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "show_keys", "keys", id="studio.keys", show=False),
        Binding("ctrl+p,colon", "show_palette", "commands", id="studio.palette", show=False),
        Binding("ctrl+o", "jump", "jump to a part", id="studio.jump", show=False),
        Binding(
            "f10", "full_screen", "full screen of this part", id="studio.full_screen", show=False
        ),
        Binding("f12", "show_notices", "notices", id="studio.notices", show=False),
        Binding("ctrl+t", "choose_theme", "theme", id="studio.theme", show=False),
        Binding(
            "alt+z", "suspend_process", "to the shell; fg returns", id="studio.suspend", show=False
        ),
        *(
            Binding(
                key,
                f"press_key('{meant}')",
                description,
                id=f"move.{meant}",
                show=False,
            )
            for key, (meant, description) in _VIM_KEYS.items()
        ),
    ]

    def get_key_display(self, binding: Binding) -> str:
        """Return the name of a key as the guides write it: ``ctrl+s``, where Textual writes ``^s``."""
        return re.sub(r"\^(?=.)", "ctrl+", super().get_key_display(binding))

    def __init__(self) -> None:
        super().__init__()
        self.notices = Notices()
        self.user_state = machine.read_user_state()
        for theme in THEMES:
            self.register_theme(theme)
        saved = self.user_state.theme
        self.theme = saved if saved in self.available_themes else DARK
        self._reported_clashes: set[str] = set()

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if self.console.color_system == "standard" and self.theme == DARK and not self.is_headless:
            self.theme = SIXTEEN

    # Notices and the clipboard

    def show_notice(
        self, message: str, detail: str = "", severity: SeverityLevel = "information"
    ) -> None:
        """Show a notice for some seconds and keep it in the list of notices."""
        self.notify(detail, title=message, severity=severity, markup=False)

    def explain_no_effect(self, reason: str, what: str = "") -> None:
        """Show why a key had no effect, unless that is on the screen already.

        :param reason: a clause, such as "no stage is selected".
        :param what: what the key is for, such as "rename".
        """
        said = f"{what}: {reason}." if what else f"{reason}."
        said = said[:1].upper() + said[1:]
        if all(said not in notice.message for notice in self._notifications):
            self.show_notice(said)

    def explain_key(self, node: DOMNode, binding: Binding) -> None:
        reason = explain_unavailable(node, self.screen, binding.action)
        self.explain_no_effect(reason, binding.description)

    def show_error(self, error: LocalcdapError, severity: SeverityLevel = "error") -> None:
        """Show an error and its corrective action as a notice."""
        self.show_notice(error.message, error.corrective_action or "", severity)

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
        mark = MARKS[severity]
        if title and not message:
            message, title = f"{mark} {title}", ""
        elif title:
            title = f"{mark} {title}"
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def copy_text(self, text: str, what: str = "text") -> None:
        """Put a text into the clipboard of the terminal and show a notice.

        :param what: what the text is, such as "cell".
        """
        if len(text.encode("utf-8", "replace")) > machine.MAX_BYTES:
            self.show_notice(
                f"The {what} is too large for the clipboard.",
                "Save it to a file instead.",
                "warning",
            )
            return
        self.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.show_notice(f"Copied the {what}" + (f", {lines} lines." if lines > 1 else "."))

    def copy_to_clipboard(self, text: str) -> None:
        """Put a text into the clipboard, also from inside tmux and GNU screen."""
        self._clipboard = text
        self.write_to_terminal(machine.build_osc52(text))

    # Dialogs

    def show_metadata(self, entity: MetadataEntity) -> None:
        """Show the tags and properties of an entity in a dialog."""
        self.push_screen(MetadataDialog(entity))

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key of all screens does nothing now; None when it works."""
        if action == "metadata":
            return "nothing is highlighted that has tags and properties"
        return None

    async def choose(
        self,
        choices: Sequence[Choice[_T]],
        *,
        title: str = "",
        current: object = None,
        on_highlight: Callable[[_T], object] | None = None,
    ) -> _T | None:
        """Let the user choose one."""
        values = [choice.value for choice in choices]
        start = values.index(current) if current in values else 0
        return await self.push_screen_wait(
            Chooser(choices, title=title, start=start, on_highlight=on_highlight)
        )

    async def confirm(self, question: str, detail: str = "", verb: str = "Delete") -> bool:
        """Ask before an action that cannot be undone."""
        answer: bool | None = await self.push_screen_wait(ConfirmDialog(question, detail, verb))
        return answer is True

    async def confirm_by_name(
        self, name: str, question: str, detail: str = "", verb: str = "Delete"
    ) -> bool:
        """Ask the user to type the name of what will be deleted for good."""
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
        """Ask for one line of text. None when the user cancels.

        :param check: returns what is wrong with an answer, or None.
        """
        dialog = InputDialog(
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
        """Let the user choose a file. None when the user cancels."""
        picker = FilePicker(
            title,
            typed=typed,
            suffixes=suffixes,
            for_saving=for_saving,
            recent=() if for_saving else self.user_state.files,
        )
        return await self.push_screen_wait(picker)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Leave the terminal to another program for the time of the context.

        :raises BadRequestError: in a browser, which has no terminal.
        """
        if self.is_web:
            raise BadRequestError(
                "No other program can be shown in a browser, not even an editor.",
                "Edit the text here, or in the studio of a terminal: localcdap studio.",
            )
        with super().suspend():
            yield

    def action_suspend_process(self) -> None:
        """Go to the shell, which a browser does not have."""
        if self.is_web:
            self.show_notice("There is no shell in a browser.", "Use another tab or window.")
        else:
            super().action_suspend_process()

    async def edit_text(self, text: str, suffix: str = ".txt") -> str | None:
        """Open a text in the user's editor, which gets the terminal meanwhile. None when unchanged."""
        try:
            with self.suspend():
                return machine.edit_text(text, suffix)
        except LocalcdapError as error:
            self.show_error(error)
        except Exception as error:  # a terminal that cannot be suspended, a full disk
            self.show_notice("The text could not be edited outside.", str(error), "error")
        return None

    def save_user_state(self) -> None:
        """Write the user state to its file."""
        machine.write_user_state(self.user_state)

    # Keys and commands

    @work(group="dialog", exclusive=True)
    async def action_show_keys(self) -> None:
        screen = self.screen
        chosen = await self.choose(
            build_key_choices(list_actions(screen)), title="What can be done here and now"
        )
        if chosen is not None:
            await chosen.run()

    @work(group="dialog", exclusive=True)
    async def action_show_palette(self) -> None:
        screen = self.screen
        actions = [*list_actions(screen), *list_shadowed_actions(screen)]
        choices = build_palette_choices(actions, collect_commands(screen))
        chosen = await self.choose(choices, title="Commands")
        if isinstance(chosen, KeyAction):
            await chosen.run()
        elif chosen is not None:
            result = chosen.run()
            if hasattr(result, "__await__"):
                await result

    @work(group="dialog", exclusive=True)
    async def action_jump(self) -> None:
        targets = list_jump_targets(self.screen)
        if not targets:
            self.bell()
            return
        target = await self.push_screen_wait(JumpScreen(targets))
        if isinstance(target, Jumpable):
            target.jump()
        elif target is not None and target.is_attached:
            target.focus()

    @work(group="dialog", exclusive=True)
    async def action_choose_theme(self) -> None:
        before = self.theme
        names = [*THEME_NAMES, *sorted(set(self.available_themes) - set(THEME_NAMES))]
        choices = [Choice(name, name) for name in names]
        chosen = await self.choose(
            choices, title="Theme", current=before, on_highlight=self._show_theme
        )
        self.theme = chosen or before
        if chosen is not None:
            self.user_state.theme = chosen
            self.save_user_state()

    def action_show_notices(self) -> None:
        self.push_screen(NoticesDialog(self.notices))

    def action_full_screen(self) -> None:
        """Show the focused part alone, or all parts again."""
        screen = self.screen
        if screen.maximized is not None:
            screen.minimize()
        elif self.focused is None or not screen.maximize(_find_part(self.focused)):
            self.explain_no_effect("this part cannot be shown alone", "full screen")

    def action_press_key(self, key: str) -> None:
        """Do what another key does."""
        self.simulate_key(key)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[Any]:
        return ()

    def list_commands(self) -> Iterable[Command]:
        """Return the commands that the palette has besides the key actions."""
        yield Command(
            "studio: write a keymap file",
            self._write_keymap,
            "The file lists all keys; change those that you like.",
        )

    def _show_theme(self, name: str) -> None:
        self.theme = name

    # The user's keymap

    def load_keymap(self) -> None:
        """Apply the keys of the user's keymap file, or show what is wrong with the file."""
        try:
            keys = commands.read_keymap(commands.find_keymap_file())
        except LocalcdapError as error:
            self.show_error(error, "warning")
            return
        if keys:
            self.set_keymap(keys)
            self.run_worker(lambda: self._check_keymap(keys), thread=True, group="keymap")

    def _check_keymap(self, keys: dict[str, str]) -> None:
        """Show the ids in the keymap that no key has; runs in a thread."""
        unknown = commands.describe_unknown_ids(keys, commands.list_known_keys())
        if unknown:
            self.call_later(
                self.show_notice,
                f"No key has the name {', '.join(unknown)}.",
                f"Correct {commands.find_keymap_file()}.",
                "warning",
            )

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: Any) -> None:
        names = ", ".join(sorted(binding.id or binding.action for binding in clashed_bindings))
        if names not in self._reported_clashes:
            self._reported_clashes.add(names)
            self.show_notice(
                f"The keymap gives the same key to {names}.",
                f"Correct {commands.find_keymap_file()}.",
                "warning",
            )

    @work(thread=True, group="keymap")
    def _write_keymap(self) -> None:
        file = commands.find_keymap_file()
        if file.exists():
            self.call_later(self.show_notice, "There is a keymap file already.", str(file))
            return
        keys = [
            (name, key.key, key.description) for name, key in commands.list_known_keys().items()
        ]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_internal_file(file, commands.format_keymap_template(keys).encode())
        except OSError as error:
            self.call_later(
                self.show_notice, "The keymap file cannot be written.", str(error), "error"
            )
        else:
            self.call_later(self.show_notice, "Wrote a keymap file.", str(file))


def _find_part(focused: Widget) -> Widget:
    """Return the part of the screen to maximize: the nearest one around the focus that may be."""
    for each in focused.ancestors_with_self:
        if isinstance(each, Widget) and each.allow_maximize:
            return each
    return focused
