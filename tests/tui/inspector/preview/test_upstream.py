"""What comes to a stage when all before it is tried."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.samples import RejectedRecord, StageProblem
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.runs.preview.model import DebugAnswer, DebugOutput
from localcdap.tui.inspector.preview.sample_input import UpstreamRecords


class Debugging:
    """Stages that add their name to each record; an ``s`` is a source, a ``p`` a splitter."""

    def __init__(self):
        self.tried = []

    def debug(self, request):
        self.tried.append(request.stage)
        given = [record for each in request.input for record in each.records]
        if request.stage == "broken":
            return DebugAnswer([StageProblem("It is broken.")], None)
        if request.stage.startswith("p"):
            ports = {f"{i}": DebugOutput(None, [record]) for i, record in enumerate(given)}
            return DebugAnswer([], None, ports=ports)
        records = [each + request.stage for each in given] or [request.stage, request.stage.upper()]
        return DebugAnswer([], DebugOutput(None, records), [RejectedRecord("bad", 7, "why")])


def arriving(connections, types=(), port=None):
    """What comes to stage ``z`` from the stage ``a``."""
    lines = [line.split(">") for line in connections.split()]
    names = dict.fromkeys(name for line in lines for name in line)
    stages = [
        {"name": n, "plugin": {"name": n, "type": dict(types).get(n, "transform")}} for n in names
    ]
    connected = [{"from": a, "to": b} for a, b in lines]
    if port is not None:
        connected[-1]["port"] = port
    config = {"stages": stages, "connections": connected}
    sheet, _ = EditedDocument.read({"artifact": {"name": "cdap-data-pipeline"}, "config": config})
    debugging = Debugging()
    upstream = UpstreamRecords(sheet.to_document(), "{}", namespace="n", arguments={}, records=2)
    found = upstream.read_arriving(SimpleNamespace(debugging=debugging), "z", lines[-1][0])
    return found, debugging.tried


@pytest.mark.parametrize(
    ("connections", "more", "records", "tried"),
    [
        ("s>z", {}, ["s", "S"], ["s"]),
        ("s>a a>z", {}, ["sa", "Sa"], ["s", "a"]),
        ("s>a s>b a>c b>c c>z", {}, ["sac", "Sac", "sbc", "Sbc"], ["s", "a", "b", "c"]),
        ("s>p p>z", {"port": "1"}, ["S"], ["s", "p"]),
        ("s>c c>z", {"types": {"c": "condition"}}, ["s", "S"], ["s"]),
        (
            "s>z",
            {"types": {"z": "errortransform"}},
            [{"record": "bad", "code": 7, "message": "why"}],
            ["s"],
        ),
    ],
)
def test_stages_are_tried_once_from_the_sources_on(connections, more, records, tried):
    assert arriving(connections, **more) == (records, tried)


@pytest.mark.parametrize(
    ("connections", "message"),
    [
        ("broken>a a>z", "Stage 'broken': It is broken."),
        ("a>b b>a a>z", "Stage 'a' is connected to itself."),
    ],
)
def test_what_cannot_be_tried_is_named(connections, message):
    with pytest.raises(BadRequestError, match=message):
        arriving(connections)
