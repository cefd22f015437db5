"""The names of the columns of delimited files without a header, as detection makes them: ``body_0`` …

Earlier versions numbered them from 1. A property of the source keeps that for the pipelines that were there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.model import PipelineDocument, PluginUse, create_structural_failure
from localcdap.pipeline.rules.graph import SOURCE
from localcdap.pipeline.rules.structure_rules import PipelineStructure

FIRST: Final = "firstColumnNumber"
"""The property with the number of the first column; 0 where it is not set."""
_FORMATS: Final = frozenset(("csv", "tsv", "delimited"))
_NAME: Final = re.compile(r"\bbody_([0-9]+)\b")
_MAKES_NAMES: Final = re.compile(r"\b(?:parse-as-|split-|extract-|cut-)\S*\s+:?body\b")
"""A directive that makes ``body_1`` … of a column ``body``."""


def check_column_numbers(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    """Refuse a pipeline that reads ``body_1`` and so on, and not ``body_0``, as those of earlier versions."""
    for stage in pipeline.stages.values():
        if not takes_names(stage.plugin) or stage.plugin.properties.get(FIRST):
            continue
        texts = _list_texts(pipeline, stage.name).values()
        numbers = {int(number) for text in texts for number in _NAME.findall(text)}
        if numbers and 0 not in numbers:
            yield create_structural_failure(
                f"The stages after '{stage.name}' read body_{min(numbers)}, and none reads body_0: the "
                "columns of a file without a header are body_0, body_1 and so on, and were body_1, body_2 "
                "and so on in earlier versions.",
                f"Set '{FIRST}' to 1 to keep the names of earlier versions, name a field by 'schema', or "
                "read the right fields in the stages after it.",
                stage=stage.name,
                property=FIRST,
            )


def takes_names(plugin: PluginUse) -> bool:
    """Return whether a stage reads delimited files without a header, and has no schema."""
    properties = plugin.properties
    return (
        plugin.type == SOURCE
        and properties.get("format", "").strip().lower() in _FORMATS
        and not properties.get("schema")
        and properties.get("skipHeader", "").strip().lower() in ("", "false")
    )


def number_from_zero(document: PipelineDocument, source: str) -> dict[tuple[str, str], str | None]:
    """Return the properties that change, by stage and name, when the columns of a source get CDAP's numbers.

    None is for a property that goes.
    """
    changes: dict[tuple[str, str], str | None] = {(source, FIRST): None}
    for place, text in _list_texts(PipelineStructure(document), source).items():
        renamed = _NAME.sub(lambda name: f"body_{max(int(name[1]) - 1, 0)}", text)
        if renamed != text:
            changes[place] = renamed
    return changes


def _list_texts(pipeline: PipelineStructure, source: str) -> Mapping[tuple[str, str], str]:
    """Return the properties of the stages after a source, unless one of them makes such names itself."""
    following: Iterable[str] = sorted(pipeline.graph.find_descendants(source))
    texts = {
        (name, property): text
        for name in following
        for property, text in pipeline.stages[name].plugin.properties.items()
        if text
    }
    return {} if any(map(_MAKES_NAMES.search, texts.values())) else texts
