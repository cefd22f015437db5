"""The layout of a pipeline: the position of every stage and connection, in cells.

The columns and rows come from :mod:`~.layers`; the last step decides where lines turn in the channel
between two columns. A strand enters the channel in one row and leaves it in one or several rows. Unless
all are the same row, it goes up or down once, in a vertical *track*. If the tracks of two strands would
each have to be left of the other, one strand is cut into two pieces, which are joined in a free row (a
dogleg).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Final

from localcdap.tui.canvas.chart import Chart, Port, PortKind, Zoom
from localcdap.tui.canvas.layers import Arrangement, ChartPart, Sizes, arrange, place_rows


@dataclass(frozen=True, slots=True)
class Crossing:
    """A strand that crosses a channel.

    :param key: identifies the strand.
    :param enters: the row in which it enters from the left.
    :param leaves: the rows in which it leaves to the right.
    """

    key: Hashable
    enters: int
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A part of a strand in one track: from the row ``enters`` up or down to the rows ``leaves``."""

    key: Hashable
    track: int
    """The number of the track, from 0 at the left."""
    enters: int
    leaves: tuple[int, ...]


@dataclass(slots=True)
class _Piece:
    """A strand, or one of its two pieces at a dogleg."""

    key: Hashable
    enters: int
    leaves: tuple[int, ...]
    first: int
    last: int
    rest: tuple[int, ...] = ()
    """The number of the piece that continues this one; empty if there is none."""
    track: int = -1

    @classmethod
    def create(
        cls, key: Hashable, enters: int, leaves: tuple[int, ...], rest: tuple[int, ...] = ()
    ) -> _Piece:
        rows = (enters, *leaves)
        return cls(key, enters, leaves, min(rows), max(rows), rest)


def route_turns(crossings: Sequence[Crossing]) -> tuple[list[Turn], int]:
    """Return the turns of the strands that are not straight, and the number of tracks.

    Two strands share a cell only where they leave in the same row, or where they cross at a right angle.

    :param crossings: no two enter in the same row.
    """
    pieces = [
        _Piece.create(each.key, each.enters, each.leaves)
        for each in crossings
        if each.leaves != (each.enters,)
    ]
    taken = {row for each in crossings for row in (each.enters, *each.leaves)}
    before = _break_cycles(pieces, taken)
    tracks = _assign_tracks(pieces, before)
    made = [Turn(p.key, p.track, p.enters, p.leaves) for p in pieces]
    return sorted(made, key=lambda turn: turn.track), tracks


def _list_right_pieces(pieces: Sequence[_Piece]) -> list[list[int]]:
    """Return for each piece the pieces that must be right of it: those that leave in the row in which it
    enters.

    A piece that continues in that row leads to the same stage, and may share the row.
    """
    leaving: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        for row in () if piece.rest else piece.leaves:
            leaving.setdefault(row, []).append(number)
    found: list[list[int]] = []
    for piece in pieces:
        is_shared = piece.enters in piece.leaves
        found.append([] if is_shared else [*leaving.get(piece.enters, ()), *piece.rest])
    return found


def _break_cycles(pieces: list[_Piece], taken: set[int]) -> list[list[int]]:
    """Cut pieces in two until an order of tracks exists, and return the order."""
    while True:
        before = _list_right_pieces(pieces)
        cycle = _find_cycle(before)
        if cycle is None:
            return before
        piece = pieces[cycle]
        row = _find_free_row(piece, taken)
        taken.add(row)
        pieces[cycle] = _Piece.create(piece.key, piece.enters, (row,), (len(pieces),))
        pieces.append(_Piece.create(piece.key, row, piece.leaves, piece.rest))


def _find_free_row(piece: _Piece, taken: set[int]) -> int:
    """Return the row nearest to the middle of a piece that no line uses."""
    middle = (piece.first + piece.last) // 2
    return next(
        row
        for distance in count()
        for row in (middle + distance, middle - distance)
        if row not in taken
    )


