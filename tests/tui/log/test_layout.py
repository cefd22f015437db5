from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcdap.runs.model import StoredLogLine
from localcdap.tui.labels import sanitize_lines, sanitize_name
from localcdap.tui.log.layout import LogStyle, format_plain_line, lay_out_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m", "red and green"),
        ("\x1b]0;a title\x07text", "\\x1b]0;a title\\x07text"),
        (
            "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
            "\\x1b]8;;http://x\\x1b\\link\\x1b]8;;\\x1b\\",
        ),
        ("\x1bP a device string \x1b\\after", "\\x1bP a device string \\x1b\\after"),
        ("\x9b31mred", "\\x9b31mred"),
        ("\x1b[2J\x1b[Hgone", "\\x1b[2J\\x1b[Hgone"),
        ("a\tb", "a   b"),
        ("one\r\ntwo", "one\ntwo"),
        ("10%\r20%", "10%\\r20%"),
        ("bell\x07null\x00del\x7f", "bell\\x07null\\x00del\\x7f"),
        ("a\u202eb\u200dc\u2028d", "a\\u202ebc\\u2028d"),
        ("unfinished \x1b[", "unfinished \\x1b["),
        ("☀\ufe0f 👨\u200d👩", "☀ 👨👩"),
        ("grün 漢字 😀", "grün 漢字 😀"),
    ],
)
def test_lines_are_sanitized_for_painting(text: str, shown: str) -> None:
    assert sanitize_lines(text) == shown


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "L", "Mn", "So"])) | st.text())
def test_no_control_character_is_left(text: str) -> None:
    lines, name = sanitize_lines(text), sanitize_name(text)
    for shown in (lines.replace("\n", ""), name):
        assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert sanitize_lines(lines) == lines


@given(
    st.text(max_size=300),
    st.text(max_size=40) | st.none(),
    st.sampled_from(["INFO", "CRITICAL", "\x1b[31mMINE"]),
    st.booleans(),
    st.integers(1, 120),
    st.integers(1, 8),
    st.text(max_size=3),
)
def test_a_line_fits_the_screen(text, stage, level, wrap, width, height, search):
    line = StoredLogLine(1, 0, level, text, stage)
    strips = lay_out_line(line, LogStyle(width, height, wrap, True, search))
    assert 1 <= len(strips) <= height
    for strip in strips:
        assert "\n" not in strip.text
        assert "\x1b" not in strip.text
    if wrap and width >= 60:
        assert all(strip.cell_length <= width for strip in strips[:-1])
    assert "\x1b" not in format_plain_line(line)


def test_marks_and_continuations() -> None:
    line = StoredLogLine(1, 0, "ERROR", "first needle\nsecond NEEDLE", "S")
    strips = lay_out_line(line, LogStyle(120, 10, True, True, "needle"))
    assert len(strips) == 2
    assert strips[1].text.startswith(" " * 20)
    assert [s.text for s in strips[0] if s.text == "needle"] == ["needle"]
    exact = lay_out_line(line, LogStyle(120, 10, True, True, "NEEDLE"))
    assert not [s.text for s in exact[0] if s.text == "needle"]
    cut = lay_out_line(
        StoredLogLine(1, 0, "INFO", "\n".join("abcdef")), LogStyle(120, 3, True, False)
    )
    assert cut[-1].text.endswith("… 4 more rows")
