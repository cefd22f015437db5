"""The search screen: results while the user types, and what is known of the highlighted one.

A search finds entities by their metadata, fields of schemas, drafts and runs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.api.errors import LocalcdapError, SchemaError, UnauthorizedError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    PROGRAM,
    MetadataEntity,
    MetadataScope,
    ScopedMetadata,
)
from localcdap.api.schema import Schema
from localcdap.engine.messages.spool import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.metadata.entities import format_entity, to_stored
from localcdap.metadata.search import SearchRequest, SearchResult
from localcdap.metadata.system_metadata import EXPLORE
from localcdap.namespaces.model import SYSTEM
from localcdap.runs.history import RunFilter
from localcdap.runs.model import Run
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.labels import (
    MUTED,
    RUN_MARKS,
    format_age,
    format_status,
    format_title,
    join_parts,
    sanitize_name,
)
from localcdap.tui.lists import FilteredList, ListEntry
from localcdap.tui.routes import (
    DeployedTarget,
    DraftTarget,
    LineageTarget,
    NavigationTarget,
    PluginTarget,
    RunTarget,
    TableTarget,
)
from localcdap.tui.studio import Debouncer

PLUGIN: Final = "plugin"
FIELD: Final = "field"
_GROUPS: Final = {
    APPLICATION: "pipelines",
    PROGRAM: "pipelines",
    DATASET: "tables and other datasets",
    FIELD: "fields",
    PLUGIN: "plugins",
    ARTIFACT: "artifacts",
}
"""The headings by the type of the entity."""
_DRAFTS: Final = "drafts"
_RUNS: Final = "runs"
_OTHERS: Final = "other entities"
_ORDER: Final = [*dict.fromkeys(_GROUPS.values()), _DRAFTS, _RUNS, _OTHERS]
_MOST_ENTITIES: Final = 100
_MOST_RUNS: Final = 20
_MOST_FIELDS: Final = 50
_SPECIAL: Final = ("*", ":", ">", "<", "=", "+")
"""Characters by which a word is left as it is typed."""


@dataclass(frozen=True)
class FoundItem:
    """Something that was found.

    :param key: identifies it among the findings.
    :param entity: None for a draft and for a run of a file, which have no metadata.
    :param target: where enter goes; None for what only has metadata.
    """

    key: str
    group: str
    label: str
    hint: str = ""
    mark: str = ""
    entity: MetadataEntity | None = None
    metadata: ScopedMetadata | None = None
    target: NavigationTarget | None = None


@dataclass(frozen=True)
class SearchAnswer:
    """The findings by groups.

    :param total: the number of entities that match, of which the first are among the findings.
    """

    findings: Sequence[FoundItem]
    total: int
    shown: int


def build_query(text: str) -> str | None:
    """Return the query for a text that is being typed: its last word may go on.

    >>> build_query("tags:pii ord")
    'tags:pii ord*'
    """
    words = text.split()
    if not words:
        return None
    last = words[-1]
    if text[-1].isspace() or last.endswith("*") or any(each in last for each in "<>="):
        return " ".join(words)
    return " ".join([*words[:-1], f"{last}*"])


def search_everything(cdap: Cdap, namespace: str, text: str) -> SearchAnswer:
    """Search the namespace, and the shipped plugins."""
    request = SearchRequest(
        build_query(text),
        namespaces=[namespace, SYSTEM],
        sort=None if text.strip() else "entity-name",
        limit=_MOST_ENTITIES,
    )
    found = cdap.metadata.search(request)
    entities = [_describe_entity(each, namespace) for each in found.results]
    words = [word.casefold() for word in text.split() if not any(c in word for c in _SPECIAL)]
    fields = _list_fields(found.results, words or _list_schema_words(text), namespace)
    others: list[FoundItem] = []
    for find in (_find_drafts, _find_runs):
        # Who may not read the namespace still finds what is visible to them.
        with contextlib.suppress(UnauthorizedError):
            others += find(cdap, namespace, words)
    unique = {each.key: each for each in (*entities, *fields, *others)}
    ordered = sorted(unique.values(), key=lambda each: _ORDER.index(each.group))
    return SearchAnswer(ordered, found.total_results, len(found.results))


def _describe_entity(result: SearchResult, namespace: str) -> FoundItem:
    entity = to_stored(result.entity)
    path = format_entity(entity, relative_to=namespace)
    tags = [*result.metadata.user.tags, *result.metadata.system.tags]
    target, label, kind = _locate(entity, result.metadata)
    hint = " · ".join(filter(None, (kind, ", ".join(tags))))
    group = _GROUPS.get(entity.type, _OTHERS)
    label = label or path
    return FoundItem(path, group, label, hint, "", entity, result.metadata, target)


def _locate(
    entity: MetadataEntity, metadata: ScopedMetadata
) -> tuple[NavigationTarget | None, str, str]:
    """Return where an entity is shown, its name, and what it is."""
    details, name = entity.details, entity.name
    description = metadata.system.properties.get("description", "")
    match entity.type:
        case "application":
            return DeployedTarget(name), name, description
        case "program":
            return DeployedTarget(details[APPLICATION]), name, f"of {details[APPLICATION]}"
        case "dataset":
            kind = metadata.system.properties.get("type", "")
            if EXPLORE in metadata.system.tags:
                return TableTarget(name, entity.namespace), name, kind
            is_here = kind not in ("", EXTERNAL_TYPE)
            return LineageTarget(name, None, entity.namespace), name, kind if is_here else "outside"
        case "field" if DATASET in details:
            dataset = details[DATASET]
            return LineageTarget(dataset, name, entity.namespace), f"{dataset}.{name}", ""
        case "plugin" if "type" in details:
            return PluginTarget(details["type"], name), name, details["type"]
        case "artifact":
            return None, f"{name} {details.get('version', '')}".strip(), ""
    return None, "", entity.type


def _list_schema_words(text: str) -> list[str]:
    """Return the fields that ``schema:`` words ask for."""
    words = (word.lstrip("+").casefold() for word in text.split())
    return [word.split(":")[1].rstrip("*") for word in words if word.startswith("schema:")]


def _list_fields(
    results: Sequence[SearchResult], words: Sequence[str], namespace: str
) -> list[FoundItem]:
    """Return the fields of found datasets whose names begin with a word."""
    wanted = tuple(word for word in words if word)
    found: list[FoundItem] = []
    for result in results:
        if result.entity.type != DATASET or not wanted:
            continue
        for name in _read_field_names(result.metadata):
            if name.casefold().startswith(wanted):
                entity = to_stored(result.entity).append(FIELD, name)
                path = format_entity(entity, relative_to=namespace)
                target = LineageTarget(result.entity.name, name, result.entity.namespace)
                label = f"{result.entity.name}.{name}"
                found.append(FoundItem(path, "fields", label, entity=entity, target=target))
    return found[:_MOST_FIELDS]


def _read_field_names(metadata: ScopedMetadata) -> Sequence[str]:
    try:
        return Schema.parse_record(metadata.system.properties.get("schema", "")).field_names
    except SchemaError:
        return ()


def _find_drafts(cdap: Cdap, namespace: str, words: Sequence[str]) -> list[FoundItem]:
    drafts = cdap.drafts.list_drafts(namespace) if words else []
    return [
        FoundItem(f"draft {draft.id}", _DRAFTS, draft.name, "draft", target=DraftTarget(draft.id))
        for draft in drafts
        if any(word in draft.name.casefold() for word in words)
    ]


def _find_runs(cdap: Cdap, namespace: str, words: Sequence[str]) -> list[FoundItem]:
    """Return the newest runs of which the pipeline, the error, the id or the status has a word."""
    found: dict[str, Run] = {}
    for word in words:
        statuses = [each for each in RunStatus if format_status(each) == word]
        wanted = RunFilter(statuses=statuses) if statuses else RunFilter(text=word)
        page = cdap.runs.list_page(namespace, wanted, limit=_MOST_RUNS)
        found |= {run.run: run for run in page.runs}
    newest = sorted(found.values(), key=lambda run: -run.starting)[:_MOST_RUNS]
    return [_describe_run(run) for run in newest]


def _describe_run(run: Run) -> FoundItem:
    hint = f"{format_status(run.status)} · {format_age(run.starting)} · {run.run}"
    mark, _ = RUN_MARKS[run.status]
    target = RunTarget(run.run)
    return FoundItem(f"run {run.run}", _RUNS, run.pipeline, hint, mark, target=target)


_PAUSE_S: Final = 0.15
"""The pause after the last letter before the search, in seconds."""
_PLACEHOLDER: Final = "a name, a tag, owner:anna, tags:pii, schema:email …"
_EMPTY: Final = """Nothing found.

