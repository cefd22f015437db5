"""The first step of a layered layout: the column of each stage (Sugiyama, Tagawa, Toda 1981)."""

from __future__ import annotations

from collections.abc import Sequence

Edge = tuple[int, int]


def mark_forward_edges(count: int, edges: Sequence[Edge]) -> list[bool]:
    """Return for each edge whether it goes to the right; in each cycle one edge goes back.

    :param count: the number of nodes, which are numbered from 0.
    :param edges: no node leads to itself.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(edges):
        out[source].append(number)
    is_forward = [True] * len(edges)
    new, open_, done = 0, 1, 2
    state = [new] * count
    entered = [False] * count
    for _, target in edges:
        entered[target] = True
    # Begin at the sources, so that the line that leads back is the one that closes a cycle.
    for root in sorted(range(count), key=lambda node: entered[node]):
        stack = [(root, iter(out[root]))] if state[root] == new else []
        state[root] = open_ if stack else state[root]
        while stack:
            node, ahead = stack[-1]
            edge = next(ahead, None)
            if edge is None:
                state[node] = done
                stack.pop()
                continue
            target = edges[edge][1]
            if state[target] == open_:
                is_forward[edge] = False
            elif state[target] == new:
                state[target] = open_
                stack.append((target, iter(out[target])))
    return is_forward


def assign_ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the column of each node, from 0: right of its predecessors, and near to its successors.

    :param edges: without cycles.
    """
    out: list[list[int]] = [[] for _ in range(count)]
    into: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        out[source].append(target)
        into[target].append(source)
    order = _sort_topologically(out, [len(each) for each in into])
    rank = [0] * count
    for node in order:
        for target in out[node]:
            rank[target] = max(rank[target], rank[node] + 1)
    for node in reversed(order):
        if len(out[node]) > len(into[node]):
            rank[node] = min(rank[target] for target in out[node]) - 1
    return rank


def find_components(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return the connected components, ordered by their first node; the nodes of each are in order."""
    head = list(range(count))

    def find(node: int) -> int:
        while head[node] != node:
            head[node] = head[head[node]]
            node = head[node]
        return node

    for source, target in edges:
        one, other = find(source), find(target)
        head[max(one, other)] = min(one, other)
    parts: dict[int, list[int]] = {}
    for node in range(count):
        parts.setdefault(find(node), []).append(node)
    return list(parts.values())


def _sort_topologically(out: Sequence[Sequence[int]], waiting: list[int]) -> list[int]:
    """Return the nodes so that each comes after all of its predecessors."""
    done = [node for node, count in enumerate(waiting) if not count]
    for node in done:
        for target in out[node]:
            waiting[target] -= 1
            if not waiting[target]:
                done.append(target)
    return done
