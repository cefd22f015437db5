"""A text in the user's own editor."""

from __future__ import annotations

import stat

import pytest

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.tui import machine as editor


@pytest.fixture
def use(tmp_path, monkeypatch):
    """Have a shell script as the editor."""

    def install(script):
        program = tmp_path / "my editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"'{program}' --wait")

    return install


def test_what_is_saved_comes_back_with_the_line_ends_it_had(use):
    use('printf "SELECT 2\\n" > "$2"')

    assert editor.edit_text("SELECT 1", ".sql") == "SELECT 2"
    assert editor.edit_text("SELECT 1\n", ".sql") == "SELECT 2\n"


def test_the_file_has_the_suffix_and_the_text(use, tmp_path):
    use(f'cp "$2" "{tmp_path}/seen.sql"; case "$2" in *.sql) ;; *) exit 3;; esac')

    assert editor.edit_text("SELECT 'ä'", ".sql") is None
    assert (tmp_path / "seen.sql").read_text() == "SELECT 'ä'"


def test_an_editor_that_only_adds_a_line_end_changed_nothing(use):
    use('printf "\\n" >> "$2"')

    assert editor.edit_text("x") is None


def test_an_editor_that_fails_is_reported(use):
    use("exit 4")

    with pytest.raises(BadRequestError, match="left with code 4"):
        editor.edit_text("x")


def test_an_editor_that_is_not_there_is_reported(monkeypatch):
    monkeypatch.setenv("VISUAL", "/nowhere/editor")

    with pytest.raises(BadRequestError, match="'/nowhere/editor' cannot be run"):
        editor.edit_text("x")


def test_no_editor_at_all_is_reported(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(NotFoundError):
        editor.find_editor_command({})


async def test_a_terminal_that_cannot_be_lent_is_reported(open_studio, use):
    use("true")
    async with open_studio() as driver:
        assert await driver.app.edit_text("x") is None  # the tests have no terminal
        assert driver.app.notices.newest_first[0].severity == "error"
