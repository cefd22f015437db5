from __future__ import annotations

from pathlib import Path

from localcdap.api.capability import SYSTEM_CAPABILITIES
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.inspection import inspect_artifact
from tests.artifacts.authoring import project, source, write


def inspect(path: Path):
    return inspect_artifact(str(path), compute_digest(path))


def errors_of(tmp_path: Path, text: str) -> list[str]:
    return inspect(write(tmp_path / "thing-1.0.0.py", text)).errors


def test_everything_about_a_plugin(tmp_path):
    found = inspect(write(tmp_path / "my-hasher-1.0.0.py", source()))

    assert found.errors == []
    (plugin,) = found.plugins
    assert (plugin.type, plugin.name, plugin.description) == (
        "transform",
        "Hasher",
        "Hashes fields.",
    )
    assert plugin.class_name == "my_hasher.Hasher"
    assert plugin.capabilities == sorted(SYSTEM_CAPABILITIES)
    assert plugin.grain == "record"
    fields, kind = plugin.properties
    assert (fields.name, fields.type, fields.required, fields.macro_supported) == (
        "fields",
        "list",
        True,
        True,
    )
    assert (kind.default, kind.choices) == ("MD5", ["MD5", "SHA256"])


def test_declared_capabilities_replace_the_default_ones_and_add_up(tmp_path):
    text = source().replace(
        "@plugin", '@capability("NATIVE")\n@capability("Spark_2", "PII", "mode_native")\n@plugin'
    )

    (plugin,) = inspect(write(tmp_path / "hasher-1.0.0.py", text)).plugins

    assert plugin.capabilities == ["mode_native", "pii", "spark_2"]


def test_exception_at_import(tmp_path):
    assert errors_of(tmp_path, "\nx = [][1]\n") == [
        "thing-1.0.0.py:2: IndexError: list index out of range"
    ]


def test_exit_at_import(tmp_path):
    assert errors_of(tmp_path, "raise SystemExit(3)") == ["thing-1.0.0.py:1: SystemExit: 3"]


def test_syntax_error(tmp_path):
    (error,) = errors_of(tmp_path, "x = 1\ndef f(:\n")

    assert error.startswith("thing-1.0.0.py:2: SyntaxError: ")


def test_missing_dependency_comes_with_its_install_line(tmp_path):
    for module, package in (
        ("nowhere_to_be_found", "nowhere_to_be_found"),
        ("skimage.nothing", "scikit-image"),
        ("google.cloud.big_query_x", "google-cloud-"),
    ):
        (error,) = errors_of(tmp_path, f"import {module}\n")
        assert error.startswith("thing-1.0.0.py:1: ModuleNotFoundError: ")
        assert f"pip install {package}" in error


def test_missing_dependency_that_is_declared_comes_with_its_bounds(tmp_path):
    code = "import nowhere_to_be_found\n"
    needs = "'other', 'Nowhere.to-be_found[fast]>=1.4,<2; python_version > \"3\"'"
    folder = project(tmp_path / "a", "a", "1.0.0", {"a.py": code})
    (folder / "pyproject.toml").open("a").write(f"dependencies = [{needs}]\n")
    file = write(
        tmp_path / "a-1.0.0.py", f"# /// script\n# dependencies = [{needs}]\n# ///\n{code}"
    )
    unpacked = tmp_path / "a-1.0"
    write(unpacked / "a.py", code)
    metadata = "Name: a\nRequires-Dist: other\nRequires-Dist: nowhere-to-be-found<2\n"
    write(unpacked / "a-1.0.dist-info" / "METADATA", metadata)

    for path, command in (
        (folder, "pip install 'Nowhere.to-be_found[fast]>=1.4,<2'"),
        (file, "pip install 'Nowhere.to-be_found[fast]>=1.4,<2'"),
        (unpacked, "pip install 'nowhere-to-be-found<2'"),
    ):
        (error,) = inspect(path).errors
        assert error.endswith(command)


