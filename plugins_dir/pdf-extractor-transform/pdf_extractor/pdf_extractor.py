"""The transform PDFExtractor."""

from __future__ import annotations

import datetime
import io
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    StageError,
    Transform,
    Type,
    field,
    plugin,
)

if TYPE_CHECKING:
    from pypdf import PdfReader

_TEXTS: Final = ("title", "author", "subject", "keywords", "creator", "producer")
_OUTPUT: Final = Schema.record(
    "output",
    [
        ("raw_pdf_data", Schema.BYTES.as_nullable),
        ("text", Schema.STRING.as_nullable),
        ("page_count", Schema.INT.as_nullable),
        *((name, Schema.STRING.as_nullable) for name in _TEXTS),
        ("creation_date", Schema.LONG.as_nullable),
        ("modification_date", Schema.LONG.as_nullable),
        ("trapped", Schema.STRING.as_nullable),
    ],
)


@plugin(name="PDFExtractor", description="Reads the text and the properties of PDF documents.")
class PdfExtractor(Transform):
    """Properties, output and failures are those of CDAP's plugin (pdf-extractor-transform,
    ``PDFExtractor.java``, ``PDFExtractorConfig.java``). There PDFBox extracts the text, here pypdf, with
    other blanks and line ends.

    A document without a date, at which the original fails, has null there. With ``continueOnError``, a
    document that cannot be read is left out, as in the original.
    """

    class Config(PluginConfig):
        source: str = field(
            "The field with the documents, of type bytes.",
            name="sourceFieldName",
            form="{input-field}",
        )
        goes_on: bool = field(
            "Whether documents that cannot be read, and null, are left out with a warning in the log; else "
            "they fail the run.",
            macro=True,
            name="continueOnError",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = _OUTPUT
        schema = stage.input_schema
        if schema is None:
            return
        found = schema.field(self.config.source)
        if found is None:
            stage.failures.add(
                f"Field '{self.config.source}' must be present in the input schema."
            ).with_config_property("sourceFieldName")
            return
        type = found.schema.non_nullable
        if type.type is not Type.BYTES or type.logical_type is not None:
            stage.failures.add(
                f"Field '{found.name}' is of unexpected type '{type.display_name}'.",
                "Supported type is bytes.",
            ).with_config_property("sourceFieldName")

    def record_lineage(self, lineage: LineageRecorder) -> None:
        source = self.config.source
        lineage.keep("raw_pdf_data", source)
        names = [each for each in _OUTPUT.field_names if each != "raw_pdf_data"]
        lineage.derive(names, [source], "Extract")

    def initialize(self, context: StageContext) -> None:
        try:
            import pypdf
        except ImportError:
            raise StageError(
                "The library pypdf is missing.", "Install it with: pip install 'localcdap[pdf]'."
            ) from None
        self._open = pypdf.PdfReader
        self._logger = context.logger

    def transform(self, record: Record, emit: Emitter) -> None:
        data = record[self.config.source]
        try:
            if data is None:
                raise ValueError("No data found in source field of incoming record.")
            emit(_extract(self._open(io.BytesIO(data)), data))
        except Exception as error:  # pypdf raises errors of many kinds for broken documents
            problem = f"A PDF document cannot be read: {str(error) or type(error).__name__}"
            if not self.config.goes_on:
                raise StageError(
                    problem, "Correct the document, or set continueOnError to leave it out."
                ) from None
            self._logger.warning("%s. It is left out, since continueOnError is true.", problem)


def _extract(reader: PdfReader, data: bytes) -> Record:
    info: Any = reader.metadata
    values: dict[str, Any] = {
        "raw_pdf_data": data,
        "text": "\n".join(page.extract_text() for page in reader.pages),
        "page_count": len(reader.pages),
    }
    for name in _TEXTS:
        values[name] = _to_text(info.get(f"/{name.capitalize()}")) if info else None
    values["creation_date"] = _to_milliseconds(info.creation_date) if info else None
    values["modification_date"] = _to_milliseconds(info.modification_date) if info else None
    values["trapped"] = _to_text(info.get("/Trapped")) if info else None
    return values


def _to_text(value: Any) -> str | None:
    return None if value is None else str(value).removeprefix("/")


def _to_milliseconds(moment: datetime.datetime | None) -> int | None:
    """Return a time in milliseconds since 1970; a time without a zone is in UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return int(aware.timestamp() * 1000)
