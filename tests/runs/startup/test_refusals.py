"""Runs of plugins that are not capable of what the run's profile requires."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from localcdap.api.errors import IncapableError, InvalidPipelineError, NotFoundError
from localcdap.api.failures import ArtifactId
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import DebugRequest, GivenRecords, PreviewRequest
from localcdap.runs.startup.provisioners import (
    PREVIEW_REQUIRES,
    find_incapable_plugins,
    require_capabilities,
)
from tests.e2e.pipelines import json_sink, pipeline, stage
from tests.e2e.program import Program

PLUGINS = """
from localcdap.api import (
    BatchSource, Capabilities, ErrorTransform, Transform, capability, plugin, Schema,
)

ROW = Schema.record("row", [("n", Schema.INT)])


@plugin(type="batchsource", name="Numbers", description="Can run anywhere.")
class Numbers(BatchSource):
    def configure(self, stage):
        stage.output_schema = ROW

    def read(self, context):
        return context.spark.createDataFrame([(1,)], "n int")


@plugin(type="transform", name="Here", description="Runs on this machine only.")
@capability(Capabilities.Mode.NATIVE, "PII")
class Here(Transform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        emit(record)


@plugin(type="errortransform", name="Away", description="Runs on clusters only.")
@capability("remote")
class Away(ErrorTransform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, error, emit):
        emit(error.record)
"""
FAR = """
from localcdap.api import capability
from localcdap.api.directive import Directive, Row, RowContext, argument, plugin


@plugin(type="directive", name="far", description="Runs on clusters only.")
@capability("mode_cloud")
class Far(Directive):
    column: str = argument.column("Any column.")

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, "far")
"""
TEXT = json.dumps(
    {"type": "record", "name": "t", "fields": [{"name": "body", "type": ["string", "null"]}]}
)
SETTINGS = """
engine.directory = "spark"
[profiles.cluster]
remote = "sc://nowhere.invalid:1/;token=hidden"
[profiles.strict]
remote = "sc://nowhere.invalid:1"
required_capabilities = ["aws", "mode_native"]
[namespaces.default]
profile = "cluster"
"""


@pytest.fixture
def home(
    tmp_path: Path, fresh_home: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> Home:
    monkeypatch.delenv("LOCALCDAP_ENGINE_DIRECTORY", raising=False)
    folder = fresh_home(tmp_path / "home")
    (folder / "plugins").mkdir(parents=True)
    (folder / "plugins" / "capable-1.0.0.py").write_text(PLUGINS)
    (folder / "localcdap.toml").write_text(SETTINGS)
    return Home(folder)


def document(tmp_path: Path, middle: str = "Here"):
    stages = [
        stage("In", "batchsource", "Numbers", "capable"),
        stage("Middle", "transform", middle, "capable"),
        stage("Late", "errortransform", "Away", "capable"),
        json_sink("Out", tmp_path / "out"),
        json_sink("Bad", tmp_path / "bad"),
    ]
    for each in stages[:3]:
        each["plugin"]["artifact"]["scope"] = "USER"
    return pipeline(
        stages, ("In", "Middle"), ("Middle", "Out"), ("Middle", "Late"), ("Late", "Bad")
    )


def engine_processes() -> set[psutil.Process]:
    """What this process started for runs; the shared server may be among it."""
    found = set()
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # a process of another test that has just ended
            if "engine" in str(process.cmdline()):
                found.add(process)
    return found


def test_every_incapable_plugin_is_named_and_nothing_is_started(home: Home, tmp_path: Path):
    with open_in_process(home) as cdap:
        before = engine_processes()
        cluster = cdap.runs.start(RunRequest(document(tmp_path)))
        strict = cdap.runs.start(RunRequest(document(tmp_path), profile="strict"))
        native = cdap.runs.start(
            RunRequest(document(tmp_path), arguments={"system.profile.name": "SYSTEM:native"})
        )
        left = engine_processes() - before
        log = [line.text for line in cdap.runs.read_log(strict.run)]
        kept = cdap.runs.get("default", cluster.run)

    assert [run.status for run in (cluster, strict, native)] == [RunStatus.FAILED] * 3
    assert [run.profile for run in (cluster, strict, native)] == ["cluster", "strict", "native"]
    assert kept == cluster
    assert cluster.error
    assert cluster.error.message.splitlines() == [
        "The pipeline has 1 plugin that cannot run with profile 'cluster'; nothing was started:",
        (
            "stage 'Middle': plugin 'Here' of type 'transform' (capable 1.0.0) lacks mode_cloud, which "
            "profile 'cluster' requires."
        ),
    ]
    assert strict.error
    lines = strict.error.message.splitlines()
    lacking = {line.split(":")[0]: line.partition(" lacks ")[2] for line in lines[1:]}
    required = "which profile 'strict' requires."
    assert lacking == {
        "stage 'In'": f"aws, {required}",
        "stage 'Middle'": f"aws, {required}",
        "stage 'Late'": f"aws, mode_native, {required}",
        "stage 'Out'": f"aws, {required}",
        "stage 'Bad'": f"aws, {required}",
    }
    assert log == [*lines, strict.error.corrective_action]
    assert native.error
    assert "stage 'Late'" in native.error.message
    assert "stage 'Middle'" not in native.error.message
    assert not left
    assert not (home.path / "spark").exists()
    assert not list(home.runs.iterdir())
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_pipeline_from_before_a_requirement_fails_once_there_is_one(home: Home, tmp_path: Path):
    home.settings_file.write_text(SETTINGS + '[profiles.late]\nremote="sc://a"\n')
    with open_in_process(home) as cdap:
        before = cdap.runs.start(RunRequest(document(tmp_path), profile="late"))
    home.settings_file.write_text(
        SETTINGS + '[profiles.late]\nremote="sc://a"\nrequired_capabilities="gcp"'
    )
    with open_in_process(home) as cdap:
        after = cdap.runs.start(RunRequest(document(tmp_path), profile="late"))

    assert before.error
    assert "gcp" not in before.error.message
    assert after.error
    assert "stage 'In'" in after.error.message
    assert "lacks gcp" in after.error.message


@pytest.mark.slow
def test_a_hidden_plugin_is_not_found_and_never_incapable(home: Home, tmp_path: Path):
    home.settings_file.write_text("plugin.required.capabilities = 'mode_cloud'\n" + SETTINGS)
    with open_in_process(home) as cdap, pytest.raises(InvalidPipelineError) as caught:
        cdap.runs.start(RunRequest(document(tmp_path), profile="strict"))

    texts = [str(failure) for failure in caught.value.failures]
    assert any("Plugin named 'Here' of type 'transform' not found." in text for text in texts)
    assert not any("lacks" in text or "mode_cloud" in text for text in texts)


def wrangling(tmp_path: Path) -> dict:
    """A pipeline with the user-defined directive above."""
    (tmp_path / "in.txt").write_text("text\n")
    wrangle = {"field": "*", "directives": "far :body", "udd": "far", "schema": TEXT}
    stages = [
        stage(
            "Read",
            "batchsource",
            "File",
            path=str(tmp_path / "in.txt"),
            referenceName="r",
            format="text",
            schema=TEXT,
        ),
        stage("Wrangle", "transform", "Wrangler", "wrangler-transform", **wrangle),
        json_sink("Out", tmp_path / "out"),
    ]
    return pipeline(stages, ("Read", "Wrangle"), ("Wrangle", "Out"))


@pytest.mark.slow
def test_plugins_that_a_plugin_uses_count_for_its_stage(home: Home, tmp_path: Path):
    (home.path / "plugins" / "far-1.0.0.py").write_text(FAR)
    far = wrangling(tmp_path)
    lacks = (
        "stage 'Wrangle': plugin 'far' of type 'directive' (far 1.0.0), which plugin 'Wrangler' uses, lacks "
        "mode_native, which {} requires."
    )
    with open_in_process(home) as cdap:
        run = cdap.runs.start(RunRequest(far, profile="native"))
        preview = cdap.previews.start(PreviewRequest(far))
        while not preview.status.is_end:
            preview = cdap.previews.wait("default", preview.preview, preview.version, 1.0)
        with pytest.raises(IncapableError, match=re.escape(lacks.format("a debug run"))):
            cdap.debugging.debug(
                DebugRequest("Wrangle", [GivenRecords("Read", [{"body": "a"}])], document=far)
            )

    assert run.error
    assert lacks.format("profile 'native'") in run.error.message
    assert preview.error
    assert lacks.format("a preview") in preview.error.message
    assert not (home.path / "spark").exists()


@pytest.mark.slow
def test_a_deployed_pipeline_that_lost_a_plugin_leaves_a_failed_run_and_its_log(
    home: Home, tmp_path: Path
):
    deployed = document(tmp_path)
    request = RunRequest(deployed, application="people", application_version="1")
    home.settings_file.write_text(SETTINGS + "[plugin]\nrequired.capabilities = 'mode_cloud'\n")
    with open_in_process(home) as cdap:
        with pytest.raises(InvalidPipelineError):
            cdap.runs.start(request)
        (run,) = cdap.runs.list_runs("default")
        log = [line.text for line in cdap.runs.read_log(run.run)]
        with pytest.raises(InvalidPipelineError):  # of a file, which says all there is to say
            cdap.runs.start(RunRequest(deployed))
        runs = cdap.runs.list_runs("default")

    assert (run.pipeline, run.status, run.application_version) == ("people", RunStatus.FAILED, "1")
    assert "In" in run.stages
    assert run.error
    assert log == run.error.message.splitlines()
    assert log[0] == "The pipeline has 2 failures; nothing was started:"
    assert any("Plugin named 'Here' of type 'transform' not found." in line for line in log)
    assert "mode_cloud" not in run.error.message
    assert [each.run for each in runs] == [run.run]
    assert not list(home.runs.iterdir())


@pytest.mark.slow
def test_a_deployed_pipeline_keeps_the_artifacts_that_its_deployment_chose(
    home: Home, tmp_path: Path
):
    """The refusals of a profile name the artifacts with which the pipeline would run."""
    given = document(tmp_path)  # asks for any version from 1.0.0 on
    first, second = home.path / "plugins" / "capable-1.0.0.py", "capable-1.1.0.py"
    with open_in_process(home) as cdap:

        def deploy() -> RunRequest:
            made = cdap.applications.deploy(DeployRequest(given, name="people")).application
            assert made is not None
            return RunRequest(
                given, application="people", application_version=made.version, profile="strict"
            )

        def read_refusal(request: RunRequest) -> str:
            error = cdap.runs.start(request).error
            assert error is not None
            return error.message

        deployed = deploy()
        first.with_name(second).write_text(PLUGINS)
        cdap.artifacts.sync()
        kept = read_refusal(deployed)
        of_file = read_refusal(RunRequest(given, profile="strict"))
        redeployed = deploy()
        fresh = read_refusal(redeployed)
        first.unlink()
        cdap.artifacts.sync()
        with pytest.raises(InvalidPipelineError) as caught:
            cdap.runs.start(deployed)
        (failed, *_) = cdap.runs.list_runs("default")
        repaired = cdap.runs.start(msgspec.structs.replace(deployed, use_suggested=True))
        still = read_refusal(redeployed)

    assert "(capable 1.0.0)" in kept
    assert "(capable 1.1.0)" not in kept
    assert "(capable 1.1.0)" in of_file
    assert of_file == fresh == still
    assert len(caught.value.failures) == 3
    for each in caught.value.failures:
        assert "The pipeline asks for artifact capable 1.0.0 (USER)." in each["message"]
        assert "Deploy the pipeline again" in each["correctiveAction"]
        assert "localcdap export people --output" in each["correctiveAction"]
    assert (failed.status, failed.application_version) == (
        RunStatus.FAILED,
        deployed.application_version,
    )
    assert {each.stage for each in repaired.repairs} == {"In", "Middle", "Late"}


@pytest.mark.slow
def test_a_deployed_pipeline_keeps_the_plugins_that_its_plugins_use(home: Home, tmp_path: Path):
    first = home.path / "plugins" / "far-1.0.0.py"
    first.write_text(FAR)
    given = wrangling(tmp_path)
    with open_in_process(home) as cdap:
        made = cdap.applications.deploy(DeployRequest(given, name="wrangling")).application
        assert made is not None
        first.with_name("far-1.1.0.py").write_text(FAR)
        cdap.artifacts.sync()
        deployed = RunRequest(given, application="wrangling", application_version=made.version)
        errors = [
            cdap.runs.start(msgspec.structs.replace(each, profile="native")).error
            for each in (deployed, RunRequest(given))
        ]

    kept, of_file = [each.message if each else "" for each in errors]
    assert "(far 1.0.0)" in kept
    assert "(far 1.1.0)" in of_file


@pytest.mark.slow
def test_a_profile_that_is_not_there(home: Home, tmp_path: Path):
    with open_in_process(home) as cdap:
        with pytest.raises(NotFoundError, match="native, cluster, strict"):
            cdap.runs.start(RunRequest(document(tmp_path), profile="x"))
        assert not cdap.runs.list_runs("default")


@pytest.mark.slow
def test_the_command_line_prints_the_refusal_and_lists_profiles(home: Home, tmp_path: Path):
    program = Program(home.path, {"LOCALCDAP_ENGINE_DIRECTORY": str(home.path / "spark")})
    file = tmp_path / "p.json"
    file.write_text(json.dumps(document(tmp_path)))

    shown = program("run", str(file))
    as_json = program("run", str(file), "--profile", "strict", "--json")
    runs = program("runs")
    profiles = program("profiles", "--json")
    everything = [shown, as_json, runs, profiles, program("profiles")]
    log = program("logs", "last")

    assert shown.code == as_json.code == 1
    assert "stage 'Middle': plugin 'Here'" in shown.out
    assert (as_json.json["status"], as_json.json["profile"]) == ("FAILED", "strict")
    assert "lacks aws" in as_json.json["error"]["message"]
    assert "lacks aws" in log.out
    assert [line.split()[2] for line in runs.out.splitlines()[1:]] == ["strict", "cluster"]
    assert [(p["name"], p["default"]) for p in profiles.json] == [
        ("native", False),
        ("cluster", True),
        ("strict", False),
    ]
    assert not any("hidden" in answer.out + answer.err for answer in everything)
    assert not (home.path / "spark").exists()


@pytest.mark.slow
def test_the_doctor_asks_clusters_and_shows_no_secret(home: Home):
    answer = Program(home.path, {})("doctor")

    assert answer.code == 1
    for name in ("cluster", "strict"):
        assert f"profile {name}" in answer.out
    assert "sc://nowhere.invalid:1 cannot be used" in answer.out
    assert "hidden" not in answer.out + answer.err


def test_what_a_preview_requires():
    def ref(name: str) -> PluginRef:
        return PluginRef(ArtifactId("a", "1.0.0", "USER"), "", "", "transform", name, "m.C")

    capable = {"here": ["mode_native"], "away": ["mode_cloud"], "none": []}
    plugins = {f"stage {name}": ref(name) for name in capable}

    found = find_incapable_plugins(plugins, lambda plugin: capable[plugin.name], PREVIEW_REQUIRES)
    assert [(each.stage, each.lacking) for each in found] == [
        ("stage away", ["mode_native"]),
        ("stage none", ["mode_native"]),
    ]
    with pytest.raises(IncapableError, match="which a preview requires"):
        require_capabilities(
            plugins, lambda plugin: capable[plugin.name], PREVIEW_REQUIRES, "a preview"
        )
    assert not find_incapable_plugins(plugins, lambda _: [], CapabilityRequirement())


@pytest.mark.slow
def test_a_preference_yields_to_a_runtime_argument(home: Home, tmp_path: Path):
    with open_in_process(home) as cdap:
        cdap.preferences.replace(
            PreferenceLevel("default"), {"system.profile.name": "SYSTEM:strict"}
        )
        defaults = [p.name for p in cdap.runs.list_profiles("default") if p.is_default]
        preferred = cdap.runs.start(RunRequest(document(tmp_path)))
        asked = cdap.runs.start(RunRequest(document(tmp_path), profile="native"))

    assert defaults == ["strict"]
    assert (preferred.profile, asked.profile) == ("strict", "native")
