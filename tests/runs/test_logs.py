"""Logs in pages, filtered and searched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcdap.api.errors import NotFoundError
from localcdap.engine.messages.spool import RunStatus
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from localcdap.runs.logs import (
    LEVELS,
    LONGEST_TEXT,
    STRETCH,
    LogFilter,
    find_error_kind,
)
from localcdap.runs.model import StoredLogLine
from tests.runs.stored_runs import write_log, write_long_log, write_run


@pytest.fixture(scope="module")
def cdap(
    tmp_path_factory: pytest.TempPathFactory, fresh_home: Callable[[Path], Path]
) -> Iterator[Cdap]:
    with open_in_process(Home(fresh_home(tmp_path_factory.mktemp("logs")))) as cdap:
        yield cdap


LINES = st.lists(
    st.tuples(
        st.sampled_from([*LEVELS, "TRACE"]),
        st.sampled_from([None, "", "a", "b"]),
        st.text(st.sampled_from("abA%_'\n\x1b"), max_size=6),
    ),
    max_size=40,
)
FILTERS = st.builds(LogFilter, st.sampled_from(LEVELS), st.sampled_from([None, "", "a", "c"]))


@settings(max_examples=20, deadline=None)
@given(LINES, FILTERS, st.text(st.sampled_from("abA%_'"), min_size=1, max_size=2), st.data())
def test_filter_and_search_find_what_python_finds(cdap: Cdap, lines, filter, text, data) -> None:
    run = write_run(cdap).run
    log = [
        StoredLogLine(n, n, level, said, stage) for n, (level, stage, said) in enumerate(lines, 1)
    ]
    write_log(cdap, run, log)

    def lets_through(line: StoredLogLine) -> bool:
        is_serious = line.level not in LEVELS[: LEVELS.index(filter.level)]
        return is_serious and (filter.stage is None or (line.stage or "") == filter.stage)

    rows = [line for line in log if lets_through(line)]
    outline = cdap.runs.read_log_outline(run, filter)
    assert (outline.rows, outline.newest) == (len(rows), len(log))
    assert outline.starts == [line.number for line in rows[::STRETCH]]
    assert cdap.runs.read_log_page(run, filter, 0, 100) == rows

    number, backwards = data.draw(st.integers(0, 41)), data.draw(st.booleans())
    hit = cdap.runs.find_in_log(run, filter, text, number, backwards=backwards)
    hits = [
        line for line in rows if text in (line.text if text != text.lower() else line.text.lower())
    ]
    if not hits:
        assert hit is None
        return
    ahead = [line for line in hits if (line.number < number if backwards else line.number > number)]
    wanted = (ahead or hits)[-1 if backwards else 0]
    assert hit is not None
    assert (hit.number, hit.row) == (wanted.number, rows.index(wanted))
    assert cdap.runs.find_log_row(run, filter, hit.number) == hit.row
    assert (hit.place, hit.hits) == (hits.index(wanted) + 1, len(hits))


@pytest.mark.slow
def test_any_row_of_a_million_is_found(cdap: Cdap) -> None:
    run = write_run(cdap).run
    write_long_log(cdap, run, 1_000_000)
    warnings = LogFilter("WARNING")
    outline = cdap.runs.read_log_outline(run, warnings)
    assert outline.rows == 100_000
    page = cdap.runs.read_log_page(run, warnings, outline.starts[150], STRETCH)
    assert page[0].text == f"text of line {(150 * STRETCH + 1) * 10}"
    hit = cdap.runs.find_in_log(run, LogFilter(), "line 777777")
    assert hit is not None
    assert hit.row == 777_776
    # What is new is all that is asked for later.
    again = cdap.runs.read_log_outline(run, warnings, outline.starts[-1])
    assert (again.rows, again.starts) == (STRETCH, outline.starts[-1:])
    assert cdap.runs.summarize_log(run).levels == {"INFO": 900_000, "WARNING": 100_000}


def test_a_long_text_is_cut_and_can_be_had_whole(cdap: Cdap) -> None:
    run = write_run(cdap).run
    write_log(cdap, run, [StoredLogLine(1, 1, "INFO", "x" * (LONGEST_TEXT + 5))])
    (line,) = cdap.runs.read_log_page(run, LogFilter(), 0, 10)
    assert (len(line.text), line.more) == (LONGEST_TEXT, 5)
    assert len(cdap.runs.get_log_line(run, 1).text) == LONGEST_TEXT + 5
    with pytest.raises(NotFoundError):
        cdap.runs.get_log_line(run, 2)


def test_who_waits_for_a_log_hears_of_its_next_line(cdap: Cdap) -> None:
    run = write_run(cdap, status=RunStatus.RUNNING).run
    write_log(cdap, run, [StoredLogLine(1, 1, "INFO", "one")])
    assert cdap.runs.wait_for_log(run, 0, timeout_s=60) == 1
    later = threading.Timer(0.05, write_log, (cdap, run, [StoredLogLine(2, 2, "INFO", "two")]))
    later.start()
    assert cdap.runs.wait_for_log(run, 1, timeout_s=600) == 2  # longer than a test may take
    later.join()
    assert cdap.runs.wait_for_log(write_run(cdap).run, 0, timeout_s=600) == 0  # it has ended


def test_errors_are_grouped_by_kind_with_the_first_ten_of_each(cdap: Cdap) -> None:
    run = write_run(cdap).run
    said = [f"Field 'a' is not of type int: '{n}'. Record: {{a: {n}}}" for n in range(12)]
    texts = [
        ("ERROR", "disk full", None),
        *(("ERROR", text, "T") for text in said),
        ("WARNING", "odd", "T"),
    ]
    write_log(
        cdap,
        run,
        [
            StoredLogLine(n, n, level, text, stage)
            for n, (level, text, stage) in enumerate(texts, 1)
        ],
    )

    values, disk = cdap.runs.group_errors(run)

    assert (values.stage, values.kind) == ("T", "Field 'a' is not of type int: ….")
    assert (values.count, [line.text for line in values.first]) == (12, said[:10])
    assert (disk.stage, disk.kind, disk.count) == (None, "disk full", 1)
    assert cdap.runs.group_errors(write_run(cdap).run) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Pipeline 'p': Stage 'S': field 'n': 12.5 of 7", "Pipeline 'p': Stage 'S': field 'n': … of …"),
        ("Field 'a' must be long, but is 'x'. File: f; line: 1,x", "Field 'a' must be long, but is …."),
        ('key "a b" exists at 2024-01-01', "key … exists at …"),
        ("int32 and utf-8 stay", "int32 and utf-8 stay"),
    ],
)  # fmt: skip
def test_the_kind_of_an_error_has_no_values(text, kind):
    assert find_error_kind(text) == kind
