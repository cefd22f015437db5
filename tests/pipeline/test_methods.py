"""Methods of plugins: listed, called by name in the plugin worker, with errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError, PluginError
from localcdap.artifacts.model import ArtifactSelector
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.testing.instance import TemporaryInstance

SHELF = """
import os
import msgspec
from localcdap.api import BatchSink, PluginConfig, Schema, field, plugin, plugin_method
from localcdap.api.methods import MethodContext

class Ask(msgspec.Struct):
    database: str
    limit: int = 2

class Found(msgspec.Struct):
    tables: list[str]
    schema: Schema

@plugin(type="batchsink", name="Shelf", description="Has methods.")
class Shelf(BatchSink):
    class Config(PluginConfig):
        url: str = field("Where it is.", macro=True)
        port: int = field("Its port.", default=80)

    @plugin_method("list-tables", "The tables of a database.")
    def list_tables(self, request: Ask) -> Found:
        names = [f"{request.database}-{number}" for number in range(request.limit)]
        return Found(names, Schema.record("r", [("a", Schema.INT)]))

    @plugin_method("where")
    def where(self):
        return {"url": self.config.url, "port": self.config.port}

    @plugin_method("keeps")
    def keeps(self, context: MethodContext):
        return context.session_memory_mb

    @plugin_method("arguments")
    def arguments(self, context: MethodContext):
        return dict(context.arguments)

    @plugin_method("raises")
    def raises(self):
        return {}["nothing"]

    @plugin_method("exits")
    def exits(self):
        os._exit(3)

    @plugin_method("odd")
    def odd(self):
        return object()
"""
TWO = SHELF.replace('"where"', '"list-tables"').replace("Shelf", "Twice")

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    folder = tmp_path_factory.mktemp("instance")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "shelf-1.0.0.py").write_text(SHELF)
    (folder / "plugins" / "twice-1.0.0.py").write_text(TWO)
    (folder / "localcdap.toml").write_text("plugin.session_memory_mb = 7")
    with TemporaryInstance(folder) as instance:
        yield instance


@pytest.fixture(scope="module")
def call(instance: TemporaryInstance) -> Call:
    def call(method: str, request: Any = None, **properties: str) -> Any:
        plugin = MethodPlugin("batchsink", "Shelf", ArtifactSelector(None, "shelf"), properties)
        return instance.cdap.methods.call(
            MethodCall(plugin, method, request, arguments={"host": "db"})
        ).answer

    return call


def test_methods_are_listed_with_what_they_ask_for(instance: TemporaryInstance):
    found = instance.cdap.artifacts.get_plugin("default", "batchsink", "Shelf").methods

    assert [m.name for m in found] == [
        "arguments",
        "exits",
        "keeps",
        "list-tables",
        "odd",
        "raises",
        "where",
    ]
    assert found[3].description == "The tables of a database."
    assert found[3].request["$defs"]["Ask"]["required"] == ["database"]
    assert found[6].request is None


def test_a_request_is_converted_and_so_is_the_answer(call: Call):
    answer = call("list-tables", {"database": "sales"})

    assert answer["tables"] == ["sales-0", "sales-1"]
    assert answer["schema"]["fields"] == [{"name": "a", "type": "int"}]


def test_a_method_knows_how_much_it_may_keep(call: Call):
    assert call("keeps") == 7


def test_the_properties_that_are_filled_in_are_there_with_macros_expanded(call: Call):
    assert call("where") == {"url": None, "port": 80}
    assert call("where", url="http://${host}", port="8080") == {"url": "http://db", "port": 8080}
    assert call("where", url="${unknown}") == {"url": None, "port": 80}
    assert call("where", url="/${logicalStartTime(yyyy)}")["url"].startswith("/20")


def test_a_call_that_needs_all_values_tells_each_macro_without_one(instance: TemporaryInstance):
    plugin = MethodPlugin("batchsink", "Shelf", properties={"url": "${a}/${host}/${secure(k)}"})
    asked = MethodCall(plugin, "where", arguments={"host": "db"}, needs_values=True)
    with pytest.raises(BadRequestError) as caught:
        instance.cdap.methods.call(asked)
    first, second = caught.value.message.splitlines()
    assert first == "Argument 'a' is not defined."
    assert "'k'" in second


def test_a_method_knows_the_arguments_of_its_call(call: Call, instance: TemporaryInstance):
    level = PreferenceLevel("default")
    instance.cdap.preferences.update(level, {"colour": "red", "host": "other"})
    found = call("arguments")
    assert (found["host"], found["colour"]) == ("db", "red")
    assert int(found["logical.start.time"]) > 0


@pytest.mark.parametrize(
    ("request_", "reported"),
    [
        ({"database": "d", "limit": "x"}, "field 'limit': expected `int`, got `str`"),
        ({}, "missing required field `database`"),
        (7, "expected `object`, got `int`"),
    ],
)
def test_a_request_that_does_not_fit_names_the_field(call: Call, request_: Any, reported: str):
    with pytest.raises(BadRequestError) as caught:
        call("list-tables", request_)

    assert reported in caught.value.message
    assert caught.value.corrective_action == 'It must be {"database": string, "limit"?: integer}.'


def test_a_property_that_does_not_fit_is_reported(call: Call):
    with pytest.raises(BadRequestError, match="Property 'port' must be a whole number, not 'x'"):
        call("where", port="x")


def test_an_unknown_method_lists_those_that_there_are(call: Call):
    with pytest.raises(NotFoundError, match="no method 'tables'; it has: arguments, exits, keeps,"):
        call("tables")


def test_what_a_method_does_wrong_is_an_error_with_its_own_frames(call: Call):
    with pytest.raises(PluginError, match="Method 'raises' of plugin 'Shelf': KeyError") as caught:
        call("raises")
    assert caught.value.traceback[0].startswith("shelf-1.0.0.py:40 in raises: return {}")
    with pytest.raises(PluginError, match="ended its process with exit code 3"):
        call("exits")
    with pytest.raises(PluginError, match="Method 'odd' of plugin 'Shelf': TypeError"):
        call("odd")
    assert call("where")["port"] == 80


def test_two_methods_of_one_name_are_an_error_of_the_artifact(instance: TemporaryInstance):
    errors = {a.name: a.error for a in instance.cdap.artifacts.list_artifacts("default")}

    assert "plugin method 'list-tables' is defined twice" in str(errors["twice"])


@pytest.mark.parametrize("name", ["a/b", "", " ", "a\nb"])
def test_names_that_cannot_stand_in_a_path_are_refused(name: str):
    from localcdap.api import plugin_method

    with pytest.raises(TypeError, match="not a name of a plugin method"):
        plugin_method(name)


def test_the_program_prints_the_answer(instance: TemporaryInstance, capsys, tmp_path: Path):
    from localcdap.cli.main import run

    file = tmp_path / "request.json"
    file.write_text('{"database": "d", "limit": 1}')
    where = ["--home", str(instance.home.path)]

    assert run(["call", "batchsink", "Shelf", "list-tables", "--request", f"@{file}", *where]) == 0
    assert '"d-0"' in capsys.readouterr().out
    assert run(["call", "batchsink", "Shelf", "where", "-p", "url=u", *where]) == 0
    assert '"url": "u"' in capsys.readouterr().out
    assert run(["plugin", "batchsink", "Shelf", *where]) == 0
    assert "localcdap call batchsink Shelf list-tables" in capsys.readouterr().out
    assert run(["call", "batchsink", "Shelf", "where", "--request", "{", *where]) == 2
