"""Every real pipeline is read, stored, and validated; a tally says what the shipped plugins make of them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.validation.plugins import IndexedPlugins, apply_repairs
from localcdap.pipeline.validation.resolution import resolve_pipeline
from localcdap.sandbox.stage_configuration import configure_stage
from tests.pipeline.pipelines import check
from tests.pipeline.shelf import Shelf, load_shipped


@pytest.fixture(scope="module")
def files(corpus: Path) -> list[Path]:
    found = sorted((corpus / "pipelines").glob("*.json"))
    assert len(found) == 156
    return found


@pytest.fixture(scope="module")
def shipped() -> Shelf:
    return load_shipped()


def test_every_file_is_read_and_kept(files):
    for file in files:
        text = file.read_text()
        document = read_document(text, file.name)
        assert document.stages, file.name
        assert document.problems == [], file.name
        assert json.dumps(document.source) == json.dumps(json.loads(text)), file.name
        assert document.text == text


def test_all_structures_are_sound_and_21_are_streaming(files):
    reported = {
        file.name: [failure.message for failure in check(read_document(file.read_text()))]
        for file in files
    }
    streaming = [name for name, found in reported.items() if any("Streaming" in m for m in found)]
    others = {
        message
        for found in reported.values()
        for message in found
        if not message.startswith("Streaming pipelines cannot be run here")
    }
    assert len(streaming) == 21
    assert others == set()


def test_tally_of_what_the_shipped_plugins_say(files, shipped):
    finder = IndexedPlugins(shipped, "default")
    tally: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    warnings: Counter[str] = Counter()
    lines: list[str] = []
    for file in files:
        document = read_document(file.read_text(), file.name)
        answer = resolve_pipeline(document, finder, configure_stage, use_suggested=True, warn=True)
        assert (answer.spec is None) == bool(answer.errors), file.name
        if document.type.name == "BATCH":
            fixed = read_document(apply_repairs(document, answer.repairs))
            again = resolve_pipeline(fixed, finder, configure_stage)
            assert [e.message for e in again.errors] == [e.message for e in answer.errors]
            assert again.repairs == []
        tally[_reason(answer)] += 1
        warnings.update(
            f"{warning.message} {warning.corrective_action}" for warning in answer.warnings
        )
        assert all(error.stage for error in answer.errors if error.type != "Invalid Pipeline")
        missing.update(
            f"{cause.attributes['pluginType']}:{cause.attributes['pluginName']}"
            for error in answer.errors
            if error.type == "Artifact Not Found"
            for cause in error.causes
        )
        if _reason(answer) == "other failures":
            lines.append(f"{file.name}: {[error.full_message for error in answer.errors]}")
    lines.append(f"{sum(tally.values())} pipelines: {dict(tally.most_common())}")
    lines.append(f"missing plugins: {dict(missing.most_common(25))}")
    lines += [f"{count} × {warning}" for warning, count in warnings.most_common(10)]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    assert sum(tally.values()) == len(files)


def _reason(answer) -> str:
    """Why a pipeline is not valid, in the order in which its user would have to go about it.

    Packages of the hub leave values for their user to fill in, such as the path of a source.
    """
    messages = [error.message for error in answer.errors]
    if not messages:
        return "valid"
    if any("Streaming pipelines" in message for message in messages):
        return "streaming"
    if any(error.type == "Artifact Not Found" for error in answer.errors):
        return "missing plugins"
    left_open = ("Required property", "Input schema of stage")
    return (
        "values to fill in" if all(m.startswith(left_open) for m in messages) else "other failures"
    )
