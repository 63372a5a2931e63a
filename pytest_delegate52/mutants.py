"""Changes of meaning: in a document's raw text, by code that knows nothing of any schema, and in its records.

Mutants drawn from a schema can't find what the schema forgot; those in the text can. Each is a change of meaning in any
format, except inside the spans that a domain declares as derived (`Domain.derived`), which are left alone.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_delegate52.schema import (
    Document,
    Exact,
    Files,
    Kind,
    Nested,
    Number,
    Path,
    Record,
    Schema,
    Several,
    Table,
    Text,
    Tree,
    absent,
)


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


# ------------------------------------------------------------------------------------------ in the records


def record_mutants(schema: Schema, document: Document, rng: random.Random) -> Iterator[tuple[str, Document]]:
    """Documents with one change of meaning in the records: each field, lost, doubled and swapped records."""
    for name, of in schema.collections.items():
        records = document.collections.get(name, [])
        for index in some(range(len(records)), 40):
            for key, kind in of.fields.items():
                changed = changed_value(kind, records[index].get(key), rng)
                if changed is not None:
                    mutant = copy.deepcopy(document)
                    mutant.collections[name][index][key] = changed
                    yield f"{name}[{index}].{key}: {records[index].get(key)!r} -> {changed!r}"[:300], mutant
            lost = copy.deepcopy(document)
            del lost.collections[name][index]
            yield f"{name}[{index}] lost", lost
            if not isinstance(of, Tree):
                doubled = copy.deepcopy(document)
                doubled.collections[name].append(copy.deepcopy(records[index]))
                yield f"{name}[{index}] doubled", doubled
        if of.ordered:
            for index in some(range(len(records) - 1), 20):
                if of.canonical(records[index]) != of.canonical(records[index + 1]):
                    swapped = copy.deepcopy(document)
                    two = swapped.collections[name]
                    two[index], two[index + 1] = two[index + 1], two[index]
                    yield f"{name}[{index}] and the next swapped", swapped


def changed_value(kind: Kind, value: Any, rng: random.Random) -> Any:
    """A value of another meaning, or None where there is nothing to change."""
    if absent(value):
        return None
    if isinstance(kind, Nested):
        parts = copy.deepcopy(list(value))
        index = rng.randrange(len(parts))
        names = [n for n, k in kind.records.fields.items() if changed_value(k, parts[index].get(n), rng) is not None]
        if not names or rng.random() < 0.2:
            return [*parts, copy.deepcopy(parts[index])]
        name = rng.choice(names)
        parts[index][name] = changed_value(kind.records.fields[name], parts[index][name], rng)
        return parts
    if isinstance(kind, Path):
        # A last array position of one more may be the same place; one level deeper never is.
        return (*value[:-1], another(value[-1])) if value and isinstance(value[-1], str) else (*value, "q")
    if isinstance(kind, Number):
        return _like(value, _decimal(value) + (kind.tolerance + 1) * 2 + abs(_decimal(value)) * kind.relative * 2)
    if isinstance(kind, Several):
        parts = list(value)
        index = rng.randrange(len(parts))
        other = changed_value(kind.of, parts[index], rng)
        return tuple([*parts[:index], other, *parts[index + 1 :]] if other is not None else parts[:-1])
    if isinstance(kind, Table):
        key = rng.choice(sorted(value))
        other = changed_value(kind.of, value[key], rng)
        return {**value, key: other} if other is not None else {k: v for k, v in value.items() if k != key}
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, Decimal)):
        return value + 1
    if isinstance(value, str):
        return another(value)
    if isinstance(value, (tuple, list)):
        return type(value)(value[:-1]) if len(value) > 1 else type(value)([*value, *value])
    raise TypeError(f"no change is known for a {type(kind).__name__} that holds a {type(value).__name__}")


def another(value: Any) -> Any:
    """A string with one letter or digit changed, or the next number."""
    if isinstance(value, int):
        return value + 1
    letters = [i for i, character in enumerate(value) if character.isalnum()]
    if not letters:
        return value + "q"
    at = letters[len(letters) // 2]
    other = ("7" if value[at] != "7" else "3") if value[at].isdigit() else ("q" if value[at] not in "qQ" else "z")
    return value[:at] + other + value[at + 1 :]


def _like(value: Any, number: Decimal) -> Any:
    return int(number) if isinstance(value, int) else number


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(str(value))


def corrupt_field(record: Record, key: str, kind: Kind, rng: random.Random) -> None:
    """Replace a field, where it is present, by something that has nothing to do with it."""
    value: Any = record.get(key)
    if absent(value):
        return
    if isinstance(kind, Nested):
        record[key] = copy.deepcopy(list(value))
        for part in record[key]:
            for inner, of in kind.records.fields.items():
                corrupt_field(part, inner, of, rng)
    elif isinstance(kind, Text) or (isinstance(kind, Exact) and isinstance(value, str)):
        record[key] = "".join(rng.choice("bcdfghjklmnpqrstvwxz") if c.isalnum() else c for c in value) + "q"
    elif isinstance(kind, Number):
        away = _decimal(value) * 2 + 1_000 if kind.scale is None else Decimal(kind.scale) * 2
        record[key] = _like(value, _decimal(value) + away + kind.tolerance)
    elif isinstance(kind, Several):
        record[key] = tuple(changed_value(kind.of, part, rng) or part for part in value)
    else:
        record[key] = changed_value(kind, value, rng)


def some(indices: Sequence[int], most: int) -> list[int]:
    """At most `most` of the indices, evenly spread."""
    step = max(1, len(indices) // most)
    return list(indices[::step])[:most]
