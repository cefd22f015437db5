"""Files with the tags and properties that users gave to the entities of a namespace, for version control.

>>> from localcdap.api.metadata import MetadataEntity
>>> text = write_user_metadata([UserMetadata(MetadataEntity.of_dataset("d", "n"), tags=["pii"])], "n")
>>> print(text, end="")
{
  "entities": [
    {
      "entity": "datasets/d",
      "tags": [
        "pii"
      ]
    }
  ]
}
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.decoders import decode_json
from localcdap.metadata.entities import format_entity, parse_entity
from localcdap.metadata.service import UserMetadata


class _FileEntry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """An entity in a file."""

    entity: str
    """Its path, without the namespace of the file."""
    type: str | None = None
    """The key that is its type, when that is not what the path says."""
    properties: dict[str, str] = {}
    tags: list[str] = []


class _MetadataFile(msgspec.Struct, forbid_unknown_fields=True):
    entities: list[_FileEntry]


def write_user_metadata(metadata: Sequence[UserMetadata], namespace: str) -> str:
    """Return the text of a file, sorted by entities, keys and tags."""
    entries = []
    for each in metadata:
        path = format_entity(each.entity, relative_to=namespace)
        is_plain = parse_entity(path, namespace) == each.entity
        entries.append(
            _FileEntry(
                path,
                None if is_plain else each.entity.type,
                dict(sorted(each.properties.items())),
                sorted(each.tags),
            )
        )
    entries.sort(key=lambda entry: (entry.entity, entry.type or ""))
    text = msgspec.json.format(msgspec.json.encode(_MetadataFile(entries)), indent=2)
    return f"{text.decode()}\n"


def read_user_metadata(text: str, namespace: str) -> list[UserMetadata]:
    """Return the metadata of a file.

    :raises BadRequestError: when the text is not such a file; the message says where.
    """
    try:
        entries = decode_json(text, _MetadataFile).entities
    except msgspec.MsgspecError as error:
        raise BadRequestError(
            f"The text is not a file of metadata: {error}.",
            "Write one with: localcdap metadata export FILE",
        ) from None
    return [
        UserMetadata(parse_entity(each.entity, namespace, each.type), each.properties, each.tags)
        for each in entries
    ]
