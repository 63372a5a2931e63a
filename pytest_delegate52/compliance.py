"""Whether a forward edit was tried. A relay only means something if it was.

Checked without a model, on plain files: structure (required files, no foreign ones, the edit task's own check);
nothing carried along (the input under another name, beside the result, or packed into a blob); and progress: with a
reference function, the expected result on the very same input is known, and the answer must have moved towards it.

Progress uses measures that know no format. A *marker* is a word that occurs once in the input; the places of markers
tell where content went, whatever it looks like there.

- `words`: the multiset of words. p = 1 - d(answer, expected) / d(input, expected), d = 1 - Dice.
- `places`: which markers lie together in one file, by the adjusted Rand index against the expected result. 0 is what a
  blind cut of the input into runs of the same lengths reaches, 1 the same classes. Abstains where the expected result
  is one file.
- `order`: the order of markers, d = 1 - longest common order / markers. Abstains where the result is several files.

A measure abstains where d(input, expected) < ABSTAIN. Where none is left, the verdict is `undetermined`.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_delegate52.environment import Edit
from pytest_delegate52.files import missing
from pytest_delegate52.schema import Files

ABSTAIN = 0.05  # a measure by which input and expected result are nearer than this says nothing
TRIED = 0.05  # less progress than this by every measure is no attempt
CARRIED = 0.5  # share of the input found beside the result from which on it counts as carried along
FEWEST_MARKERS = 12

_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*")
_BLOB = re.compile(r"[A-Za-z0-9+/=_\-]{120,}|(?:[0-9A-Fa-f]{2}){100,}")


@dataclass(frozen=True)
class Verdict:
    """`verdict` is tried, untried or undetermined; `reasons` say why it is not tried; `progress` by measure."""

    verdict: str
    reasons: list[str] = field(default_factory=list)
    progress: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(
    edit: Edit, given: Files, answer: Files, clutter: Files, expected: Files | None, score_before: float
) -> Verdict:
    """The verdict on one forward answer.

    `given`: the document the edit started from; `answer`: the files that match the targets; `clutter`: the others;
    `expected`: what the reference function makes of `given`, or None where there is none.
    """
    reasons = _structure(edit, answer, clutter) + _carried(given, answer, clutter, expected)
    progress = measures(given, answer, expected) if expected and answer else {}
    if not reasons and progress and score_before >= 0.5 and max(progress.values()) < TRIED:
        shown = ", ".join(f"{name} {value:.2f}" for name, value in progress.items())
        reasons = [f"no progress from the input towards the result (1 is all the way): {shown}"]
    if reasons:
        return Verdict("untried", reasons, progress)
    if not progress or score_before < 0.5:
        return Verdict("undetermined", [], progress)
    return Verdict("tried", [], progress)


def measures(given: Files, answer: Files, expected: Files) -> dict[str, float]:
    """Progress by each measure that does not abstain; 0 is where the input is, 1 where the expected result is."""
    found = {}
    words = [Counter(_words(files)) for files in (given, answer, expected)]
    start = 1 - _dice(words[0], words[2])
    if start >= ABSTAIN:
        found["words"] = 1 - (1 - _dice(words[1], words[2])) / start

    markers = {word for word, times in words[0].items() if times == 1 and words[2][word] == 1}
    wanted, placed, before = (_places(files, markers) for files in (expected, answer, given))
    common = [marker for marker in wanted if marker in placed and marker in before]
    if len(common) < FEWEST_MARKERS:
        return found
    files_wanted = Counter(wanted[marker][0] for marker in common)
    if sum(1 for count in files_wanted.values() if count >= 0.05 * len(common)) > 1:
        classes = [wanted[marker][0] for marker in common]
        reached = _rand([placed[marker][0] for marker in common], classes)
        blind = _rand(_blind_cut(common, before, placed), classes)
        start = 1 - max(blind, _rand([before[marker][0] for marker in common], classes))
        if start >= ABSTAIN:
            found["places"] = 1 - (1 - reached) / start
    elif len(expected) == 1 or max(files_wanted.values()) >= 0.95 * len(common):
        start = 1 - _common_order(common, wanted, before)
        if start >= ABSTAIN:
            found["order"] = 1 - (1 - _common_order(common, wanted, placed)) / start
    return found


def _structure(edit: Edit, answer: Files, clutter: Files) -> list[str]:
    reasons = [f"{target} is missing" for target in missing(answer, edit.forward_targets)]
    reasons += [f"{name} was not asked for" for name in clutter]
    check = edit.check
    if len(answer) < check.min or (check.max is not None and len(answer) > check.max):
        reasons.append(f"{len(answer)} files, where {check.min} to {check.max or 'any number'} are expected")
    for pattern in check.each:
        reasons += [
            f"{name} has nothing like {pattern!r}" for name, text in answer.items() if not _found(pattern, text)
        ]
    for pattern in check.any:
        if not any(_found(pattern, text) for text in answer.values()):
            reasons.append(f"no file has anything like {pattern!r}")
    return reasons


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text[:1_000_000]) is not None


def _carried(given: Files, answer: Files, clutter: Files, expected: Files | None) -> list[str]:
    everything = {**answer, **clutter}
    old = Counter(_words(given))
    size = old.total() or 1
    for name, text in everything.items():
        for hidden in _unpacked(text):
            if (Counter(_words({"": hidden})) & old).total() >= CARRIED * size:
                return [f"{name} carries the input along in a blob"]
    if expected is not None:
        # Words beyond those of the expected result that the input has: a second copy, not another layout.
        beyond = Counter(_words(everything)) - Counter(_words(expected))
        if (beyond & old).total() >= CARRIED * size and Counter(_words(everything)).total() > 1.5 * size:
            return ["the input is carried along beside the result"]
    elif (Counter(_words(everything)) & Counter({w: 2 * n for w, n in old.items()})).total() >= (1 + CARRIED) * size:
        return ["the input is carried along beside the result"]
    return []


def _unpacked(text: str) -> list[str]:
    """Texts hidden in base64 or hexadecimal runs, plain or deflated; at most 2 MB of each."""
    found = []
    joined = re.sub(r"(?<=[A-Za-z0-9+/_\-]{60})\s+(?=[A-Za-z0-9+/=_\-]{20})", "", text[:4_000_000])
    for match in _BLOB.finditer(joined):
        run = match.group()
        padded = run + "=" * (-len(run) % 4)
        for decode, packed in ((bytes.fromhex, run), (base64.b64decode, padded), (base64.urlsafe_b64decode, padded)):
            try:
                data = decode(packed)
            except (ValueError, binascii.Error):
                continue
            found.append(data[:2_000_000].decode("utf-8", "ignore"))
            for wbits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
                try:
                    found.append(zlib.decompressobj(wbits).decompress(data, 2_000_000).decode("utf-8", "ignore"))
                except zlib.error:
                    continue
    return found


def _words(files: Files) -> list[str]:
    return [word for text in files.values() for word in _WORD.findall(text)]


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def _places(files: Files, markers: set[str]) -> dict[str, tuple[int, int]]:
    """For each marker that occurs once in `files`: number of its file, place among all words."""
    places: dict[str, tuple[int, int]] = {}
    twice, at = set(), 0
    for number, name in enumerate(sorted(files)):
        for word in _WORD.findall(files[name]):
            at += 1
            if word in markers:
                if word in places:
                    twice.add(word)
                places[word] = (number, at)
    return {word: place for word, place in places.items() if word not in twice}


def _blind_cut(
    markers: Sequence[str], before: dict[str, tuple[int, int]], placed: dict[str, tuple[int, int]]
) -> list[int]:
    """Where the markers would lie if the input were cut into runs as long as the answer's files."""
    spans: dict[int, list[int]] = {}
    for marker in markers:
        spans.setdefault(placed[marker][0], []).append(before[marker][1])
    runs = [
        number for number, spots in sorted(spans.items(), key=lambda pair: sum(pair[1]) / len(pair[1])) for _ in spots
    ]
    order = sorted(range(len(markers)), key=lambda index: before[markers[index]][1])
    cut = [0] * len(markers)
    for index, number in zip(order, runs, strict=True):
        cut[index] = number
    return cut


def _rand(one: Sequence[int], other: Sequence[int]) -> float:
    """Adjusted Rand index of two partitions (Hubert and Arabie 1985): 1 the same, 0 what chance gives."""

    def pairs(counts: Counter[Any]) -> float:
        return sum(n * (n - 1) / 2 for n in counts.values())

    together, ours, theirs = pairs(Counter(zip(one, other, strict=True))), pairs(Counter(one)), pairs(Counter(other))
    chance = ours * theirs / (len(one) * (len(one) - 1) / 2)
    highest = (ours + theirs) / 2
    return 1.0 if highest == chance else (together - chance) / (highest - chance)


def _common_order(markers: Sequence[str], one: dict[str, tuple[int, int]], other: dict[str, tuple[int, int]]) -> float:
    """Share of the markers in a longest run whose order is the same on both sides."""
    ends: list[int] = []
    for marker in sorted(markers, key=lambda marker: one[marker][1]):
        place = other[marker][1]
        at = bisect.bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends) / len(markers)
