"""The fourth step of a layered layout: where lines turn in the channel between two columns.

A strand enters the channel in one row and leaves it in one or several rows. Unless all are the same row, it
goes up or down once, in a vertical *track*. If the tracks of two strands would each have to be left of the
other, one strand is cut into two pieces, which are joined in a free row (a dogleg).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count


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
