"""The help on a field."""

from __future__ import annotations

import pytest
from textual.content import Content

from localcdap.tui.inspector.heading import crop_text


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("one two", ["one two"]),
        ("one two three four", ["one two", "three four"]),
        ("one two three four five", ["one two", "three fou…"]),
        ("a\nb\nc", ["a", "b…"]),
        ("", [""]),
    ],
)
def test_what_has_no_room_ends_with_an_ellipsis(text, reported):
    shown = crop_text(Content(text), 10, 2)

    assert [line.rstrip().plain for line in shown.wrap(10)] == reported
