"""``--help`` of every command."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from localcdap.cli.main import cli


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from walk(found, f"{name} {each}")


COMMANDS = dict(walk(cli, "localcdap"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_all_of_its_options_have_a_help_text(name):
    command = COMMANDS[name]
    options = [each for each in command.params if isinstance(each, click.Option)]

    assert command.help
    assert [each.name for each in options if not each.help] == []


def test_no_help_text_shows_the_mark_of_a_paragraph_that_is_not_wrapped():
    """click takes the character backspace; a docstring that is a raw string has a backslash and a b."""
    assert [name for name, command in COMMANDS.items() if r"\b" in (command.help or "")] == []


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, command in COMMANDS.items()
        if not isinstance(command, click.Group) and name != "localcdap completion"
    ),
)
def test_every_command_has_the_common_options(name):
    names = {option for each in COMMANDS[name].params for option in each.opts}

    assert {"--home", "--namespace", "--json"} <= names
