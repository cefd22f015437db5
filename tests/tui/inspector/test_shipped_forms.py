"""The form of every shipped plugin: it renders, loses nothing, and gives back what is put into it."""

from __future__ import annotations

import pytest

from localcdap.pipeline.document.values import as_properties
from tests.tui.inspector.bench import inspecting


def value_of(declared) -> str:
    """A text for a property, of the form that the form reads."""
    if declared.choices:
        return declared.choices[-1]
    match declared.type:
        case "boolean":
            return "true"
        case "long" | "int":
            return "7"
        case "double" | "float":
            return "0.5"
        case "schema":
            return '{"type":"record","name":"r","fields":[{"name":"f","type":["int","null"]}]}'
        case "list":
            return "a,b"
    return "a:b" if declared.form and ":" in declared.form else "a text"


@pytest.mark.slow
async def test_every_form_renders_and_gives_back_what_is_put_in(cdap, home):
    plugins = [
        (info, {name: value_of(each) for name, each in info.properties.items()})
        for artifact in cdap.artifacts.list_artifacts("default")
        for plugin in artifact.plugins
        for info in [cdap.artifacts.get_plugin("default", plugin.type, plugin.name)]
    ]
    assert len(plugins) > 20
    stages = [
        {
            "name": f"{info.type} {info.name}",
            "plugin": {"type": info.type, "name": info.name, "properties": properties},
        }
        for info, properties in plugins
    ]
    document = {"name": "all", "config": {"stages": stages, "connections": []}}
    async with inspecting(cdap, home, document) as b:
        before = b.editor.to_text()
        for info, properties in plugins:
            stage = f"{info.type} {info.name}"
            b.editor.select(stage)
            await b.driver.settled()
            fields = b.form.fields
            assert sorted(fields) == sorted(info.properties), stage
            for name, field in fields.items():
                assert as_properties({name: properties[name]})[name] == field.text
                assert field.control.problem is None
                shown = field.control.value_text
                assert shown.replace(" ", "") == properties[name].replace(" ", ""), (stage, name)
            b.inspector.flush()
        assert b.editor.to_text() == before
