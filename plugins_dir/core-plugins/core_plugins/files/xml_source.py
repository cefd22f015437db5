"""The XMLReader source: elements of XML documents as texts.

Elements of XML documents as texts, read as a stream, so that documents of any size can be read.
"""

from __future__ import annotations

import functools
import re
import shutil
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat
from xml.sax.saxutils import escape

from localcdap.api import (
    BatchSource,
    FinishContext,
    LineageRecorder,
    NotFoundError,
    PluginConfig,
    Schema,
    SourceContext,
    SourceSampleContext,
    StageConfigurer,
    StageError,
    field,
    plugin,
)
from localcdap.api.app.transactions import TransactionContext, TransactionKind
from localcdap.api.arrow import RecordCodec
from localcdap.api.dataset.classes.tables import KeyValueTable
from localcdap.api.rules import check_reference_name
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.files.inputs import (
    FilesNotFoundError,
    find_input_files,
    get_base_folders,
    is_remote,
    require_file_system,
)
from localcdap.plugin_lib.files.readers.lines import PathField

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


DELETE, MOVE, ARCHIVE = "delete", "move", "archive"
_DAY_MS: Final = 24 * 3600 * 1000


class ReadFiles:
    """A key-value table with the files that runs have read, and when: the time in milliseconds, as 8 bytes.

    :param table: its name.
    :param days: after how many days a file is forgotten; None for never.
    """

    def __init__(self, table: str, days: int | None) -> None:
        self._table: Final = table
        self._days: Final = days

    def list_known(self, context: SourceContext) -> set[str]:
        """Return the files that earlier runs have read; the table is created if there is none."""
        context.create_dataset(self._table, "keyValueTable", {})
        try:
            rows = context.transactions.run(self._read, kind=TransactionKind.READ_ONLY)
        except NotFoundError:  # a preview creates no table
            return set()
        return {key.decode() for key, read_at in rows.items() if not self._is_old(read_at)}

    def add(self, context: FinishContext, files: Sequence[str]) -> None:
        """Note the files that a run has read, and forget the old ones."""
        now = int(time.time() * 1000).to_bytes(8, "big")
        rows = {file.encode(): now for file in files}
        context.transactions.run(lambda tx: self._write(tx, rows))

    def _read(self, tx: TransactionContext) -> dict[bytes, int]:
        return {key: int.from_bytes(value, "big") for key, value in self._open(tx).scan()}

    def _write(self, tx: TransactionContext, rows: dict[bytes, bytes]) -> None:
        old = [key for key, read_at in self._read(tx).items() if self._is_old(read_at)]
        if old:
            self._open(tx).delete_all(old)
        self._open(tx).write_all(rows)

    def _is_old(self, read_at: int) -> bool:
        return bool(self._days) and read_at < int(time.time() * 1000) - (self._days or 0) * _DAY_MS

    def _open(self, tx: TransactionContext) -> KeyValueTable:
        table = tx.dataset(self._table)
        assert isinstance(table, KeyValueTable), self._table
        return table


