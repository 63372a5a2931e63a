"""Reference edits for recipes. Each works on any text that the domain reads as a recipe."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from pytest_delegate52.domains import recipe as domain
from pytest_delegate52.environments import families

from pytest_delegate52.schema import Document, Files, Record

SLUG = "midwinter-pie"
Row = list[str]


def _read(files: Files) -> Document:
    return domain.parse(files)


def _answer(collections: dict[str, list[Record]], problems: list[str], targets: list[str]) -> Files:
    emitted = domain.emit(Document(collections, problems))
    return {targets[0]: "\n".join(emitted.values())}


def _decided(edit: str, record: str) -> str:
    return families.decide(__file__, SLUG, edit, record[:40].rstrip())


def _steps(rows: Iterable[tuple[int, str, str]]) -> list[Record]:
    return [{"text": text, "part": part} for _, part, text in sorted(rows, key=lambda row: row[0]) if text]


def _fields(line: str, mark: str, count: int) -> Row:
    return [*(part.strip() for part in line.split(mark, count - 1)), *[""] * count][:count]


def _ingredient(part: str, amount: str, name: str, note: str) -> Record:
    return {"amount": amount, "name": name, "note": note, "part": part}


# stations -----------------------------------------------------------------------------------------------------------


def stations(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    found = document.collections
    made: Files = {}
    for number, step in enumerate(found["steps"], 1):
        name = f"station-{_decided('stations', step['text'])}.txt"
        made[name] = made.get(name, "") + f"[{number} | {step['part']}] {step['text']}\n"
    larder = [f"{each['part']} ; {each['amount']} ; {each['name']} ; {each['note']}" for each in found["ingredients"]]
    front = [f"fact ; {each['part']} ; {each['name']} ; {each['value']}" for each in found["facts"]]
    front += [f"note ; {each['part']} ; {each['text']}" for each in found["notes"]]
    front += [f"unread ; {problem}" for problem in document.problems]
    return {**made, "larder.txt": _lines(larder), "front.txt": _lines(front)}


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def from_stations(files: Files, targets: list[str]) -> Files:
    pattern = re.compile(r"(?m)^\[(\d{1,6}) \| ([^\]\n]*)\] (.*)$")
    steps = [
        (int(number), part, text)
        for name, body in files.items() if name.startswith("station-") for number, part, text in pattern.findall(body)
    ]  # fmt: skip
    facts, notes, problems = [], [], []
    for line in families.named(files, "front.txt").splitlines():
        kind, rest = _fields(line, " ;", 2)
        if kind == "fact":
            part, name, value = _fields(rest, " ; " if rest[:1] != ";" else ";", 3) if rest else ["", "", ""]
            facts.append({"name": name, "value": value, "part": part})
        elif kind == "note":
            part, text = _fields(rest, " ; " if rest[:1] != ";" else ";", 2)
            notes.append({"text": text, "part": part})
        elif kind == "unread":
            problems.append(rest)
    larder = families.named(files, "larder.txt").splitlines()
    ingredients = [_ingredient(*_fields(f" {line}", " ;", 4)) for line in larder if line.strip()]
    collections = {"ingredients": ingredients, "steps": _steps(steps), "facts": facts, "notes": notes}
    return _answer(collections, problems, targets)


# shopping list ------------------------------------------------------------------------------------------------------


def shopping(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    found = document.collections
    departments: dict[str, Row] = {}
    parts = {}
    for number, each in enumerate(found["ingredients"], 1):
        line = f"- [{number}] {each['amount']} | {each['name']} | {each['note']}"
        departments.setdefault(_decided("shopping", each["name"]), []).append(line)
        parts[str(number)] = each["part"]
    rest = {
        "parts": parts,
        "steps": [[each["part"], each["text"]] for each in found["steps"]],
        "facts": [[each["part"], each["name"], each["value"]] for each in found["facts"]],
        "notes": [[each["part"], each["text"]] for each in found["notes"]],
        "unread": document.problems,
    }
    listed = "\n\n".join(f"## {name}\n\n" + "\n".join(lines) for name, lines in departments.items())
    return {"shopping.md": listed + "\n", "method.json": json.dumps(rest, indent=1, ensure_ascii=False) + "\n"}


def from_shopping(files: Files, targets: list[str]) -> Files:
    rest = _object(families.named(files, "method.json"))
    parts: dict[str, Any] = rest["parts"] if isinstance(rest.get("parts"), dict) else {}
    listed = []
    for number, line in re.findall(r"(?m)^- \[(\d{1,6})\] ?(.*)$", families.named(files, "shopping.md")):
        amount, name, note = _fields(f" {line}", " |", 3)
        listed.append((int(number), _ingredient(str(parts.get(number, "")), amount, name, note)))
    collections = {
        "ingredients": [each for _, each in sorted(listed, key=lambda pair: pair[0])],
        "steps": [{"text": text, "part": part} for part, text in _rows(rest, "steps", 2)],
        "facts": [{"name": name, "value": value, "part": part} for part, name, value in _rows(rest, "facts", 3)],
        "notes": [{"text": text, "part": part} for part, text in _rows(rest, "notes", 2)],
    }
    return _answer(collections, [str(each) for each in rest.get("unread") or []], targets)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _rows(data: dict[str, Any], name: str, width: int) -> list[Row]:
    found = data.get(name)
    rows = found if isinstance(found, list) else []
    return [list(map(str, row)) for row in rows if isinstance(row, list) and len(row) == width]


# double batch -------------------------------------------------------------------------------------------------------


def double_batch(files: Files, targets: list[str]) -> Files:
    document = copy.deepcopy(_read(files))
    found = document.collections
    _scale(found, Fraction(2))
    titles = [fact for fact in found["facts"] if fact["name"] == "Title"][:1]
    facts = [*titles, {"name": "Batch", "value": "2 pies", "part": ""},
             *(fact for fact in found["facts"] if fact not in titles)]  # fmt: skip
    text = domain.emit(Document({**found, "facts": facts, "ingredients": []}, document.problems))
    listed = domain.emit(Document({"ingredients": found["ingredients"]})).get("recipe.md", "")
    numbers = iter(range(1, 10_000))
    listed = re.sub(r"(?m)^- ", lambda match: f"{next(numbers)}. ", listed)
    return {"batch.md": "\n".join([*text.values(), listed])}


def from_batch(files: Files, targets: list[str]) -> Files:
    document = copy.deepcopy(_read(files))
    found = document.collections
    _scale(found, Fraction(1, 2))
    found["facts"] = [fact for fact in found["facts"] if fact["name"] != "Batch"]
    return _answer(found, document.problems, targets)


def _scale(found: dict[str, list[Record]], factor: Fraction) -> None:
    """Every ingredient's amount, and the number behind Serves, times `factor`."""
    for each in found["ingredients"]:
        each["amount"] = _times(each["amount"], factor)
    for fact in found["facts"]:
        if fact["name"].casefold() == "serves":
            number = re.match(r"\d{1,9}", fact["value"])
            if number:
                fact["value"] = _plain(int(number.group()) * factor) + fact["value"][number.end() :]


