"""Recipes in plain text or Markdown.

No standard exists; this follows how cooks write: a title, facts (yield, times), ingredient lists, a method, and
whatever else stands under a heading. Headings may be `#`, underlined, bold, in capitals, or end in a colon; lists may
be numbered, bulleted, or plain lines. Numbering, markers and emphasis are layout; the order of steps is meaning.

Records: `ingredients` (amount, name, note), `steps` in order, `facts` (name and value, the title among them), `notes`
(every other paragraph, list item or table row); all with the headings they stand under. Quantities are compared as
numbers with units, wherever they stand: 200 g = 0.2 kg, 1½ = 1 1/2 = 1.5, 3 tsp = 1 tbsp, 180 °C = 356 °F, 90 min =
1.5 h; grams and cups are different things. A heading with nothing under it is a problem.

Published formula: 0.4 ingredients + 0.4 steps + 0.2 tips. Departures: facts and notes share the 0.2 by their number; an
eighth of the steps' share is for their order.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pytest_delegate52 import unreadable
from pytest_delegate52.schema import Document, Exact, Files, Kind, Record, Records, Schema, Text, squeeze, weighted

# ---------------------------------------------------------------------------------------------------------- quantities

_FRACTIONS = dict(
    zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8".split(), strict=True)
)

#: family -> spellings of a unit -> its size in the family's base unit, exact by definition
_UNITS: dict[str, dict[str, Fraction]] = {
    "g": {
        "mg": Fraction(1, 1000),
        "g gram grams gr gramm": Fraction(1),
        "kg kilo kilos kilogram kilograms": Fraction(1000),
        "oz ounce ounces": Fraction("28.349523125"),
        "lb lbs pound pounds": Fraction("453.59237"),
    },
    "ml": {
        "ml millilitre millilitres milliliter milliliters": Fraction(1),
        "cl": Fraction(10),
        "dl": Fraction(100),
        "l litre litres liter liters": Fraction(1000),
    },
    "tsp": {
        "tsp teaspoon teaspoons tl": Fraction(1),
        "tbsp tablespoon tablespoons el": Fraction(3),
        "cup cups": Fraction(48),
    },
    "s": {
        "s sec secs second seconds sekunden": Fraction(1),
        "min mins minute minutes minuten": Fraction(60),
        "h hr hrs hour hours std stunde stunden": Fraction(3600),
        "day days": Fraction(86400),
    },
    "mm": {"mm": Fraction(1), "cm": Fraction(10), "inch inches": Fraction("25.4")},
    "°": {"c": Fraction(1), "f": Fraction(5, 9)},
}  # fmt: skip
_SIZES = {
    word: (family, size) for family, units in _UNITS.items() for words, size in units.items() for word in words.split()
}
_WORDS = "|".join(sorted((word for word in _SIZES if word not in ("c", "f")), key=len, reverse=True))
_SLASH = r"\d{1,4}\s?[/⁄]\s?\d{1,4}"
_SIGNS = f"[{''.join(_FRACTIONS)}]"
_NUMBER = rf"(?:\d{{1,9}}\s+{_SLASH}|{_SLASH}|\d{{1,9}}\s?{_SIGNS}|{_SIGNS}|\d{{1,9}}(?:[.,]\d{{1,9}}){{0,5}})"
_UNIT = (
    r"(?:\s?(?:°|º|degrees?)\s?(?P<scale>celsius|fahrenheit|[cf])\b|(?P<bare>[CF])\b"
    rf"|[\s-]?(?P<unit>{_WORDS})\b\.?)"
)
#: One quantity or range, wherever it stands, with its unit.
QUANTITY = re.compile(
    rf"(?<![\w.,/])(?P<low>{_NUMBER})(?:\s?(?:-|–|—|to|bis)\s?(?P<high>{_NUMBER}))?(?:{_UNIT})?(?![\w/])", re.IGNORECASE
)


def number(text: str) -> Fraction:
    """`1 1/2`, `1½`, `0.5`, `1,5` or `1,500` as an exact number."""
    text = text.replace("⁄", "/")
    for sign, plain in _FRACTIONS.items():
        text = text.replace(sign, f" {plain}")
    total = Fraction(0)
    for part in re.sub(r"\s*/\s*", "/", text).split():
        if "/" in part:
            top, _, bottom = part.partition("/")
            total += Fraction(int(top), int(bottom) or 1)
        elif re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", part):
            total += int(part.replace(",", ""))
        else:
            whole, _, rest = part.replace(",", ".").partition(".")
            total += Fraction(f"{whole}.{rest.replace('.', '')}" if rest else whole)
    return total


def measured(match: re.Match[str]) -> tuple[Fraction, Fraction, str]:
    """(low, high, family) of a quantity; the family of a bare number is empty."""
    low = number(match["low"])
    high = number(match["high"]) if match["high"] else low
    word = (match["scale"] or match["bare"] or match["unit"] or "").lower()[: None if match["unit"] else 1]
    if not word:
        return low, high, ""
    family, size = _SIZES[word]
    if word == "f":
        return (low - 32) * size, (high - 32) * size, family
    return low * size, high * size, family


@lru_cache(maxsize=20_000)
def _levelled(text: str) -> str:
    """The text with every quantity in its family's base unit."""

    def put(match: re.Match[str]) -> str:
        low, high, family = measured(match)
        return f"{low}{family}" if low == high else f"{low}..{high}{family}"

    return QUANTITY.sub(put, text)


