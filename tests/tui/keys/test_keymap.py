"""The user's own keys."""

from __future__ import annotations

import pytest

from localcdap.api.errors import SettingsError
from localcdap.tui import commands


@pytest.fixture
def keymap_file():
    file = commands.find_keymap_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    yield file
    file.unlink(missing_ok=True)


def test_keys_are_named_one_or_several(keymap_file):
    keymap_file.write_text('[home]\nnew = "N"\nopen = ["f", "ctrl+f"]\n')

    assert commands.read_keymap(keymap_file) == {"home.new": "N", "home.open": "f,ctrl+f"}


def test_no_file_is_no_change(tmp_path):
    assert commands.read_keymap(tmp_path / "keymap.toml") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[home]\nnew = 7\nopen = []\n", ["home.new", "home.open"]),
        ("[home\n", ["cannot be read"]),
        ("\xff", ["cannot be read"]),
    ],
)
def test_all_that_is_wrong_is_reported_at_once(keymap_file, text, said):
    keymap_file.write_bytes(text.encode("latin-1"))

    with pytest.raises(SettingsError) as caught:
        commands.read_keymap(keymap_file)

    assert all(each in caught.value.message for each in said)


def test_an_unknown_name_gets_the_nearest_one():
    assert commands.describe_unknown_ids(
        {"home.nwe": "N", "home.new": "n"}, ["home.new", "runs.stop"]
    ) == ["'home.nwe' (did you mean 'home.new'?)"]


def test_the_file_to_begin_with_changes_nothing(keymap_file):
    keymap_file.write_text(
        commands.format_keymap_template([("home.new", "n", "new"), ("x.back", "\\", "back")])
    )

    assert commands.read_keymap(keymap_file) == {}
    keymap_file.write_text(
        keymap_file.read_text().replace("# new =", "new =").replace("# back =", "back =")
    )
    assert commands.read_keymap(keymap_file) == {"home.new": "n", "x.back": "\\"}


async def test_the_keys_of_the_file_are_in_force(open_studio, keymap_file):
    keymap_file.write_text('[go]\nnamespaces = "f9"\n')

    async with open_studio() as driver:
        await driver.press("7")
        assert driver.app.current_mode == "home"
        await driver.press("f9")
        assert driver.app.current_mode == "namespaces"


async def test_names_that_no_key_has_are_reported(open_studio, keymap_file):
    keymap_file.write_text('[go]\nnamespace = "f9"\n')

    async with open_studio() as driver:
        await driver.until(lambda: len(driver.app.notices))
        assert "did you mean 'go.namespaces'" in driver.app.notices.newest_first[0].title


async def test_a_broken_file_is_reported_and_the_usual_keys_hold(open_studio, keymap_file):
    keymap_file.write_text("[go\n")

    async with open_studio() as driver:
        await driver.press("7")

        assert driver.app.current_mode == "namespaces"
        assert str(keymap_file) in driver.app.notices.newest_first[0].title


async def test_a_file_to_begin_with_is_written_from_the_palette(open_studio, keymap_file):
    async with open_studio() as driver:
        await driver.press("colon")
        await driver.type("keymap file")
        await driver.press("enter")

        await driver.until(keymap_file.exists)
        assert '# leave = "ctrl+q"' in keymap_file.read_text()
        assert "[settings]" in keymap_file.read_text()  # keys of other screens too
