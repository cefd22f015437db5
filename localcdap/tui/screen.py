"""What the full screens have in common: the header line, the body of the area, the footer with its hints."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Input

from localcdap.tui.calls import Calling
from localcdap.tui.footer import StudioFooter
from localcdap.tui.header import Header
from localcdap.tui.places import Place

if TYPE_CHECKING:
    from localcdap.tui.app import StudioApp


class AreaScreen(Calling, Screen[None]):
    """The screen of an area. A subclass writes :meth:`compose_body`, and what it wants of the rest."""

    AREA: ClassVar[str]
    """Its name in :data:`localcdap.tui.areas.AREAS`."""
    AUTO_FOCUS = "*"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", id="list.filter", show=False),
        Binding("f5", "reload", "read again", id="list.reload", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Header(self.AREA)
        yield from self.compose_body()
        yield StudioFooter()

    def compose_body(self) -> ComposeResult:
        """The widgets between the header and the footer."""
        yield from ()

    @property
    def studio(self) -> StudioApp:
        """The app, typed."""
        return cast("StudioApp", self.app)

    def arrive(self, place: Place) -> None:
        """Show a place that another part of the studio sent its user to. Called when mounted."""

    def namespace_changed(self, namespace: str) -> None:
        """The app went to another namespace; also called once when the screen is first shown."""

    async def may_leave(self) -> bool:
        """Whether the studio may be left; asks where something would be lost. Awaited in a worker."""
        return True

    def reload(self) -> None:
        """Read everything again."""
        self.namespace_changed(self.studio.namespace)

    def on_mount(self) -> None:
        self.watch(self.app, "namespace", self.namespace_changed)

    def action_reload(self) -> None:
        self.reload()

    def action_filter(self) -> None:
        """Go to the field that filters what is shown."""
        for field in self.query("Input.filter").results(Input):
            if field.display:
                field.focus()
                return

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return bool(self.query("Input.filter"))
        return super().check_action(action, parameters)


class DialogScreen(Calling, ModalScreen[ScreenResultType]):
    """A dialog over a screen; ``escape`` leaves it with no answer."""

    BINDINGS = [("escape", "dismiss_empty", "back")]
    _is_answered = False

    @property
    def studio(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Leave with an answer. Later ones, such as that of a second click, come to nothing."""
        if self._is_answered or self.app.screen is not self:
            return AwaitComplete()
        self._is_answered = True
        return super().dismiss(result)

    def action_dismiss_empty(self) -> None:
        self.dismiss(None)
