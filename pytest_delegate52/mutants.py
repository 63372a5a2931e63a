"""Changes made in a document's raw text by code that knows nothing of any schema.

Mutants drawn from a schema can't find what the schema forgot; these can. Each is a change of meaning in any format,
except inside the spans that a domain declares as derived (`Domain.derived`), which are left alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_delegate52.schema import Files


@dataclass(frozen=True)
class Mutant:
    """One changed document: what was done, and the line before and after."""

    change: str
    before: str
    after: str
    files: Files


def _digit(match: re.Match[str], rng: random.Random) -> str:
    return rng.choice([digit for digit in "0123456789" if digit != match.group()])


def _letter(match: re.Match[str], rng: random.Random) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    letter = rng.choice([each for each in alphabet if each != match.group().lower()])
    return letter.upper() if match.group().isupper() else letter


def _swapped(match: re.Match[str], rng: random.Random) -> str:
    return match.group(3) + match.group(2) + match.group(1)


#: change -> (what it picks, what it puts there)
_SPOTS: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str], random.Random], str]]] = {
    "digit": (re.compile(r"[0-9]"), _digit),
    "letter": (re.compile(r"[A-Za-z]"), _letter),
    "letter lost": (re.compile(r"(?<=\w)[A-Za-z](?=\w)"), lambda match, rng: ""),
    "word lost": (re.compile(r"\b[^\W\d_]{3,}\b ?"), lambda match, rng: ""),
    "word doubled": (re.compile(r"\b[^\W\d_]{3,}\b"), lambda match, rng: f"{match.group()} {match.group()}"),
    "words swapped": (re.compile(r"\b([^\W\d_]{3,})( )(?!\1\b)([^\W\d_]{3,})\b"), _swapped),
}
_LINES = ("line lost", "line doubled")
CHANGES = (*_SPOTS, *_LINES)


def mutants(files: Files, derived: Sequence[str], seed: int, count: int) -> Iterator[Mutant]:
    """`count` single-point mutants, as many of each change as of any other, drawn with `seed`."""
    rng = random.Random(seed)
    names = sorted(files)
    closed = {name: _spans(files[name], derived) for name in names}
    made = misses = 0
    while made < count and misses < 1_000:
        name = rng.choices(names, [len(files[each]) + 1 for each in names])[0]
        change = CHANGES[made % len(CHANGES)]
        found = (_spot if change in _SPOTS else _line)(files[name], change, closed[name], rng)
        if found is None:
            misses += 1
            continue
        start, end, new = found
        text = files[name]
        made += 1
        yield Mutant(
            change,
            _line_at(text, start, end),
            _line_at(text[:start] + new + text[end:], start, start + len(new)),
            {**files, name: text[:start] + new + text[end:]},
        )


def _spot(text: str, change: str, closed: list[tuple[int, int]], rng: random.Random) -> tuple[int, int, str] | None:
    pattern, put = _SPOTS[change]
    match = pattern.search(text, rng.randrange(len(text) + 1))
    if match is None or _inside(match.start(), match.end(), closed):
        return None
    return match.start(), match.end(), put(match, rng)


def _line(text: str, change: str, closed: list[tuple[int, int]], rng: random.Random) -> tuple[int, int, str] | None:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    index = rng.randrange(len(starts))
    start = starts[index]
    end = starts[index + 1] if index + 1 < len(starts) else len(text)
    line = text[start:end]
    if not re.search(r"\w", line) or _inside(start, start + len(line.rstrip()), closed):
        return None
    return start, end, "" if change == "line lost" else line.rstrip("\n") + "\n" + line


def _spans(text: str, derived: Sequence[str]) -> list[tuple[int, int]]:
    return [match.span() for pattern in derived for match in re.finditer(pattern, text)]


def _inside(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    """Whether the change lies within one derived span (a line counts when nothing but white space sticks out)."""
    return any(low <= start and end <= high for low, high in spans)


def _line_at(text: str, start: int, end: int) -> str:
    return text[text.rfind("\n", 0, start) + 1 : max(end, text.find("\n", end))].strip()[:160]
