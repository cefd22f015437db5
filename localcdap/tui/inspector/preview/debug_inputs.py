"""The input records with which stages are tried: typed by the user, or read from the stages before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.preview.sample_input import format_records

Upstream = tuple[Mapping[str, str], tuple[Any, ...], tuple[Any, ...]]
"""All that records from the stages before a stage depend on: arguments, the stages, the connections."""


@dataclass(frozen=True)
class _ReadText:
    """Records that were read, as text.

    :param upstream: the stages that they were read from, as they were then.
    """

    text: str
    upstream: Upstream


class DebugInputs:
    """The text of the input records of all stages of a pipeline, kept while the pipeline is open."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._texts: dict[tuple[str, str], str] = {}
        self._read: dict[tuple[str, str], _ReadText] = {}

    def get_text(self, stage: str, input: str) -> str:
        """Return the records of one input of a stage, as JSON or CSV."""
        return self._texts.get((stage, input), "")

    def set_text(self, stage: str, input: str, text: str) -> None:
        """Keep what the user typed."""
        self._texts[stage, input] = text

    def set_read(self, stage: str, input: str, records: list[Any]) -> None:
        """Keep records that were read from the stages before the stage."""
        text = format_records(records)
        self._texts[stage, input] = text
        self._read[stage, input] = _ReadText(text, self._describe_upstream(stage))

    def is_read(self, stage: str, input: str) -> bool:
        """Whether the records were read and not changed by the user since."""
        read = self._read.get((stage, input))
        return read is not None and read.text == self._texts.get((stage, input))

    def list_missing(self, stage: str, inputs: Iterable[str]) -> list[str]:
        """Return the inputs without records, and those read before a stage upstream was changed."""
        return [each for each in inputs if self._is_missing(stage, each)]

    def _is_missing(self, stage: str, input: str) -> bool:
        if not self.get_text(stage, input).strip():
            return True
        if not self.is_read(stage, input):
            return False
        return self._read[stage, input].upstream != self._describe_upstream(stage)

    def _describe_upstream(self, stage: str) -> Upstream:
        editor = self._editor
        connections = editor.document.connections
        found, new = set[str](), {stage}
        while new:
            found |= new
            new = {c.source for c in connections if c.target in found} - found
        names = sorted(found - {stage})
        return (
            dict(editor.arguments),
            tuple((name, editor.get_node(name)) for name in names),
            tuple(c for c in connections if c.target in found),
        )
