"""Subtitles: SubRip (.srt) and WebVTT (.vtt), told apart by content.

SubRip has no standard; this follows what players read: a running number, `HH:MM:SS,mmm --> HH:MM:SS,mmm`, lines of
text up to the next number and timing. WebVTT follows the W3C candidate recommendation: header, NOTE, STYLE and REGION
blocks, cue identifiers, cue settings. Times are in milliseconds.

Records: `cues` in order, each with start, end, text with its line breaks, markup (each tag with the number of visible
characters before it), settings and identifier; `blocks`, the header and the NOTE, STYLE and REGION blocks. Running
numbers are derived, and so is a bare WEBVTT header: a file of either format that says the same is the same document.

Published formula: 0.20 coverage + 0.40 text + 0.25 timing + 0.15 order. Departures: markup counts in the text share,
settings and identifiers in the timing share, since no published component sees them; where there are blocks, they take
a tenth of the whole.
"""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_delegate52.schema import (
    Document,
    Exact,
    Files,
    Number,
    Record,
    Records,
    Schema,
    Several,
    Text,
    squeeze,
    weighted,
)

_STAMP = r"(-?)(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_STAMP}\s*-{{1,2}}>\s*{_STAMP}(?:\s+(\S.*))?\s*")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}\n]{1,200}\}")
_BLOCK = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)(?:\s|$)")


def parse(files: Files) -> Document:
    """Read all files; with several, in the order of their first cues."""
    parts = [_parse_file(text) for _, text in sorted(files.items())]
    parts.sort(key=lambda part: part.collections["cues"][0]["start"] if part.collections["cues"] else 0)
    return Document(
        {name: [record for part in parts for record in part.collections[name]] for name in ("cues", "blocks")},
        [problem for part in parts for problem in part.problems],
    )