def _times(amount: str, factor: Fraction) -> str:
    match = domain.QUANTITY.fullmatch(amount)
    if not match:
        return amount
    low = _plain(domain.number(match["low"]) * factor)
    high = f"-{_plain(domain.number(match['high']) * factor)}" if match["high"] else ""
    return low + high + amount[match.end("high" if match["high"] else "low") :]


def _plain(number: Fraction) -> str:
    """A number as a decimal where it has a short one, else as whole and fraction."""
    if number.denominator == 1:
        return str(number.numerator)
    if 10**6 % number.denominator == 0:
        return f"{number.numerator * 10**6 // number.denominator / 10**6:.6f}".rstrip("0")
    whole, rest = divmod(number.numerator, number.denominator)
    return f"{whole} {rest}/{number.denominator}" if whole else f"{rest}/{number.denominator}"


# database record ----------------------------------------------------------------------------------------------------


def recipe_json(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    found = document.collections
    facts = list(found["facts"])
    title = next((fact for fact in facts if fact["name"] == "Title" and not fact["part"]), None)
    if title:
        facts.remove(title)
    sections: list[dict[str, Any]] = []
    for note in found["notes"]:
        if not note["part"]:
            continue
        if not sections or sections[-1]["heading"] != note["part"]:
            sections.append({"heading": note["part"], "items": []})
        sections[-1]["items"].append(note["text"])
    record = {
        "name": title["value"] if title else "",
        "facts": [{"heading": fact["part"], "name": fact["name"], "value": fact["value"]} for fact in facts],
        "intro": [note["text"] for note in found["notes"] if not note["part"]],
        "ingredients": [
            {"list": each["part"], "amount": each["amount"], "item": each["name"], "note": each["note"]}
            for each in found["ingredients"]
        ],
        "steps": [{"part": step["part"], "text": step["text"]} for step in found["steps"]],
        "sections": sections,
        "unread": document.problems,
    }
    return {"recipe.json": json.dumps(record, indent=1, ensure_ascii=False) + "\n"}


def from_json(files: Files, targets: list[str]) -> Files:
    record = _object(families.named(files, "recipe.json"))

    def objects(name: str) -> list[dict[str, Any]]:
        rows = record.get(name)
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    facts = [{"name": "Title", "value": str(record["name"]), "part": ""}] if record.get("name") else []
    facts += [
        {"name": str(row.get("name", "")), "value": str(row.get("value", "")), "part": str(row.get("heading", ""))}
        for row in objects("facts")
    ]
    notes = [{"text": str(text), "part": ""} for text in record.get("intro") or []]
    notes += [{"text": str(text), "part": str(row.get("heading", ""))}
              for row in objects("sections") for text in row.get("items") or []]  # fmt: skip
    ingredients = [
        _ingredient(*(str(row.get(name, "")) for name in ("list", "amount", "item", "note")))
        for row in objects("ingredients")
    ]
    steps = [{"text": str(row.get("text", "")), "part": str(row.get("part", ""))} for row in objects("steps")]
    collections = {"ingredients": ingredients, "steps": steps, "facts": facts, "notes": notes}
    return _answer(collections, [str(each) for each in record.get("unread") or []], targets)


# two-day plan -------------------------------------------------------------------------------------------------------


def two_day_plan(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    found = document.collections
    rows = [
        {"slot": _decided("two-day-plan", step["text"]), "step": number, "part": step["part"], "text": step["text"]}
        for number, step in enumerate(found["steps"], 1)
    ]
    lines = [f"F {each['part']} | {each['name']} | {each['value']}" for each in found["facts"]]
    lines = [line.replace("F  | Title | ", "T ", 1) for line in lines]
    lines += [f"I {each['part']} | {each['amount']} | {each['name']} | {each['note']}" for each in found["ingredients"]]
    lines += [f"N {each['part']} | {each['text']}" for each in found["notes"]]
    lines += [f"U {problem}" for problem in document.problems]
    rows.sort(key=lambda row: row["slot"])
    return {"plan.csv": families.table(["slot", "step", "part", "text"], rows), "card.txt": _lines(lines)}


def from_plan(files: Files, targets: list[str]) -> Files:
    plan = families.rows(families.named(files, "plan.csv"))
    steps = [(families.number(row.get("step", "")), row.get("part", ""), row.get("text", "")) for row in plan]
    collections: dict[str, list[Record]] = {"ingredients": [], "steps": _steps(steps), "facts": [], "notes": []}
    problems = []
    for line in families.named(files, "card.txt").splitlines():
        kind, rest = line[:1], line[1:]
        if kind == "T":
            collections["facts"].append({"name": "Title", "value": rest.strip(), "part": ""})
        elif kind == "F":
            part, name, value = _fields(rest, " |", 3)
            collections["facts"].append({"name": name, "value": value, "part": part})
        elif kind == "I":
            collections["ingredients"].append(_ingredient(*_fields(rest, " |", 4)))
        elif kind == "N":
            part, text = _fields(rest, " |", 2)
            collections["notes"].append({"text": text, "part": part})
        elif kind == "U":
            problems.append(rest.strip())
    return _answer(collections, problems, targets)


# learner's edition --------------------------------------------------------------------------------------------------

_MEASURED = {"g": "weight", "ml": "volume", "tsp": "volume", "mm": "length", "°": "temperature", "s": "time"}


def learner_edition(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    found = document.collections
    gaps: list[dict[str, str]] = []

    def gap(match: re.Match[str]) -> str:
        family = domain.measured(match)[2]
        if family not in _MEASURED:
            return match.group()
        gaps.append({"gap": f"g{len(gaps) + 1}", "amount": match.group(), "quantity": _MEASURED[family]})
        return f"<<{gaps[-1]['gap']}>>"

    lines = []
    for number, step in enumerate(found["steps"], 1):
        skill = _decided("learner-edition", step["text"])
        lines.append(f"{number} ({step['part']}) [{skill}] {domain.QUANTITY.sub(gap, step['text'])}")
    shelf = [["fact", each["part"], each["name"], each["value"], ""] for each in found["facts"]]
    shelf += [["ingredient", each["part"], each["amount"], each["name"], each["note"]] for each in found["ingredients"]]
    shelf += [["note", each["part"], each["text"], "", ""] for each in found["notes"]]
    shelf += [["unread", "", problem, "", ""] for problem in document.problems]
    return {
        "learner.txt": _lines(lines),
        "gaps.csv": families.table(["gap", "amount", "quantity"], gaps),
        "shelf.txt": _lines(" / ".join(cell.replace(" / ", " // ") for cell in row) for row in shelf),
    }


def from_learner(files: Files, targets: list[str]) -> Files:
    gaps = {row.get("gap", ""): row.get("amount", "") for row in families.rows(families.named(files, "gaps.csv"))}
    steps = []
    for number, part, text in re.findall(
        r"(?m)^(\d{1,6}) \(([^\n]*?)\) \[[^\]\n]*\] ?(.*)$", families.named(files, "learner.txt")
    ):
        filled = re.sub(r"<<(g\d{1,6})>>", lambda match: gaps.get(match.group(1), match.group()), text)
        steps.append((int(number), part, filled))
    collections: dict[str, list[Record]] = {"ingredients": [], "steps": _steps(steps), "facts": [], "notes": []}
    problems = []
    for line in families.named(files, "shelf.txt").splitlines():
        kind, part, a, b, c = (cell.replace(" // ", " / ") for cell in _fields(line, " / ", 5))
        if kind == "fact":
            collections["facts"].append({"name": a, "value": b.removesuffix(" /").rstrip(), "part": part})
        elif kind == "ingredient":
            collections["ingredients"].append(_ingredient(part, a, b, c))
        elif kind == "note":
            collections["notes"].append({"text": a, "part": part})
        elif kind == "unread":
            problems.append(a)
    return _answer(collections, problems, targets)


Edit = Callable[[Files, list[str]], Files]
EDITS: dict[str, tuple[Edit, Edit]] = {
    f"{SLUG}/stations": (stations, from_stations),
    f"{SLUG}/shopping": (shopping, from_shopping),
    f"{SLUG}/double-batch": (double_batch, from_batch),
    f"{SLUG}/recipe-json": (recipe_json, from_json),
    f"{SLUG}/two-day-plan": (two_day_plan, from_plan),
    f"{SLUG}/learner-edition": (learner_edition, from_learner),
}
