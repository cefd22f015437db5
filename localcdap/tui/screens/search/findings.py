"""What a search finds: entities by their metadata, fields of schemas, drafts and runs; as lines of a list."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from localcdap.api.dataset.types.external import EXTERNAL_TYPE
from localcdap.api.errors import SchemaError, UnauthorizedError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    PROGRAM,
    MetadataEntity,
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
from localcdap.tui.labels import RUN_MARKS, format_age, format_status
from localcdap.tui.routes import (
    DeployedTarget,
    DraftTarget,
    LineageTarget,
    NavigationTarget,
    PluginTarget,
    RunTarget,
    TableTarget,
)

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
