"""Charts for tests: any that could be, and large ones."""

from __future__ import annotations

import itertools
import random

from hypothesis import strategies as st

from localcdap.tui.canvas.chart import Chart, Link, Port, PortKind

PORTS = (
    Port(),
    Port(PortKind.TRUE, "true"),
    Port(PortKind.FALSE, "false"),
    Port(PortKind.ERRORS, "errors"),
    Port(PortKind.PORT, "a long name of a port"),
)


@st.composite
def charts(draw, most=14):
    """Any chart: with circles, loops, parts of their own, several lines between two stages."""
    count = draw(st.integers(0, most))
    names = tuple(f"s{i}" for i in range(count))
    ends = st.integers(0, max(count - 1, 0))
    pairs = draw(st.lists(st.tuples(ends, ends, st.sampled_from(PORTS)), max_size=24))
    links = tuple(dict.fromkeys(Link(f"s{a}", f"s{b}", p) for a, b, p in pairs)) if count else ()
    endings = tuple(f"e{i}" for i in range(draw(st.integers(0, 4))))
    return Chart(names, links, endings)


def chain(count, first="s0"):
    """Stages that follow each other."""
    names = (first, *(f"s{i}" for i in range(1, count)))
    return Chart(names, tuple(Link(a, b) for a, b in itertools.pairwise(names)))


def large(count=200, seed=1):
    """A pipeline as large as any that is known."""
    chance = random.Random(seed)
    links = {}
    for i in range(1, count):
        for _ in range(1 if chance.random() < 0.75 else 2):
            source = chance.randrange(max(0, i - 6), i)
            links[Link(f"stage {source}", f"stage {i}", chance.choice(PORTS[:4]))] = None
    return Chart(tuple(f"stage {i}" for i in range(count)), tuple(links))