def _parse_file(text: str) -> Document:
    lines = [squeeze(line) for line in text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    webvtt = next((line for line in lines if line), "").startswith("WEBVTT")
    timings = [(at, match) for at, line in enumerate(lines) if "->" in line and (match := _TIMING.fullmatch(line))]
    heads = [_head(lines, at, webvtt) for at, _ in timings]
    cues: list[Record] = []
    chunks = _chunks(lines[: heads[0] if heads else len(lines)])
    for number, (at, match) in enumerate(timings):
        name = lines[heads[number]] if heads[number] < at else ""
        body = _chunks(lines[at + 1 : heads[number + 1] if number + 1 < len(heads) else len(lines)])
        starts_at_once = at + 1 < len(lines) and lines[at + 1]
        own = body if not webvtt else body[:1] if starts_at_once else []
        chunks += body[len(own) :]
        plain, markup = _without_tags("\n".join(own))
        cues.append({
            "start": _milliseconds(match.groups()[:5]), "end": _milliseconds(match.groups()[5:10]),
            "text": plain, "markup": markup, "settings": tuple(sorted((match.group(11) or "").split())),
            "identifier": "" if name.isdigit() else name,
        })  # fmt: skip
    blocks = [{"text": chunk} for chunk in chunks if _BLOCK.match(chunk) and chunk != "WEBVTT"]
    return Document({"cues": cues, "blocks": blocks}, [chunk for chunk in chunks if not _BLOCK.match(chunk)])


def _head(lines: list[str], at: int, webvtt: bool) -> int:
    """Where a cue begins: at the running number or identifier before its timing, else at the timing itself."""
    before = lines[at - 1] if at else ""
    named = before.isdigit() or (
        webvtt and before and not before.startswith("WEBVTT") and not _TIMING.fullmatch(before)
    )
    return at - 1 if named else at


def _chunks(lines: list[str]) -> list[str]:
    """Runs of lines that are not blank."""
    return [chunk for chunk in re.split(r"\n{2,}", "\n".join(lines).strip("\n")) if chunk]


def _milliseconds(stamp: tuple[str | None, ...]) -> int:
    sign, hours, minutes, seconds, fraction = stamp
    total = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return (-1 if sign else 1) * (total * 1000 + int((fraction or "0").ljust(3, "0")))


def _without_tags(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without tags, and each tag as `<characters before it, blanks not counted> <tag>`."""
    parts, tags, visible, at = [], [], 0, 0
    for match in _TAG.finditer(text):
        parts.append(text[at : match.start()])
        visible += len("".join(parts[-1].split()))
        tags.append(f"{visible} {match.group()}")
        at = match.end()
    plain = "\n".join(filter(None, map(squeeze, "".join([*parts, text[at:]]).split("\n"))))
    return (text, ()) if _TAG.search(plain) else (plain, tuple(tags))


def with_tags(text: str, markup: tuple[str, ...]) -> str:
    """Put the tags back: a run that opens with an end tag stands after its character, any other before the next."""
    runs: dict[int, list[str]] = {}
    for each in markup:
        count, _, tag = each.partition(" ")
        runs.setdefault(int(count) if count.isdigit() else 0, []).append(tag)
    made, visible = [], 0
    for character in text:
        if not character.isspace() and visible in runs:
            made += runs.pop(visible)
        made.append(character)
        if not character.isspace():
            visible += 1
            if visible in runs and runs[visible][0].startswith("</"):
                made += runs.pop(visible)
    return "".join([*made, *(tag for run in runs.values() for tag in run)])


def emit(document: Document) -> Files:
    """SubRip, or WebVTT where something only WebVTT can hold is there."""
    cues, blocks = document.collections.get("cues", []), document.collections.get("blocks", [])
    webvtt = bool(blocks) or any(cue.get("settings") or cue.get("identifier") for cue in cues)
    chunks = [block["text"] for block in blocks]
    if webvtt and not (chunks and chunks[0].startswith("WEBVTT")):
        chunks.insert(0, "WEBVTT")
    chunks += document.problems
    for number, cue in enumerate(cues, 1):
        times = " --> ".join(stamp(cue[name], "." if webvtt else ",") for name in ("start", "end"))
        settings = "".join(f" {each}" for each in cue.get("settings", ()))
        text = with_tags(cue.get("text") or "", tuple(cue.get("markup") or ()))
        chunks.append(f"{cue.get('identifier') or number}\n{times}{settings}\n{text}".rstrip("\n"))
    return {"subtitles.vtt" if webvtt else "subtitles.srt": "\n\n".join(chunks) + "\n" if chunks else ""}


def stamp(time: int, mark: str) -> str:
    """Milliseconds as HH:MM:SS with three decimals behind `mark`."""
    seconds, fraction = divmod(abs(int(time)), 1000)
    minutes, sign = seconds // 60, "-" if time < 0 else ""
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{seconds % 60:02d}{mark}{fraction:03d}"


_TIME = Number(scale=Decimal(2_000), unit=" ms", group="timing")
SCHEMA = Schema(
    cues=Records(
        name="cue",
        identity=("start", "text"),
        label=("start", "text"),
        ordered=True,
        fields={
            "start": _TIME,
            "end": _TIME,
            "text": Text(lines=True, weight=1.0),
            "markup": Several(group="text", weight=0.7),
            "settings": Several(group="timing", ordered=False),
            "identifier": Exact(group="timing"),
        },
    ),
    blocks=Records(name="block", identity=("text",), counted=False, fields={"text": Text(lines=True, weight=1.0)}),
    combine=lambda c: weighted(
        (
            0.9,
            weighted((0.20, c.cues.coverage), (0.40, c.cues.text), (0.25, c.cues.timing), (0.15, c.cues.order)),
        ),
        (0.1, c.blocks.accuracy),
    ),
)

#: The running number before a timing.
DERIVED = (r"(?m)^\d+[ \t]*\r?\n(?=\s*[\d:.,-]+\s*-->)",)


def _renumbered(files: Files) -> Files:
    return {name: re.sub(r"(?m)^(\d+)(?=\r?\n[\d:.,-]+ -->)", lambda m: str(int(m.group()) + 10), text)
            for name, text in files.items()}  # fmt: skip


SURFACE = {
    "running numbers from 11": _renumbered,
    "decimal points": lambda files: {
        name: re.sub(r"(?m)^(\d\d:\d\d:\d\d),(\d{3} --> \d\d:\d\d:\d\d),(\d{3})", r"\1.\2.\3", text)
        for name, text in files.items()
    },
    "as WebVTT": lambda files: {
        name: text if text.lstrip("\ufeff").startswith("WEBVTT") else "WEBVTT\n\n" + text
        for name, text in files.items()
    },
}
