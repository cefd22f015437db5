"""A process parses and builds a recipe once for all configurations, checks, samples and runs of a stage."""

from __future__ import annotations

from collections import Counter

import pytest
from wrangler_transform.wrangler import Wrangler

from localcdap.api import Schema
from localcdap.plugin_lib.wrangler.recipe import builder
from localcdap.testing import StageTester
from tests.plugins.wrangler.test_methods import ask
from tests.plugins.wrangler.test_runs import GIVEN, PEOPLE, Ran, recipe


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """Counts the calls of the parser and of the builder of directives, which work as ever."""
    counted: Counter[str] = Counter()

    def count(name):
        real = getattr(builder, name)

        def counting(*given, **named):
            counted[name] += 1
            return real(*given, **named)

        monkeypatch.setattr(builder, name, counting)

    count("parse_recipe")
    count("build_step")
    builder._build_recipe.cache_clear()
    return counted


def test_configure_checks_and_samples_share_one_recipe(calls):
    properties = {"field": "*", "directives": "rename name who\nuppercase :who"}
    for schema in (PEOPLE, Schema.record("other", [("name", Schema.STRING)])):
        assert StageTester(Wrangler, properties, schema).problems == []
    assert ask("check", {"recipe": properties["directives"]})["problems"] == []
    assert ask("propose-schema", {"schema": str(PEOPLE), "records": GIVEN}, **properties)["records"]

    assert calls == {"parse_recipe": 1, "build_step": 2}


@pytest.mark.spark
def test_a_run_and_its_explanation_parse_a_recipe_once(calls, spark, tmp_path):
    ran = Ran(
        spark, tmp_path, recipe("rename name who", "uppercase :who", **{"on-error": "skip-error"})
    )

    assert ran.lines == ["native  rename name who", "native  uppercase :who"]
    assert calls == {"parse_recipe": 1, "build_step": 2}
