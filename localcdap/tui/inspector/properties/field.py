"""One property in the form: its name, its control and its failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from localcdap.pipeline.paths.service import PathListing
from localcdap.tui.inspector.heading import PropertyFailure
from localcdap.tui.inspector.properties.completion import (
    PathAutoComplete,
    PropertyAutoComplete,
)
from localcdap.tui.inspector.properties.controls import (
    AreaControl,
    Control,
    ControlChanged,
    EscapedControl,
    LineControl,
    SchemaControl,
    Toggle,
)
from localcdap.tui.inspector.properties.field_plan import (
    FOLDER,
    PATH,
    ControlKind,
    ElementPart,
    FieldContext,
    FieldPlan,
    Suggestion,
    find_element_form,
    find_path_kind,
    get_max_elements,
)
from localcdap.tui.inspector.properties.list_control import ListControl
from localcdap.tui.inspector.properties.path_browser import ChosenPath, PathBrowser
from localcdap.tui.schema_text import EXAMPLE
from localcdap.tui.screens.settings.settings_file import ask_location_and_reopen, find_prefix
from localcdap.tui.studio import Choice, StudioNode
from localcdap.tui.widgets.lines import CachedStatic

_SUFFIXES: Final = {
    "javascript": ".js",
    "python": ".py",
    "sql": ".sql",
    "json": ".json",
    "wrangler": ".wrangler",
}


class PropertyField(StudioNode, Vertical):
    """A property. ``text`` is what it has, the empty text where it has none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,ctrl+@,ctrl+space", "menu", "field menu", id="field.menu"),
        Binding("f3", "browse", "browse files", id="field.browse"),
        Binding("f4", "editor", "$EDITOR", id="field.editor"),
    ]
    DEFAULT_CSS = """
    PropertyField { height: auto; }
    PropertyField > .label { dock: left; width: 27; height: 1; padding-right: 1; color: $text-primary; }
    PropertyField > .blame { height: auto; padding-left: 1; }
    PropertyField.-above > .label { dock: none; width: 100%; }
    PropertyField.-above > .control { margin-left: 1; }
    PropertyField.-above > .blame { padding-left: 2; }
    """

    class Edited(Message):
        """The user changed the value."""

        def __init__(self, field: PropertyField, text: str) -> None:
            super().__init__()
            self.stage = field.stage
            self.property = field.plan.name
            self.text = text

    class FormatChosen(Message):
        """The user chose a file whose format applies to the stage."""

        def __init__(self, field: PropertyField, chosen: ChosenPath) -> None:
            super().__init__()
            self.stage = field.stage
            self.property = field.plan.name
            self.chosen = chosen

    def __init__(self, plan: FieldPlan, stage: str, text: str, context: FieldContext) -> None:
        super().__init__()
        self.plan: Final = plan
        self.stage = stage
        """Whose property it is; another one when the form goes on to a stage with the same plugin."""
        self._known = context
        self._path_kind: Final = find_path_kind(plan.declared)
        self._kind = plan.choose_control(text)
        self._original = text
        self._blames: Sequence[PropertyFailure] = ()
        self._control = self._make(text)
        self._narrow = False
        self.auto_complete: PropertyAutoComplete | None = None
        """What drops down below its line; there once it had the focus."""
        self.set_class(self._is_long, "-above")

    def compose(self) -> ComposeResult:
        yield CachedStatic(content=self._label(), classes="label")
        yield self._control

    @property
    def control(self) -> Control:
        return self._control

    @property
    def kind(self) -> ControlKind:
        return self._kind

    @property
    def text(self) -> str:
        """The text that the form shows; the original text until the user types."""
        return self._original

    @property
    def failures(self) -> Sequence[PropertyFailure]:
        """The failures that the field shows."""
        return self._blames

    def put(self, text: str) -> None:
        """Show the value that the document has now. What is being typed stays: it is on its way there."""
        if text == self._original:
            return
        self._original = text
        kind = self.plan.choose_control(text)
        if kind is not self._kind:
            self._replace_control(kind, text)
        else:
            self._control.put(text)

    def show_failures(self, blames: Sequence[PropertyFailure]) -> None:
        """Show what is wrong with it."""
        if list(blames) != list(self._blames):
            self._blames = blames
            self._show_blames()

    def fit(self, *, is_narrow: bool) -> None:
        """Put the name above or beside."""
        self._narrow = is_narrow
        self.set_class(is_narrow or self._is_long, "-above")

    def focus_control(self) -> None:
        """Have the keys go to it."""
        for widget in (self._control, *self._control.query()):
            if widget.focusable:
                widget.focus()
                return

    @property
    def help(self) -> Content:
        """Some lines about it, shown while it has the focus."""
        declared = self.plan.declared
        if declared is None:
            return Content("The plugin has no such property. It is kept as it is.")
        facts = [declared.type]
        if declared.required:
            facts.append("required")
        if declared.default is not None and declared.default != "":
            facts.append(f"default {declared.default}")
        if declared.macro_supported:
            facts.append("macros: type ${")
        if declared.choices:
            facts.append(f"one of {', '.join(declared.choices)}")
        if self._kind is ControlKind.SCHEMA:
            facts.append(EXAMPLE)
        elif self._path_kind is not None:
            facts.append("f3 browses files")
        elif self.list_suggestions():
            facts.append("↓ lists what fits")
        return Content.assemble(
            Content.styled(" · ".join(facts), "$foreground 60%"), "\n", declared.description
        )

    # -- what happens in it ------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._show_blames()

    def on_unmount(self) -> None:
        self._drop_aid()

    def on_control_changed(self, event: ControlChanged) -> None:
        event.stop()
        if event.value_control is not self._control:
            return
        # What it has now: the event may be of what stood there before.
        control = self._control
        is_value = control.problem is None
        text = control.value_text if control.is_literal and is_value else event.text
        if is_value and text != self._original:
            self._original = text
            self.post_message(self.Edited(self, text))
            kind = self.plan.choose_control(text)
            if self._kind is ControlKind.SWITCH and kind is not ControlKind.SWITCH:
                self._replace_control(kind, text)
        self._show_blames()

    def take_pending_text(self) -> str | None:
        """Return text that was typed but not yet reported as a change, and mark it as reported; None
        without such text.
        """
        control = self._control
        if not control.is_literal or control.problem is not None:
            return None
        text = control.value_text
        if text == self._original:
            return None
        self._original = text
        return text

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        control = self._control
        if isinstance(control, LineControl) and self.auto_complete is None:
            self.auto_complete = self._create_auto_complete(control)
            self.screen.mount(self.auto_complete)

    def _create_auto_complete(self, control: LineControl) -> PropertyAutoComplete:
        if self._path_kind is None:
            return PropertyAutoComplete(control, self._known, self.list_suggestions)
        return PathAutoComplete(
            control, self._known, self._list_folder, only_folders=self._path_kind == FOLDER
        )

    def _list_folder(self, path: str, take: Callable[[PathListing], None]) -> None:
        query = self._known.create_path_query(path)
        self.call(
            lambda cdap: cdap.paths.list_entries(query),
            take,
            on_error=lambda _: None,  # the browser and the validation say what is wrong with it
            group="paths",
        )

    @work
    async def action_browse(self) -> None:
        """Choose a file or a folder, and look into files."""
        browser = PathBrowser(
            f"{self.plan.name} of {self.stage}",
            self._original,
            self._known,
            only_folders=self._path_kind == FOLDER,
            takes_format=self._path_kind == PATH and not self._known.inputs,
        )
        chosen = await self.app.push_screen_wait(browser)
        if chosen is None:
            return
        if chosen.guess is None:
            self.set(chosen.path)
        else:
            self.post_message(self.FormatChosen(self, chosen))

    def list_suggestions(self) -> list[Suggestion]:
        """Return the suggestions of the field, without macros."""
        declared = self.plan.declared
        if declared is None:
            return []
        if declared.choices:
            return [Suggestion(choice) for choice in declared.choices]
        if declared.type == "boolean":
            return [Suggestion("true"), Suggestion("false")]
        form = find_element_form(declared)
        part = form.parts[0] if form is not None and len(form.parts) == 1 else ElementPart("")
        return self._known.list_suggestions(part)

    @work
    async def action_menu(self) -> None:
        """Choose something to do with the field."""
        choices = [*self._list_values(), *self._list_actions(), *self._list_insertions()]
        chosen = await self.studio.choose(choices, title=f"{self.plan.name}: what to do")
        if chosen is None:
            return
        if chosen.startswith("="):
            self.set(chosen[1:])
        elif chosen.startswith("$"):
            self._control.take(chosen)
        elif chosen == "!editor":
            self.action_editor()
        elif chosen == "!browse":
            self.action_browse()
        elif chosen == "!locate":
            await ask_location_and_reopen(self.studio, find_prefix(self._original) or "")

    def _list_values(self) -> list[Choice[str]]:
        offers = self.list_suggestions()
        choices = [
            Choice(f"take {offer.text}", f"={offer.text}", offer.hint, group="values")
            for offer in offers
        ]
        if self._kind is ControlKind.LIST and len(offers) > 1:
            every = ",".join(offer.text for offer in offers)
            choices.insert(0, Choice(f"take all {len(offers)}", f"={every}", group="values"))
        return choices

    def _list_insertions(self) -> list[Choice[str]]:
        """Return the macros, or the secure keys for a secret."""
        if self._kind is ControlKind.MASKED:
            return [_create_key_choice(key) for key in self._known.secure_keys]
        if not self._takes_macros:
            return []
        return [
            Choice(f"insert ${{{each.text}}}", f"${{{each.text}}}", each.hint, group="macros")
            for each in self._known.list_macros()
        ]

    def _list_actions(self) -> list[Choice[str]]:
        declared = self.plan.declared
        found = []
        prefix = find_prefix(self._original)
        if prefix is not None:
            label = f"map {prefix} to a local folder"
            found.append(Choice(label, "!locate", group="value"))
        if self._path_kind is not None:
            found.append(Choice("browse files", "!browse", "f3", group="value"))
        if self._kind is not ControlKind.MASKED:
            found.append(Choice("edit in $EDITOR", "!editor", "f4", group="value"))
        if declared is not None and declared.default:
            label = f"set to the default, {declared.default}"
            found.append(Choice(label, f"={declared.default}", group="value"))
        if declared is not None and declared.type == "schema":
            for stage, schema in self._known.inputs.items():
                if schema is not None:
                    label = f"take the schema of input '{stage}'"
                    found.append(Choice(label, f"={schema}", group="value"))
            if self._known.output is not None:
                label = "take the schema that the stage has now"
                found.append(Choice(label, f"={self._known.output}", group="value"))
        found.append(Choice("remove the value", "=", group="value"))
        return found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "browse" and self._path_kind is None:
            return False  # the key may be another one's
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        if action == "editor" and self._kind is ControlKind.MASKED:
            return "a secret is not written into a file"
        return None

    @work
    async def action_editor(self) -> None:
        """Edit the value in the user's editor."""
        text, language = self._original, self.plan.find_language(self._original)
        edited = await self.studio.edit_text(text, _SUFFIXES.get(language or "", ".txt"))
        if edited is not None:
            self.set(edited)

    def set(self, text: str) -> None:
        """Give it a value on behalf of its user."""
        if text != self._original:
            self.put(text)
            self.post_message(self.Edited(self, text))

    # -- how it looks --------------------------------------------------------------------------------

    def _drop_aid(self) -> None:
        if self.auto_complete is not None and self.auto_complete.is_attached:
            self.auto_complete.remove()
        self.auto_complete = None

    @property
    def _is_long(self) -> bool:
        """Whether it needs all the width there is."""
        return self._kind is ControlKind.CODE and "\n" in self._original

    @property
    def _takes_macros(self) -> bool:
        return self.plan.declared is None or self.plan.declared.macro_supported

    def _label(self) -> Content:
        mark = ("* ", "$text-accent bold") if self.plan.is_required else ("  ", "")
        glyph = ""
        if self._blames:
            glyph = "✗ " if any(not each.is_warning for each in self._blames) else "! "
        style = "$text-error" if glyph == "✗ " else "$text-warning" if glyph else ""
        name = self.plan.name if self.plan.name.isprintable() else ascii(self.plan.name)
        return Content.assemble((glyph, style) if glyph else mark, (_shorten(name, 24), style))

    def _show_blames(self) -> None:
        label = next(iter(self.query(".label").results(CachedStatic)), None)
        if label is None:
            return  # it comes when its parts are there
        label.update_if_changed(self._label())
        lines = list(self._render_failures())
        shown = next(iter(self.query(".blame").results(CachedStatic)), None)
        if shown is not None:
            shown.update_lines(lines)
        elif lines:
            self.mount(CachedStatic(content=Content("\n").join(lines), classes="blame"))
        if isinstance(self._control, ListControl):
            self._control.show_failures(
                (b.element, b.glyph) for b in self._blames if b.element is not None
            )

    def _render_failures(self) -> Iterator[Content]:
        problem = self._control.problem
        if problem is not None:
            yield Content.styled(f"✗ {problem}", "$text-error")
        for each in self._blames:
            style = "$text-warning" if each.is_warning else "$text-error"
            yield Content.styled(f"{each.glyph} {each.message}", style)
            if each.corrective_action:
                yield Content(f"  {each.corrective_action}")

    def _make(self, text: str) -> Control:
        control = self._create_control(text)
        control.add_class("control")
        return control

    def _create_control(self, text: str) -> Control:
        declared = self.plan.declared
        match self._kind:
            case ControlKind.SWITCH:
                return Toggle(text, declared.default if declared is not None else None)
            case ControlKind.SCHEMA:
                return SchemaControl(text)
            case ControlKind.CODE:
                return AreaControl(text, self.plan.find_language(text))
            case ControlKind.ESCAPED:
                return EscapedControl(text)
            case ControlKind.LIST:
                assert declared is not None
                form = find_element_form(declared)
                assert form is not None
                return ListControl(form, text, self._known, get_max_elements(declared, form))
        placeholder = (declared.default or "") if declared is not None else ""
        return LineControl(text, placeholder=placeholder, secret=self._kind is ControlKind.MASKED)

    def _replace_control(self, kind: ControlKind, text: str) -> None:
        """Go on with another control, which gets the focus if this one had it."""
        before, had_focus = self._control, self._control.has_focus_within
        self._kind = kind
        self._control = self._make(text)
        self.fit(is_narrow=self._narrow)
        self._drop_aid()
        self.mount(self._control, after=self.query_one(".label"))
        before.remove()
        if had_focus:
            self.call_after_refresh(self.focus_control)


def _create_key_choice(key: str) -> Choice[str]:
    return Choice(f"use secure key {key}", f"=${{secure({key})}}", group="secure keys")


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