An entity is found when any word of the query matches: a word of its name, tags or values,
KEY:WORD for a property, tags:WORD, schema:FIELD, dataset:NAME. '+' makes a word required."""
_LONGEST_VALUE: Final = 400


class SearchScreen(AreaScreen):
    """Finds pipelines, tables, fields, plugins, runs, and all else that has metadata."""

    AREA = "search"
    CSS_PATH = "search.tcss"
    AUTO_FOCUS = "#search-query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "query", "search", id="search.query"),
        Binding("W", "lineage", "lineage of a field", id="search.lineage"),
        Binding("y", "copy", "copy path", id="search.copy", show=False),
        Binding("escape", "clear", "clear the search", id="search.clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._findings: dict[str, FoundItem] = {}
        self._debouncer: Debouncer | None = None
        self._opens_first = False
        """Whether the first result is opened as soon as it is known."""

    def compose_body(self) -> ComposeResult:
        yield Input(placeholder=_PLACEHOLDER, id="search-query", compact=True)
        with Horizontal(id="search-body"):
            yield FilteredList(id="results", verb="open", can_filter=False, empty=_EMPTY)
            with VerticalScroll(id="search-detail", can_focus=False):
                yield Static(id="search-facts")
        yield Static(id="search-note")

    def on_mount(self) -> None:
        self._debouncer = Debouncer(self.query_one(Input), self._search, _PAUSE_S)

    def on_unmount(self) -> None:
        if self._debouncer is not None:
            self._debouncer.cancel()

    def on_screen_resume(self) -> None:
        self._search()

    def show_namespace(self, namespace: str) -> None:
        self._search()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        found = self._highlighted
        match action:
            case "lineage" if found is None or self._find_lineage(found) is None:
                return "no dataset and no field is highlighted"
            case "copy" if found is None:
                return "nothing is highlighted"
            case "clear" if not self.query_one(Input).value and not self.query_one(Input).has_focus:
                return "there is no query"
        return None

    @property
    def entity(self) -> MetadataEntity | None:
        found = self._highlighted
        return found.entity if found is not None else None

    # -- keys -----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if event.key == "down" and self.query_one(Input).has_focus:
            event.stop()
            self.query_one(FilteredList).focus_list()

    def action_query(self) -> None:
        self.query_one(Input).focus()

    def action_clear(self) -> None:
        """Clear the query; an empty one leaves the focus to the results."""
        field = self.query_one(Input)
        if field.value:
            field.value = ""
            field.focus()
        else:
            self.query_one(FilteredList).focus_list()

    def action_copy(self) -> None:
        if self._highlighted is not None:
            self.studio.copy_text(self._highlighted.key, "path")

    def action_lineage(self) -> None:
        target = self._find_lineage(self._highlighted) if self._highlighted else None
        if target is not None:
            self.studio.navigate(target)

    # -- the search -----------------------------------------------------------------------------

    @on(Input.Changed, "#search-query")
    def _search_soon(self, event: Input.Changed) -> None:
        event.stop()
        self._opens_first = False
        if self._debouncer is not None:
            self._debouncer.schedule()

    @on(Input.Submitted, "#search-query")
    def _open_first(self, event: Input.Submitted) -> None:
        """Open the highlighted result of what was typed, which may have to be searched first."""
        event.stop()
        self._opens_first = True
        if self._debouncer is not None:
            self._debouncer.cancel()
        self._search()

    def _search(self) -> None:
        text, namespace = self.query_one(Input).value, self.studio.namespace
        self.call(
            lambda cdap: search_everything(cdap, namespace, text),
            on_result=self._fill,
            on_error=self._show_error,
            group="search",
        )

    def _fill(self, answer: SearchAnswer) -> None:
        self._findings = {each.key: each for each in answer.findings}
        self.query_one(FilteredList).set_entries([_build_entry(e) for e in answer.findings])
        rest = answer.total - answer.shown
        more = f" · {rest:,} more match; more words show the best" if rest > 0 else ""
        self._show_note(f"{len(answer.findings):,} found{more}")
        self._show_details()
        if self._opens_first:
            self._opens_first = False
            if self._highlighted is not None:
                self._open(self._highlighted)

    def _show_error(self, error: LocalcdapError) -> None:
        self._findings = {}
        self.query_one(FilteredList).set_entries([])
        self._show_note(error.full_message)
        self._show_details()

    def _show_note(self, text: str) -> None:
        self.query_one("#search-note", Static).update(Content.styled(text, MUTED))

    @on(FilteredList.Chosen, "#results")
    def _open_chosen(self, event: FilteredList.Chosen) -> None:
        event.stop()
        found = self._findings.get(event.key)
        if found is not None:
            self._open(found)

    def _open(self, found: FoundItem) -> None:
        """Go to what was found; what is shown nowhere has its tags and properties shown."""
        if found.target is not None:
            self.studio.navigate(found.target)
        elif found.entity is not None:
            self.studio.show_metadata(found.entity)

    @property
    def _highlighted(self) -> FoundItem | None:
        return self._findings.get(self.query_one(FilteredList).key or "")

    def _find_lineage(self, found: FoundItem) -> LineageTarget | None:
        entity = found.entity
        if entity is None or DATASET not in entity.details:
            return None
        field = entity.details.get(FIELD)
        return LineageTarget(entity.details[DATASET], field, entity.namespace)

    @on(FilteredList.Highlighted)
    def _show_details(self) -> None:
        found = self._highlighted
        self.query_one("#search-facts", Static).update(_format_finding(found) if found else "")


def _build_entry(found: FoundItem) -> ListEntry:
    label, hint = (sanitize_name(t) for t in (found.label, found.hint))
    return ListEntry(found.key, label, found.mark, hint, found.group)


def _format_finding(found: FoundItem) -> Content:
    kind = found.entity.type if found.entity is not None else found.group.rstrip("s")
    parts = [
        format_title(sanitize_name(found.label), kind),
        Content.styled(sanitize_name(found.key), MUTED),
    ]
    if found.metadata is not None:
        parts += [Content("\n").join(lines) for lines in _list_lines(found.metadata) if lines]
    return join_parts(*parts)


def _list_lines(metadata: ScopedMetadata) -> Iterator[list[Content]]:
    """Yield tags and properties of users, then those of localcdap."""
    for scope in (MetadataScope.USER, MetadataScope.SYSTEM):
        own = metadata.get(scope)
        lines = [Content.assemble(("tags  ", MUTED), ", ".join(own.tags))] if own.tags else []
        for key, value in sorted(own.properties.items()):
            shown = sanitize_name(f"{key}  ")
            text = sanitize_name(value[:_LONGEST_VALUE])
            lines.append(Content.assemble((shown, MUTED), text))
        if lines and scope is MetadataScope.SYSTEM:
            lines.insert(0, Content.styled("written by localcdap", f"{MUTED} italic"))
        yield lines
