"""The scoring engine: how much of a reference document is left in a candidate, and what is not.

One engine for all domains; a domain brings its `Schema`. What holds for every score:

- it is 1 exactly when there are no differences, else at most 1 - 1e-9;
- coverage is matched / max(reference, candidate), so that invented records cost what lost ones cost;
- the losses of the differences add up to 1 - score.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

from pytest_delegate52 import matching, trees
from pytest_delegate52.schema import Document, Nested, Record, Records, Schema, Tree, absent

BELOW_ONE = 1 - 1e-9
_PROBLEM = "unreadable text"
NAMED = 500  # lost or foreign records of one collection that are named one by one
_MOVED = 0.25  # what a moved record counts beside a lost one when the loss is shared out among the differences


class Difference(NamedTuple):
    """One thing a person would name: `kind` is missing, extra, changed or moved; `loss` its share of 1 - score.

    Losses are shared out: first among collections, by what each would give back if it were intact, then within a
    collection by how much of a record each difference concerns.
    """

    kind: str
    path: str
    reference: str | None
    candidate: str | None
    loss: float


@dataclass(frozen=True)
class Score:
    """The similarity of two documents in [0, 1] and what it is made of; plain values throughout."""

    value: float
    components: dict[str, dict[str, float | None]]
    counts: dict[str, dict[str, int]]
    differences: list[Difference]
    problems: list[str]

    def to_json(self) -> dict[str, Any]:
        """The score as plain values: value, components, counts, differences, problems."""
        return {**vars(self), "differences": [each._asdict() for each in self.differences]}


def score(schema: Schema, reference: Document, candidate: Document) -> Score:
    """Compare two documents of one domain."""
    compared = {
        name: compare(records, reference.collections.get(name, []), candidate.collections.get(name, []))
        for name, records in schema.collections.items()
    }
    problems = _compare_problems(reference.problems, candidate.problems)
    spaces = {name: comparison.components() for name, comparison in compared.items()}
    read = _formula(schema, spaces)
    ours = sum(comparison.reference for comparison in (*compared.values(), problems))
    theirs = sum(comparison.candidate for comparison in (*compared.values(), problems))
    foreign = (problems.reference - problems.matched) + (problems.candidate - problems.matched)
    readable = max(0.0, 1 - foreign / max(ours, theirs)) if foreign else 1.0
    value = read * readable

    # What each collection would give back if nothing of it were lost, shared out among its differences.
    shares = []
    for name, comparison in compared.items():
        if comparison.differences:
            back = _formula(schema, {**spaces, name: _perfect(spaces[name])}) - read
            shares.append((max(back, 1e-9) * readable, comparison.differences))
    if problems.differences:
        shares.append((max(read * (1 - readable), 1e-9), problems.differences))
    value = min(max(value, 0.0), BELOW_ONE) if shares else 1.0
    scale = (1 - value) / (sum(loss for loss, _ in shares) or 1.0)
    found = [each for loss, differences in shares for each in _share(differences, loss * scale)]
    return Score(
        value=value,
        components={name: _plain(space) for name, space in spaces.items()},
        counts={
            name: {"reference": each.reference, "candidate": each.candidate, "matched": each.matched}
            for name, each in compared.items()
            if schema.collections[name].counted
        },
        differences=sorted(found, key=lambda difference: -difference.loss),
        problems=[text[:200] for text in candidate.problems[:100]],
    )


@dataclass
class Comparison:
    """Two lists of records side by side.

    `sums` holds, per group of fields and for all fields together (`accuracy`), the sum over matched pairs of the
    pair's similarity; `in_order` how many pairs kept their order. `differences` carry weights in records, not losses.
    """

    reference: int
    candidate: int
    matched: int
    sums: dict[str, float]
    in_order: int | None
    differences: list[Difference] = field(default_factory=list)

    def components(self) -> SimpleNamespace:
        """The namespace that `Schema.combine` reads (see there)."""
        longest = max(self.reference, self.candidate)

        def share(amount: float, of: int) -> float:
            return math.nan if not longest else min(1.0, amount / of) if of else 0.0

        values = dict(self.sums)
        if self.in_order is not None:
            values["order"] = self.in_order
        over_all = {name: share(amount, longest) for name, amount in values.items()}
        over_matched = {name: share(amount, self.matched) for name, amount in values.items()}
        over_all.setdefault("order", math.nan)
        over_matched.setdefault("order", math.nan)
        coverage = share(self.matched, longest)
        return SimpleNamespace(
            **over_all, coverage=coverage, size=longest, matched=SimpleNamespace(**over_matched, coverage=coverage)
        )

    def nested_similarity(self) -> float:
        """One figure for records inside a record: accuracy over all, a seventh of it for order where order counts."""
        parts = self.components()
        return parts.accuracy if math.isnan(parts.order) else 0.85 * parts.accuracy + 0.15 * parts.order


def compare(records: Records, reference: Sequence[Record], candidate: Sequence[Record]) -> Comparison:
    """Match the records of one collection and compare each pair field by field."""
    moved: dict[int, tuple[trees.Path, trees.Path]] = {}
    if isinstance(records, Tree) and reference and candidate:
        candidate, moved = trees.align(records, reference, candidate)
    ours = [records.canonical(record) for record in reference]
    theirs = [records.canonical(record) for record in candidate]
    found = matching.pair(records, reference, candidate, ours, theirs)
    groups = _groups(records, reference, candidate)
    whole = [pair for pair in found.same if pair[1] not in moved]
    sums = dict.fromkeys([*groups, "accuracy"], float(len(whole)))
    differences: list[Difference] = []

    for i, j in sorted(found.changed + [pair for pair in found.same if pair[1] in moved]):
        parts = _fields(records, reference[i], candidate[j], ours[i], theirs[j])
        differences += _changes(records, reference[i], candidate[j], parts)
        half = 0.5 if j in moved else 1.0
        sums["accuracy"] += half * math.prod(parts.get(name, 1.0) for name in records.fields)
        for group, members in groups.items():
            sums[group] += half * math.prod(parts.get(name, 1.0) for name in members)

    differences += _moves_in_arrays(moved)
    pairs, kept = found.same + found.changed, None
    if records.ordered:
        kept = matching.in_order(pairs)
        differences += [
            Difference("moved", records.title(reference[i]), f"place {i + 1}", f"place {j + 1}", _MOVED)
            for i, j in sorted(pairs)
            if (i, j) not in kept
        ]
    differences += _unmatched("missing", records, reference, found.missing)
    differences += _unmatched("extra", records, candidate, found.extra)
    return Comparison(
        reference=len(reference),
        candidate=len(candidate),
        matched=len(pairs),
        sums=sums,
        in_order=None if kept is None else len(kept),
        differences=differences,
    )


def _compare_problems(reference: Sequence[str], candidate: Sequence[str]) -> Comparison:
    """Pieces of unreadable text side by side: each is there or it is not."""
    ours, theirs = Counter(reference), Counter(candidate)
    lost, new = ours - theirs, theirs - ours
    differences = [Difference("missing", _PROBLEM, _short(text), None, n) for text, n in _first(lost)]
    differences += [Difference("extra", _PROBLEM, None, _short(text), n) for text, n in _first(new)]
    for kind, rest in (("missing", lost), ("extra", new)):
        left = rest.total() - sum(n for _, n in _first(rest))
        if left:
            differences.append(Difference(kind, f"{left:,} more pieces of {_PROBLEM}", None, None, left))
    return Comparison(len(reference), len(candidate), (ours & theirs).total(), {}, None, differences)


def _first(counted: Counter[str]) -> list[tuple[str, int]]:
    return list(islice(counted.items(), NAMED))


def _unmatched(kind: str, records: Records, side: Sequence[Record], indices: Sequence[int]) -> list[Difference]:
    """A difference for each lost or foreign record; past `NAMED` of them one for all the rest."""
    found = []
    for index in indices[:NAMED]:
        shown = _summary(records, side[index])
        lost, new = (shown, None) if kind == "missing" else (None, shown)
        found.append(Difference(kind, records.title(side[index]), lost, new, 1.0))
    if left := len(indices) - len(found):
        found.append(Difference(kind, f"{left:,} more {records.name}s", None, None, float(left)))
    return found


def _fields(
    records: Records, reference: Record, candidate: Record, ours: tuple[Any, ...], theirs: tuple[Any, ...]
) -> dict[str, float]:
    """For each field that is not the same, what a pair keeps of its worth: 1 - weight * (1 - similarity).

    `ours` and `theirs` are the records' canonical forms, one value for each field, None where it is absent.
    """
    parts = {}
    for (name, kind), mine, yours in zip(records.fields.items(), ours, theirs, strict=True):
        if mine == yours:
            continue
        if mine is None or yours is None:
            similarity = 0.0
        elif isinstance(kind, Nested):
            similarity = compare(kind.records, reference[name], candidate[name]).nested_similarity()
        else:
            similarity = kind.similarity(reference[name], candidate[name])
        if similarity < 1:
            parts[name] = 1 - kind.weight * (1 - similarity)
    return parts


def _changes(records: Records, reference: Record, candidate: Record, parts: dict[str, float]) -> list[Difference]:
    found = []
    title = records.title(reference)
    for name in parts:
        kind, ours, theirs = records.fields[name], reference.get(name), candidate.get(name)
        weight = 1 - parts[name]
        if isinstance(kind, Nested) and not absent(ours) and not absent(theirs):
            inner = compare(kind.records, ours or [], theirs or []).differences
            total = sum(difference.loss for difference in inner) or 1.0
            found += [
                each._replace(path=f"{title}, {kind.records.name} {each.path}", loss=each.loss / total * weight)
                for each in inner
            ]
        else:
            shown = [None if absent(value) else _short(kind.show(value)) for value in (ours, theirs)]
            before, after = _telling(ours, theirs, *shown)
            found.append(Difference("changed", f"{title}, {name}", before, after, weight))
    return found


def _telling(ours: Any, theirs: Any, first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """Two values as shown, cut around the place where they part when they look alike."""
    if first != second or first is None:
        return first, second
    one, two = str(ours), str(theirs)
    at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    start = max(0, at - 20)
    return repr(one[start : at + 40]), repr(two[start : at + 40])


def _moves_in_arrays(moved: dict[int, tuple[trees.Path, trees.Path]]) -> list[Difference]:
    leaves: dict[tuple[trees.Path, trees.Path], int] = {}
    for move in moved.values():
        leaves[move] = leaves.get(move, 0) + 1
    return [
        Difference("moved", ".".join(map(str, here)), f"place {here[-1]}", f"place {there[-1]}", count / 2)
        for (here, there), count in leaves.items()
    ]


def _groups(records: Records, *sides: Sequence[Record]) -> dict[str, list[str]]:
    """Group of fields to field names, for the groups that occur on either side."""
    seen = {name for name in records.fields if any(not absent(r.get(name)) for side in sides for r in side)}
    groups: dict[str, list[str]] = {}
    for name, kind in records.fields.items():
        groups.setdefault(kind.group or name, []).append(name)
    return {group: members for group, members in groups.items() if seen.intersection(members)}


def _formula(schema: Schema, spaces: dict[str, SimpleNamespace]) -> float:
    value = float(schema.combine(SimpleNamespace(**{name: _Components(space) for name, space in spaces.items()})))
    return 1.0 if math.isnan(value) else min(max(value, 0.0), 1.0)


class _Components:
    """Components by name; one that does not occur on either side is NaN."""

    def __init__(self, space: SimpleNamespace) -> None:
        self._space = space

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._space, name, math.nan)
        return _Components(value) if isinstance(value, SimpleNamespace) else value


def _perfect(space: SimpleNamespace) -> SimpleNamespace:
    """The namespace of a collection of which nothing is lost."""

    def whole(value: Any) -> Any:
        if isinstance(value, SimpleNamespace):
            return _perfect(value)
        return 1.0 if isinstance(value, float) and not math.isnan(value) else value

    return SimpleNamespace(**{name: whole(value) for name, value in vars(space).items()})


def _plain(space: SimpleNamespace) -> dict[str, float | None]:
    return {name: None if math.isnan(v) else v for name, v in vars(space).items() if isinstance(v, float)}


def _share(differences: list[Difference], total: float) -> list[Difference]:
    """The differences with losses in proportion to their weights, adding up to `total`."""
    weight = sum(difference.loss for difference in differences)
    return [each._replace(loss=each.loss / weight * total) for each in differences] if weight else differences


def _summary(records: Records, record: Record) -> str:
    return _short("; ".join(kind.show(record[name]) for name, kind in records.fields.items()
                            if not absent(record.get(name))))  # fmt: skip


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