@dataclass(frozen=True, kw_only=True)
class Wording(Text):
    """Running text in which quantities count as quantities, however they are written."""

    def canonical(self, value: Any) -> str:
        return _levelled(squeeze(str(value)))


@dataclass(frozen=True, kw_only=True)
class Amount(Kind):
    """A quantity or a range: equal as numbers in one family of units; beyond that at most half, by their ratio."""

    def canonical(self, value: Any) -> Hashable:
        match = QUANTITY.fullmatch(squeeze(str(value)))
        return measured(match) if match else squeeze(str(value))

    def similarity(self, reference: Any, candidate: Any) -> float:
        ours, theirs = self.canonical(reference), self.canonical(candidate)
        if not isinstance(ours, tuple) or not isinstance(theirs, tuple) or ours[2] != theirs[2]:
            return float(ours == theirs)
        largest = max(abs(ours[1]), abs(theirs[1]))
        return (
            1.0 if ours == theirs else float(max(0, 1 - (abs(ours[1] - theirs[1])) / largest) / 2) if largest else 0.0
        )


# -------------------------------------------------------------------------------------------------------------- layout

_OTHER = (
    "tips?|notes?|storage|storing|serving|to serve|variations?|substitutions?|nutrition|equipment|make[- ]ahead|"
    "allergens?|timeline|plan|history|sources?"
)
_FOR = "(?: (?:for|für) (?P<part>.+))?"
_KINDS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "ingredients": rf"(?:the )?(?:ingredients?|zutaten)(?: list)?{_FOR}",
        "steps": rf"(?:the )?(?:method|directions|instructions|preparation|procedure|steps|zubereitung){_FOR}",
        "notes": rf"(?:.* / )?(?:\w+['’]s )?(?:{_OTHER})\b.*",
    }.items()
}
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_MARKER = re.compile(
    r"(?:[-*•+–]\s+|(?P<number>\(?\d{1,3}[.)]\s+|(?:step|schritt)\s+\d{1,3}\s*[:.)-]\s*)"
    r"|ingredient\s+\d{1,3}\s*[:.)-]\s*)",
    re.IGNORECASE,
)
_FACT = re.compile(r"([A-Z][^\W\d_]*(?:[ '/&-][^\W\d_]+){0,4}) ?:\s+(\S.*)")
_BARE_FACT = re.compile(r"(Serves|Makes|Yields|Feeds)\s+(\S.*)", re.IGNORECASE)
_RULE = re.compile(r"[-=*_~]{3,}|\|?[\s:|-]*-{3}[\s:|-]*")
_BOLD = re.compile(r"\s*(\*\*|__)[^*_]+\1:?\s*")
_UNDERLINE = re.compile(r"\s*(=|-)\1{2,}\s*")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=[^\s*_])|(?<=[^\s*_])[*_](?!\w)")
LONGEST = 20_000  # characters in a line or a paragraph; longer ones are a problem
_FOOD = ("g", "ml", "tsp")


def parse(files: Files) -> Document:
    """Read the files, in the order of their names, as one text."""
    others, problems = unreadable.take(files)
    reader = _Reader(problems)
    lines = [line for text in others.values() for line in (*text.split("\n"), "")]
    for place, line in enumerate(lines):
        reader.line(line, lines[place + 1] if place + 1 < len(lines) else "")
    reader.end()
    return Document(reader.found, reader.problems)


