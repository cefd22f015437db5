"""Every property that a plugin of CDAP has is known to the plugin of the same name here.

``original_properties.json`` was read in the sources of CDAP's plugins. For each plugin it has the files, and
for each property whether it is supported, has no effect here, or is refused with a reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.artifacts.loading import load_plugin
from tests.pipeline.shelf import Shelf, load_shipped

ORIGINAL: dict[str, Any] = json.loads(
    (Path(__file__).parent / "original_properties.json").read_text(encoding="utf-8")
)
TELLS_OF_NO_EFFECT = (
    *("without effect", "no effect", "ignored here", "not used here"),
    *("not read here", "not loaded here", "is always 'part'"),
)


@pytest.fixture(scope="module")
def shipped() -> Shelf:
    return load_shipped()


def test_every_shipped_plugin_is_listed(shipped: Shelf):
    assert {f"{each.ref.type} {each.ref.name}" for each in shipped.candidates} == set(ORIGINAL)


def test_every_plugin_without_a_source_has_a_reason():
    assert all(entry["sources"] or entry["note"] for entry in ORIGINAL.values())


def test_no_property_of_an_original_is_unknown(shipped: Shelf):
    for each in shipped.candidates:
        declared = load_plugin(each.ref).Config.get_fields()
        for name, state in ORIGINAL[f"{each.ref.type} {each.ref.name}"]["properties"].items():
            where = f"{each.ref.type} {each.ref.name}: {name}"
            assert name in declared, where
            reported = f"{declared[name].description} {declared[name].group}".lower()
            kind, _, reason = state.partition(": ")
            assert kind in ("supported", "without effect", "refused"), where
            assert (kind == "refused") == bool(reason), where
            if kind == "without effect":
                assert any(words in reported for words in TELLS_OF_NO_EFFECT), where
            if kind == "refused":
                assert "must be" in reported or "only" in reported, where
