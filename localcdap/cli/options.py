"""The options that every command takes, and the instance that they select."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localcdap.home import Home, find_home

if TYPE_CHECKING:
    from localcdap.host import Cdap

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Instance:
    """What ``--home``, ``--namespace`` and ``--json`` say."""

    def __init__(self, home: Home, namespace: str, json: bool) -> None:
        self.home = home
        self.namespace = namespace
        self.json = json

    def connect(self, *, expects_run: bool = False) -> AbstractContextManager[Cdap]:
        """The instance's services; this process becomes the host unless another one is.

        :param expects_run: a run will be started soon.
        """
        from localcdap.host import connect

        return connect(self.home, expects_run=expects_run)


def instance_options(function: _Function) -> _Function:
    """Add the common options; the command receives them as its argument ``instance``."""

    def gather(*args: Any, home: str | None, namespace: str, as_json: bool, **kwargs: Any) -> Any:
        instance = Instance(find_home(home), namespace, as_json)
        return function(*args, instance=instance, **kwargs)

    gather.__doc__ = function.__doc__
    gather.__name__ = function.__name__
    gather.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
        click.option(
            "--namespace", "-n", default="default", metavar="NS", help="Namespace [default]."
        ),
        click.option(
            "--home",
            metavar="DIR",
            help="Folder of the instance; default: $LOCALCDAP_HOME, else the nearest folder upwards "
            "with a localcdap.toml, else the user's data directory.",
        ),
    ):
        gather = option(gather)
    return gather  # type: ignore[return-value]
