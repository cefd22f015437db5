"""The fourth step of a layered layout: where lines turn in the channel between two columns.

A strand comes into the channel in one row and leaves it in one or more. Unless all are the same row it
goes up or down once, in a *track* of its own. Where the tracks of two strands would each have to be left
of the other, one of them goes over a free row between (a dogleg).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Crossing:
    """A strand on its way through a channel.

    :param key: tells it from others.
    :param enters: the row in which it comes from the left.
    :param leaves: the rows in which it goes on to the right.
    """

    key: Hashable
    enters: int
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A strand in one track: from the row ``enters`` up or down to the rows ``leaves``."""

    key: Hashable
    track: int
    """From 0, left to right."""
    enters: int
    leaves: tuple[int, ...]


@dataclass(slots=True)
class _Piece:
    """A strand, or half of it at a dogleg."""

    key: Hashable
    enters: int
    leaves: tuple[int, ...]
    first: int
    last: int
    rest: tuple[int, ...] = ()
    """The number of the piece that goes on from here, if one does."""
    track: int = -1

    @classmethod
    def of(
        cls, key: Hashable, enters: int, leaves: tuple[int, ...], rest: tuple[int, ...] = ()
    ) -> _Piece:
        rows = (enters, *leaves)
        return cls(key, enters, leaves, min(rows), max(rows), rest)


def route_turns(crossings: Sequence[Crossing]) -> tuple[list[Turn], int]:
    """The turns of the strands that are not straight, and the number of tracks.

    No two strands share a place, but where they leave in the same row, or cross at right angles.

    :param crossings: each enters in a row of its own.
    """
    pieces = [
        _Piece.of(each.key, each.enters, each.leaves)
        for each in crossings
        if each.leaves != (each.enters,)
    ]
    taken = {row for each in crossings for row in (each.enters, *each.leaves)}
    before = _without_circles(pieces, taken)
    tracks = _assign(pieces, before)
    made = [Turn(p.key, p.track, p.enters, p.leaves) for p in pieces]
    return sorted(made, key=lambda turn: turn.track), tracks


def _befores(pieces: Sequence[_Piece]) -> list[list[int]]:
    """For each piece those that must be right of it: what leaves in the row in which it enters.

    A piece that goes on in that row leads to the same place, and may share the row.
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


def _without_circles(pieces: list[_Piece], taken: set[int]) -> list[list[int]]:
    """Cut pieces in two until an order of tracks exists; the order."""
    while True:
        before = _befores(pieces)
        knot = _knot(before)
        if knot is None:
            return before
        piece = pieces[knot]
        row = _free_row(piece, taken)
        taken.add(row)
        pieces[knot] = _Piece.of(piece.key, piece.enters, (row,), (len(pieces),))
        pieces.append(_Piece.of(piece.key, row, piece.leaves, piece.rest))


def _free_row(piece: _Piece, taken: set[int]) -> int:
    """The nearest row that no line uses, between the ends if there is one."""
    middle = (piece.first + piece.last) // 2
    return next(
        row
        for distance in count()
        for row in (middle + distance, middle - distance)
        if row not in taken
    )


def _knot(before: Sequence[Sequence[int]]) -> int | None:
    """A piece that would have to be left of itself."""
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


def _assign(pieces: Sequence[_Piece], before: Sequence[Sequence[int]]) -> int:
    """Give each piece the leftmost track that is free where it goes and right of what must be left."""
    waiting = [0] * len(pieces)
    for others in before:
        for other in others:
            waiting[other] += 1
    least = [0] * len(pieces)
    tracks: list[list[tuple[int, int]]] = []
    ready = [number for number, left in enumerate(waiting) if not left]
    while ready:
        ready.sort(key=lambda number: _turn_order(pieces[number]), reverse=True)
        number = ready.pop()
        piece = pieces[number]
        piece.track = _place(piece, least[number], tracks)
        for other in before[number]:
            least[other] = max(least[other], piece.track + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return len(tracks)


def _turn_order(piece: _Piece) -> tuple[int, int]:
    """Lines that go up turn from the top on, those that go down from the bottom: then they do not cross."""
    goes_up = piece.enters - piece.first > piece.last - piece.enters
    return (0, piece.enters) if goes_up else (1, -piece.enters)


def _place(piece: _Piece, least: int, tracks: list[list[tuple[int, int]]]) -> int:
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