def test_missing_own_module_is_nothing_to_install(tmp_path):
    path = project(
        tmp_path / "a", "a", "1.0.0", {"p/__init__.py": "", "p/x.py": "from .absent import y\n"}
    )

    (error,) = inspect(path).errors

    assert error == (
        "p/x.py:1: ModuleNotFoundError: No module named 'p.absent'. "
        "The artifact has no such module."
    )


def test_clashing_names_name_both_classes(tmp_path):
    path = project(
        tmp_path / "a",
        "a",
        "1.0.0",
        {"p/__init__.py": "", "p/x.py": source(), "p/y.py": source()},
    )

    (error,) = inspect(path).errors

    assert error == (
        "Plugin 'Hasher' of type 'transform' is defined 2 times: "
        "p.x.Hasher (p/x.py:4), p.y.Hasher (p/y.py:4)."
    )


def test_unsupported_type_of_a_property_says_where(tmp_path):
    (error,) = errors_of(tmp_path, source().replace("fields: list[str]", "fields: dict[str, int]"))

    assert error.startswith(
        "thing-1.0.0.py:6: class Hasher.Config: field 'fields' has the unsupported type dict[str, int]; use"
    )


def test_config_that_is_no_config(tmp_path):
    (error,) = errors_of(tmp_path, source().replace("Config(PluginConfig)", "Config"))

    assert "thing-1.0.0.py:4: class Hasher: TypeError: Config must be a class" in error


def test_all_problems_are_reported_and_good_plugins_too(tmp_path):
    path = project(
        tmp_path / "a",
        "a",
        "1.0.0",
        {
            "p/__init__.py": "",
            "p/a.py": "1/0",
            "p/b.py": source(),
            "p/c.py": "import nowhere_to_be_found\n",
        },
    )

    found = inspect(path)

    assert [plugin.name for plugin in found.plugins] == ["Hasher"]
    assert [error.partition(":")[0] for error in found.errors] == ["p/a.py", "p/c.py"]


def test_artifact_without_plugins(tmp_path):
    (error,) = errors_of(tmp_path, "x = 1\n")

    assert error.startswith("thing-1.0.0.py defines no plugin: decorate a class with @plugin")


APPLICATION = """
from localcdap.api.app import *

class Service(SystemService):
    tables = [namespaced_table("things", fields={{"id": FieldType.LONG}}, primary_key=["id"])]

    @get("/contexts/{{context}}/things/{{id}}")
    def read(self, context: NamespaceSummary, id: int, deep: bool = False) -> str:
        "Read one."

class Listener(SystemEventListener):
    name = "things"
    events = ({events})

@application(name="things", description="Keeps things.")
class Things(SystemApplication):
    services = [Service]
    listeners = [Listener]
"""


def test_an_artifact_may_hold_applications_beside_plugins(tmp_path):
    text = source() + APPLICATION.format(events="EntityDeleted,")
    found = inspect(write(tmp_path / "thing-1.0.0.py", text))

    assert (found.errors, [each.name for each in found.plugins]) == ([], ["Hasher"])
    (app,) = found.applications
    assert (app.name, app.class_name) == ("things", "thing.Things")
    (service,) = app.services
    (route,) = service.routes
    assert (route.method, route.namespaced, route.query) == ("GET", ["context"], ["deep"])
    assert route.description == "Read one."
    assert service.tables[0].primary_key == ("namespace", "generation", "id")
    assert [(each.events, each.topics) for each in app.listeners] == [
        (["entityDeleted"], ["entities"])
    ]


def test_an_application_that_is_declared_wrongly_is_reported_with_its_place(tmp_path):
    (error,) = errors_of(tmp_path, APPLICATION.format(events=""))

    assert error == (
        "thing-1.0.0.py:15: class Things: TypeError: listener Listener declares no events."
    )
