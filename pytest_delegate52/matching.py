"""Which record of the candidate is which record of the reference.

In order of trust: equal meaning (hashed out first, so that an ordinary document costs linear time), equal identity,
and, for what is left, the assignment that makes the total likeness of the texts largest. Past `EXACT` left-over
records the assignment works in deterministic blocks; past `ASSIGNABLE` the rest stays unmatched.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_delegate52.schema import Record, Records, absent

EXACT = 1_200  # left-over records on one side for which the assignment is solved as a whole (0.5 s at worst)
ASSIGNABLE = 4_000  # left-over records on one side that are looked at at all
BLOCK = 400  # records in one block beyond EXACT
SEQUENCE = 20_000  # records up to which equal runs are aligned in order (memory grows with the square)
LIKENESS = 0.35  # two texts less alike than this are not the same record
KEY = 120  # characters of a record's text that the assignment looks at


@dataclass(frozen=True)
class Pairing:
    """Index pairs (reference, candidate), `same` those of equal meaning, and what is left on either side."""

    same: list[tuple[int, int]]
    changed: list[tuple[int, int]]
    missing: list[int]
    extra: list[int]


def pair(
    records: Records,
    reference: Sequence[Record],
    candidate: Sequence[Record],
    reference_keys: Sequence[Hashable],
    candidate_keys: Sequence[Hashable],
) -> Pairing:
    """Pair the records of one collection. `*_keys` are the records' canonical forms."""
    same = _aligned(reference_keys, candidate_keys) if records.ordered else []
    ours, theirs = _left(len(reference), len(candidate), same)
    same += _by_key(reference_keys, candidate_keys, ours, theirs)
    ours, theirs = _left(len(reference), len(candidate), same)

    changed = _by_identity(records, reference, candidate, ours, theirs)
    ours, theirs = _left(len(reference), len(candidate), same + changed)
    if ours and theirs:
        found = assign([text(records, reference[i]) for i in ours], [text(records, candidate[j]) for j in theirs])
        changed += [(ours[i], theirs[j]) for i, j in found]
        ours, theirs = _left(len(reference), len(candidate), same + changed)
    return Pairing(same=same, changed=changed, missing=ours, extra=theirs)


def in_order(pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """A longest subset of the pairs whose members stand in the same order on both sides."""
    ordered = sorted(pairs)
    ends: list[int] = []  # smallest last candidate index of a run of each length
    at: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(ordered):
        length = bisect.bisect_left(ends, place)
        before.append(at[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            at.append(index)
        else:
            ends[length], at[length] = place, index
    kept, index = set(), at[-1] if at else -1
    while index >= 0:
        kept.add(ordered[index])
        index = before[index]
    return kept


def text(records: Records, record: Record) -> str:
    """A record as one text for likeness, its identity first."""
    rest = [name for name in records.fields if name not in records.identity]
    return _flat([record.get(name) for name in (*records.identity, *rest) if not absent(record.get(name))])[:KEY]


def assign(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indices with the largest total likeness, none below `LIKENESS`; neighbours first among equals."""
    ours, theirs = ours[:ASSIGNABLE], theirs[:ASSIGNABLE]
    if not ours or not theirs:
        return []
    if max(len(ours), len(theirs)) <= EXACT:
        return _solve(ours, theirs, range(len(ours)), range(len(theirs)))
    pairs = _by_rare_words(ours, theirs)
    left_ours, left_theirs = _left(len(ours), len(theirs), pairs)
    blocks = -(-max(len(left_ours), len(left_theirs)) // BLOCK)
    for block in range(blocks):
        mine, yours = (side[len(side) * block // blocks : len(side) * (block + 1) // blocks]
                       for side in (left_ours, left_theirs))  # fmt: skip
        if mine and yours:
            pairs += _solve(ours, theirs, mine, yours)
    return pairs


def _solve(
    ours: Sequence[str], theirs: Sequence[str], mine: Sequence[int], yours: Sequence[int]
) -> list[tuple[int, int]]:
    import numpy as np
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist
    from scipy.optimize import linear_sum_assignment

    likeness = cdist(
        [ours[i] for i in mine], [theirs[j] for j in yours], scorer=Indel.normalized_similarity, dtype=np.float64
    )
    likeness[likeness < LIKENESS] = 0.0
    places = np.linspace(0, 1, len(mine))[:, None] - np.linspace(0, 1, len(yours))[None, :]
    rows, columns = linear_sum_assignment(likeness - 1e-4 * np.abs(places), maximize=True)
    return [(mine[i], yours[j]) for i, j in zip(rows, columns, strict=True) if likeness[i, j] > 0]


def _by_rare_words(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """Greedy pairs of texts that share words few others have."""
    holders: dict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(theirs):
        for word in set(line.split()):
            holders[word].append(index)
    pairs, taken = [], set()
    for index, line in enumerate(ours):
        votes = Counter(
            holder for word in set(line.split()) if len(holders.get(word, ())) <= 4
            for holder in holders.get(word, ()) if holder not in taken
        )  # fmt: skip
        if votes:
            best = max(votes, key=lambda holder: (votes[holder], -abs(holder - index)))
            taken.add(best)
            pairs.append((index, best))
    return pairs


def _aligned(reference: Sequence[Hashable], candidate: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of equal keys that stand in the same order on both sides."""
    if max(len(reference), len(candidate)) > SEQUENCE:
        return []
    from rapidfuzz.distance import LCSseq

    numbers: dict[Hashable, int] = {}
    sides = [[numbers.setdefault(key, len(numbers)) for key in side] for side in (reference, candidate)]
    return [
        (block.src_start + step, block.dest_start + step)
        for block in LCSseq.opcodes(*sides)
        if block.tag == "equal"
        for step in range(block.src_end - block.src_start)
    ]


def _by_key(
    reference: Sequence[Hashable], candidate: Sequence[Hashable], ours: list[int], theirs: list[int]
) -> list[tuple[int, int]]:
    places: dict[Hashable, list[int]] = defaultdict(list)
    for j in reversed(theirs):
        places[candidate[j]].append(j)
    return [(i, places[reference[i]].pop()) for i in ours if places.get(reference[i])]


def _by_identity(
    records: Records, reference: Sequence[Record], candidate: Sequence[Record], ours: list[int], theirs: list[int]
) -> list[tuple[int, int]]:
    if not records.identity:
        return []

    def grouped(side: Sequence[Record], indices: list[int]) -> dict[Hashable, list[int]]:
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for index in indices:
            key = tuple(
                None if absent(side[index].get(name)) else records.fields[name].canonical(side[index][name])
                for name in records.identity
            )
            if any(part is not None for part in key):
                groups[key].append(index)
        return groups

    pairs, other = [], grouped(candidate, theirs)
    for key, mine in grouped(reference, ours).items():
        yours = other.get(key, [])
        if max(len(mine), len(yours)) > 1 and len(mine) * len(yours) <= 2_500 and yours:
            found = _solve(
                [text(records, reference[i]) for i in mine],
                [text(records, candidate[j]) for j in yours],
                range(len(mine)),
                range(len(yours)),
            )
            pairs += [(mine[i], yours[j]) for i, j in found]
        else:
            pairs += zip(mine, yours, strict=False)
    return pairs


def _left(n: int, m: int, pairs: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    mine, yours = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(n) if i not in mine], [j for j in range(m) if j not in yours]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_flat(part)}" for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(map(_flat, value))
    return "" if value is None else str(value)[:KEY]
