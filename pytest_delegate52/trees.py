"""Alignment of arrays in trees of leaves, so that an element that came or went does not shift the others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from pytest_delegate52 import matching
from pytest_delegate52.schema import Record, Tree

Path = tuple[str | int, ...]


@dataclass
class _Node:
    children: dict[str | int, _Node] = field(default_factory=dict)
    leaves: list[int] = field(default_factory=list)
    key: int = 0  # number of the subtree's meaning: equal for equal subtrees


def align(
    records: Tree, reference: Sequence[Record], candidate: Sequence[Record]
) -> tuple[list[Record], dict[int, tuple[Path, Path]]]:
    """The candidate's leaves with array positions renamed to those of the reference.

    Elements with no partner get positions past every position of the reference. Also returns, for each candidate
    leaf below an element that changed places, the element's reference path and its path in the candidate.
    """
    numbers: dict[Hashable, int] = {}
    ours, theirs = (_grow(records, side, numbers) for side in (reference, candidate))
    renamed = list(candidate)
    moved: dict[int, tuple[Path, Path]] = {}
    stack: list[tuple[_Node | None, _Node, Path, tuple[Path, Path] | None]] = [(ours, theirs, (), None)]
    while stack:
        mine, yours, path, move = stack.pop()
        for index in yours.leaves:
            if path != candidate[index][records.path]:
                renamed[index] = {**candidate[index], records.path: path}
            if move:
                moved[index] = move
        places, shifted = _partners(records, reference, candidate, mine, yours) if mine else ({}, set())
        spare = 1 + max((key for key in mine.children if isinstance(key, int)), default=-1) if mine else 0
        for key, child in yours.children.items():
            if isinstance(key, int) and mine is not None:
                place = places.get(key)
                if place is None:
                    place, spare = spare, spare + 1
                elif key in shifted:
                    stack.append((mine.children[place], child, (*path, place), ((*path, place), (*path, key))))
                    continue
                stack.append((mine.children.get(place), child, (*path, place), move))
            else:
                partner = mine.children.get(key) if mine else None
                stack.append((partner, child, (*path, key), move))
    return renamed, moved


def _grow(records: Tree, leaves: Sequence[Record], numbers: dict[Hashable, int]) -> _Node:
    root = _Node()
    for index, leaf in enumerate(leaves):
        node = root
        for key in leaf[records.path]:
            node = node.children.setdefault(key, _Node())
        node.leaves.append(index)

    rest = {name: kind for name, kind in records.fields.items() if name != records.path}
    values = Tree(fields=rest)
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(node.children.values())
    for node in reversed(order):  # children before parents
        named = tuple(sorted((key, child.key) for key, child in node.children.items() if isinstance(key, str)))
        at = sorted((key, child.key) for key, child in node.children.items() if isinstance(key, int))
        placed = tuple(number for _, number in at)
        own = tuple(values.canonical(leaves[index]) for index in node.leaves)
        node.key = numbers.setdefault((named, placed, own), len(numbers))
    return root


def _partners(
    records: Tree, reference: Sequence[Record], candidate: Sequence[Record], mine: _Node, yours: _Node
) -> tuple[dict[int, int], set[int]]:
    """For the elements of an array: candidate position to reference position, and the positions that moved."""
    ours, theirs = (sorted(key for key in node.children if isinstance(key, int)) for node in (mine, yours))
    if not ours or not theirs:
        return {}, set()
    our_keys = [mine.children[key].key for key in ours]
    their_keys = [yours.children[key].key for key in theirs]
    if our_keys == their_keys:
        return dict(zip(theirs, ours, strict=True)), set()
    elements = Tree(fields={}, ordered=True)
    found = matching.pair(elements, [{} for _ in ours], [{} for _ in theirs], our_keys, their_keys)
    left, right = found.missing, found.extra
    likely = matching.assign(
        [_words(records, reference, mine.children[ours[i]]) for i in left],
        [_words(records, candidate, yours.children[theirs[j]]) for j in right],
    )
    pairs = found.same + [(left[i], right[j]) for i, j in likely]
    # What no likeness pairs is paired in place where its place is free on both sides: a value changed, not a new one.
    free, open_places = {i for i, _ in pairs}, {j for _, j in pairs}
    if len(ours) == len(theirs):
        pairs += [(i, i) for i in range(len(ours)) if i not in free and i not in open_places]
    kept = matching.in_order(pairs)
    places = {theirs[j]: ours[i] for i, j in pairs}
    return places, {theirs[j] for i, j in pairs if (i, j) not in kept}


def _words(records: Tree, leaves: Sequence[Record], node: _Node) -> str:
    """The values below `node` as one text, as long as the assignment reads."""
    words: list[str] = []
    length, stack = 0, [node]
    while stack and length < matching.KEY:
        at = stack.pop()
        for index in at.leaves:
            words += [str(value)[: matching.KEY] for name, value in leaves[index].items() if name != records.path]
            length += len(words[-1]) + 1 if words else 0
        stack.extend(reversed(at.children.values()))
    return " ".join(words)[: matching.KEY]