class _Reader:
    """What stands open while the lines are read: the headings, the paragraph."""

    def __init__(self, problems: list[str]) -> None:
        self.found: dict[str, list[Record]] = {"ingredients": [], "steps": [], "facts": [], "notes": []}
        self.problems = problems
        self.headings: list[tuple[int, str, str]] = []  # level, kind, part
        self.open: list[str] = []
        self.marked = self.numbered = False
        self.unused = ""  # a heading that has had nothing below it yet
        self.first = True

    def line(self, raw: str, following: str) -> None:
        if len(raw) > LONGEST:
            self.flush()
            self.problems.append(squeeze(raw))
            return
        text = squeeze(_EMPHASIS.sub("", raw)) if not raw.isspace() else ""
        if not text or _RULE.fullmatch(text):
            self.flush()
            self.first = self.first and not text
            return
        bold = _BOLD.fullmatch(raw) is not None
        underline = _UNDERLINE.fullmatch(following)
        if heading := _HEADING.fullmatch(squeeze(raw)):
            self.heading(len(heading.group(1)), squeeze(_EMPHASIS.sub("", heading.group(2))))
        elif underline and len(text) <= 100 and not self.open:
            self.heading(1 if underline.group(1) == "=" else 2, text)
        elif self.soft(text, bold, following):
            title = text.rstrip(" :")
            self.heading(1 if self.first and not text.endswith(":") else 2 if _kind(title)[0] else 3, title)
        else:
            self.text(raw, text)
        self.first = False

    def soft(self, text: str, bold: bool, following: str) -> bool:
        """Whether a line without `#` is a heading."""
        if self.open or _MARKER.match(text) or len(text) > 80 or not text[0].isalpha():
            return False
        shouted = text.isupper() and sum(map(str.isalpha, text)) > 3
        titled = self.first and not following.strip() and not _FACT.match(text) and not _BARE_FACT.match(text)
        return bold or shouted or titled or text.endswith(":")

    def heading(self, level: int, title: str) -> None:
        self.flush()
        if self.unused and self.headings and level <= self.headings[-1][0]:
            self.problems.append(f"nothing under the heading {self.unused}")
        self.unused = ""
        kind, part = _kind(title)
        if self.first and level == 1 and not kind:
            self.found["facts"].append({"name": "Title", "value": title, "part": ""})
            return
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, kind, part if kind in ("ingredients", "steps") else title))
        self.unused = title

    def text(self, raw: str, text: str) -> None:
        marker = _MARKER.match(text)
        indented = raw[:1].isspace()
        alone = self.kind == "ingredients" and not (self.marked and indented)
        if marker or alone or text[0] == "|" or (self.open and self.open[0][0] == "|"):
            self.flush()
            self.marked, self.numbered = marker is not None, bool(marker and marker["number"])
            while marker:
                text = text[marker.end() :]
                marker = _MARKER.match(text)
        elif not self.open:
            self.marked = self.numbered = False
            fact = not self.kind and (_FACT.fullmatch(text) or _BARE_FACT.fullmatch(text))
            if fact:
                self.unused = ""
                self.found["facts"].append({"name": fact.group(1), "value": fact.group(2), "part": self.part})
                return
        if text:
            self.open.append(text)

    @property
    def kind(self) -> str:
        return next((kind for _, kind, _ in reversed(self.headings) if kind), "")

    @property
    def part(self) -> str:
        return " / ".join(part for _, _, part in self.headings if part)

    def flush(self) -> None:
        """The open paragraph or item is complete."""
        text, self.open = squeeze(" ".join(self.open)), []
        if len(text) > LONGEST:
            self.problems.append(text)
            return
        while marker := _MARKER.match(text):  # a marker alone on its line
            text = text[marker.end() :]
        if not text:
            return
        self.unused = ""
        amount = QUANTITY.match(text)
        food = amount is not None and measured(amount)[2] in _FOOD
        kind = self.kind or ("steps" if self.numbered else "ingredients" if food else "notes")
        if kind == "ingredients":
            self.found[kind].append({**_ingredient(text), "part": self.part})
        else:
            self.found[kind].append({"text": text, "part": self.part})

    def end(self) -> None:
        self.flush()
        if self.unused:
            self.problems.append(f"nothing under the heading {self.unused}")


def _kind(title: str) -> tuple[str, str]:
    """What stands under a heading (empty: unknown), and the part of the dish that it names."""
    for kind, pattern in _KINDS.items():
        if match := pattern.fullmatch(title):
            return kind, (match.groupdict().get("part") or "")
    return "", title


