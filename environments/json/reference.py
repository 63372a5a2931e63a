"""Reference edits for JSON documents. Each works on any JSON or YAML document whose top level is an object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from pytest_delegate52.domains import json as domain
from pytest_delegate52.environments import families

from pytest_delegate52.schema import Document, Files, Record

SLUG = "ferry-service"
Tree = Any  # dict, list, str, Decimal, bool or None


def _tree(files: Files) -> Tree:
    """The first document of the files as a tree; numbers are decimals."""
    return tree(domain.parse(files))


def tree(document: Document) -> Tree:
    made: dict[Any, Any] = {}
    for leaf in document.collections["leaves"]:
        node, path = made, leaf["path"]
        for step in path[:-1]:
            node = node.setdefault(step, {})
        node[path[-1]] = _Leaf(_value(leaf))
    found = _lists(made)
    return found[0] if found else {}


class _Leaf:
    def __init__(self, value: Tree) -> None:
        self.value = value


def _lists(node: Any) -> Tree:
    if isinstance(node, _Leaf):
        return node.value
    if node and all(isinstance(step, int) for step in node):
        return [_lists(node[step]) for step in sorted(node)]
    return {str(step): _lists(child) for step, child in node.items()}


def _value(leaf: Record) -> Tree:
    plain: dict[str, Tree] = {"null": None, "true": True, "false": False, "object": {}, "array": []}
    kind = leaf["type"]
    return plain[kind] if kind in plain else leaf.get("number", leaf.get("text", ""))


def _text(node: Tree, indent: int | None = 1) -> str:
    """A tree as JSON; decimals are written as they are."""
    numbers: dict[str, str] = {}

    def put(value: Any) -> str:
        mark = f"\ue000{len(numbers)}\ue001"
        numbers[mark] = str(value)
        return mark

    text = json.dumps(node, indent=indent, ensure_ascii=False, default=put)
    return re.sub('"(\ue000\\d+\ue001)"', lambda match: numbers[match.group(1)], text)


def _load(text: str) -> Tree:
    return _tree({"x": text})


def _object(node: Tree) -> dict[str, Tree]:
    return node if isinstance(node, dict) else {}


def _list(node: Tree) -> list[Tree]:
    return node if isinstance(node, list) else []


def _whole(value: Tree) -> int:
    return int(value) if isinstance(value, Decimal) and value.is_finite() and abs(value) < 10**9 else 0


def _answer(node: Tree, targets: list[str]) -> Files:
    return {targets[0]: _text(node) + "\n"}


def _decided(edit: str, record: str) -> str:
    return families.decide(__file__, SLUG, edit, record)


# properties ---------------------------------------------------------------------------------------------------------


def properties(files: Files, targets: list[str]) -> Files:
    lines = [f"{path} = {value}" for path, value in _flat("", _tree(files))]
    return {"service.properties": "\n".join([*lines, ""])}


def _flat(path: str, node: Tree) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict) and node:
        for key, child in node.items():
            step = key.replace("~", "~0").replace("/", "~1").replace("[", "~2").replace(" ", "~3").replace("\n", "~4")
            yield from _flat(f"{path}/{step}" if path else step, child)
    elif isinstance(node, list) and node:
        for place, child in enumerate(node):
            yield from _flat(f"{path}[{place}]", child)
    else:
        yield path, _text(node, None)


def from_properties(files: Files, targets: list[str]) -> Files:
    made: dict[Any, Any] = {}
    for line in families.named(files, ".properties").split("\n"):
        path, mark, value = line.partition(" = ")
        if not mark:
            continue
        steps: list[Any] = []
        for part in path.split("/"):
            name, *places = re.split(r"\[(?=\d{1,9}\])", part)
            if name or not places:
                plain = name.replace("~4", "\n").replace("~3", " ").replace("~2", "[").replace("~1", "/")
                steps.append(plain.replace("~0", "~"))
            steps += [int(place.rstrip("]")) for place in places if place.rstrip("]").isdecimal()]
        node = made
        for step in steps[:-1]:
            node = node.setdefault(step, {})
            if isinstance(node, _Leaf):
                break
        if isinstance(node, dict):
            node[steps[-1]] = _Leaf(_list(_load(f"[{value}]"))[0] if _list(_load(f"[{value}]")) else value)
    return _answer(_lists(made), targets)


# by audience --------------------------------------------------------------------------------------------------------

_SHARED = ("notices", "maintenance")


def by_audience(files: Files, targets: list[str]) -> Files:
    document = _object(_tree(files))
    parts: dict[str, dict[str, Tree]] = {}

    def part(record: str) -> dict[str, Tree]:
        return parts.setdefault(_decided("by-audience", record), {"keep": {}, "items": []})

    for name, value in document.items():
        if name in _SHARED and isinstance(value, list) and value:
            for place, element in enumerate(value):
                label = f"{name} {_label(element)}"
                part(label)["items"].append({"from": name, "at": Decimal(place), "value": element})
        else:
            part(name)["keep"][name] = value
    made = {f"audience-{name}.yaml": _yaml(content) for name, content in parts.items()}
    return {**made, "order.yaml": _yaml(list(document))}


def _label(element: Tree) -> str:
    """What the keys call an element: a notice's id, a task's text."""
    found = _object(element)
    return str(found.get("id", found.get("task", "")))


def _yaml(node: Tree, indent: str = "") -> str:
    """A tree as block YAML whose scalars are JSON; empty containers in flow style."""
    if isinstance(node, dict) and node:
        return "".join(f"{indent}{_text(key)}:{_below(child, indent)}" for key, child in node.items())
    if isinstance(node, list) and node:
        return "".join(f"{indent}-{_below(child, indent)}" for child in node)
    return f"{indent}{_text(node, None)}\n"


def _below(child: Tree, indent: str) -> str:
    if isinstance(child, (dict, list)) and child:
        return "\n" + _yaml(child, indent + "  ")
    return f" {_text(child, None)}\n"


def from_audiences(files: Files, targets: list[str]) -> Files:
    keep: dict[str, Tree] = {}
    arrays: dict[str, list[tuple[int, Tree]]] = {}
    for name, text in sorted(files.items()):
        if name.startswith("audience-"):
            part = _object(_load(text))
            keep |= _object(part.get("keep"))
            for item in map(_object, _list(part.get("items"))):
                arrays.setdefault(str(item.get("from", "")), []).append((_whole(item.get("at")), item.get("value")))
    order = [str(name) for name in _list(_load(families.named(files, "order.yaml")))]
    filled = {name: [value for _, value in sorted(rows, key=lambda row: row[0])] for name, rows in arrays.items()}
    everything = {**keep, **filled}
    names = [*(name for name in order if name in everything), *(name for name in everything if name not in order)]
    return _answer({name: everything[name] for name in names}, targets)


# SI units -----------------------------------------------------------------------------------------------------------

_UNITS = [  # ending of a key in the seed, ending in SI, factor
    ("speed_kn", "speed_kmh", Fraction("1.852")),
    ("distance_nm", "distance_km", Fraction("1.852")),
    ("_m", "_cm", Fraction(100)),
    ("hours", "minutes", Fraction(60)),
    ("cache_seconds", "cache_ms", Fraction(1000)),
]
_Units = list[tuple[str, str, Fraction]]


def metric_cents(files: Files, targets: list[str]) -> Files:
    service = _units(_tree(files), _UNITS)
    if isinstance(service, dict) and isinstance(service.get("fares"), dict):
        service["fares"] = _prices(service["fares"], Fraction(100), "EUR", "EUR cents")
    return {"service-si.json": _text({"units": "SI", "service": service}) + "\n"}


def from_metric(files: Files, targets: list[str]) -> Files:
    service = _object(_tree(files)).get("service", {})
    service = _units(service, [(new, old, 1 / factor) for old, new, factor in _UNITS])
    if isinstance(service, dict) and isinstance(service.get("fares"), dict):
        service["fares"] = _prices(service["fares"], Fraction(1, 100), "EUR cents", "EUR")
    return _answer(service, targets)


def _units(node: Tree, units: _Units, factor: Fraction | None = None) -> Tree:
    """The tree with numbers below a key that has a unit in the other unit."""
    if isinstance(node, dict):
        made = {}
        for key, child in node.items():
            known = next((unit for unit in units if _has(key, unit[0])), None)
            name = key[: -len(known[0])] + known[1] if known else key
            made[name] = _units(child, units, known[2] if known else factor)
        return made
    if isinstance(node, list):
        return [_units(child, units, factor) for child in node]
    return _times(node, factor) if factor is not None else node


def _has(key: str, ending: str) -> bool:
    return key.endswith(ending) and not key.startswith("car_up") if ending.startswith("_") else key == ending


def _prices(node: Tree, factor: Fraction, old: str, new: str) -> Tree:
    if isinstance(node, dict):
        return {key: _prices(child, factor, old, new) for key, child in node.items()}
    return new if node == old else _times(node, factor)


def _times(number: Tree, factor: Fraction) -> Tree:
    """An exact product; numbers out of all proportion, and what is no number, stay as they are."""
    if not isinstance(number, Decimal) or not number.is_finite() or abs(number.adjusted()) > 60:
        return number
    exact = Fraction(number) * factor
    return Context(prec=120).divide(Decimal(exact.numerator), Decimal(exact.denominator))


# texts apart --------------------------------------------------------------------------------------------------------


def texts_apart(files: Files, targets: list[str]) -> Files:
    listed: list[dict[str, str]] = []

    def taken(node: Tree, key: str) -> Tree:
        if isinstance(node, dict):
            return {name: taken(child, name) for name, child in node.items()}
        if isinstance(node, list):
            return [taken(child, key) for child in node]
        register = _decided("texts-apart", key)
        if isinstance(node, str) and node and register != families.UNSORTED:
            listed.append({"key": f"T{len(listed) + 1:02d}", "register": register, "text": node})
            return {"$text": listed[-1]["key"]}
        return node

    keyed = taken(_tree(files), "")
    return {"texts.csv": families.table(["key", "register", "text"], listed), "service-keys.json": _text(keyed) + "\n"}


def from_texts(files: Files, targets: list[str]) -> Files:
    rows = families.rows(families.named(files, "texts.csv"))
    texts = {row.get("key", ""): row.get("text", "") for row in rows}

    def restored(node: Tree) -> Tree:
        if isinstance(node, dict):
            if list(node) == ["$text"]:
                return texts.get(str(node["$text"]), "")
            return {name: restored(child) for name, child in node.items()}
        return [restored(child) for child in node] if isinstance(node, list) else node

    return _answer(restored(_load(families.named(files, "service-keys.json"))), targets)


# duty board ---------------------------------------------------------------------------------------------------------

_FIELDS = ["id", "posted", "routes", "title", "text", "expires"]


def duty_board(files: Files, targets: list[str]) -> Files:
    document = _object(_tree(files))
    notices = [_object(notice) for notice in _list(document.get("notices"))]
    board: dict[str, list[str]] = {}
    others = []
    for place, notice in enumerate(notices, 1):
        urgency = _decided("duty-board", str(notice.get("id", "")))
        line = f"- {place}. [{_cell(notice.get('id'))}] {_cell(notice.get('title'))}: {_cell(notice.get('text'))}"
        board.setdefault(urgency, []).append(line)
        routes = " ".join(map(str, _list(notice.get("routes"))))
        others.append({"n": place, "posted": notice.get("posted"), "routes": routes, "expires": notice.get("expires"),
                       "fields": " ".join(notice)})  # fmt: skip
    text = "\n\n".join(f"## {urgency}\n\n" + "\n".join(lines) for urgency, lines in board.items())
    rest = {name: value for name, value in sorted(document.items()) if name != "notices" or not notices}
    return {
        "board.md": text + "\n",
        "notices.csv": families.table(["n", "posted", "routes", "expires", "fields"], others),
        "rest.json": _text({"rest": rest, "order": list(document)}) + "\n",
    }


def _cell(value: Tree) -> str:
    return "" if value is None else str(value)


def from_board(files: Files, targets: list[str]) -> Files:
    told = {}
    for match in re.finditer(r"(?m)^- (\d{1,6})\. \[([^\]\n]*)\] ([^:\n]*): ?(.*)$", families.named(files, "board.md")):
        told[int(match.group(1))] = match.groups()[1:]
    notices = []
    for row in families.rows(families.named(files, "notices.csv")):
        number = families.number(row.get("n", ""))
        mark, title, text = told.get(number, ("", "", ""))
        values = {
            "id": Decimal(mark) if re.fullmatch(r"\d{1,18}", mark) else mark, "posted": row.get("posted", ""),
            "routes": row.get("routes", "").split(), "title": title, "text": text,
            "expires": row.get("expires") or None,
        }  # fmt: skip
        fields = row.get("fields", "").split() or _FIELDS
        notices.append((number, {name: values[name] for name in fields if name in values}))
    rest = _object(_load(families.named(files, "rest.json")))
    members = _object(rest.get("rest"))
    if notices:
        members = {**members, "notices": [notice for _, notice in sorted(notices, key=lambda pair: pair[0])]}
    order = [str(name) for name in _list(rest.get("order"))]
    names = [*(name for name in order if name in members), *(name for name in members if name not in order)]
    return _answer({name: members[name] for name in names}, targets)


# cards --------------------------------------------------------------------------------------------------------------


def crew_cards(files: Files, targets: list[str]) -> Files:
    cards: dict[str, list[Tree]] = {}
    for place, (name, value) in enumerate(_object(_tree(files)).items()):
        cards.setdefault(_decided("crew-cards", name), []).append([Decimal(place), name, _keyed(value)])
    return {"cards.json": _text([{"post": post, "answers_for": rows} for post, rows in cards.items()]) + "\n"}


def _keyed(node: Tree) -> Tree:
    if isinstance(node, dict):
        return {name: _keyed(child) for name, child in node.items()}
    if not isinstance(node, list):
        return node
    ids = [_cell(element.get("id")) for element in node if isinstance(element, dict) and "id" in element]
    if not ids or len(set(ids)) != len(node):
        return [_keyed(child) for child in node]
    return {
        mark: {"#": Decimal(place), **{name: _keyed(child) for name, child in element.items() if name != "id"}}
        for place, (mark, element) in enumerate(zip(ids, node, strict=True))
    }


def from_cards(files: Files, targets: list[str]) -> Files:
    rows = [row for card in _list(_tree(files)) for row in _list(_object(card).get("answers_for"))]
    rows = sorted((row for row in rows if isinstance(row, list) and len(row) == 3), key=lambda row: _whole(row[0]))
    return _answer({str(name): _listed(value) for _, name, value in rows}, targets)


def _listed(node: Tree) -> Tree:
    if isinstance(node, list):
        return [_listed(child) for child in node]
    if not isinstance(node, dict):
        return node
    if not node or not all(isinstance(child, dict) and "#" in child for child in node.values()):
        return {name: _listed(child) for name, child in node.items()}
    elements = sorted(node.items(), key=lambda pair: _whole(pair[1]["#"]))
    return [
        {"id": Decimal(mark) if re.fullmatch(r"\d{1,18}", mark) else mark,
         **{name: _listed(child) for name, child in element.items() if name != "#"}}
        for mark, element in elements
    ]  # fmt: skip


Edit = Callable[[Files, list[str]], Files]
EDITS: dict[str, tuple[Edit, Edit]] = {
    f"{SLUG}/properties": (properties, from_properties),
    f"{SLUG}/by-audience": (by_audience, from_audiences),
    f"{SLUG}/metric-cents": (metric_cents, from_metric),
    f"{SLUG}/texts-apart": (texts_apart, from_texts),
    f"{SLUG}/duty-board": (duty_board, from_board),
    f"{SLUG}/crew-cards": (crew_cards, from_cards),
}
