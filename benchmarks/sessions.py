"""What an open front end, such as the studio, asks of its host: runs, previews and trials of a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Call, remove
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, connect
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import DebugRequest, GivenRecords, PreviewRequest, PreviewStatus

_WAIT_S: Final = 30.0


class Session:
    """A connection with a host that stays open; each call is what one key of the studio asks for."""

    def __init__(self, cdap: Cdap) -> None:
        self._cdap: Final = cdap

    def run(self, file: Path, arguments: Mapping[str, str], clean: Callable[[], None]) -> Call:
        """A run from its start until the front end knows that it has completed."""
        request = RunRequest(
            document=file.read_text(encoding="utf-8"),
            file=str(file),
            name=file.stem,
            arguments=dict(arguments),
        )

        def call() -> None:
            run = self._cdap.runs.start(request)
            while not run.status.is_end:
                run = self._cdap.runs.wait(run.run, run.version, _WAIT_S)
            _require(run.status is RunStatus.COMPLETED, run.error)

        return Call(call, clean)

    def preview(self, file: Path, arguments: Mapping[str, str]) -> Call:
        """A preview of a whole pipeline."""
        request = PreviewRequest(
            document=file.read_text(encoding="utf-8"),
            file=str(file),
            name=file.stem,
            arguments=dict(arguments),
        )

        def call() -> None:
            shown = self._cdap.previews.start(request)
            while not shown.status.is_end:
                shown = self._cdap.previews.wait("default", shown.preview, shown.version, _WAIT_S)
            _require(shown.status is PreviewStatus.COMPLETED, shown.error)

        return Call(call, remove())

    def try_stage(
        self, file: Path, arguments: Mapping[str, str], stage: str, records: list[dict[str, Any]]
    ) -> Call:
        """One stage on given records."""
        request = DebugRequest(
            stage=stage,
            input=[GivenRecords(records=records)],
            arguments=dict(arguments),
            document=file.read_text(encoding="utf-8"),
            file=str(file),
        )

        def call() -> None:
            answer = self._cdap.debugging.debug(request)
            _require(not answer.errors, answer.errors)
            _require(
                answer.output is not None and len(answer.output.records) == len(records), answer
            )

        return Call(call, remove())


@contextmanager
def open_session(home: Path) -> Iterator[Session]:
    """Connect to the host of an instance, which is started if there is none."""
    with connect(Home(home)) as cdap:
        yield Session(cdap)


def make_purchases(count: int) -> list[dict[str, Any]]:
    """Purchases as they reach the stage 'Amount' of the demo."""
    return [
        {"customer": f"c{n}", "product": "pen", "quantity": n, "price": 1.5} for n in range(count)
    ]


def _require(holds: bool, found: object) -> None:
    if not holds:
        raise RuntimeError(f"this is not what was asked for: {found}")
