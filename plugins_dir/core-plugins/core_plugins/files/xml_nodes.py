"""Elements of XML documents as texts, read as a stream, so that documents of any size can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape

from localcdap.api import Schema, StageError
from localcdap.api.arrow import RecordCodec

if TYPE_CHECKING:
    import pyarrow as pa

NODE: Final = Schema.record(
    "xmlSchema",
    [("offset", Schema.LONG), ("filename", Schema.STRING), ("record", Schema.STRING)],
)
"""(hydrator-plugins, ``io/cdap/plugin/batch/source/XMLReaderBatchSource.java``)"""
_CHUNK: Final = 1 << 18
_BATCH: Final = 1000
_QUOTES: Final = {'"': "&quot;", "'": "&apos;"}


class XmlNodeParser:
    """Finds the elements at a path in a document that is fed in parts.

    Names are compared without their prefixes, and have none in the texts, nor do texts declare namespaces, as
    in CDAP (``XMLRecordReader.java``). There, an element that holds one of the same name ends with that one;
    here with its own end. Comments are left out.

    :param path: the names of the element and of those around it, as ``/catalog/book/title``.
    :param allows_entities: whether a document may declare entities; external ones are never read.
    """

    def __init__(self, path: str, *, allows_entities: bool) -> None:
        self.found: list[tuple[int, str]] = []
        """The line on which each element begins, and its text; the caller takes them out."""
        self._names: Final = path.strip().strip("/").split("/")
        self._around: Final[list[str]] = []
        self._parts: list[str] | None = None
        self._line = 0
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        if not allows_entities:
            parser.EntityDeclHandler = _refuse_entity
        self._parser: Final = parser

    def feed(self, part: bytes, *, is_last: bool) -> None:
        """Parse a part of the document.

        :raises ExpatError: when it is not well-formed.
        :raises StageError: when it declares entities.
        """
        self._parser.Parse(part, is_last)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._around.append(_strip_prefix(name))
        if self._parts is None and self._around == self._names:
            self._parts, self._line = [], self._parser.CurrentLineNumber
        if self._parts is not None:
            shown = "".join(
                f' {_strip_prefix(key)}="{escape(value, _QUOTES)}"'
                for key, value in attributes.items()
                if key != "xmlns" and not key.startswith("xmlns:")
            )
            self._parts.append(f"<{self._around[-1]}{shown}>")

    def _end(self, _name: str) -> None:
        if self._parts is not None:
            self._parts.append(f"</{self._around[-1]}>")
            if len(self._around) == len(self._names):
                self.found.append((self._line, "".join(self._parts)))
                self._parts = None
        self._around.pop()

    def _add_text(self, text: str) -> None:
        if self._parts is not None:
            self._parts.append(escape(text, _QUOTES))


def read_nodes(
    file: tuple[str, str], path: str, *, allows_entities: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the elements at a path of a document.

    :param file: the path of the file, and what the records call it.
    :raises StageError: when it is not a well-formed document.
    """
    codec, parser = RecordCodec(NODE), XmlNodeParser(path, allows_entities=allows_entities)
    with Path(file[0]).open("rb") as content:
        while True:
            part = content.read(_CHUNK)
            try:
                parser.feed(part, is_last=not part)
            except expat.ExpatError as error:
                raise StageError(f"'{file[1]}' is not well-formed XML: {error}.") from None
            except StageError as error:
                raise StageError(f"'{file[1]}' {error.message}", error.corrective_action) from None
            found, parser.found = parser.found, []
            for first in range(0, len(found), _BATCH):
                yield codec.encode(_to_records(found[first : first + _BATCH], file[1]))
            if not part:
                return


def _to_records(nodes: Sequence[tuple[int, str]], name: str) -> list[dict[str, Any]]:
    return [{"offset": line, "filename": name, "record": text} for line, text in nodes]


def _strip_prefix(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse_entity(name: str, *_rest: Any) -> None:
    raise StageError(
        f"declares the entity '{name}', which 'supportDTD' forbids.", "Set 'supportDTD' to true."
    )
