"""Every recipe of the real pipelines: read in whatever form, written and read again, its schemas followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.language import (
    ExpressionSource,
    Recipe,
    format_recipe,
    parse_recipe,
)
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    find_schema_mismatches,
    propagate,
    to_columns,
)
from localcdap.plugin_lib.wrangler.recipe.registry import load_shipped_directives
from tests.conftest import REPOSITORY

FOLDER = REPOSITORY.parent / "shared" / "corpus" / "pipelines"


def stages(node: Any) -> Iterator[dict[str, Any]]:
    """The Wrangler stages within a document: their properties, and the schema that comes in."""
    if isinstance(node, dict):
        plugin = node.get("plugin")
        if isinstance(plugin, dict) and plugin.get("name") == "Wrangler":
            yield {"input": node.get("inputSchema"), **plugin["properties"]}
            return
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from stages(each)


def recipes() -> list[Any]:
    found, seen = [], set()
    for file in sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else ():
        for stage in stages(json.loads(file.read_text(encoding="utf-8"))):
            text = stage.get("directives") or ""
            if text not in seen:
                seen.add(text)
                found.append(pytest.param(file, stage, id=f"{file.name}-{len(seen)}"))
    return found


def describe_call(recipe: Recipe) -> list[Any]:
    return [
        (
            c.name,
            {k: v.text if isinstance(v, ExpressionSource) else v for k, v in c.arguments.items()},
            c.macros,
        )
        for c in recipe.calls
    ]


@pytest.mark.parametrize(("file", "stage"), recipes())
def test_a_real_recipe_is_read_whole(file: Path, stage: dict[str, Any]):
    text = stage.get("directives") or ""
    found = load_recipe(text)

    assert [p.text for p in found.errors] == []
    directives = [
        line
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith(("//", "#", "${"))
    ]
    assert len(found.steps) + len(found.errors) == len(directives)


@pytest.mark.parametrize(("file", "stage"), recipes())
def test_a_real_recipe_is_written_and_read_again(file: Path, stage: dict[str, Any]):
    declared = load_shipped_directives().arguments
    recipe = parse_recipe(stage.get("directives") or "", declared)
    again = parse_recipe(format_recipe(recipe, declared), declared)

    assert again.errors == []
    assert describe_call(again) == describe_call(recipe)


@pytest.mark.parametrize(("file", "stage"), recipes())
def test_the_declared_schema_of_a_real_recipe_can_be_had(file: Path, stage: dict[str, Any]):
    found = load_recipe(stage.get("directives") or "")
    if not found.is_complete or found.errors or "${" in stage["schema"]:
        pytest.skip("only its run knows the recipe or its schema")
    declared = Schema.parse_record(stage["schema"])
    given = stage["input"]
    if isinstance(given, list):
        given = given[0]["schema"] if given else None
    propagated = propagate(found.steps, to_columns(Schema.parse(given) if given else None))

    assert [problem.text for problem in propagated.errors] == []
    assert [
        m.message for m in find_schema_mismatches(propagated.after, declared) if not m.is_warning
    ] == []
