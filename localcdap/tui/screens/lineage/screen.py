"""The lineage screen: the graph around a dataset or a field, and what is known of the selected node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.api.errors import LocalcdapError
from localcdap.api.metadata import MetadataEntity
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.field_lineage import Direction, LineageField
from localcdap.metadata.lineage.relations import AccessType, DatasetId, DatasetUsage, ProgramId
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.canvas.canvas import Canvas
from localcdap.tui.labels import MUTED, format_age, sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry, watch_topics
from localcdap.tui.routes import (
    DeployedTarget,
    LineageTarget,
    NavigationTarget,
    RunTarget,
    TableTarget,
)
from localcdap.tui.screens.lineage.graph import (
    MOST_HOPS,
    Exploration,
    LineageCanvas,
    LineageGraph,
    format_mermaid,
    format_node,
    get_dataset,
    read_graph,
)
from localcdap.tui.screens.lineage.panel import (
    ImpactDialog,
    NodeFacts,
    format_facts,
    get_entity,
    read_facts,
    read_impact,
)
from localcdap.tui.studio import Choice

_NOTHING_USED: Final = """No run has read or written a dataset yet.

Run a pipeline first: d runs the demo on the home screen (1), r the pipeline in the studio (2). \
Its datasets are listed here then."""
_USES: Final = {
    AccessType.READ: "read by",
    AccessType.WRITE: "written by",
    AccessType.READ_WRITE: "read and written by",
    AccessType.UNKNOWN: "used by",
}


class RecentDatasets(FilteredList):
    """The datasets that runs used last, the newest first; the key of an entry is the name."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(verb="show lineage", empty=_NOTHING_USED, id=id)

    def fill(self, usages: Sequence[DatasetUsage]) -> None:
        self.set_entries([_build_entry(each) for each in usages])


def _build_entry(usage: DatasetUsage) -> ListEntry:
    pipeline = sanitize_name(usage.program.application)
    return ListEntry(
        usage.dataset.dataset,
        sanitize_name(usage.dataset.dataset),
        hint=f"{_USES[usage.access]} {pipeline} {format_age(usage.last_start)}",
    )


_NEEDS_FOCUS: Final = ("mode", "hops", "indirect", "direction", "export", "field")
_NEEDS_NODE: Final = ("expand", "collapse", "impact", "open_node", "copy")
_DIRECTIONS: Final = {
    Direction.BOTH: "before and behind",
    Direction.INCOMING: "only before",
    Direction.OUTGOING: "only behind",
}


