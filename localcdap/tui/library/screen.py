"""The screen of the library: what is kept, its versions, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import BadRequestError
from localcdap.host.link import Cdap
from localcdap.studio.library.draft_model import Draft
from localcdap.studio.library.model import Application, Deployment
from localcdap.studio.propagation.plugin_templates import PluginTemplate
from localcdap.tui import places
from localcdap.tui.library import shelf
from localcdap.tui.library.comparison import ComparisonScreen, Side
from localcdap.tui.library.details import told
from localcdap.tui.library.shelf import Item, Opened, Version
from localcdap.tui.lists.changes import changes
from localcdap.tui.lists.listing import Entry, Listing
from localcdap.tui.manners.choosing import Choice
from localcdap.tui.manners.writing import write_file
from localcdap.tui.screen import AreaScreen
from localcdap.tui.welcome import beginnings
from localcdap.tui.welcome.importing import ImportDialog
from localcdap.tui.words import ago, plural

_EMPTY: Final = """Nothing is kept here yet.

i imports a pipeline file; the studio (2) saves drafts and deploys."""


class LibraryScreen(AreaScreen):
    """Deployed pipelines, drafts, templates."""

    AREA = "library"
    CSS_PATH = "library.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]
    AUTO_FOCUS = "#shelf ListingLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "open in studio", id="library.open"),
        Binding("c", "compare", "compare", id="library.compare"),
        Binding("C", "compare_file", "compare with a file", id="library.compare_file", show=False),
        Binding("i", "import_file", "import", id="library.import"),
        Binding("e", "export", "export", id="library.export"),
        Binding("u", "upgrade", "newest plugins", id="library.upgrade", show=False),
        Binding("n", "rename", "rename", id="library.rename", show=False),
        Binding("D", "duplicate", "duplicate", id="library.duplicate", show=False),
        Binding("d,delete", "delete", "delete", id="library.delete", show=False),
        Binding("b", "restore", "bring revision back", id="library.restore", show=False),
        Binding("r", "runs", "its runs", id="library.runs", show=False),
        Binding("ctrl+z", "undo", "undo delete", id="library.undo", show=False),
        Binding("y", "copy", "copy JSON", id="library.copy", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[str, Item] = {}
        self._opened: Opened | None = None
        self._deleted: list[PluginTemplate] = []

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="library"):
            yield Listing(id="shelf", empty=_EMPTY)
            with Vertical(id="library-detail"):
                with VerticalScroll(id="library-facts"):
                    yield Static(id="library-told")
                yield Static(id="versions-title")
                yield Listing(id="versions", can_filter=False)
        yield Static(id="library-note")

    def on_mount(self) -> None:
        self.follow(changes("entities"), self._changed)

    def on_screen_resume(self) -> None:
        self.reload()

    def namespace_changed(self, namespace: str) -> None:
        self.reload()

    def reload(self) -> None:
        namespace = self.studio.namespace
        self.call(lambda cdap: shelf.read_shelf(cdap, namespace), done=self._fill, group="shelf")

    # -- the list ---------------------------------------------------------------------------------

    def _changed(self, happened: bool) -> None:
        if happened:
            self.reload()

    def _fill(self, items: list[Item]) -> None:
        self._items = {shelf.key_of(item): item for item in items}
        listing = self.query_one("#shelf", Listing)
        listing.put([shelf.entry_of(item) for item in items])
        note = Content.styled(shelf.counted(items), "$foreground 60%")
        self.query_one("#library-note", Static).update(note)
        self._look(listing.key)

    @on(Listing.Highlighted, "#shelf")
    def _highlighted(self, event: Listing.Highlighted) -> None:
        event.stop()
        self._look(event.key)

    @on(Listing.Highlighted, "#versions")
    def _version_highlighted(self, event: Listing.Highlighted) -> None:
        event.stop()
        self.refresh_bindings()

    @on(Listing.Chosen)
    def _chosen(self, event: Listing.Chosen) -> None:
        event.stop()
        self.action_open()

    def _look(self, key: str | None) -> None:
        item = self._items.get(key) if key is not None else None
        if item is None:
            self._show(None)
            return
        namespace = self.studio.namespace
        self.call(
            lambda cdap: shelf.open_item(cdap, namespace, item),
            done=self._show,
            failed=lambda _: None,  # it has gone meanwhile; the list hears of it
            group="item",
        )

    def _show(self, opened: Opened | None) -> None:
        self._opened = opened
        self.query_one("#library-told", Static).update(told(opened) if opened else "")
        versions = opened.versions if opened is not None else ()
        noun = "revisions" if opened and isinstance(opened.item, Draft) else "versions"
        title = self.query_one("#versions-title", Static)
        title.update(Content.styled(noun if versions else "", "$foreground 60% italic"))
        listing = self.query_one("#versions", Listing)
        listing.display = bool(versions)
        listing.put([_entry(each) for each in versions])
        self.refresh_bindings()

    # -- what can be done -------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted or self.disabled_reason(action) is not None:
            return None
        return super().check_action(action, parameters)

    def disabled_reason(self, action: str) -> str | None:
        item = self._opened.item if self._opened is not None else None
        match action:
            case "undo" if not self._deleted:
                return "no template was deleted"
            case "open" | "rename" | "duplicate" | "delete" if item is None:
                return "nothing is highlighted"
            case "compare" | "compare_file" | "export" | "upgrade" | "copy" if (
                self._pipeline is None
            ):
                return "no pipeline is highlighted"
            case "runs" if not isinstance(item, Application):
                return "only deployed pipelines have runs"
            case "restore" if not isinstance(item, Draft) or self._is_newest:
                return "no earlier revision of a draft is highlighted"
        return None

    def action_open(self) -> None:
        """Open the highlighted version in the studio; a template in a new pipeline."""
        if self._opened is None:
            return
        item, version = self._opened.item, self._version
        match item:
            case Application():
                self.studio.go(
                    places.Deployed(
                        item.name, None if self._is_newest or not version else version.id
                    )
                )
            case Draft() if self._is_newest:
                self.studio.go(places.Draft(item.id))
            case Draft():
                self._with_text(lambda text: self.studio.go(places.Document(item.name, text)))
            case PluginTemplate():
                self.studio.go(places.Document("pipeline", shelf.with_template(item)))

    def action_runs(self) -> None:
        if self._opened is not None and isinstance(self._opened.item, Application):
            self.studio.go(places.RunsOf(self._opened.item.name))

    def action_copy(self) -> None:
        self._with_text(lambda text: self.studio.copy(text, "pipeline"))

    @work
    async def action_compare(self) -> None:
        """Choose what the highlighted version is compared with."""
        item, version = self._pipeline, self._version
        if item is None or self._opened is None:
            return
        others = [each for each in self._opened.versions if each != version]
        choices: list[Choice[tuple[Application | Draft, Version | None]]] = [
            Choice(_name(item, each), (item, each), ago(each.when), each.told) for each in others
        ]
        choices += [
            Choice(_name(other, None), (other, None))
            for other in self._items.values()
            if other != item and not isinstance(other, PluginTemplate)
        ]
        chosen = await self.studio.choose(choices, title=f"Compare {_name(item, version)} with")
        if chosen is not None:
            self._compare(chosen, (item, version))

    @work
    async def action_compare_file(self) -> None:
        """Compare a file with the highlighted version."""
        item, version = self._pipeline, self._version
        path = await self.studio.pick_file("Compare a file with it")
        if path is None or item is None:
            return
        namespace = self.studio.namespace
        self.call(
            lambda cdap: (
                Side(path.name, beginnings.read(path)),
                Side(_name(item, version), shelf.text_at(cdap, namespace, item, version)),
            ),
            done=lambda sides: self.app.push_screen(ComparisonScreen(*sides)),
        )

    @work
    async def action_import_file(self) -> None:
        path = await self.studio.pick_file("Import and deploy a pipeline file")
        if path is not None:
            self._import(path)

    @work
    async def action_export(self) -> None:
        """Save the highlighted version as a file."""
        item = self._pipeline
        if item is None:
            return
        typed = f"{item.name}.json"
        path = await self.studio.pick_file("Save as", for_saving=True, typed=typed)
        if path is not None:
            self._with_text(lambda text: self._save(path, text))

    @work
    async def action_rename(self) -> None:
        item = self._opened.item if self._opened is not None else None
        if item is None or self._opened is None:
            return
        name = await self.studio.ask(
            f"New name of {item.name}", item.name, check=self._name_problem(item)
        )
        if name is None or name == item.name:
            return
        older = len(self._opened.versions) - 1
        if isinstance(item, Application) and older:
            lost = f"Its {plural(older, 'earlier version')} cannot be taken along."
            if not await self.studio.confirm(f"Rename {item.name} to {name}?", lost, "Rename"):
                return
        namespace = self.studio.namespace
        self.call(
            lambda cdap: shelf.rename(cdap, namespace, item, name),
            done=lambda answer: self._renamed(item, name, answer),
        )

    @work
    async def action_duplicate(self) -> None:
        """A draft like the highlighted pipeline, or a template like the highlighted one."""
        item = self._opened.item if self._opened is not None else None
        if item is None:
            return
        what = "template" if isinstance(item, PluginTemplate) else "draft"
        name = await self.studio.ask(
            f"Name of the new {what}", f"{item.name}_copy", check=self._name_problem(None)
        )
        if name is None:
            return
        namespace = self.studio.namespace

        def done(key: str) -> None:
            self.query_one("#shelf", Listing).show(key)
            self.reload()

        self.call(lambda cdap: shelf.duplicate(cdap, namespace, item, name), done=done)

    @work
    async def action_delete(self) -> None:
        item = self._opened.item if self._opened is not None else None
        if item is None or self._opened is None:
            return
        if not isinstance(item, PluginTemplate):
            kind = "draft" if isinstance(item, Draft) else "deployed pipeline"
            detail = f"With {plural(len(self._opened.versions), 'version')}. It cannot be undone."
            if not await self.studio.confirm(f"Delete {kind} {item.name}?", detail):
                return
        namespace = self.studio.namespace

        def done(_: None) -> None:
            if isinstance(item, PluginTemplate):
                self._deleted.append(item)
                self.studio.tell(f"Deleted template {item.name}; ctrl+z brings it back.")
            else:
                self.studio.tell(f"Deleted {item.name}.")
            self.reload()

        self.call(lambda cdap: shelf.delete(cdap, namespace, item), done=done)

    def action_undo(self) -> None:
        template, namespace = self._deleted.pop(), self.studio.namespace
        self.call(
            lambda cdap: cdap.templates.save(namespace, template), done=lambda _: self.reload()
        )

    def action_restore(self) -> None:
        """Make the highlighted revision of a draft the latest one."""
        item, version, namespace = self._pipeline, self._version, self.studio.namespace
        if isinstance(item, Draft) and version is not None:
            self.call(
                lambda cdap: cdap.drafts.restore(namespace, item.id, version.number),
                done=lambda _: self.reload(),
            )

    @work
    async def action_upgrade(self) -> None:
        """Take the newest plugins that are here, after a look at what that changes."""
        item, namespace = self._pipeline, self.studio.namespace
        if item is None:
            return

        def work(cdap: Cdap) -> tuple[str, str, int]:
            text = shelf.text_at(cdap, namespace, item, None)
            upgraded, repairs = shelf.upgrade(cdap, namespace, text)
            return text, upgraded, len(repairs)

        self.call(work, done=lambda found: self._offer_upgrade(item, *found), group="upgrade")

    # -- the rest ---------------------------------------------------------------------------------

    @property
    def _pipeline(self) -> Application | Draft | None:
        item = self._opened.item if self._opened is not None else None
        return item if isinstance(item, Application | Draft) else None

    @property
    def _version(self) -> Version | None:
        key = self.query_one("#versions", Listing).key
        versions = self._opened.versions if self._opened is not None else ()
        return next((each for each in versions if each.id == key), None)

    @property
    def _is_newest(self) -> bool:
        version = self._version
        return version is None or self._opened is None or version == self._opened.versions[0]

    def _with_text(self, use: Callable[[str], object]) -> None:
        """Have something done with the JSON of the highlighted version."""
        item, version, namespace = self._pipeline, self._version, self.studio.namespace
        if item is not None:
            self.call(lambda cdap: shelf.text_at(cdap, namespace, item, version), done=use)

    def _compare(self, *which: tuple[Application | Draft, Version | None]) -> None:
        namespace = self.studio.namespace

        def work(cdap: Cdap) -> list[Side]:
            return [
                Side(_name(item, version), shelf.text_at(cdap, namespace, item, version))
                for item, version in which
            ]

        self.call(work, done=lambda sides: self.app.push_screen(ComparisonScreen(*sides)))

    def _offer_upgrade(
        self, item: Application | Draft, text: str, upgraded: str, count: int
    ) -> None:
        if not count:
            self.studio.tell(f"{item.name} uses the newest plugins that are here.")
            return
        namespace = self.studio.namespace

        def answered(is_wanted: bool | None) -> None:
            if is_wanted:
                self.call(
                    lambda cdap: shelf.keep_upgraded(cdap, namespace, item, upgraded),
                    done=lambda answer: self._upgraded(item, answer),
                )

        verb = "Deploy" if isinstance(item, Application) else "Save"
        sides = Side(item.name, text), Side("with the newest plugins", upgraded)
        self.app.push_screen(ComparisonScreen(*sides, verb=verb), answered)

    def _upgraded(self, item: Application | Draft, answer: Deployment | None) -> None:
        if not self._refused(answer, f"{item.name} stays as it was"):
            self.studio.tell(f"{item.name} uses the newest plugins now.")
            self.reload()

    def _renamed(self, item: Item, name: str, answer: Deployment | None) -> None:
        if not self._refused(answer, f"{item.name} keeps its name"):
            if isinstance(item, Application):
                self.query_one("#shelf", Listing).show(f"deployed {name}")
            self.reload()

    def _refused(self, answer: Deployment | None, what: str) -> bool:
        """Tell why a pipeline was not deployed, when it was not."""
        if answer is None or answer.application is not None:
            return False
        failures = "\n".join(
            f"{each.stage or 'pipeline'}: {each.message}" for each in answer.errors
        )
        self.studio.tell(
            f"{what}: the pipeline has {plural(len(answer.errors), 'failure')}.", failures, "error"
        )
        return True

    def _name_problem(self, item: Item | None) -> Callable[[str], str | None]:
        taken = {
            each.name
            for each in self._items.values()
            if each is not item and (item is None or type(each) is type(item))
        }

        def problem(name: str) -> str | None:
            if not name.strip():
                return "It needs a name."
            return f"There is one called {name} already." if name in taken else None

        return problem

    def _save(self, path: Path, text: str) -> None:
        def work(_: Cdap) -> str:
            try:
                write_file(path, text)
            except BadRequestError as error:
                return error.full_message
            return ""

        self.call(
            work,
            done=lambda problem: self.studio.tell(
                problem or f"Saved {path}.", kind="error" if problem else "information"
            ),
        )

    def _import(self, path: Path, *, fix: bool = False) -> None:
        namespace = self.studio.namespace
        self.call(
            lambda cdap: beginnings.deploy(cdap, path, namespace, fix=fix),
            done=lambda answer: self._imported(path, answer),
        )

    def _imported(self, path: Path, answer: Deployment) -> None:
        if answer.application is None:
            self._offer_repair(path, answer)
            return
        changed = "\n".join(str(each) for each in (*answer.repairs, *answer.upgrades))
        self.studio.tell(
            f"{answer.name} is deployed, version {answer.application.number}.", changed
        )
        self.query_one("#shelf", Listing).show(f"deployed {answer.name}")
        self.reload()

    @work
    async def _offer_repair(self, path: Path, answer: Deployment) -> None:
        match await self.app.push_screen_wait(ImportDialog(answer)):
            case "fix":
                self._import(path, fix=True)
            case "open":
                self.studio.go(places.PipelineFile(path.absolute()))


def _entry(version: Version) -> Entry:
    label = f"{version.number}  {version.told}".rstrip()
    return Entry(version.id, label, hint=f"{version.author} {ago(version.when)}".strip())


def _name(item: Item, version: Version | None) -> str:
    if version is None:
        return f"{'draft ' if isinstance(item, Draft) else ''}{item.name}"
    noun = "revision" if isinstance(item, Draft) else "version"
    return f"{item.name}, {noun} {version.number}"
