"""Every law can fail: domains that are broken in one way each, and the law that says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_delegate52.domains import Domain
from tram_domain import DERIVED, FIELDS, SCHEMA, emit, parse

from pytest_delegate52 import conformance
from pytest_delegate52.conformance import LAWS, Subject, laws
from pytest_delegate52.schema import Document, Files, Records, Schema, weighted

THIRD_PARTY = Path(__file__).parent / "thirdparty"
SEED = {
    "line.txt": (THIRD_PARTY / "environments/tram/night-line/seed/line.txt").read_text("utf-8"),
    "return.txt": """\
00.30 Terminus | toilets | zone 4
00.41 Observatory Hill | steep path | zone 3
00.49 University | two platforms | zone 2
""",
}


def stops_schema(*, ordered: bool = True, fields: dict | None = None, **more: object) -> Schema:
    return Schema(
        stops=Records(fields=FIELDS if fields is None else fields, identity=("name",), ordered=ordered, name="stop"),
        combine=more.get("combine")
        or (
            lambda c: weighted(
                (0.2, c.stops.coverage),
                (0.3, c.stops.timing),
                (0.3, c.stops.accuracy),
                (0.1, c.stops.name),
                (0.1, c.stops.order),
            )
        ),
    )


def tram(**changed: object) -> Domain:
    module = SimpleNamespace(**{
        "parse": parse, "emit": emit, "SCHEMA": SCHEMA, "DERIVED": DERIVED, "MEANING": ("file-name",), **changed,
    })  # fmt: skip
    return Domain.of("tram", "everyday", module)  # type: ignore[arg-type]


def only_time_and_name(files: Files) -> Document:
    read = parse(files)
    for stop in read.collections["stops"]:
        stop["note"] = "" if stop["note"] else stop["note"]
    return read


def raises(files: Files) -> Document:
    text = "".join(files.values())
    if "\0" in text:
        raise ValueError("embedded null byte")
    return parse(files)


def once(files: Files) -> Document:
    read = parse(files)
    seen: dict[str, dict] = {}
    for stop in read.collections["stops"]:
        seen.setdefault(str(stop), stop)
    return Document({"stops": list(seen.values())}, read.problems)


def quadratic(files: Files) -> Document:
    text, words = "".join(files.values()), []
    while text:  # cuts one character off a copy at a time
        words.append(text[0])
        text = text[1:]
    return parse(files)


def keeps_case_of_line_ends(files: Files) -> Document:
    read = parse(files)
    read.problems += ["carriage return"] * any("\r" in text for text in files.values())
    return read


def forgets_zone_when_writing(document: Document) -> Files:
    return {name: re.sub(r"zone \d+", "zone 1", text) for name, text in emit(document).items()}


def free_lunch(c: SimpleNamespace) -> float:
    return 0.999 + 0.001 * c.stops.accuracy


def test_the_sound_domain_keeps_every_law() -> None:
    subject = Subject(tram(), [SEED])
    for law in LAWS:
        law(subject)


BROKEN: dict[str, tuple[Callable[[], Domain], str]] = {
    "raises on a NUL": (lambda: tram(parse=raises), "law_1_any_text_in_a_finite_score_out"),
    "is quadratic": (lambda: tram(parse=quadratic), "law_1_any_text_in_a_finite_score_out"),
    "scores outside [0, 1] or not at all": (
        lambda: tram(SCHEMA=stops_schema(combine=lambda c: 1 / (c.stops.coverage - c.stops.coverage))),
        "law_2_a_document_is_like_itself",
    ),
    "drops a field when it writes": (lambda: tram(emit=forgets_zone_when_writing), "law_3_codec"),
    "minds the line ends": (lambda: tram(parse=keeps_case_of_line_ends), "law_4_surface_does_not_matter"),
    "scores order where none matters": (
        lambda: tram(SURFACE={"stops in another order": lambda files: {
            "line.txt": "".join(reversed("".join(files.values()).splitlines(keepends=True)))}}),
        "law_4_surface_does_not_matter",
    ),
    "ignores a field": (lambda: tram(parse=only_time_and_name), "law_5_meaning_matters"),
    "reads a field that its schema does not know": (
        lambda: tram(SCHEMA=stops_schema(fields={k: v for k, v in FIELDS.items() if k != "zone"})),
        "law_5_meaning_matters",
    ),
    "is blind to duplicates": (lambda: tram(parse=once), "law_5_meaning_matters"),
    "hardly minds anything": (lambda: tram(SCHEMA=stops_schema(combine=free_lunch)), "law_6_proportion"),
    "lets invented records in free": (
        lambda: tram(SCHEMA=stops_schema(combine=lambda c: 0.5 + 0.5 * c.stops.matched.accuracy)),
        "law_6_proportion",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_domain_is_caught_by_the_law_it_breaks(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, expected = BROKEN[fault]
    monkeypatch.setattr(conformance, "CPU_SECONDS", 3)
    broken = Subject(make(), [SEED])
    law = next(law for law in LAWS if law.__name__ == expected)
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        law(broken)


def test_laws_makes_a_test_of_each_law() -> None:
    made = laws(tram(), seeds=[SEED])
    assert {name for name in vars(made) if name.startswith("test_")} == {f"test_{law.__name__}" for law in LAWS}


def test_laws_without_a_seed_says_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"seeds=\["):
        laws(tram())
