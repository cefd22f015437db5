"""Pipelines in a few words: ``pipeline("source:a transform:t sink:z", "a>t t>z")``."""

from __future__ import annotations

import json
from typing import Any

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.rules.structure_rules import PipelineStructure, check_structure

PLUGINS = {
    "source": ("batchsource", "Source"),
    "transform": ("transform", "Pass"),
    "strict": ("transform", "Strict"),
    "coded": ("transform", "Coded"),
    "sink": ("batchsink", "Sink"),
    "join": ("batchjoiner", "Join"),
    "count": ("batchaggregator", "Count"),
    "split": ("splittertransform", "Split"),
    "errors": ("errortransform", "Errors"),
    "action": ("action", "Act"),
    "program": ("sparkprogram", "Program"),
    "if": ("condition", "If"),
    "alert": ("alertpublisher", "Alert"),
    "mail": ("postaction", "Mail"),
}


def record(*fields: str, name: str = "rec", type: str = "string") -> str:
    """A schema document of fields of one type."""
    members = [{"name": field, "type": type} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": members})


def stage(kind: str, name: str, **properties: Any) -> dict[str, Any]:
    type, plugin = PLUGINS.get(kind, (kind, "Any"))
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}


def connection(text: str) -> dict[str, str]:
    """``a>b``, ``a.port>b`` behind a splitter, ``a?true>b`` behind a condition."""
    source, target = text.split(">")
    if "?" in source:
        source, label = source.split("?")
        return {"from": source, "to": target, "condition": label}
    if "." in source:
        source, port = source.split(".")
        return {"from": source, "to": target, "port": port}
    return {"from": source, "to": target}


def config(stages: str, connections: str = "", **properties: dict[str, Any]) -> dict[str, Any]:
    """A configuration; ``properties`` are those of the stages, by stage name."""
    nodes = [
        stage(kind, name, **properties.get(name, {}))
        for kind, name in (each.split(":") for each in stages.split())
    ]
    return {"stages": nodes, "connections": [connection(each) for each in connections.split()]}


def pipeline(stages: str, connections: str = "", **properties: dict[str, Any]) -> PipelineDocument:
    return read_document(config(stages, connections, **properties))


def check(document: PipelineDocument) -> list[ValidationFailure]:
    """The structural failures of a document."""
    return check_structure(PipelineStructure(document))