class LineageScreen(AreaScreen):
    """Shows where datasets and fields come from, and where they go."""

    AREA = "lineage"
    CSS_PATH = "lineage.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dataset", "choose a dataset", id="lineage.dataset"),
        Binding("f", "field", "choose a field", id="lineage.field"),
        Binding("t", "mode", "datasets or columns", id="lineage.mode"),
        Binding("e", "expand", "expand", id="lineage.expand"),
        Binding("c", "collapse", "collapse", id="lineage.collapse", show=False),
        Binding("right_square_bracket", "hops(1)", "more steps", id="lineage.more"),
        Binding("left_square_bracket", "hops(-1)", "fewer steps", id="lineage.fewer", show=False),
        Binding("w", "direction", "incoming, outgoing or both", id="lineage.direction", show=False),
        Binding("i", "indirect", "indirect influences", id="lineage.indirect", show=False),
        Binding("p", "impact", "impact", id="lineage.impact"),
        Binding("x", "export", "export", id="lineage.export"),
        Binding("o", "open_node", "open", id="lineage.open", show=False),
        Binding("r", "run", "run that wrote it", id="lineage.run", show=False),
        Binding("b,backspace", "previous", "previous graph", id="lineage.previous", show=False),
        Binding("y", "copy", "copy name", id="lineage.copy", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.exploration: Exploration | None = None
        """What is shown; None before a dataset was chosen."""
        self.graph = LineageGraph()
        self._previous: list[Exploration] = []
        self._facts: NodeFacts | None = None

    def compose_body(self) -> ComposeResult:
        yield Static(id="lineage-title")
        with Horizontal(id="lineage-body"):
            yield RecentDatasets(id="lineage-recent")
            yield LineageCanvas(id="lineage-canvas")
            with VerticalScroll(id="lineage-panel"):
                yield Static(id="lineage-facts")
        yield Static(id="lineage-legend")

    def on_mount(self) -> None:
        self.follow(watch_topics("runs", "entities"), lambda _: self._load())

    def show_target(self, target: NavigationTarget) -> None:
        if isinstance(target, LineageTarget):
            id = DatasetId(target.namespace or self.studio.namespace, target.dataset)
            self._explore(
                Exploration(id if target.field is None else DatasetField(id, target.field))
            )

    def show_namespace(self, namespace: str) -> None:
        shown = self.exploration
        if shown is not None and shown.dataset.namespace != namespace:
            self.exploration, self._previous = None, []
        self._load()

    # -- what is shown ------------------------------------------------------------------------

    @property
    def canvas(self) -> LineageCanvas:
        return self.query_one(LineageCanvas)

    @property
    def entity(self) -> MetadataEntity | None:
        node = self.canvas.node
        return get_entity(node) if node is not None else None

    def _explore(self, exploration: Exploration) -> None:
        """Show another graph; the one before can be shown again."""
        if self.exploration is not None and self.exploration.focus != exploration.focus:
            self._previous.append(self.exploration)
        self._change(exploration)

    def _change(self, exploration: Exploration) -> None:
        self.exploration = exploration
        self._load()

    def _load(self) -> None:
        shown, namespace = self.exploration, self.studio.namespace
        if shown is None:
            self._show(LineageGraph())
            self.call(
                lambda cdap: cdap.lineage.list_recent(namespace),
                on_result=self.query_one(RecentDatasets).fill,
                group="recent",
            )
            return
        self.call(
            lambda cdap: read_graph(cdap, shown),
            on_result=self._show,
            on_error=self._show_error,
            group="graph",
        )

    def _show(self, graph: LineageGraph) -> None:
        self.graph = graph
        shown = self.exploration
        self._show_or_hide_recent()
        self.canvas.show_graph(graph, shown.focus if shown else None, self.studio.namespace)
        self.query_one("#lineage-title", Static).update(_format_title(shown))
        self.query_one("#lineage-legend", Static).update(_format_legend(shown, graph))
        self._read_facts()

    def _show_or_hide_recent(self) -> None:
        """Show the list of datasets while none is chosen, else the graph; what is shown gets the focus."""
        is_chosen = self.exploration is not None
        if self.focused is None or is_chosen != self.has_class("-chosen"):
            self.set_class(is_chosen, "-chosen")
            if is_chosen:
                self.canvas.focus()
            else:
                self.query_one(RecentDatasets).focus_list()

    @on(RecentDatasets.Chosen)
    def _explore_recent(self, event: RecentDatasets.Chosen) -> None:
        event.stop()
        self._explore(Exploration(DatasetId(self.studio.namespace, event.key)))

    def _show_error(self, error: LocalcdapError) -> None:
        """Show what is wrong, and go back to what was shown before."""
        self.studio.report_error(error)
        self.exploration = self._previous.pop() if self._previous else None
        self._load()

    @on(Canvas.Selected)
    def _read_facts(self) -> None:
        node = self.canvas.node
        self.refresh_bindings()
        if node is None:
            self._facts = None
            self.discard_results("facts")
            self._show_text(Content(""))
            return
        self.call(
            lambda cdap: read_facts(cdap, node),
            on_result=self._show_facts,
            on_error=lambda error: self._show_text(
                Content(sanitize_for_terminal(error.full_message))
            ),
            group="facts",
        )

    def _show_facts(self, facts: NodeFacts) -> None:
        self._facts = facts
        self._show_text(format_facts(facts, self.graph))
        self.refresh_bindings()

    def _show_text(self, text: Content) -> None:
        """Show a text in the panel, which takes the focus only when there is something to read."""
        self.query_one("#lineage-facts", Static).update(text)
        self.query_one("#lineage-panel").can_focus = bool(text)

    # -- keys -----------------------------------------------------------------------------------

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        node, shown = self.canvas.node, self.exploration
        if action in _NEEDS_FOCUS and shown is None:
            return "no dataset is chosen; d chooses one"
        if action in _NEEDS_NODE and node is None:
            return "nothing is selected in the graph"
        match action:
            case "expand" | "impact" if isinstance(node, ProgramId):
                return "a pipeline is selected; select a dataset"
            case "collapse" if shown is None or node not in shown.expanded:
                return "the selected node was not expanded"
            case "indirect" if shown is not None and not shown.is_of_fields:
                return "only influences on columns can be indirect; t shows the columns"
            case "run" if self._facts is None or self._facts.run is None:
                return "no run of the selected dataset or pipeline is known"
            case "previous" if not self._previous:
                return "there is no previous graph"
        return None

    @work
    async def action_dataset(self) -> None:
        namespace = self.studio.namespace
        found = await self.call_and_wait(lambda cdap: cdap.lineage.list_datasets(namespace))
        if not found:
            self.studio.explain_no_effect(
                "there is no dataset yet; a run leaves those that it reads and writes", "dataset"
            )
            return
        choices = [Choice(sanitize_name(each.dataset), each) for each in found]
        chosen = await self.studio.choose(choices, title="Lineage of the dataset")
        if chosen is not None:
            self._explore(Exploration(chosen))

    @work
    async def action_field(self) -> None:
        """Choose a field of the selected dataset, else of the one in the middle."""
        node = self.canvas.node
        dataset = get_dataset(node) if node is not None else None
        if dataset is None and self.exploration is not None:
            dataset = self.exploration.dataset
        if dataset is None:
            return
        entity = dataset.to_entity()
        found = await self.call_and_wait(lambda cdap: cdap.lineage.describe(entity))
        if not found.fields:
            self.studio.explain_no_effect(f"no field of {dataset.dataset} is known", "field")
            return
        choices = [_build_field_choice(each) for each in found.fields]
        title = f"Lineage of the field, in {sanitize_name(dataset.dataset)}"
        chosen = await self.studio.choose(choices, title=title)
        if chosen is not None:
            self._explore(Exploration(DatasetField(dataset, chosen)))

    def action_mode(self) -> None:
        """Show columns instead of datasets, or the other way round."""
        if self.exploration is not None:
            self._explore(self.exploration.switch_mode())

    def action_hops(self, by: int) -> None:
        shown = self.exploration
        if shown is None:
            return
        if not 1 <= shown.hops + by <= MOST_HOPS:
            reason = "one step is the least" if by < 0 else f"{MOST_HOPS} steps are the most"
            self.studio.explain_no_effect(reason)
            return
        self._change(shown.with_hops(shown.hops + by))

    def action_direction(self) -> None:
        if self.exploration is not None:
            ways = list(_DIRECTIONS)
            after = ways[(ways.index(self.exploration.direction) + 1) % len(ways)]
            self._change(self.exploration.with_direction(after))

    def action_indirect(self) -> None:
        if self.exploration is not None:
            self._change(self.exploration.with_indirect(not self.exploration.indirect))

    def action_expand(self) -> None:
        """Show what lies one step around the selected node too."""
        node, shown = self.canvas.node, self.exploration
        if shown is None or node is None or isinstance(node, ProgramId):
            return
        known = set(self.graph.nodes)
        if node in shown.expanded:
            self.studio.explain_no_effect(f"{format_node(node)} is expanded", "expand")
            return
        after = shown.expand(node)

        def show(graph: LineageGraph) -> None:
            self.exploration = after
            self._show(graph)
            if known.issuperset(graph.nodes):
                self.studio.explain_no_effect("it has no further neighbours", "expand")

        self.call(lambda cdap: read_graph(cdap, after), on_result=show, group="graph")

    def action_collapse(self) -> None:
        node, shown = self.canvas.node, self.exploration
        if shown is not None and node is not None:
            self._change(shown.collapse(node))

    @on(Canvas.Opened)
    def _explore_opened(self, event: Canvas.Opened) -> None:
        """Bring a dataset or a field to the middle; a pipeline is opened."""
        event.stop()
        node, shown = self.canvas.node, self.exploration
        if isinstance(node, ProgramId):
            self.action_open_node()
        elif node is not None and shown is not None:
            if node == shown.focus:
                self.studio.explain_no_effect("the graph is drawn around it already", "enter")
            else:
                self._explore(shown.refocus(node))

    def action_open_node(self) -> None:
        """Show the pipeline in the studio, or the table in the data area."""
        node, facts = self.canvas.node, self._facts
        dataset = get_dataset(node) if node is not None else None
        if isinstance(node, ProgramId):
            if facts is not None and facts.node == node and not facts.is_deployed:
                self.studio.explain_no_effect(f"{node.application} is not deployed", "open")
            else:
                self.studio.navigate(DeployedTarget(node.application))
        elif dataset is not None:
            self.studio.navigate(TableTarget(dataset.dataset, dataset.namespace))

    def action_run(self) -> None:
        """Show the run that has written the selected dataset last, or the last run of the pipeline."""
        if self._facts is not None and self._facts.run is not None:
            self.studio.navigate(RunTarget(self._facts.run.run))

    def action_previous(self) -> None:
        self._change(self._previous.pop())

    def action_copy(self) -> None:
        node = self.canvas.node
        if node is not None:
            dataset, name = get_dataset(node), format_node(node)
            is_field = isinstance(node, DatasetField) and node.field is not None
            text = f"{dataset.dataset}.{name}" if is_field and dataset is not None else name
            self.studio.copy_text(text, "name")

    def action_impact(self) -> None:
        """List all that comes from the selected node."""
        node = self.canvas.node
        if node is None or isinstance(node, ProgramId):
            return
        dataset = get_dataset(node)
        name = format_node(node)
        if isinstance(node, DatasetField) and dataset is not None:
            name = f"{dataset.dataset}.{name}"

        def show(graph: LineageGraph) -> None:
            self.app.push_screen(ImpactDialog(name, graph))

        self.call(lambda cdap: read_impact(cdap, node), on_result=show, group="impact")

    @work
    async def action_export(self) -> None:
        """Write what is shown as a flowchart of Mermaid."""
        shown = self.exploration
        if shown is None:
            return
        text, typed = format_mermaid(self.graph), f"{format_node(shown.focus)}.mmd"
        path = await self.studio.pick_file(
            "Save the graph as Mermaid text",
            suffixes=(".mmd", ".md"),
            for_saving=True,
            typed=typed.replace("/", "_"),
        )
        if path is not None:
            self.save_text(path, lambda _: text)


def _build_field_choice(field: LineageField) -> Choice[str]:
    hint = "" if field.lineage else "no lineage yet"
    return Choice(sanitize_name(field.name), field.name, hint=hint)


def _format_title(shown: Exploration | None) -> Content:
    if shown is None:
        return Content.assemble(("Lineage", "bold"), ("  what runs read or wrote last", MUTED))
    parts = ["columns" if shown.is_of_fields else "tables", plural(shown.hops, "step")]
    parts.append(_DIRECTIONS[shown.direction])
    if shown.is_of_fields:
        parts.append("with indirect" if shown.indirect else "direct only")
    if shown.expanded:
        parts.append(f"{len(shown.expanded)} expanded")
    return Content.assemble(
        (sanitize_name(_name_focus(shown)), "bold"), (f"  {' · '.join(parts)}", MUTED)
    )


def _name_focus(shown: Exploration) -> str:
    """Return the dataset, or the dataset and the field."""
    focus = shown.focus
    if isinstance(focus, DatasetField):
        return f"{focus.dataset.dataset}.{'*' if focus.field is None else focus.field}"
    return focus.dataset


def _format_legend(shown: Exploration | None, graph: LineageGraph) -> Content:
    if shown is None:
        return Content("")
    if not graph.links:
        said = f"no run has read or written {_name_focus(shown)}"
        if shown.is_of_fields:
            said = f"no pipeline or run relates {_name_focus(shown)} to another field"
        return Content.styled(sanitize_name(said), MUTED)
    kinds = (
        "── values   ╌╌ decides about values only   ? assumed"
        if shown.is_of_fields
        else "── reads and writes   ╌╌ reads or writes, not known which"
    )
    more = "   ! a part is not drawn: choose a field" if graph.is_truncated else ""
    return Content.assemble((kinds, MUTED), (more, "$text-warning"))
