"""The habits of the studio: what every screen may ask of the app, and what every screen's keys do alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError
from localcdap.tui.manners import clipboard, editor, keymap, memory
from localcdap.tui.manners.actions import Action, Command, actions_of, commands_of, typed_over
from localcdap.tui.manners.choosing import Choice, Chooser
from localcdap.tui.manners.dialogs import AskDialog, ConfirmDialog, TypedConfirmDialog
from localcdap.tui.manners.files import FilePicker
from localcdap.tui.manners.jumping import Jumpable, JumpScreen, targets_of
from localcdap.tui.manners.known_keys import known_keys
from localcdap.tui.manners.notices import Kind, Notices, NoticesDialog
from localcdap.tui.manners.themes import DARK, OWN, SIXTEEN, THEMES

_T = TypeVar("_T")

_MOVES: Final = {
    "h": ("left", "left"),
    "j": ("down", "down"),
    "k": ("up", "up"),
    "l": ("right", "right"),
    "g": ("home", "to the top"),
    "G": ("end", "to the bottom"),
    "ctrl+d": ("pagedown", "page down"),
    "ctrl+u": ("pageup", "page up"),
}
"""Keys of vim, and the keys they stand for wherever no text is typed."""


class Habits(App[None]):
    """An app with the manners of the studio."""

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
                f"stand_in('{meant}')",
                description,
                id=f"move.{meant}",
                show=False,
            )
            for key, (meant, description) in _MOVES.items()
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.notices = Notices()
        self.memory = memory.recall()
        for theme in THEMES:
            self.register_theme(theme)
        kept = self.memory.theme
        self.theme = kept if kept in self.available_themes else DARK
        self._clashes: set[str] = set()

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if self.console.color_system == "standard" and self.theme == DARK and not self.is_headless:
            self.theme = SIXTEEN

    # What screens ask for.

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

    # What keys do on every screen.

    @work(group="dialog", exclusive=True)
    async def action_show_keys(self) -> None:
        screen = self.screen
        chosen = await self.choose(
            _keys_listed(actions_of(screen)), title="What can be done here and now"
        )
        if chosen is not None:
            await chosen.run()

    @work(group="dialog", exclusive=True)
    async def action_show_palette(self) -> None:
        screen = self.screen
        actions = [*actions_of(screen), *typed_over(screen)]
        listed = _palette(actions, commands_of(screen))
        chosen = await self.choose(listed, title="Commands")
        if isinstance(chosen, Action):
            await chosen.run()
        elif chosen is not None:
            result = chosen.run()
            if hasattr(result, "__await__"):
                await result

    @work(group="dialog", exclusive=True)
    async def action_jump(self) -> None:
        targets = targets_of(self.screen)
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
        names = [*OWN, *sorted(set(self.available_themes) - set(OWN))]
        choices = [Choice(name, name) for name in names]
        chosen = await self.choose(
            choices, title="Theme", start=names.index(before), highlighted=self._show_theme
        )
        self.theme = chosen or before
        if chosen is not None:
            self.memory.theme = chosen
            self.remember()

    def action_show_notices(self) -> None:
        self.push_screen(NoticesDialog(self.notices))

    def action_full_screen(self) -> None:
        """Show the focused part alone, or all parts again."""
        screen = self.screen
        if screen.maximized is not None:
            screen.minimize()
        elif self.focused is not None:
            screen.maximize(_part_of(self.focused))

    def action_stand_in(self, key: str) -> None:
        """Do what another key does."""
        self.simulate_key(key)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[Any]:
        return ()

    def commands(self) -> Iterable[Command]:
        """What the palette has besides the keys."""
        yield Command(
            "studio: write a keymap file",
            self._write_keymap,
            "All keys, to be changed as you like.",
        )

    def _show_theme(self, name: str) -> None:
        self.theme = name

    def load_keymap(self) -> None:
        """Put the user's own keys in force, or say what is wrong with their file."""
        try:
            keys = keymap.read(keymap.place())
        except LocalcdapError as error:
            self.tell(error.message, error.corrective_action or "", "warning")
            return
        if keys:
            self.set_keymap(keys)
            self.run_worker(lambda: self._check_keymap(keys), thread=True, group="keymap")

    def _check_keymap(self, keys: dict[str, str]) -> None:
        """In a thread: tell of names in the keymap that no key has."""
        unknown = keymap.unknown(keys, known_keys())
        if unknown:
            self.call_later(
                self.tell,
                f"No key has the name {', '.join(unknown)}.",
                f"Correct {keymap.place()}.",
                "warning",
            )

    def handle_bindings_clash(self, clashed_bindings: set[Binding], node: Any) -> None:
        names = ", ".join(sorted(binding.id or binding.action for binding in clashed_bindings))
        if names not in self._clashes:
            self._clashes.add(names)
            self.tell(
                f"Keys of the keymap are taken twice: {names}.",
                f"Correct {keymap.place()}.",
                "warning",
            )

    @work(thread=True, group="keymap")
    def _write_keymap(self) -> None:
        file = keymap.place()
        if file.exists():
            self.call_later(self.tell, "There is a keymap file already.", str(file))
            return
        keys = [(name, key.key, key.description) for name, key in known_keys().items()]
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(keymap.template(keys), encoding="utf-8")
        except OSError as error:
            self.call_later(self.tell, "The keymap file cannot be written.", str(error), "error")
        else:
            self.call_later(self.tell, "Wrote a keymap file.", str(file))


_EVERYWHERE: Final = ("canvas", "list", "studio", "go", "move")
"""The first halves of ids of keys that all screens have."""


def _keys_listed(actions: Sequence[Action]) -> list[Choice[Action]]:
    """The keys, those of this screen first, what is impossible last; each with its id to be found by."""

    def rank(action: Action) -> tuple[bool, bool, bool]:
        area = action.id.partition(".")[0]
        return action.reason is not None, not area, area in _EVERYWHERE

    ordered = sorted(actions, key=rank)
    return [
        Choice(
            f"{' '.join(action.keys):<14} {action.description}",
            action,
            hint=action.id,
            reason=action.reason,
        )
        for action in ordered
    ]


def _palette(
    actions: Sequence[Action], commands: Sequence[Command]
) -> list[Choice[Action | Command]]:
    """Commands by name: those of the area before those of everywhere."""
    choices: list[Choice[Action | Command]] = [
        Choice(action.name, action, hint=" ".join(action.keys), reason=action.reason)
        for action in actions
        if action.id and not action.id.startswith("move.")
    ]
    choices += [
        Choice(command.name, command, detail=command.detail, reason=command.reason)
        for command in commands
    ]
    last = ("canvas", "go", "studio")
    return sorted(
        choices, key=lambda choice: (choice.label.partition(":")[0] in last, choice.label)
    )


def _part_of(focused: Widget) -> Widget:
    """What is shown alone when a widget has the focus: the nearest part around it that may be."""
    for each in focused.ancestors_with_self:
        if isinstance(each, Widget) and each.allow_maximize:
            return each
    return focused
