"""The options that several commands share, and the instance that they select."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from localcdap.home import Home, find_home
from localcdap.text import split_pair

if TYPE_CHECKING:
    from localcdap.host import Cdap

_Answer = TypeVar("_Answer")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Item = TypeVar("_Item")

flag = partial(click.option, is_flag=True)
"""An option without a value."""
repeatable = partial(click.option, multiple=True)
"""An option that may be given several times."""
pairs_option = partial(repeatable, metavar="K=V")
"""A repeatable option whose values :func:`parse_pairs` reads."""
arguments_option = pairs_option(
    "-a", "arguments", help="Set a runtime argument, the value of the macro ${K}; repeatable."
)
strict_option = flag(
    "--strict",
    help="Fail, and write nothing, when values were altered, rows dropped because of an error, or keys "
    "differ from fields by case or blanks only; the same as -a system.strict=true.",
)
fix_option = flag(
    "--fix",
    help="Use the installed version of a plugin where FILE asks for a missing one; FILE stays unchanged.",
)


def repeat_command(**replaced: str) -> str:
    """Return the present command line, as a shell reads it, with the values of some parameters replaced.

    :param replaced: the new values by the names of the command's parameters.
    """
    context = click.get_current_context()
    words = context.command_path.split()
    arguments: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = replaced.get(name, context.params[name])
        if isinstance(parameter, click.Argument):
            arguments += [str(value)]
            continue
        option = parameter.opts[-1] if parameter.opts[-1].startswith("--") else parameter.opts[0]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            words.append(option)
            continue
        for text in value if parameter.multiple else (value,):
            words += [option, str(text)]
    return shlex.join([*words, *arguments])


def find_home_option(arguments: Sequence[str]) -> str | None:
    """Return the value of ``--home`` in a command line; None when it is not given."""
    for index, argument in enumerate(arguments):
        if argument == "--home" and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith("--home="):
            return argument.removeprefix("--home=")
    return None


def add_strict(arguments: dict[str, str], strict: bool) -> dict[str, str]:
    """Return runtime arguments with what ``--strict`` sets."""
    if not strict:
        return arguments
    from localcdap.engine.messages.samples import STRICT_ARGUMENT

    return {**arguments, STRICT_ARGUMENT: "true"}


def parse_pairs(pairs: Iterable[str], option: str | None = None) -> dict[str, str]:
    """Return the values of ``KEY=VALUE`` texts by key; the last value of a key wins.

    :param option: the option that takes the texts, for the message.
    :raises click.UsageError: for a text without a key or without ``=``.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        try:
            key, value = split_pair(pair)
        except ValueError as error:
            message = str(error)
            raise (
                click.BadParameter(message, param_hint=option)
                if option
                else click.UsageError(message)
            ) from None
        values[key] = value
    return values


class Instance:
    """The instance and the form of the answer that ``--home``, ``--namespace`` and ``--json`` select."""

    def __init__(self, home: Home, namespace: str, json: bool) -> None:
        self.home = home
        self.namespace = namespace
        self.json = json

    def connect(self, *, expects_run: bool = False) -> AbstractContextManager[Cdap]:
        """Return the services of the instance, which run in its host; the host is started if there is none.

        :param expects_run: the command starts a run soon, so its process may load its libraries now.
        """
        from localcdap.host import connect

        return connect(self.home, expects_run=expects_run)

    def print_json(self, answer: object) -> bool:
        """Print an answer as one JSON document if --json asks for it; return whether it does."""
        from localcdap.cli.output import print_json

        if self.json:
            print_json(answer)
        return self.json

    def print(self, answer: _Answer, text: str | Callable[[_Answer], object]) -> None:
        """Print what a command answers, as one JSON document or as text.

        :param text: the text, or the function that prints the answer as text.
        """
        from localcdap.cli.output import echo

        if self.print_json(answer):
            return
        if isinstance(text, str):
            echo(text)
        else:
            text(answer)

    def print_list(
        self,
        items: Sequence[_Item],
        header: Sequence[str],
        make_row: Callable[[_Item], Sequence[object]],
        *,
        empty: str | None = None,
        numbers: str = "",
    ) -> None:
        """Print items as one JSON document, or as a table with a row for each.

        :param make_row: returns the cells of an item, one for each column of the header.
        :param empty: a sentence for stderr, in place of a table without rows; None prints its header.
        :param numbers: names of the columns to align right, separated by blanks.
        """
        from localcdap.cli.output import echo, print_table

        if self.print_json(items):
            return
        if items or empty is None:
            print_table(header, list(map(make_row, items)), numbers)
        else:
            echo(empty, err=True)


def instance_options(function: _Function) -> _Function:
    """Add the options of every command. The command receives them as its argument ``instance``."""

    def gather(*args: Any, home: str | None, namespace: str, as_json: bool, **kwargs: Any) -> Any:
        instance = Instance(find_home(home), namespace, as_json)
        return function(*args, instance=instance, **kwargs)

    gather.__doc__ = function.__doc__
    gather.__name__ = function.__name__
    gather.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        flag("--json", "as_json", help="Print one JSON document on stdout."),
        click.option(
            "--namespace",
            "-n",
            default="default",
            metavar="NS",
            help="The namespace.",
            show_default=True,
        ),
        click.option(
            "--home",
            metavar="DIR",
            help="The folder of the instance. Default: $LOCALCDAP_HOME, else the current folder or its "
            "nearest parent with a localcdap.toml, else the user's data directory.",
        ),
    ):
        gather = option(gather)
    return gather  # type: ignore[return-value]