def _find_cycle(before: Sequence[Sequence[int]]) -> int | None:
    """Return a piece that would have to be left of itself; None when there is none."""
    new, open_, done = 0, 1, 2
    state = [new] * len(before)
    for root in range(len(before)):
        if state[root] != new:
            continue
        state[root] = open_
        stack = [(root, iter(before[root]))]
        while stack:
            node, ahead = stack[-1]
            other = next(ahead, None)
            if other is None:
                state[node] = done
                stack.pop()
            elif state[other] == open_:
                return other
            elif state[other] == new:
                state[other] = open_
                stack.append((other, iter(before[other])))
    return None


def _assign_tracks(pieces: Sequence[_Piece], before: Sequence[Sequence[int]]) -> int:
    """Assign each piece the leftmost track that is free in its rows and right of the pieces before it."""
    waiting = [0] * len(pieces)
    for others in before:
        for other in others:
            waiting[other] += 1
    least = [0] * len(pieces)
    tracks: list[list[tuple[int, int]]] = []
    ready = [number for number, left in enumerate(waiting) if not left]
    while ready:
        ready.sort(key=lambda number: _get_turn_order(pieces[number]), reverse=True)
        number = ready.pop()
        piece = pieces[number]
        piece.track = _place_piece(piece, least[number], tracks)
        for other in before[number]:
            least[other] = max(least[other], piece.track + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return len(tracks)


def _get_turn_order(piece: _Piece) -> tuple[int, int]:
    """Return the order of turns: lines that go up from the top, lines that go down from the bottom.

    In this order they do not cross each other.
    """
    goes_up = piece.enters - piece.first > piece.last - piece.enters
    return (0, piece.enters) if goes_up else (1, -piece.enters)


def _place_piece(piece: _Piece, least: int, tracks: list[list[tuple[int, int]]]) -> int:
    for track in range(least, len(tracks)):
        if _is_free(tracks[track], piece):
            tracks[track].append((piece.first, piece.last))
            return track
    while len(tracks) <= least:
        tracks.append([])
    if tracks[-1]:
        tracks.append([])
    tracks[-1].append((piece.first, piece.last))
    return len(tracks) - 1


def _is_free(track: Iterable[tuple[int, int]], piece: _Piece) -> bool:
    return all(last < piece.first or first > piece.last for first, last in track)


_LONGEST_LABEL: Final = 12
_FEW: Final = 3
"""The fewest stages without connections in a row."""


@dataclass(frozen=True, slots=True)
class Box:
    """A stage."""

    name: str
    x: int
    y: int
    width: int
    height: int
    port_rows: tuple[int, ...] = ()
    """Rows in which connections leave it."""
    enters: int = 0
    """The row in which connections lead to it."""

    @property
    def right(self) -> int:
        """The first column to the right of it."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """The first row below it."""
        return self.y + self.height

    def contains(self, x: int, y: int) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom


Segment = tuple[int, int, int, int]
"""``x1, y1, x2, y2``, both ends included; horizontal or vertical."""


@dataclass(frozen=True, slots=True)
class Wire:
    """The connections that leave a stage by one port."""

    start: str
    """The stage where the wire begins in the drawing; connections that lead back end there."""
    ends: tuple[str, ...]
    port: Port
    segments: tuple[Segment, ...]
    heads: tuple[tuple[int, int], ...]
    """The cells of the arrow heads."""
    label: tuple[int, int, str] | None
    """Column, row and text of the label."""

    @property
    def is_back(self) -> bool:
        """Whether its heads point to the left."""
        return self.port.kind is PortKind.BACK


@dataclass(frozen=True, slots=True)
class Heading:
    """A text above stages."""

    x: int
    y: int
    text: str


@dataclass(slots=True)
class Layout:
    """The positions of all boxes and wires; columns and rows count from 0."""

    zoom: Zoom
    boxes: dict[str, Box] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    loops: frozenset[str] = frozenset()
    width: int = 0
    height: int = 0

    def find_box(self, x: int, y: int) -> Box | None:
        """Return the stage in a cell."""
        return next((box for box in self.boxes.values() if box.contains(x, y)), None)


@lru_cache(maxsize=8)
def lay_out(chart: Chart, zoom: Zoom) -> Layout:
    """Return the layout of a chart."""
    arrangement = arrange(chart)
    found = Layout(zoom, loops=arrangement.loops)
    row = 0
    for part in arrangement.parts:
        row = _PartLayout(part, zoom).put(found, row) + max(zoom.gap, 1)
    _put_singles(found, arrangement, row)
    found.width = max((box.right for box in found.boxes.values()), default=0)
    found.width = max((found.width, *(s[2] + 1 for w in found.wires for s in w.segments)))
    return found


def _put_singles(found: Layout, arrangement: Arrangement, row: int) -> None:
    """Put stages without connections below all others, then the post actions."""
    row = _put_rows(found, arrangement.singles, row)
    if arrangement.endings:
        found.headings.append(Heading(0, row, "after the run"))
        row = _put_rows(found, arrangement.endings, row + 1)
    found.height = max(row - max(found.zoom.gap, 1), 0)


def _put_rows(found: Layout, names: Iterable[str], row: int) -> int:
    zoom = found.zoom
    step = zoom.width + zoom.lead + zoom.track + zoom.tail
    widest = max((box.right for box in found.boxes.values()), default=0)
    fit = max(_FEW, (widest + step - zoom.width) // step)
    height = zoom.get_height(1)
    place = -1
    for place, name in enumerate(names):
        x, y = place % fit * step, row + place // fit * (height + zoom.gap)
        found.boxes[name] = Box(name, x, y, zoom.width, height, enters=y + zoom.first)
    return (
        row if place < 0 else row + place // fit * (height + zoom.gap) + height + max(zoom.gap, 1)
    )


class _PartLayout:
    """The layout of one connected part."""

    def __init__(self, part: ChartPart, zoom: Zoom) -> None:
        self._part = part
        self._zoom = zoom
        layers = part.layers
        heights = [zoom.get_height(len(ports)) for ports in part.ports]
        heights += [1] * (len(layers.ports) - layers.real)
        self._heights = heights
        self._top = place_rows(layers, Sizes(heights, zoom.first, zoom.gap))
        self._strand = self._map_strands()
        self._channels = [self._route_turns(index) for index in range(len(layers.hops))]
        self._shift_down()
        self._lefts, self._leads = self._place_columns()

    def put(self, found: Layout, below: int) -> int:
        """Put the part into a layout below a row, and return the first row below the part."""
        layers, zoom = self._part.layers, self._zoom
        self._top = [row + below for row in self._top]
        last = 0
        for index, column in enumerate(layers.columns):
            for node in column:
                if node < layers.real:
                    box = self._build_box(node, self._lefts[index])
                    found.boxes[box.name] = box
                    last = max(last, box.bottom)
        drawn = _Strokes(len(self._part.strands))
        for index in range(len(layers.hops)):
            self._draw_channel(index, below, drawn)
        for index, column in enumerate(layers.columns):
            for node in column:
                if node >= layers.real:
                    x, y = self._lefts[index], self._top[node]
                    drawn.segments[self._strand[node, 0]].append((x, y, x + zoom.width, y))
        for number, bundle in enumerate(self._part.bundles):
            wire = Wire(
                bundle.start,
                bundle.targets,
                bundle.port,
                tuple(drawn.segments[number]),
                tuple(drawn.heads[number]),
                self._place_label(number),
            )
            found.wires.append(wire)
            last = max(last, *(max(y1, y2) + 1 for _, y1, _, y2 in wire.segments))
        return last

    def _map_strands(self) -> dict[tuple[int, int], int]:
        """Return the strand that leaves each node by each port, and each waypoint."""
        part = self._part
        found = {(s.source, s.port): number for number, s in enumerate(part.strands)}
        for hops in part.layers.hops:
            for hop in hops:
                if hop.target >= part.layers.real:
                    found[hop.target, 0] = found[hop.source, hop.port]
        return found

    def _route_turns(self, channel: int) -> tuple[list[Turn], int]:
        leaves: dict[tuple[int, int], list[int]] = {}
        for hop in self._part.layers.hops[channel]:
            leaves.setdefault((hop.source, hop.port), []).append(self._get_enter_row(hop.target))
        return route_turns(
            [
                Crossing(key, self._get_leave_row(*key), tuple(sorted(set(rows))))
                for key, rows in leaves.items()
            ]
        )

    def _get_enter_row(self, node: int) -> int:
        return self._top[node] + (self._zoom.first if node < self._part.layers.real else 0)

    def _get_leave_row(self, node: int, port: int) -> int:
        return self._get_enter_row(node) + port

    def _shift_down(self) -> None:
        """Move all down for wires that go above the first row."""
        used = [row for made, _ in self._channels for t in made for row in (t.enters, *t.leaves)]
        least = min([0, *used])
        if least < 0:
            self._top = [row - least for row in self._top]
            self._channels = [self._route_turns(index) for index in range(len(self._channels))]

    def _place_columns(self) -> tuple[list[int], list[int]]:
        """Return the left end of each column, and the columns before the first turn in each channel."""
        zoom, x = self._zoom, 0
        lefts, leads = [0], list[int]()
        for index, (_, tracks) in enumerate(self._channels):
            labels = [
                len(self._format_label(self._strand[hop.source, hop.port]))
                for hop in self._part.layers.hops[index]
                if hop.source < self._part.layers.real
            ]
            longest = max(labels, default=0)
            lead = longest + 3 if longest else zoom.lead
            leads.append(lead)
            x += zoom.width + lead + tracks * zoom.track + zoom.tail
            lefts.append(x)
        return lefts, leads

    def _format_label(self, strand: int) -> str:
        """Return the label of a strand."""
        label = self._part.bundles[strand].port.label if self._zoom.has_labels else ""
        return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"

    def _place_label(self, strand: int) -> tuple[int, int, str] | None:
        text = self._format_label(strand)
        if not text:
            return None
        each = self._part.strands[strand]
        column = next(i for i, c in enumerate(self._part.layers.columns) if each.source in c)
        x = self._lefts[column] + self._zoom.width + 1
        return x, self._get_leave_row(each.source, each.port), f" {text} "

    def _build_box(self, node: int, left: int) -> Box:
        return Box(
            self._part.names[node],
            left,
            self._top[node],
            self._zoom.width,
            self._heights[node],
            tuple(self._get_leave_row(node, port) for port in range(len(self._part.ports[node]))),
            self._get_enter_row(node),
        )

    def _draw_channel(self, index: int, below: int, drawn: _Strokes) -> None:
        made, _ = self._channels[index]
        layers, zoom = self._part.layers, self._zoom
        start = self._lefts[index] + zoom.width
        end = self._lefts[index + 1]
        first = start + self._leads[index]
        turned: dict[object, list[Turn]] = {}
        for turn in made:
            turned.setdefault(turn.key, []).append(turn)
        for key in dict.fromkeys((hop.source, hop.port) for hop in layers.hops[index]):
            number = self._strand[key]
            segments = drawn.segments[number]
            ways = turned.get(key, [])
            row = self._get_leave_row(*key)
            if not ways:
                segments.append((start - 1, row, end, row))
            x = start - 1
            for turn in ways:
                at = first + turn.track * zoom.track
                enters = turn.enters + below
                leaves = [each + below for each in turn.leaves]
                segments.append((x, enters, at, enters))
                segments.append((at, min(enters, *leaves), at, max(enters, *leaves)))
                x = at
                if turn is ways[-1]:
                    segments += [(at, each, end, each) for each in leaves]
            self._add_heads(index, key, number, drawn, (start, end))

    def _add_heads(
        self,
        index: int,
        key: tuple[int, int],
        number: int,
        drawn: _Strokes,
        channel: tuple[int, int],
    ) -> None:
        real = self._part.layers.real
        if self._part.bundles[number].port.kind is PortKind.BACK:
            if key[0] < real:
                drawn.heads[number].append((channel[0], self._get_leave_row(*key)))
            return
        for hop in self._part.layers.hops[index]:
            if (hop.source, hop.port) == key and hop.target < real:
                drawn.heads[number].append((channel[1] - 1, self._get_enter_row(hop.target)))


class _Strokes:
    """The segments and arrow heads of each strand."""

    def __init__(self, count: int) -> None:
        self.segments: list[list[Segment]] = [[] for _ in range(count)]
        self.heads: list[list[tuple[int, int]]] = [[] for _ in range(count)]