def _ingredient(text: str) -> Record:
    match = QUANTITY.match(text)
    amount = match.group() if match else ""
    rest = text[len(amount) :].strip()
    cut = re.search(r"\s*(?=[,(;])|\s+(?=[–—-]\s)", rest)
    at = cut.start() if cut else len(rest)
    return {"amount": squeeze(amount), "name": squeeze(rest[:at]), "note": squeeze(rest[at:])}


def emit(document: Document) -> Files:
    """Markdown: title, facts, notes, ingredients, method, the rest by heading."""
    collections = document.collections
    lines: list[str] = []
    facts = list(collections.get("facts", []))
    titles = [fact for fact in facts if fact["name"] == "Title" and not fact.get("part")]
    if titles:
        facts.remove(titles[0])
        lines.append(f"# {titles[0]['value']}")
    groups = [*_runs(facts, "fact"), *_runs(collections.get("notes", []), "note")]
    for part, rows in sorted(groups, key=lambda group: group[0] != ""):
        lines += ["", *([f"## {part}", ""] if part else []), *rows]
    for name, heading in (("ingredients", "## Ingredients"), ("steps", "## Method")):
        for number, (part, rows) in enumerate(_runs(collections.get(name, []), name)):
            lines += ["", heading] if not number or not part else []
            lines += ["", *([f"### {part}", ""] if part else []), *rows]
    text = "\n".join(lines).strip("\n")
    return {**({"recipe.md": text + "\n"} if text else {}), **unreadable.write(document.problems)}


def _runs(records: list[Record], kind: str) -> Iterator[tuple[str, list[str]]]:
    """Runs of records under one heading, as lines."""
    part: str | None = None
    rows: list[str] = []
    for number, record in enumerate(records, 1):
        if record.get("part", "") != part:
            if rows:
                yield part or "", rows
            part, rows = record.get("part", ""), []
        if kind == "fact":
            rows.append(f"{record['name']}: {record['value']}")
        elif kind == "ingredients":
            note = record.get("note") or ""
            told = " ".join(filter(None, (record.get("amount"), record.get("name"))))
            rows.append(f"- {told}{'' if note[:1] in ',;' or not told else ' '}{note}".rstrip())
        else:
            rows.append(f"{number}. {record['text']}" if kind == "steps" else f"- {record['text']}")
    if rows:
        yield part or "", rows


SCHEMA = Schema(
    ingredients=Records(
        name="ingredient",
        identity=("name", "part"),
        label=("name", "note"),
        fields={
            "amount": Amount(weight=0.8), "name": Wording(weight=0.9), "note": Wording(weight=0.6),
            "part": Exact(weight=0.3, fold=str.casefold),
        },
    ),
    steps=Records(
        name="step",
        identity=("text",),
        ordered=True,
        fields={"text": Wording(weight=1.0), "part": Exact(weight=0.3, fold=str.casefold)},
    ),
    facts=Records(
        name="fact",
        identity=("name", "part"),
        fields={
            "name": Exact(weight=0.9, fold=str.casefold), "value": Wording(weight=0.9),
            "part": Exact(weight=0.3, fold=str.casefold),
        },
    ),
    notes=Records(
        name="note",
        identity=("text",),
        label=("part", "text"),
        fields={"text": Wording(weight=1.0), "part": Exact(weight=0.4, fold=str.casefold)},
    ),
    combine=lambda c: weighted(
        (0.4, c.ingredients.accuracy),
        (0.4, weighted((0.875, c.steps.accuracy), (0.125, c.steps.order))),
        (0.2, weighted((c.facts.size, c.facts.accuracy), (c.notes.size, c.notes.accuracy))),
    ),
)  # fmt: skip

#: Numbers of list items and steps.
DERIVED = (r"(?mi)^\s*(?:[-*•]\s+)?(?:\(?\d{1,3}[.)](?=\s)|(?:step|ingredient)\s+\d{1,3}\s*[:.)])",)


def _bulleted_otherwise(files: Files) -> Files:
    return {name: re.sub(r"(?m)^- (?=\S)", "* ", text) for name, text in files.items()}


def _kilograms(files: Files) -> Files:
    def put(match: re.Match[str]) -> str:
        return f"{int(match.group(1)) / 1000:g} kg"

    return {name: re.sub(r"(?<![\d.,/–-])(\d{2,4}) g\b", put, text) for name, text in files.items()}


def _degrees(files: Files) -> Files:
    return {name: re.sub(r"(\d) ?°C\b", r"\1 degrees C", text) for name, text in files.items()}


SURFACE = {"other bullets": _bulleted_otherwise, "grams as kilograms": _kilograms, "degrees in words": _degrees}
