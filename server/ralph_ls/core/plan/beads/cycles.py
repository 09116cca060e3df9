"""Rings of things that wait for each other.

A ring is what no order of work would please, so a person has to break it (B, Exit Condition 1). It
must never know what waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

Edges = Mapping[str, Collection[str]]
"""What each one waits for."""


def find_cycles(edges: Edges) -> tuple[tuple[str, ...], ...]:
    """A short ring for each knot of them, in their order; each begins with its least member.

    Of several rings that hang together one is told: when it is broken, the next one is found.
    """
    rings: list[tuple[str, ...]] = []
    for knot in _knots(edges):
        inside = {node: [one for one in edges[node] if one in knot] for node in knot}
        first = min(knot)
        ways = (find_path(inside, one, first) for one in sorted(inside[first]))
        rings.append((first, *min(ways, key=len)[:-1]))
    return tuple(sorted(rings))


def find_path(edges: Edges, start: str, goal: str) -> tuple[str, ...]:
    """A shortest way from one to another, with both ends; empty where there is none."""
    came: dict[str, str | None] = {start: None}
    front = [start]
    while front and goal not in came:
        reached: list[str] = []
        for node in front:
            for target in sorted(edges.get(node, ())):
                if target not in came:
                    came[target] = node
                    reached.append(target)
        front = reached
    path: list[str] = []
    at = goal if goal in came else None
    while at is not None:
        path.append(at)
        at = came[at]
    return tuple(reversed(path))


def _knots(edges: Edges) -> list[frozenset[str]]:
    """Groups in which everything waits for everything, itself included; linear.

    Each node is left for good behind all that it waits for; from the last one left, everything
    that can be reached against the edges is one group with it.
    """
    left: list[str] = []
    seen: set[str] = set()
    for begin in edges:
        stack = [(begin, False)]
        while stack:
            node, is_through = stack.pop()
            if is_through:
                left.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(target, False) for target in edges.get(node, ())]
    waiters: dict[str, list[str]] = {}
    for node, targets in edges.items():
        for target in targets:
            waiters.setdefault(target, []).append(node)
    grouped: set[str] = set()
    found: list[frozenset[str]] = []
    for begin in reversed(left):
        if begin in grouped:
            continue
        group, front = {begin}, [begin]
        while front:
            near = waiters.get(front.pop(), ())
            fresh = {one for one in near if one not in grouped and one not in group}
            group |= fresh
            front += fresh
        grouped |= group
        if len(group) > 1 or begin in edges.get(begin, ()):
            found.append(frozenset(group))
    return found
