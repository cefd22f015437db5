"""Connected checks: made when asked for, kept with their time, and taken over on request only."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from localcdap.api.locations import Locations
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.pipeline.service import PipelineRequest, StageRequest, StudioService
from tests.pipeline.editing.sessions import Bench, InProcess
from tests.pipeline.pipelines import config
from tests.pipeline.shelf import create_resolver


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fields").write_text("a b")
    return tmp_path


@pytest.fixture
def locations(folder: Path) -> Locations:
    return Locations({}, str(folder))


@pytest.fixture
def studio(locations: Locations) -> StudioService:
    workers = InProcess()
    return StudioService(
        create_resolver(None, workers.configure, workers.find_connected, locations=locations)
    )


def looking() -> dict:
    document = config("source:s transform:t sink:z", "s>t t>z", s={"path": "fields"})
    document["stages"][0]["plugin"]["name"] = "Looking"
    return document


def fields(answer) -> list[str] | None:
    schema = answer.spec.stages[0].output_schema
    return schema and schema.field_names


def test_validation_is_pure_unless_it_is_asked_to_look(studio, folder):
    assert fields(studio.validate_pipeline(PipelineRequest(looking()))) is None
    before_ms = time.time() * 1000 - 1
    answer = studio.validate_pipeline(PipelineRequest(looking(), connected=True))
    assert fields(answer) == ["a", "b"]
    assert answer.spec.stages[2].input_schemas["t"].field_names == ["a", "b"]
    assert before_ms <= answer.detected["s"] <= time.time() * 1000
    again = studio.validate_pipeline(PipelineRequest(looking()))
    assert (fields(again), again.detected) == (None, {})


def test_what_was_found_can_be_taken_over_until_something_is_different(studio, folder):
    found = studio.validate_pipeline(PipelineRequest(looking(), connected=True))
    (folder / "fields").write_text("c")
    taken = studio.validate_pipeline(PipelineRequest(looking(), detected=True))
    assert fields(taken) == ["a", "b"]
    assert taken.detected == found.detected
    later = studio.validate_pipeline(PipelineRequest(looking(), connected=True, detected=True))
    assert fields(later) == ["c"]
    other = looking()
    other["stages"][0]["plugin"]["properties"]["path"] = "./fields"
    assert fields(studio.validate_pipeline(PipelineRequest(other, detected=True))) is None


def test_a_stage_is_looked_at_alone(studio):
    node = looking()["stages"][0]
    assert studio.validate_stage(StageRequest(node)).spec.output_schema is None
    answer = studio.validate_stage(StageRequest(node, connected=True))
    assert answer.spec.output_schema.field_names == ["a", "b"]
    kept = studio.validate_stage(StageRequest(node, detected=True))
    assert kept.detected == answer.detected != {}
    assert studio.validate_pipeline_stage(
        PipelineRequest(looking(), detected=True), "s"
    ).detected == {"s": kept.detected["s"]}


@pytest.mark.slow
def test_a_session_shows_what_was_detected_and_when(locations, folder):
    bench = Bench(looking(), locations=locations)
    before = bench.stages["s"]
    assert before.output_schema is None
    assert before.detected_ms is None
    bench.service.detect(bench.id)
    bench.wait()
    assert bench.stages["s"].output_schema.field_names == ["a", "b"]
    first = bench.stages["s"].detected_ms
    assert first is not None
    assert bench.stages["z"].input_schemas["t"].field_names == ["a", "b"]
    bench.apply(SetProperty("t", "field", "a"))
    assert bench.last.valid
    bench.apply(SetProperty("s", "path", "none"))
    before = bench.stages["s"]
    assert before.output_schema is None
    assert before.detected_ms is None
    bench.service.detect(bench.id, ["s"])
    bench.wait()
    assert [f.message for f in bench.stages["s"].errors] == ["There is no such file."]
    bench.apply(SetProperty("s", "path", "fields"))
    assert bench.stages["s"].detected_ms == first
    (folder / "fields").write_text("c")
    time.sleep(0.002)
    bench.service.detect(bench.id, ["s"])
    bench.wait()
    assert bench.stages["s"].output_schema.field_names == ["c"]
    assert bench.stages["s"].detected_ms > first
    assert [f.field for f in bench.stages["t"].errors] == ["field"]


def listed(folder: Path, *names: str) -> dict:
    """A transform whose check needs both a file and the schema that the check of its source finds."""
    (folder / "listed").write_text(" ".join(names))
    document = looking()
    document["stages"][1]["plugin"] |= {"name": "Listed", "properties": {"path": "listed"}}
    return document


def test_checks_are_made_with_the_schemas_that_other_checks_found(locations, folder):
    bench = Bench(listed(folder, "a", "z"), locations=locations)
    bench.service.detect(bench.id)
    bench.wait()
    assert bench.messages()[:1] == ["The input has no field 'z'."]
    (folder / "listed").write_text("a")
    bench.service.detect(bench.id)
    bench.wait()
    assert bench.last.valid or bench.messages() == []
    assert bench.stages["t"].detected_ms is not None

    calls = len(bench.workers.calls)
    bench.apply(
        SetProperty("z", "path", "/else")
    )  # an edit ends it: nothing is looked at by itself
    assert bench.stages["s"].detected_ms is not None
    assert bench.workers.calls[calls:] == ["z"]


def test_a_run_is_not_refused_for_schemas_that_it_finds(locations, folder):
    def resolve_for_run(document: dict):
        resolver = create_resolver(None, locations=locations)
        environment = resolver.environments.create("default")
        return resolver.resolve_for_run(read_document(document), environment, {})

    found = resolve_for_run(listed(folder, "a"))
    assert found.errors == []
    assert found.spec.stages[1].output_schema.field_names == ["a", "b"]
    refused = resolve_for_run(listed(folder, "a", "z"))
    assert refused.errors[0].message == "The input has no field 'z'."
