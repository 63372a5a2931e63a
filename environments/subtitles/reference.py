"""Reference edits for subtitles. Each works on any SubRip document; a cue's number is its place in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape, unescape

from pytest_delegate52.domains import subtitles as domain
from pytest_delegate52.environments import families

from pytest_delegate52.schema import Files

SLUG = "skerry-light"


@dataclass
class Cue:
    """A cue as an editor sees it: number, times in milliseconds (with settings behind the end), text with its tags."""

    number: int
    start: int
    end: int
    text: str
    settings: str = ""


def _cues(files: Files) -> list[Cue]:
    document = domain.parse(files)
    return [
        Cue(
            number, cue["start"], cue["end"], domain.with_tags(cue["text"], cue["markup"]),
            "".join(f" {each}" for each in cue["settings"]),
        )
        for number, cue in enumerate(document.collections["cues"], 1)
    ]  # fmt: skip


def _srt(cues: Iterable[Cue], targets: list[str]) -> Files:
    made = []
    for number, cue in enumerate(sorted(cues, key=lambda cue: cue.number), 1):
        times = f"{domain.stamp(cue.start, ',')} --> {domain.stamp(cue.end, ',')}{cue.settings}"
        made.append(f"{number}\n{times}\n{cue.text}\n")
    return {targets[0]: "\n".join(made)}


def _decided(edit: str, cue: Cue) -> str:
    return families.decide(__file__, SLUG, edit, str(cue.start))  # the key knows a cue by its start


# by topic -----------------------------------------------------------------------------------------------------------


def by_topic(files: Files, targets: list[str]) -> Files:
    made: Files = {}
    for cue in _cues(files):
        name = f"topic-{_decided('by-topic', cue)}.txt"
        times = f"{domain.stamp(cue.start, '.')} > {domain.stamp(cue.end, '.')}{cue.settings}"
        made[name] = made.get(name, "") + f"#{cue.number} | {times} | {cue.text.replace(chr(10), ' // ')}\n"
    return made


_TIME = r"(-?\d{2,6}:\d\d:\d\d[.,]\d{3})"


def from_topics(files: Files, targets: list[str]) -> Files:
    pattern = re.compile(rf"(?m)^#(\d{{1,6}}) \| {_TIME} > {_TIME}( [^|\n]*?)? \| ?(.*)$")
    return _srt(
        (
            Cue(int(n), _milliseconds(start), _milliseconds(end), text.replace(" // ", "\n"), settings or "")
            for body in files.values()
            for n, start, end, settings, text in pattern.findall(body)
        ),
        targets,
    )


def _milliseconds(stamp: str) -> int:
    sign = -1 if stamp.startswith("-") else 1
    hours, minutes, rest = stamp.lstrip("-").replace(",", ".").split(":")
    seconds, fraction = rest.split(".")
    return sign * (((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction))


# script with speakers -----------------------------------------------------------------------------------------------

_VOICES = {
    "margit": "Margit Lund", "anand": "Dr. Anand", "ferryman": "The ferryman", "interviewer": "The interviewer",
    "narrator": "The narrator", "two": "Two voices", "other": "Sounds and titles",
}  # fmt: skip


def speaker_script(files: Files, targets: list[str]) -> Files:
    sections: dict[str, list[str]] = {}
    for cue in _cues(files):
        voice = _VOICES.get(_decided("speaker-script", cue), "Unassigned")
        times = f"{cue.start}-{cue.end}{cue.settings}"
        sections.setdefault(voice, []).append(f"- ({cue.number}; {times}) {cue.text.replace(chr(10), ' / ')}")
    return {"script.md": "\n\n".join(f"## {voice}\n\n" + "\n".join(lines) for voice, lines in sections.items()) + "\n"}


def from_script(files: Files, targets: list[str]) -> Files:
    pattern = re.compile(r"(?m)^- \((\d{1,6}); (-?\d{1,12})-(-?\d{1,12})( [^)\n]*)?\) ?(.*)$")
    return _srt(
        (
            Cue(int(n), int(start), int(end), text.replace(" / ", "\n"), settings)
            for n, start, end, settings, text in pattern.findall(families.named(files, "script.md"))
        ),
        targets,
    )


# cinema list --------------------------------------------------------------------------------------------------------


def _timecode(milliseconds: int) -> str:
    """The 24-frame timecode of a frame of 40 ms; what is left of a frame is kept behind a plus sign."""
    frame, left = divmod(abs(milliseconds), 40)
    seconds, frames = divmod(frame, 24)
    sign = "-" if milliseconds < 0 else ""
    code = f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}:{frames:02d}"
    return f"{code}+{left}" if left else code


def _from_timecode(code: str) -> int:
    match = re.fullmatch(r"(-?)(\d{2,6}):(\d\d):(\d\d):(\d\d)(?:\+(\d\d?))?", code.strip())
    if match is None:
        return 0
    sign, hours, minutes, seconds, frames, left = match.groups()
    total = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 24 + int(frames)
    return (-1 if sign else 1) * (total * 40 + int(left or 0))


def cinema_frames(files: Files, targets: list[str]) -> Files:
    rows = []
    for cue in _cues(files):
        first, second, third = (*cue.text.split("\n", 2), "", "")[:3]
        rows.append({
            "cue": cue.number, "in": _timecode(cue.start), "out": _timecode(cue.end) + cue.settings,
            "line1": first, "line2": second, "line3": third,
        })  # fmt: skip
    return {"cinema.csv": families.table(["cue", "in", "out", "line1", "line2", "line3"], rows)}


def from_cinema(files: Files, targets: list[str]) -> Files:
    cues = []
    for row in families.rows(families.named(files, "cinema.csv")):
        text = "\n".join(filter(None, (row.get(name, "") for name in ("line1", "line2", "line3"))))
        out, _, settings = row.get("out", "").partition(" ")
        cues.append(
            Cue(
                families.number(row.get("cue", "")), _from_timecode(row.get("in", "")), _from_timecode(out), text,
                f" {settings}" if settings else "",
            )
        )  # fmt: skip
    return _srt(cues, targets)


# TTML ---------------------------------------------------------------------------------------------------------------


def ttml(files: Files, targets: list[str]) -> Files:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<tt xmlns="http://www.w3.org/ns/ttml" xmlns:tts="http://www.w3.org/ns/ttml#styling" xml:lang="en">',
        '<head><layout><region xml:id="top" tts:displayAlign="before"/></layout></head>',
        "<body><div>",
    ]
    for cue in _cues(files):
        text = cue.text
        region = ' region="top"' if text.startswith("{\\an8}") else ""
        text = text.removeprefix("{\\an8}") if region else text
        marked = escape(text, quote=False).replace("\n", "<br/>")
        for tag, element in (("<i>", "italic"), ("<b>", "bold")):
            name = "fontStyle" if element == "italic" else "fontWeight"
            marked = marked.replace(escape(tag), f'<span tts:{name}="{element}">')
            marked = marked.replace(escape(f"</{tag[1]}>"), f"</span><!--{tag[1]}-->")
        marked = re.sub(r'&lt;font color="(#\w{3,8})"&gt;', r'<span tts:color="\1">', marked)
        marked = marked.replace("&lt;/font&gt;", "</span><!--font-->")
        lines.append(
            f'<p xml:id="c{cue.number}" begin="{_seconds(cue.start)}" end="{_seconds(cue.end)}{cue.settings}"{region}>'
            f"{marked}</p>"
        )
    return {"keeper.ttml": "\n".join([*lines, "</div></body>", "</tt>", ""])}


def _seconds(milliseconds: int) -> str:
    return f"{'-' if milliseconds < 0 else ''}{abs(milliseconds) // 1000}.{abs(milliseconds) % 1000:03d}s"


def from_ttml(files: Files, targets: list[str]) -> Files:
    pattern = re.compile(
        r'<p xml:id="c(\d{1,6})" begin="(-?)(\d{1,9})\.(\d{3})s" end="(-?)(\d{1,9})\.(\d{3})s( [^"]*)?"'
        r'( region="top")?>(.*?)</p>',
        re.DOTALL,
    )
    cues = []
    for n, sign, seconds, ms, sign2, seconds2, ms2, settings, top, body in pattern.findall(
        families.named(files, "keeper.ttml")
    ):
        text = body.replace("<br/>", "\n")
        text = re.sub(r"</span><!--(\w+)-->", lambda m: escape(f"</{m.group(1)}>"), text)
        text = text.replace('<span tts:fontStyle="italic">', escape("<i>"))
        text = text.replace('<span tts:fontWeight="bold">', escape("<b>"))
        text = re.sub(r'<span tts:color="(#\w+)">', r'&lt;font color="\1"&gt;', text)
        start, end = int(sign + seconds + ms), int(sign2 + seconds2 + ms2)
        cues.append(Cue(int(n), start, end, ("{\\an8}" if top else "") + unescape(text), settings))
    return _srt(cues, targets)


# translation kit ----------------------------------------------------------------------------------------------------


def translation_kit(files: Files, targets: list[str]) -> Files:
    cues = _cues(files)
    everything = "\n".join(cue.text for cue in cues)
    known = sorted(families.key(__file__, SLUG, "translation-kit"), key=len, reverse=True)
    found = [name for name in known if re.search(rf"\b{re.escape(name)}\b", everything)]
    marks = {name: f"{{N{place}}}" for place, name in enumerate(found, 1)}

    def masked(text: str) -> str:
        for name, mark in marks.items():
            text = re.sub(rf"\b{re.escape(name)}\b", mark, text)
        return text.replace("\n", " | ")

    kinds = [
        {"placeholder": mark, "name": name, "kind": families.decide(__file__, SLUG, "translation-kit", name)}
        for name, mark in marks.items()
    ]
    sheet = [{"cue": cue.number, "english": masked(cue.text), "translation": ""} for cue in cues]
    times = [{"cue": cue.number, "start": cue.start, "length": f"{cue.end - cue.start}{cue.settings}"} for cue in cues]
    return {
        "sheet.csv": families.table(["cue", "english", "translation"], sheet),
        "names.csv": families.table(["placeholder", "name", "kind"], kinds),
        "times.csv": families.table(["cue", "start", "length"], times),
    }


def from_kit(files: Files, targets: list[str]) -> Files:
    names = {
        row.get("placeholder", ""): row.get("name", "") for row in families.rows(families.named(files, "names.csv"))
    }
    times = {row.get("cue", ""): row for row in families.rows(families.named(files, "times.csv"))}
    cues = []
    for row in families.rows(families.named(files, "sheet.csv")):
        text = re.sub(r"\{N\d{1,4}\}", lambda m: names.get(m.group(), m.group()), row.get("english", ""))
        time = times.get(row.get("cue", ""), {})
        length, _, settings = time.get("length", "").partition(" ")
        start = families.number(time.get("start", ""))
        end = start + families.number(length)
        number = families.number(row.get("cue", ""))
        cues.append(Cue(number, start, end, text.replace(" | ", "\n"), f" {settings}" if settings else ""))
    return _srt(cues, targets)


# sound log ----------------------------------------------------------------------------------------------------------


def sound_log(files: Files, targets: list[str]) -> Files:
    made: Files = {"narration.log": "", "speech.log": "", "other.log": ""}
    last = 0
    for cue in _cues(files):
        track = _decided("sound-log", cue)
        name = f"{track}.log" if f"{track}.log" in made else "speech.log"
        text = cue.text.replace("\n", " ~ ")
        made[name] += f"{cue.start - last}\t{cue.end - cue.start}\t{cue.number}\t{text}\t{cue.settings}".rstrip() + "\n"
        last = cue.end
    return made


def from_logs(files: Files, targets: list[str]) -> Files:
    pattern = re.compile(r"(?m)^(-?\d{1,12})\t(-?\d{1,12})\t(\d{1,6})(?:\t([^\t\n]*)(?:\t( [^\t\n]*))?)?$")
    entries = sorted((row for text in files.values() for row in pattern.findall(text)), key=lambda row: int(row[2]))
    cues, last = [], 0
    for pause, length, n, text, settings in entries:
        start = last + int(pause)
        last = start + int(length)
        cues.append(Cue(int(n), start, last, text.replace(" ~ ", "\n"), settings))
    return _srt(cues, targets)


Edit = Callable[[Files, list[str]], Files]
EDITS: dict[str, tuple[Edit, Edit]] = {
    f"{SLUG}/by-topic": (by_topic, from_topics),
    f"{SLUG}/speaker-script": (speaker_script, from_script),
    f"{SLUG}/cinema-frames": (cinema_frames, from_cinema),
    f"{SLUG}/ttml": (ttml, from_ttml),
    f"{SLUG}/translation-kit": (translation_kit, from_kit),
    f"{SLUG}/sound-log": (sound_log, from_logs),
}
