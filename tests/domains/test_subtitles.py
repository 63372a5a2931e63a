"""Subtitles: what a subtitler would call damage, and what plays the same."""

from __future__ import annotations

import re

import pytest
from pytest_delegate52.domains import subtitles
from registry import registry_file
from tables import Table, put, sub


def shifted(seconds: int) -> object:
    def change(text: str) -> str:
        return re.sub(r"(\d\d):(\d\d)(,\d{3})", lambda m: f"{m[1]}:{(int(m[2]) + seconds) % 60:02d}{m[3]}", text)

    return change


def blocks(change: object) -> object:
    """A change of the list of cues."""

    def edit(text: str) -> str:
        return "\n\n".join(change(text.strip().split("\n\n"))) + "\n"  # type: ignore[operator]

    return edit


TABLE = Table(
    "subtitles",
    damaged={
        "a millisecond": (put("00:00:13,400", "00:00:13,401"), 0.00001, 0.001, "start"),
        "a second late": (put("00:00:13,400 -->", "00:00:14,400 -->"), 0.0005, 0.004, "start"),
        "an end before its start": (put("--> 00:00:15,320", "--> 00:00:05,320"), 0.001, 0.006, "end"),
        "a figure in speech": (put("412 burrows", "421 burrows"), 0.001, 0.006, "412"),
        "a year in speech": (put("in 1961", "in 1916"), 0.001, 0.006, "1961"),
        "a sentence turned round": (put("It is not the cats.", "It is the cats."), 0.001, 0.006, "cats"),
        "a name misspelt": (put("The <i>Kestrel</i>", "The <i>Kestrell</i>"), 0.0003, 0.004, "Kestrel"),
        "a cue lost": (blocks(lambda cues: cues[:20] + cues[21:]), 0.008, 0.03, "missing"),
        "a cue twice": (blocks(lambda cues: [*cues[:20], cues[20], *cues[20:]]), 0.007, 0.03, "extra"),
        "two cues exchanged": (blocks(lambda cues: [*cues[:10], cues[11], cues[10], *cues[12:]]), 0.001, 0.01, "moved"),
        "texts of two cues exchanged": (lambda text: text.replace("I counted them every night\nfor twenty-six years.", "@").replace("A hundred and twelve steps.", "I counted them every night\nfor twenty-six years.").replace("@", "A hundred and twelve steps."), 0.004, 0.03, "steps"),
        "line break gone": (put("North of here there is only water\nuntil", "North of here there is only water until"), 0.0002, 0.002, "text"),
        "italics gone": (put("<i>Most of the island's residents\nare here for only four months.</i>", "Most of the island's residents\nare here for only four months."), 0.001, 0.006, "markup"),
        "position gone": (put("{\\an8}[a bell, far off]", "[a bell, far off]"), 0.001, 0.006, "markup"),
        "all markup gone": (sub(r"<[^>]+>|\{\\an8\}", ""), 0.05, 0.35, "markup"),
        "all texts replaced": (sub(r"^[A-Za-z<{“♪-].*$", "..."), 0.3, 0.9, "..."),
        "all times shifted": (shifted(3), 0.15, 0.75, "start"),
        "half the film": (lambda text: text[: len(text) // 2], 0.35, 0.65, "missing"),
        "ten invented cues": (lambda text: text + "".join(f"\n{n}\n00:05:{n - 60:02d},000 --> 00:05:{n - 59:02d},000\nThe end {n}\n" for n in range(73, 83)), 0.08, 0.3, "The end"),
    },
    equal={
        "numbers from 101": sub(r"^(\d+)(?=\n\d\d:)", lambda m: str(int(m[1]) + 100)),
        "no numbers": sub(r"^\d+\n(?=\d\d:\d\d)", ""),
        "decimal points": sub(r"(\d\d:\d\d:\d\d),(\d{3})", r"\1.\2"),
        "blank lines between": lambda text: text.replace("\n\n", "\n\n\n\n"),
        "blanks at line ends": lambda text: text.replace("\n", " \n"),
        "as WebVTT": lambda text: "WEBVTT\n\n" + re.sub(r"(\d\d:\d\d:\d\d),(\d{3})", r"\1.\2", text),
        "WebVTT without hours": lambda text: "WEBVTT\n\n" + re.sub(r"00:(\d\d:\d\d),(\d{3})", r"\1.\2", text),
        "carriage returns": lambda text: text.replace("\n", "\r\n"),
        "byte order mark": lambda text: "\ufeff" + text,
        "one-digit hours": sub(r"\b00:(\d\d:\d\d,)", r"0:\1"),
    },
)  # fmt: skip


@pytest.mark.parametrize("case", TABLE.damaged)
def test_damage(case: str) -> None:
    TABLE.check_damaged(case)


@pytest.mark.parametrize("case", TABLE.equal)
def test_equal(case: str) -> None:
    TABLE.check_equal(case)


def cues(text: str) -> list[dict]:
    return subtitles.parse({"x": text}).collections["cues"]


def test_webvtt_blocks_identifiers_and_settings_are_kept() -> None:
    text = "WEBVTT - Skerry\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\nNOTE by ear\n\nintro\n00:03.000 --> 00:05.000 align:start line:0\n<v Margit>Good night</v>\n"
    found = subtitles.parse({"x": text})
    assert [block["text"] for block in found.collections["blocks"]] == [
        "WEBVTT - Skerry\nLanguage: en",
        "STYLE\n::cue { color: red }",
        "NOTE by ear",
    ]
    assert found.collections["cues"][0]["identifier"] == "intro"
    assert found.collections["cues"][0]["settings"] == ("align:start", "line:0")
    assert found.collections["cues"][0]["markup"] == ("0 <v Margit>", "9 </v>")
    assert not found.problems


def test_awkward_cues() -> None:
    assert cues("1\n00:00:01,000 --> 00:00:02,000\n\n2\n00:00:03,000 --> 00:00:04,000\nx\n")[0]["text"] == ""
    assert cues("1\n100:00:01,000 --> 100:00:02,5\nx\n")[0]["end"] == 360_002_500
    assert cues("1\n00:00:01,000 --> 00:00:02,000\na\n\nb\n")[0]["text"] == "a\nb"
    assert subtitles.parse({"x": "Here you are:\n\n1\n00:00:01,000 --> 00:00:02,000\nx\n"}).problems == [
        "Here you are:"
    ]


@pytest.mark.network
@pytest.mark.parametrize(
    "name", ["captions.en", "captions.ru", "captions.ja", "captions.sv", "captions.ar", "descriptions.en"]
)
def test_real_webvtt(name: str) -> None:
    path = f"package/dist/examples/elephantsdream/{name}.vtt"
    document = subtitles.parse({"x": registry_file("npm", "video.js", "8.24.1", "video.js-8.24.1.tgz", path)})
    assert not document.problems
    assert len(document.collections["cues"]) > 10
    assert subtitles.parse(subtitles.emit(document)) == document
