"""The habits of the studio: what keys do alike on every screen, and which keys its user gave them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError
from localcdap.tui.keys import keymap
from localcdap.tui.keys.actions import Action, Command, actions_of, commands_of, typed_over
from localcdap.tui.keys.jumping import Jumpable, JumpScreen, targets_of
from localcdap.tui.keys.known_keys import known_keys
from localcdap.tui.keys.menus import keys_listed, palette
from localcdap.tui.manners.asking import Asking
from localcdap.tui.manners.choosing import Choice
from localcdap.tui.manners.notices import NoticesDialog
from localcdap.tui.manners.themes import DARK, OWN, SIXTEEN, THEMES

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


class Habits(Asking):
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
        for theme in THEMES:
            self.register_theme(theme)
        kept = self.memory.theme
        self.theme = kept if kept in self.available_themes else DARK
        self._clashes: set[str] = set()

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if self.console.color_system == "standard" and self.theme == DARK and not self.is_headless:
            self.theme = SIXTEEN

    @work(group="dialog", exclusive=True)
    async def action_show_keys(self) -> None:
        screen = self.screen
        chosen = await self.choose(
            keys_listed(actions_of(screen)), title="What can be done here and now"
        )
        if chosen is not None:
            await chosen.run()

    @work(group="dialog", exclusive=True)
    async def action_show_palette(self) -> None:
        screen = self.screen
        actions = [*actions_of(screen), *typed_over(screen)]
        listed = palette(actions, commands_of(screen))
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


def _part_of(focused: Widget) -> Widget:
    """What is shown alone when a widget has the focus: the nearest part around it that may be."""
    for each in focused.ancestors_with_self:
        if isinstance(each, Widget) and each.allow_maximize:
            return each
    return focused
