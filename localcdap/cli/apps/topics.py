"""``localcdap topics``: list the topics, create or delete one, or show its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click
import msgspec

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_list
from localcdap.text import format_time

if TYPE_CHECKING:
    from localcdap.host import Cdap
    from localcdap.messaging.topics import TopicMessage

_CREATE: Final = "create"
_DELETE: Final = "delete"
_WAIT_S: Final = 5.0
_PAGE: Final = 1000


@click.command("topics")
@click.argument("words", nargs=-1, metavar="[NAME | create NAME | delete NAME]")
@click.option("--follow", is_flag=True, help="Go on with the messages to come, until Ctrl+C.")
@instance_options
def command(instance: Instance, words: tuple[str, ...], follow: bool) -> None:
    """List the topics of the namespace, or show the messages of the topic NAME, oldest first.

    The alert publisher TMS publishes alerts on a topic. A topic keeps its messages for a week. With --json
    each message is a line.

    localcdap topics alarms --follow
    """
    if follow and (not words or words[0] in (_CREATE, _DELETE)):
        raise click.UsageError("--follow needs the name of a topic.")
    if len(words) == 2 and words[0] in (_CREATE, _DELETE):
        _change(instance, *words)
    elif len(words) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({words[1]}).")
    elif words:
        _show(instance, words[0], follow=follow)
    else:
        _list(instance)


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        topics = cdap.messaging.list_topics(instance.namespace)
    print_list(
        topics,
        ("topic", "created"),
        lambda each: (each.name, format_time(each.created)),
        as_json=instance.json,
        empty="No topics. Create one with 'localcdap topics create NAME'.",
    )


def _change(instance: Instance, what: str, name: str) -> None:
    with instance.connect() as cdap:
        if what == _CREATE:
            cdap.messaging.create_topic(instance.namespace, name)
        else:
            cdap.messaging.delete_topic(instance.namespace, name)
    echo(f"Topic '{name}' {what}d.", err=instance.json)


def _show(instance: Instance, name: str, *, follow: bool) -> None:
    with instance.connect() as cdap:
        cdap.messaging.describe_topic(instance.namespace, name)
        after = 0
        while messages := _fetch(cdap, instance.namespace, name, after):
            _print(messages, as_json=instance.json)
            after = messages[-1].id
        while follow:
            messages = _fetch(cdap, instance.namespace, name, after, _WAIT_S)
            _print(messages, as_json=instance.json)
            after = messages[-1].id if messages else after


def _fetch(
    cdap: Cdap, namespace: str, name: str, after: int, wait_s: float = 0.0
) -> list[TopicMessage]:
    return cdap.messaging.fetch(namespace, name, after, _PAGE, wait_s)


def _print(messages: Sequence[TopicMessage], *, as_json: bool) -> None:
    for message in messages:
        text = msgspec.json.encode(message if as_json else message.payload).decode()
        echo(text if as_json else f"{format_time(message.time)}  {text}")
