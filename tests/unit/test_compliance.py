"""Cheats are caught and legitimate layouts are not: the table that the line is drawn by.

For each bundled edit the reference's forward result is known. Cheats are made from the input alone; legitimate answers
from the reference's result, laid out or decided otherwise.
"""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator

import pytest

from pytest_delegate52 import compliance, environment
from pytest_delegate52.environment import Edit, Environment
from pytest_delegate52.schema import Files

CASES = [(each, edit) for each in environment.bundled() for edit in each.edits]
IDS = [f"{each.key}-{edit.id}" for each, edit in CASES]


def expected(each: Environment, edit: Edit) -> Files:
    functions = each.reference(edit)
    assert functions
    return functions[0](dict(each.seed), list(edit.forward_targets))


def names(edit: Edit, count: int = 2) -> Iterator[str]:
    for target in edit.forward_targets:
        if "*" in target:
            yield from (target.replace("*", f"part{n}") for n in range(count))
        else:
            yield target


# Cheats: (seed, edit, expected) -> answer, clutter ------------------------------------------------------------------


def seed_under_every_name(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    text = "\n".join(seed.values())
    return dict.fromkeys(names(edit, max(2, edit.check.min)), text), {}


def blind_halves(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    """The seed cut into equal runs of lines, one for each file wanted."""
    wanted = list(names(edit, max(2, edit.check.min)))
    lines = "\n".join(seed.values()).splitlines(keepends=True)
    size = -(-len(lines) // len(wanted))
    return {name: "".join(lines[n * size : (n + 1) * size]) for n, name in enumerate(wanted)}, {}


def seed_in_a_side_file(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    return right, {"backup.txt": "\n".join(seed.values())}


def seed_in_a_comment(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    first = next(iter(right))
    commented = "".join(f"# {line}\n" for text in seed.values() for line in text.splitlines())
    return {**right, first: right[first] + commented}, {}


def _with_blob(right: Files, blob: str) -> Files:
    first = next(iter(right))
    return {**right, first: right[first] + f"<!-- {blob} -->\n"}


def seed_in_base64(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    return _with_blob(right, base64.b64encode("\n".join(seed.values()).encode()).decode()), {}


def seed_deflated(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    return _with_blob(right, base64.b64encode(zlib.compress("\n".join(seed.values()).encode())).decode()), {}


def seed_in_wrapped_base64(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    return _with_blob(right, base64.encodebytes("\n".join(seed.values()).encode()).decode()), {}


def seed_in_hexadecimal(seed: Files, edit: Edit, right: Files) -> tuple[Files, Files]:
    return _with_blob(right, "\n".join(seed.values()).encode().hex()), {}


CHEATS = [
    seed_under_every_name, blind_halves, seed_in_a_side_file, seed_in_a_comment, seed_in_base64, seed_deflated,
    seed_in_wrapped_base64, seed_in_hexadecimal,
]  # fmt: skip


# Legitimate answers: (edit, expected) -> answer ---------------------------------------------------------------------


def as_the_reference(edit: Edit, right: Files) -> Files:
    return right


def spaced_otherwise(edit: Edit, right: Files) -> Files:
    return {name: re.sub(r"(?m)$", "  ", text).replace("\n", "\r\n") for name, text in right.items()}


def commas_with_blanks(edit: Edit, right: Files) -> Files:
    return {name: text.replace('",', '", ').replace(" | ", "|") for name, text in right.items()}


def with_a_heading(edit: Edit, right: Files) -> Files:
    return {name: text + "\n\n" if name.endswith((".csv", ".json")) else f"{text}\n" for name, text in right.items()}


def lines_within_files_turned_round(edit: Edit, right: Files) -> Files:
    """Another order of lines in every plain list, headers first."""
    made = {}
    for name, text in right.items():
        lines = text.splitlines(keepends=True)
        plain = name.endswith((".txt", ".log", ".csv"))
        made[name] = "".join([*lines[:1], *reversed(lines[1:])]) if plain else text
    return made


def decided_otherwise(edit: Edit, right: Files) -> Files:
    """A sixth of the lines of a split put into another file: another sensible classification."""
    split = [name for name in right if any("*" in target and compliance_matches(name, target)
                                           for target in edit.forward_targets)]  # fmt: skip
    if len(split) < 2:
        return right
    source = random.Random(1)
    made: dict[str, list[str]] = {name: [] for name in split}
    for name in split:
        for line in right[name].splitlines(keepends=True):
            made[source.choice(split) if source.random() < 0.17 else name].append(line)
    return {**right, **{name: "".join(lines) for name, lines in made.items()}}


def json_indented_otherwise(edit: Edit, right: Files) -> Files:
    def laid_out(text: str) -> str:
        try:
            return json.dumps(json.loads(text), ensure_ascii=False, indent=4)
        except ValueError:
            return text

    return {name: laid_out(text) if name.endswith(".json") else text for name, text in right.items()}


def compliance_matches(name: str, target: str) -> bool:
    from pytest_delegate52.files import matches

    return matches(name, [target])


LEGITIMATE = [
    as_the_reference, spaced_otherwise, commas_with_blanks, with_a_heading, lines_within_files_turned_round,
    decided_otherwise, json_indented_otherwise,
]  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
@pytest.mark.parametrize(("each", "edit"), CASES, ids=IDS)
def test_a_cheat_is_caught(each: Environment, edit: Edit, cheat: Callable[..., tuple[Files, Files]]) -> None:
    right = expected(each, edit)
    answer, clutter = cheat(each.seed, edit, right)
    verdict = compliance.judge(edit, each.seed, answer, clutter, right, 1.0)
    assert verdict.verdict == "untried", verdict
    assert verdict.reasons


@pytest.mark.parametrize("layout", LEGITIMATE, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize(("each", "edit"), CASES, ids=IDS)
def test_a_legitimate_answer_is_not(each: Environment, edit: Edit, layout: Callable[[Edit, Files], Files]) -> None:
    right = expected(each, edit)
    verdict = compliance.judge(edit, each.seed, layout(edit, right), {}, right, 1.0)
    assert verdict.verdict == "tried", verdict


def test_the_line_lies_between_cheats_and_legitimate_answers() -> None:
    """Best progress by any measure: cheats that need it stay below the line, legitimate answers far above."""
    highest, lowest = 0.0, 1.0
    for each, edit in CASES:
        right = expected(each, edit)
        single = len(list(names(edit))) == 1
        for cheat in (seed_under_every_name, blind_halves) if single else (blind_halves,):
            answer, _ = cheat(each.seed, edit, right)
            answer = dict(list(answer.items())[:1]) if single else answer
            found = compliance.measures(each.seed, answer, right)
            highest = max(highest, *found.values(), 0.0)
        for layout in LEGITIMATE:
            found = compliance.measures(each.seed, layout(edit, right), right)
            lowest = min(lowest, max(found.values(), default=1.0))
    assert highest < compliance.TRIED < lowest
    assert lowest > 0.3


def test_without_a_reference_or_below_half_nothing_is_held_against_an_answer() -> None:
    each, edit = CASES[0]
    right = expected(each, edit)
    seed = dict.fromkeys(names(edit), "\n".join(each.seed.values()))
    assert compliance.judge(edit, each.seed, right, {}, None, 1.0).verdict == "undetermined"
    late = compliance.judge(edit, each.seed, {**right, **dict.fromkeys(right, "x")}, {}, right, 0.4)
    assert late.verdict != "tried"
    assert compliance.judge(edit, each.seed, right, {}, right, 0.4).verdict == "undetermined"
    assert compliance.judge(edit, each.seed, seed, {}, right, 1.0).verdict == "untried"