def dispose_file(file: Path, action: str, folder: Path | None) -> None:
    """Delete a file, move it into a folder, or replace it by a zip file there.

    :param action: nothing is done for any other word.
    :raises OSError: when that is not possible.
    """
    if action == DELETE:
        file.unlink()
    elif action == MOVE and folder is not None:
        shutil.move(file, folder / file.name)
    elif action == ARCHIVE and folder is not None:
        with zipfile.ZipFile(folder / f"{file.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(file, file.name)
        file.unlink()


NODE: Final = Schema.record(
    "xmlSchema", [("offset", Schema.LONG), ("filename", Schema.STRING), ("record", Schema.STRING)]
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


_NONE: Final = "none"
_KNOWN: Final = "files read before"
_AFTER: Final = "after reading"
_GLOB: Final = re.compile(r"[*?{\[]")


class XmlReaderConfig(PluginConfig, macros=True, rename="camel"):
    """Properties as CDAP's (hydrator-plugins, ``io/cdap/plugin/batch/source/XMLReaderBatchSource.java``)."""

    reference_name: str = field(
        "Name of this source in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    path: str = field(
        "File, folder, or files that match a pattern such as /data/*.xml.", form="{path}"
    )
    node_path: str = field("Path of the elements to read, as /catalog/book/title.")
    pattern: str | None = field(
        "Regular expression of Java for the names of the files, which need only contain a match; the path "
        "must have wildcards then.",
        default=None,
    )
    action: str = field(
        "What is done with a file when the run has succeeded: nothing, or it is deleted, moved, or archived "
        "as a zip file.",
        default=_NONE,
        choices=(_NONE, DELETE, MOVE, ARCHIVE),
        name="actionAfterProcess",
        group=_AFTER,
        macro=False,
    )
    target_folder: str | None = field(
        "Existing folder to move or archive files into.",
        default=None,
        form="{folder}",
        group=_AFTER,
    )
    reprocesses: str = field(
        "Whether files that an earlier run has read are read again: Yes or No. If not, 'tableName' notes the "
        "files.",
        choices=("Yes", "No"),
        name="reprocessingRequired",
        group=_KNOWN,
        macro=False,
    )
    table: str | None = field(
        "Key-value table of the files that were read; without it, all files are read again.",
        default=None,
        name="tableName",
        group=_KNOWN,
    )
    expiry: int | None = field(
        "Days after which the table forgets a file; by default never.",
        default=None,
        name="tableExpiryPeriod",
        group=_KNOWN,
    )
    temporary_folder: str | None = field(
        "Folder for temporary files; without effect here.", default=None, group="more"
    )
    external_entities: bool = field(
        "Whether external entities are read. They are not read here, for safety.",
        default=False,
        name="enableExternalEntities",
        group="more",
    )
    supports_dtd: bool = field(
        "Whether documents may declare entities in a DTD.",
        default=False,
        name="supportDTD",
        group="more",
        macro=False,
    )


@plugin(name="XMLReader", description="Reads elements of XML documents as texts.")
class XmlReaderSource(BatchSource):
    """Each element at the path becomes a record with its line in the file, the file, and its text.

    In CDAP a file is noted, moved or deleted as soon as it is read; here when the output is committed, so
    that a run that fails loses nothing.
    """

    Config = XmlReaderConfig
    config: XmlReaderConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        if config.expiry is not None and config.expiry < 0:
            stage.failures.add(
                f"Invalid value: {config.expiry}.",
                "Value for 'Table Expiry Period' should either be empty or greater than 0",
            ).with_config_property("tableExpiryPeriod")
        self._check_action(stage)
        self._check_pattern(stage)
        if config.external_entities:
            stage.warnings.add(
                "'enableExternalEntities' has no effect: external entities are never read here.",
                "Set it to false.",
            ).with_config_property("enableExternalEntities")
        stage.output_schema = NODE
        if config.table and not config.contains_macro("tableName"):
            stage.create_dataset(config.table, "keyValueTable", {}, config_property="tableName")

    def _check_action(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.action not in (None, _NONE) and config.reprocesses == "Yes":
            stage.failures.add(
                "Only one of 'After Processing Action' or 'Reprocessing Required' may be selected at a "
                "time.",
                "Choose no action, or read no file again.",
            ).with_config_property("actionAfterProcess").with_config_property(
                "reprocessingRequired"
            )
        needs_folder = config.action in (MOVE, ARCHIVE)
        if needs_folder and not config.target_folder and not config.contains_macro("targetFolder"):
            stage.failures.add(
                f"Target folder cannot be empty for Action = '{config.action}'.",
                "Name an existing folder.",
            ).with_config_property("targetFolder")

    def _check_pattern(self, stage: StageConfigurer) -> None:
        config = self.config
        if not config.pattern or config.contains_macro("pattern"):
            return
        try:
            compile_regex(config.pattern)
        except RegexError as error:
            stage.failures.add(
                f"Invalid regular expression: '{config.pattern}'.", str(error)
            ).with_config_property("pattern")
        path = config.path
        if path is None or config.contains_macro("path"):
            return
        if path.endswith("/") or not _GLOB.search(path):
            stage.failures.add(
                "When filtering with regular expressions, the path must be a directory and leverage glob "
                "syntax.",
                "Usually the folder path needs to end with '/*'.",
            ).with_config_property("path").with_config_property("pattern")

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if self.config.table and not self.config.contains_macro("tableName"):
            lineage.datasets.append(self.config.table)

    @property
    def _known(self) -> ReadFiles | None:
        return ReadFiles(self.config.table, self.config.expiry) if self.config.table else None

    def read(self, context: SourceContext) -> DataFrame:
        config, known = self.config, self._known
        path = context.resolve_path(config.path)
        if is_remote(path):
            require_file_system(context, [path])
        try:
            files = self._list_files(path)
        except FilesNotFoundError as error:
            if not Path(path).is_dir():
                raise context.fail(str(error), error.action) from None
            context.logger.warning("%s", error)
            files = []
        if known is not None and config.reprocesses == "No":
            before = known.list_known(context)
            files = [each for each in files if each[1] not in before]
        if config.target_folder and config.action in (MOVE, ARCHIVE):
            target = Path(context.resolve_path(config.target_folder))
            if not target.is_dir():
                raise context.fail(
                    f"the target folder '{target}' does not exist.", "Make it, or name another one."
                )
        self._files = files
        return context.generate(NODE, files, self._get_reader())

    def sample(self, context: SourceSampleContext, limit: int) -> Iterable[pa.RecordBatch] | None:
        if self.config.table:
            return None
        files = self._list_files(context.resolve_path(self.config.path))
        return context.generate(NODE, files, self._get_reader())

    def _get_reader(self) -> functools.partial[Iterator[pa.RecordBatch]]:
        config = self.config
        return functools.partial(
            read_nodes, path=config.node_path, allows_entities=config.supports_dtd
        )

    def _list_files(self, path: str) -> list[tuple[str, str]]:
        """Return the files to read, with what records call them.

        :raises FilesNotFoundError: when there are none.
        """
        written = self.config.path
        found = find_input_files(path, document_path=written)
        if self.config.pattern:
            wanted = compile_regex(self.config.pattern)
            found = [each for each in found if wanted.search(Path(each).name)]
        folder = get_base_folders(path, written) if is_remote(written) else None
        show = PathField("filename", filename_only=False, folder=folder).format_path
        return [(each, show(each)) for each in found]

    def on_run_finish(self, succeeded: bool, context: FinishContext) -> None:
        if not succeeded:
            return
        config, known = self.config, self._known
        if known is not None:
            known.add(context, [shown for _, shown in self._files])
        target = Path(context.resolve_path(config.target_folder)) if config.target_folder else None
        for file, shown in self._files:
            try:
                dispose_file(Path(file), config.action, target)
            except OSError as error:
                context.logger.warning("%s: %s", shown, error)
