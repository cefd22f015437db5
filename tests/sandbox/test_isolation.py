"""Artifacts that change what all plugins use. No later stage is falsified, neither theirs nor another's."""

from __future__ import annotations

import contextlib

import pytest

from localcdap.processes.limits import IS_LINUX
from localcdap.sandbox.pool import PluginWorker, ProcessPool
from localcdap.sandbox.process import ForkingLauncher, ProcessLauncher
from tests.sandbox.conftest import MEMORY_MB

LAUNCHERS = (
    {"forked": ForkingLauncher, "started": ProcessLauncher}
    if IS_LINUX
    else {"started": ProcessLauncher}
)
HONEST = """
import json, colorsys, importlib
words = [sorted([2, 1]), self.config.column, colorsys.__doc__[:10], len(stage.input_schemas)]
stage.failures.add(json.dumps(words))
stage.failures.add(importlib.import_module("wave").__name__)
"""
ANSWER = ['[[1, 2], "{column}", "Conversion", 0]', "wave"]
ATTACKS = {
    "configure_stage": """
import localcdap.sandbox.stage_configuration as module, localcdap.sandbox.worker as worker
module.configure_stage = worker.configure_stage = lambda *given: module.ConfigureResult([])
""",
    "run_job": "import localcdap.sandbox.worker as w, os; w.run_job = lambda *given: os._exit(5)",
    "code": """
import localcdap.sandbox.stage_configuration as module
def nothing(request, find_table=None): return ConfigureResult([])
module.configure_stage.__code__ = nothing.__code__
""",
    "properties": """
build = PluginConfig.build.__func__
PluginConfig.build = classmethod(lambda c, p, *more: build(c, {**p, "column": "false"}, *more))
""",
    "failures": """
from localcdap.api.failures import FailureCollector
add = FailureCollector.add
FailureCollector.add = lambda self, message, *more: add(self, "false", *more)
""",
    "hidden function": """
import localcdap.sandbox.stage_configuration as module
module.isinstance = lambda *given: 1 / 0
""",
    "constant": "import localcdap.rpc.frames as f; f._KNOWN['PluginError'] = str",
    "meta_path": """
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("colorsys", "wave"): raise ImportError("false")
sys.meta_path.insert(0, Finder)
""",
    "no meta_path": "sys.meta_path.clear()",
    "other meta_path": "sys.meta_path = []",
    "path_hooks": "sys.path_hooks.clear(); sys.path_importer_cache.clear()",
    "json": "import json; json.dumps = lambda *given: 'false'",
    "JSONEncoder": """
import json
json.JSONEncoder.encode = json.encoder.JSONEncoder.iterencode = lambda *given: 'false'
""",
    "builtins": "import builtins; builtins.sorted = lambda *given: ['false']",
    "import_module": "import importlib; importlib.import_module = lambda *given: sys",
    "modules": "sys.modules['colorsys'] = sys.modules['wave'] = sys",
    "artifacts": """
for name, module in list(sys.modules.items()):
    if name.startswith("localcdap_artifact_") and hasattr(module, "P"):
        module.P.configure = lambda self, stage: stage.failures.add("false")
""",
}
UNNOTICED = ("modules", "artifacts")
"""An artifact does this to itself only: it replaces modules that only it has loaded, or its own."""
FAILING = ("hidden function",)
"""The code of localcdap fails at once, which is remembered for a minute, as a crash is."""
WARNED = tuple(attack for attack in ATTACKS if attack not in UNNOTICED)


@pytest.fixture(scope="module", params=LAUNCHERS)
def worker(request):
    processes = ProcessPool(MEMORY_MB, LAUNCHERS[request.param]())
    with contextlib.closing(processes):
        yield PluginWorker(60, processes=processes)


def answer(worker, request_of, column, body=HONEST, name="honest"):
    request = request_of(body, name=name, properties={"column": column})
    return [failure.message for failure in worker.configure(request).failures]


def expected(column):
    return [line.format(column=column) for line in ANSWER]


@pytest.mark.parametrize("attack", ATTACKS)
def test_other_artifact_gives_its_own_answer(worker, request_of, attack):
    assert answer(worker, request_of, "before") == expected("before")

    worker.configure(request_of(ATTACKS[attack], name="attack"))

    assert answer(worker, request_of, f"after {attack}") == expected(f"after {attack}")
    assert answer(worker, request_of, "new", name=f"new{len(attack)}") == expected("new")


@pytest.mark.parametrize("attack", WARNED)
def test_same_artifact_gives_its_own_answer(worker, request_of, attack):
    lines = "\n".join(f"    {line}" for line in ATTACKS[attack].strip().splitlines())
    body = f"if self.config.column == 'attack':\n{lines}\n    return\n{HONEST}"
    assert answer(worker, request_of, "before", body) == expected("before")

    result = worker.configure(request_of(body, properties={"column": "attack"}))

    reported = [each.message for each in (*result.failures, *result.warnings)]
    assert any("changed its process, which was replaced" in each for each in reported) or any(
        "made the code of localcdap in its process fail: it replaced" in each for each in reported
    )
    assert answer(worker, request_of, "after", body) == expected("after")


@pytest.mark.slow
@pytest.mark.parametrize("attack", WARNED)
def test_answer_of_damaged_process_is_not_remembered(worker, request_of, tmp_path, attack):
    calls = tmp_path / "calls"
    body = f"with open({str(calls)!r}, 'a') as file: file.write('x')\n{ATTACKS[attack]}"
    for _ in range(2):
        worker.configure(request_of(body, name="attack"))

    assert calls.read_text() == ("x" if attack in FAILING else "xx")


def test_inspection_is_not_changed_by_another_artifact(worker, request_of):
    attack = (
        "import localcdap.artifacts.inspection as i; i.find_plugin_classes = lambda module: []\n"
    )
    attack += "Plugin.__init_subclass__ = classmethod(lambda *given: 1 / 0)\n"
    evil = request_of(at_import=attack, name="evil").plugin
    worker.inspect(evil.path, evil.digest)

    good = request_of(name="good").plugin

    assert [each.name for each in worker.inspect(good.path, good.digest).plugins] == ["P"]


def test_ordinary_plugins_leave_no_damage(worker, request_of):
    body = """
import tempfile, decimal, datetime, json, logging, uuid, random, re, pandas, pyarrow
from localcdap.plugin_lib.jexl import functions
import localcdap.java
tempfile.gettempdir(); datetime.datetime.strptime('2026', '%Y'); re.compile('a+b')
decimal.getcontext().prec = 50
logging.getLogger('x').warning('y')
"""
    for column in "abc":
        result = worker.configure(request_of(body, properties={"column": column}))
        assert (result.failures, result.warnings) == ([], [])


def test_used_artifact_runs_with_the_one_that_uses_it_only(worker, request_of, tmp_path):
    """The memo and the process of a stage depend on the artifacts that it uses."""
    import msgspec

    used = [
        request_of(f"stage.failures.add('{word}')", name=f"used{word}").plugin
        for word in ("one", "two")
    ]
    body = "stage.find_plugin('transform', 'P')(None).configure(stage)"
    answers = []
    for ref in (*used, used[0]):
        request = request_of(body, name="user")
        plugin = msgspec.structs.replace(request.plugin, uses=(ref,))
        answers.append(worker.configure(msgspec.structs.replace(request, plugin=plugin)))
    assert [each.failures[0].message for each in answers] == ["one", "two", "one"]
