"""The screen of the settings."""

from __future__ import annotations

import os
import stat

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from localcdap.settings import OPTIONS, load_settings
from localcdap.tui.commands import list_actions
from localcdap.tui.screens.settings import settings_file as toml
from localcdap.tui.screens.settings.settings_file import build_rows, find_prefix, read_descriptions


def test_every_setting_has_a_description():
    assert set(read_descriptions()) == set(OPTIONS)


def test_a_change_leaves_everything_else_as_it_is():
    text = "# mine\nengine.cores = 2  # not all\n\n[preview]\nrecords = 7\n"

    changed = toml.set_value(text, ("preview", "records"), 9)

    assert changed == text.replace("7", "9")


def test_a_value_of_a_new_table_is_added():
    text = toml.set_value("", ("locations", "gs://sales"), "data/sales")

    assert tomlkit.parse(text) == {"locations": {"gs://sales": "data/sales"}}


def test_a_value_is_removed():
    text = toml.set_value("engine.cores = 2\nengine.memory = '1g'\n", ("engine", "cores"), 4)

    assert tomlkit.parse(toml.remove_value(text, ("engine", "cores"))) == {
        "engine": {"memory": "1g"}
    }
    assert toml.remove_value(text, ("preview", "records")) == text


@given(st.sampled_from(sorted(OPTIONS)), st.text(max_size=20))
def test_any_text_is_saved_or_refused_with_a_reason(tmp_path_factory, key, typed):
    file = tmp_path_factory.getbasetemp() / "typed.toml"
    text = toml.set_value("", key.split("."), toml.parse_value(key, typed))
    problem = toml.find_problem(text, file)

    assert problem is None or key in problem


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_a_shown_value_can_be_typed(key, tmp_path):
    settings = load_settings(tmp_path / "none.toml", {})
    row = next(row for row in build_rows(settings, {}) if row.key == key)

    assert toml.parse_value(key, row.text) == row.value


async def test_a_setting_is_changed_and_goes_back_to_its_default(open_studio, home):
    home.settings_file.unlink(missing_ok=True)
    async with open_studio() as driver:
        await driver.press("comma", "slash")
        await driver.type("preview")
        await driver.press("enter", "enter")
        field = driver.app.screen.query_one("#dialog-input")
        field.value = "-3"
        await driver.press("enter")
        problem = str(driver.app.screen.query_one("#dialog-problem").render())
        assert "Expected a number above 0, got -3" in problem
        assert not home.settings_file.exists()
        field.value = "7"
        await driver.press("enter")
        assert load_settings(home.settings_file).preview_records == 7

        await driver.press("x")
        assert load_settings(home.settings_file).preview_records == 100


@pytest.fixture
def settings_file(home):
    """The settings file, which the test makes; the instance is that of all tests of the module."""
    home.settings_file.unlink(missing_ok=True)
    yield home.settings_file
    home.settings_file.unlink(missing_ok=True)


@pytest.fixture
def umask_022():
    before = os.umask(0o022)
    yield
    os.umask(before)


async def change_preview_records(driver, value):
    await driver.press("comma", "slash")
    await driver.type("preview.records")
    await driver.press("enter", "enter")
    driver.app.screen.query_one("#dialog-input").value = value
    await driver.press("enter")


async def test_a_private_file_with_comments_stays_as_it_is(open_studio, settings_file, umask_022):
    text = "# mine\r\n[preview]\r\nrecords = 3  # few\r\n\r\n[openlineage]\r\napi_key = 'a' # secret\r\n"
    settings_file.write_bytes(text.encode())
    settings_file.chmod(0o600)
    async with open_studio() as driver:
        await change_preview_records(driver, "7")

    assert settings_file.read_bytes().decode() == text.replace("3", "7")
    assert stat.S_IMODE(settings_file.stat().st_mode) == 0o600


async def test_a_link_to_the_file_stays(open_studio, settings_file, tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    settings_file.symlink_to(real)
    async with open_studio() as driver:
        await change_preview_records(driver, "7")

    assert settings_file.readlink() == real
    assert real.read_text() == "# mine\n\n[preview]\nrecords = 7\n"


async def test_a_read_only_file_is_not_changed_and_the_screen_says_so(open_studio, settings_file):
    settings_file.write_text("preview.records = 3\n")
    settings_file.chmod(0o444)
    async with open_studio() as driver:
        await change_preview_records(driver, "7")
        notice = driver.app.notices.newest_first[0]

        assert notice.title == "The settings file cannot be written."
        assert f"{settings_file} is read-only." in str(notice)
        await driver.press("n")
        await driver.type("gs://sales")
        await driver.press("enter")
        await driver.type("data/sales")
        await driver.press("enter")
        assert f"{settings_file} is read-only." in str(driver.app.notices.newest_first[0])
    assert settings_file.read_text() == "preview.records = 3\n"
    assert stat.S_IMODE(settings_file.stat().st_mode) == 0o444


async def test_yes_and_no_change_with_one_key(open_studio, home):
    async with open_studio() as driver:
        await driver.press("comma", "slash")
        await driver.type("counts")
        await driver.press("enter", "enter")
        assert load_settings(home.settings_file).engine_counts is False
        await driver.press("enter")
        assert load_settings(home.settings_file).engine_counts is True


async def test_what_the_environment_sets_cannot_be_changed_here(open_studio, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_PREVIEW_RECORDS", "5")
    async with open_studio() as driver:
        await driver.press("comma", "slash")
        await driver.type("preview.records")
        await driver.press("enter")
        screen = driver.app.screen

        assert screen.check_action("change", ()) is None
        assert "$LOCALCDAP_PREVIEW_RECORDS" in screen.explain_disabled("change")


async def test_a_location_is_added(open_studio, home):
    async with open_studio() as driver:
        await driver.press("comma")
        assert "change" in {each.description for each in list_actions(driver.app.screen)}
        await driver.press("n")
        await driver.type("gs://sales")
        await driver.press("enter")
        await driver.type("data/sales")
        await driver.press("enter")

        assert load_settings(home.settings_file).locations == {"gs://sales": "data/sales"}
        assert "gs://sales" in driver.app.screen._row.key
        assert "does not exist yet" in driver.app.notices.newest_first[0].title


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("gs://sales/2026/*.csv", "gs://sales"),
        (" s3a://sales", "s3a://sales"),
        ("stream://hits", "stream://hits"),
        ("gs://sales-${day}/in.csv", None),
        ("gs://sal*/in.csv", None),
        ("${bucket}/in.csv", None),
        ("/in.csv", None),
        ("/", None),
        ("/no-where/2026/in.csv", "/no-where"),
        ("/no-where/${day}/in.csv", None),
        ("data/in.csv", None),
        ("file:///data/in.csv", None),
        ("https://example.com/in.csv", None),
        ("jdbc:mysql://host/db", None),
        ("", None),
    ],
)
def test_the_prefix_of_a_path(path, prefix):
    assert find_prefix(path) == prefix


async def test_an_invalid_file_is_shown_as_such(open_studio, home):
    before = home.settings_file.read_text() if home.settings_file.exists() else ""
    home.settings_file.write_text("[engine\n")
    try:
        async with open_studio() as driver:
            await driver.press("comma")
            assert "✗" in str(driver.app.screen.query_one("#settings-file").render())
    finally:
        home.settings_file.write_text(before)
