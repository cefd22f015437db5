"""The properties of a stage that uses a connection."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from localcdap.api.config import PluginProperty
from localcdap.api.errors import NotFoundError
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.macros.evaluation import Evaluated, MacroContext, evaluate
from localcdap.pipeline.macros.parser import create_macro_functions

NAMES = ("useConnection", "connection", "host", "user", "query", "format")
DECLARED = {
    name: PluginProperty(
        name, "", "string", required=name == "host", macro_supported=name != "host"
    )
    for name in NAMES
}


def connection(name: str) -> Mapping[str, str]:
    if name != "shop":
        raise NotFoundError(f"There is no connection '{name}'.")
    return {
        "host": "db",
        "user": "ann",
        "port": "1",
        "useConnection": "false",
        "format": "csv",
    }


def evaluated(**properties: str) -> Evaluated:
    stage = StageUse("S", PluginUse("batchsource", "X", properties))
    context = MacroContext({"env": "shop"}, create_macro_functions(conn=connection))
    return evaluate(stage, DECLARED, context)


@pytest.mark.parametrize("name", ["${conn(shop)}", "${conn(${env})}"])
def test_what_it_knows_goes_before_what_the_stage_says(name: str):
    found = evaluated(useConnection="True", connection=name, user="${who}", query="SELECT 1")
    assert found.failures == []
    assert found.macros == []
    assert {name: found.properties.get(name) for name in ("host", "user", "query", "port")} == {
        "host": "db",
        "user": "ann",
        "query": "SELECT 1",
        "port": None,
    }
    assert found.properties["useConnection"] == "True"


def test_it_says_nothing_about_the_files_of_a_stage():
    found = evaluated(useConnection="true", connection="${conn(shop)}", format="json")
    assert found.properties["format"] == "json"


@pytest.mark.parametrize("uses", ["false", "", "${uses}"])
def test_a_stage_that_does_not_use_it_says_all_itself(uses: str):
    found = evaluated(useConnection=uses, connection="${conn(shop)}", user="bob")
    assert (found.properties["user"], found.properties.get("host")) == ("bob", None)


def test_what_is_required_may_come_from_one_that_is_not_known_yet():
    found = evaluated(useConnection="true", connection="${conn(${later})}", user="bob")
    assert sorted(found.macros) == ["connection", "host"]
    assert found.properties["user"] == "bob"


@pytest.mark.parametrize("text", ["", "[1]", "no json", '{"host": 1}'])
def test_what_is_no_connection_says_nothing(text: str):
    assert "host" not in evaluated(useConnection="true", connection=text).properties


def test_one_that_is_not_there_is_a_failure():
    (failure,) = evaluated(useConnection="true", connection="${conn(shap)}").failures
    assert failure.message == "There is no connection 'shap'."
