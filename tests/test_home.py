from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from localcdap.home import SETTINGS_FILE, Home, find_home, find_shipped_data, find_shipped_plugins


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A folder with settings, in which the process stands two levels deeper."""
    deep = tmp_path / "instance" / "one" / "two"
    deep.mkdir(parents=True)
    (tmp_path / "instance" / SETTINGS_FILE).touch()
    monkeypatch.chdir(deep)
    monkeypatch.delenv("LOCALCDAP_HOME", raising=False)
    return tmp_path


def test_the_option_comes_first(tree, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_HOME", str(tree / "environment"))

    assert find_home(str(tree / "option")).path == tree / "option"
    assert find_home("relative").path == tree / "instance/one/two/relative"


def test_then_the_environment(tree, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_HOME", str(tree / "environment"))

    assert find_home(None).path == tree / "environment"


@pytest.mark.parametrize("variable", [None, ""])
def test_then_the_nearest_folder_upwards_with_settings(tree, monkeypatch, variable):
    if variable is not None:
        monkeypatch.setenv("LOCALCDAP_HOME", variable)

    assert find_home(None).path == tree / "instance"

    (tree / "instance/one" / SETTINGS_FILE).touch()
    assert find_home(None).path == tree / "instance/one"

    (tree / "instance/one/two" / SETTINGS_FILE).mkdir()
    assert find_home(None).path == tree / "instance/one"


def test_then_the_users_data_directory(tree, monkeypatch):
    (tree / "instance" / SETTINGS_FILE).unlink()

    assert find_home(None).path == platformdirs.user_data_path("localcdap")


def test_a_home_of_the_user_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Home(Path("~/cdap")).path == tmp_path / "cdap"
    assert Home(tmp_path).resolve("~/plugins") == tmp_path / "plugins"


def test_everything_of_an_instance_is_in_its_folder_and_nothing_is_created(tmp_path):
    home = Home(tmp_path / "new")

    places = [
        home.settings_file,
        home.database,
        home.runs,
        home.engine,
        home.artifact_cache,
        home.reports,
    ]

    assert all(place.is_relative_to(home.path) for place in places)
    assert len(set(places)) == len(places)
    assert not home.path.exists()


def test_paths_of_the_settings_are_relative_to_the_home(tmp_path):
    home = Home(tmp_path)

    assert home.resolve("plugins") == tmp_path / "plugins"
    assert home.resolve("/elsewhere") == Path("/elsewhere")


def test_what_is_shipped_is_there():
    assert list(find_shipped_plugins().glob("*/pyproject.toml"))
    assert list(find_shipped_data().rglob("*.json"))
