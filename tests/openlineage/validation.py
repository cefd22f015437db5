"""Checks events against the schema files of the standard.

``spec`` holds those of the OpenLineage repository, unchanged (``spec/OpenLineage.json`` and ``spec/facets``,
commit 8f02abfb7a25), under the Apache License 2.0: see its files LICENSE and NOTICE.txt.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

SPEC = Path(__file__).parent / "spec"


@functools.cache
def read_registry() -> jsonschema_rs.Registry:
    documents = [json.loads(file.read_bytes()) for file in SPEC.rglob("*.json")]
    return jsonschema_rs.Registry([(each["$id"], each) for each in documents])


@functools.cache
def get_validator(url: str) -> Any:
    return jsonschema_rs.Draft202012Validator(
        {"$ref": url}, registry=read_registry(), validate_formats=True
    )


def list_facets(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    parts = [event.get("run", {}), event["job"], *event["inputs"], *event["outputs"]]
    for part in parts:
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from part.get(kind, {}).items()


def check_event(event: dict[str, Any]) -> None:
    """Check an event, and each facet by the schema that it names, under the key that the schema gives it."""
    assert event["schemaURL"].startswith(
        "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
    )
    get_validator(event["schemaURL"]).validate(event)
    get_validator("https://openlineage.io/spec/2-0-2/OpenLineage.json").validate(event)
    for key, facet in list_facets(event):
        get_validator(facet["_schemaURL"]).validate(facet)
        document = facet["_schemaURL"].partition("#")[0]
        get_validator(document).validate({key: facet})
        assert (
            key
            in json.loads((SPEC / "facets" / document.rpartition("/")[2]).read_bytes())[
                "properties"
            ]
        )


def read_events(file: Path) -> list[dict[str, Any]]:
    """The events of a file, each checked; a last line that is being written is left out."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    events = [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
    for event in events:
        check_event(event)
    return events


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
