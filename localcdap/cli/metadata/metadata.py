"""``localcdap metadata``: tags and properties of entities, and their search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.cli.files import read_text
from localcdap.cli.options import (
    Instance,
    flag,
    instance_options,
    pairs_option,
    parse_pairs,
    repeatable,
)
from localcdap.cli.output import echo, print_json_text, print_table
from localcdap.files.atomic import write_file

if TYPE_CHECKING:
    from localcdap.metadata.records import MetadataChange
    from localcdap.metadata.search import SearchResponse
    from localcdap.metadata.service import UserMetadata

_ENTITY = """ENTITY is a path of pairs TYPE/NAME: apps/orders is the pipeline 'orders', datasets/orders the
table 'orders', datasets/orders/field/email its field 'email', artifacts/core/versions/1.0 an artifact. Other
types than those of localcdap make a custom entity, such as jar/tools. TYPE:NAME is a short form of one pair:
dataset:orders. The entity is in the namespace of --namespace, unless the path begins with namespaces/NAME."""
_type_option = click.option(
    "--type", "type_", metavar="TYPE", help="The type of ENTITY; default: the last one in its path."
)
_scope_option = click.option(
    "--scope",
    type=click.Choice([each.value for each in MetadataScope], case_sensitive=False),
    help="Only what users added (USER), or what localcdap wrote (SYSTEM).",
)


@click.group("metadata")
def metadata_command() -> None:
    """Show, change or search the tags and properties of pipelines, tables, fields, artifacts and plugins.

    localcdap writes those of the scope SYSTEM: name, time of creation, schema and more. Users add tags and
    properties of the scope USER.
    """


@metadata_command.command("get", help=f"Show the metadata of an entity.\n\n{_ENTITY}")
@click.argument("entity")
@_type_option
@_scope_option
@instance_options
def get(instance: Instance, entity: str, type_: str | None, scope: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.metadata.get(_parse(instance, entity, type_), _to_scope(scope))
    if instance.print_json(found):
        return
    rows = [row for each in MetadataScope for row in _list_rows(each, found.get(each))]
    if rows:
        print_table(("scope", "name", "value"), rows)
    else:
        echo("No metadata.", err=True)


@metadata_command.command("add", help=f"Add tags to an entity, and set properties.\n\n{_ENTITY}")
@click.argument("entity")
@_type_option
@repeatable("--tag", "tags", metavar="TAG", help="Add this tag; repeatable.")
@pairs_option("--property", "properties", help="Set this property; repeatable.")
@instance_options
def add(
    instance: Instance,
    entity: str,
    type_: str | None,
    tags: tuple[str, ...],
    properties: tuple[str, ...],
) -> None:
    if not tags and not properties:
        raise click.UsageError("Name what to add: --tag TAG or --property K=V.")
    pairs = parse_pairs(properties, "--property")
    with instance.connect() as cdap:
        change = cdap.metadata.add(_parse(instance, entity, type_), pairs, list(tags))
    _print_change(instance, change)


@metadata_command.command("remove", help=f"Remove tags and properties of an entity.\n\n{_ENTITY}")
@click.argument("entity")
@_type_option
@repeatable("--tag", "tags", metavar="TAG", help="Remove this tag; repeatable.")
@repeatable("--property", "properties", metavar="K", help="Remove this property; repeatable.")
@flag("--all", "everything", help="Remove all tags and properties that users added.")
@instance_options
def remove(
    instance: Instance,
    entity: str,
    type_: str | None,
    tags: tuple[str, ...],
    properties: tuple[str, ...],
    everything: bool,
) -> None:
    if everything == bool(tags or properties):
        raise click.UsageError("Name what to remove: --tag TAG, --property K, or --all.")
    target = _parse(instance, entity, type_)
    with instance.connect() as cdap:
        if everything:
            change = cdap.metadata.remove_all(target)
        else:
            change = cdap.metadata.remove(target, list(properties), list(tags))
    _print_change(instance, change)


@metadata_command.command("search", short_help="Find entities by their metadata.")
@click.argument("query", nargs=-1)
@repeatable(
    "--type",
    "types",
    metavar="TYPE",
    help="Only entities of this type, such as dataset; repeatable.",
)
@_scope_option
@flag("--all-namespaces", help="Search every namespace.")
@flag("--hidden", help="Also find entities whose name begins with '_'.")
@click.option(
    "--sort",
    metavar="ORDER",
    help="'entity-name asc', 'creation-time desc' and the like; default: best matches first.",
)
@click.option("--offset", default=0, show_default=True, help="How many results to leave out.")
@click.option("--limit", default=20, show_default=True, help="The most results.")
@instance_options
def search(
    instance: Instance,
    query: tuple[str, ...],
    types: tuple[str, ...],
    scope: str | None,
    all_namespaces: bool,
    hidden: bool,
    sort: str | None,
    offset: int,
    limit: int,
) -> None:
    """Find entities by their metadata, in the namespace and in the namespace 'system' of shipped artifacts.

    An entity is found when a word of QUERY matches. WORD matches a word of a name, tag or value, and WORD*
    its beginning; KEY:WORD matches a word of the property KEY, where KEY is also 'tags', 'properties' (names
    of properties), 'schema' (fields) or a type of entities. '+' before a word makes it required; KEY:>=10
    compares numbers. Without QUERY, all entities are found.

    localcdap metadata search 'tags:pii +type:email'
    """
    from localcdap.metadata.search import SearchRequest
    from localcdap.namespaces.model import SYSTEM

    request = SearchRequest(
        " ".join(query) or None,
        _to_scope(scope),
        None if all_namespaces else [instance.namespace, SYSTEM],
        list(types) or None,
        hidden,
        sort,
        offset,
        limit,
    )
    with instance.connect() as cdap:
        found = cdap.metadata.search(request)
    if not instance.print_json(found):
        _print_results(instance, found)
    if not found.results:
        raise click.exceptions.Exit(1)


@metadata_command.command(
    "export", short_help="Write the tags and properties that users added into a file."
)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@instance_options
def export(instance: Instance, file: Path | None) -> None:
    """Write the tags and properties that users gave to the entities of the namespace as a JSON file.

    The file is sorted, so that it can be kept in a version control system. Without FILE, it is printed.
    """
    from localcdap.metadata.service import write_user_metadata

    with instance.connect() as cdap:
        text = write_user_metadata(cdap.metadata.export(instance.namespace), instance.namespace)
    if file is None:
        print_json_text(text)
        return
    write_file(file, text)
    echo(f"{file} written.", err=True)


@metadata_command.command(
    "import", short_help="Add the tags and properties of a file of 'metadata export'."
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@flag("--replace", help="Remove what else users added to the entities in FILE.")
@instance_options
def import_(instance: Instance, file: Path, replace: bool) -> None:
    """Add the tags and properties of a file that 'metadata export' wrote; all of them or none."""
    found = _read_file(file, instance.namespace)
    with instance.connect() as cdap:
        count = cdap.metadata.import_all(found, replace)
    instance.print(
        {"entities": len(found), "changed": count},
        f"Entities read: {len(found)}; changed: {count}.",
    )


def _read_file(file: Path, namespace: str) -> list[UserMetadata]:
    from localcdap.metadata.service import read_user_metadata

    try:
        return read_user_metadata(read_text(str(file)), namespace)
    except BadRequestError as error:
        raise BadRequestError(f"{file}: {error.message}", error.corrective_action) from error


def _parse(instance: Instance, entity: str, type: str | None) -> MetadataEntity:
    from localcdap.metadata.entities import parse_entity

    return parse_entity(entity, instance.namespace, type)


def _to_scope(scope: str | None) -> MetadataScope | None:
    return None if scope is None else MetadataScope(scope.upper())


def _list_rows(scope: MetadataScope, metadata: Metadata) -> list[tuple[str, str, str]]:
    tags = [(scope.value, "tag", tag) for tag in metadata.tags]
    return [*tags, *((scope.value, *item) for item in sorted(metadata.properties.items()))]


def _print_change(instance: Instance, change: MetadataChange) -> None:
    before, after = change.before.user, change.after.user
    if instance.print_json(after):
        return
    from localcdap.metadata.entities import format_entity, to_stored

    entity = format_entity(to_stored(change.entity), relative_to=instance.namespace)
    old, new = _list_items(before), _list_items(after)
    parts = [
        f"{verb} {', '.join(found)}"
        for verb, found in (
            ("added", [each for each in new if each not in old]),
            ("removed", [each for each in old if each not in new]),
        )
        if found
    ]
    echo(f"{entity}: {'; '.join(parts) or 'nothing changed'}. Now: {', '.join(new) or 'nothing'}.")


def _list_items(metadata: Metadata) -> list[str]:
    """Return the tags and the properties that users wrote, as texts."""
    tags = [f"tag {tag}" for tag in metadata.tags]
    return [
        *tags,
        *(f"property {key}={value}" for key, value in sorted(metadata.properties.items())),
    ]


def _print_results(instance: Instance, found: SearchResponse) -> None:
    from localcdap.metadata.entities import format_entity, to_stored

    rows = [
        (
            each.entity.type,
            format_entity(to_stored(each.entity), relative_to=instance.namespace),
            ", ".join([*each.metadata.user.tags, *each.metadata.system.tags]),
            each.metadata.system.properties.get("description", ""),
        )
        for each in found.results
    ]
    if rows:
        print_table(("type", "entity", "tags", "description"), rows)
    else:
        echo("Nothing found.", err=True)
    shown = found.offset + len(rows)
    if rows and shown < found.total_results:
        echo(f"{shown} of {found.total_results} results; --offset {shown} shows more.", err=True)
