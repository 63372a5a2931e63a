"""Reference edits for plain-text accounts. Each works on any journal that the domain can read."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from pytest_delegate52.domains import accounting as domain
from pytest_delegate52.environments import families

from pytest_delegate52.schema import Document, Files, Record

SLUG = "rowing-club"
RATE = Decimal("7.5")
JOIN = " ¦ "

Entry = list[str]  # the lines of an entry, the first one flush left, without indentation


def _read(files: Files) -> Document:
    return domain.parse(files)


def _written(document: Document) -> str:
    return "\n".join(domain.emit(document).values())


def _entry(**collections: list[Record]) -> Entry:
    return [line.strip() for line in _written(Document(collections)).splitlines() if line.strip()]


def _standing(document: Document) -> list[Entry]:
    """Comments, directives, automated and periodic entries, and what could not be read: an entry each."""
    collections = document.collections
    found = [_entry(comments=[each]) for each in collections["comments"]]
    found += [_entry(directives=[each]) for each in collections["directives"]]
    found += [_entry(transactions=[each]) for each in collections["transactions"] if each["kind"]]
    return found + [[problem] for problem in document.problems]


def _dated(document: Document) -> list[tuple[Record, Entry]]:
    return [(each, _entry(transactions=[each])) for each in document.collections["transactions"] if not each["kind"]]


def _journal(entries: Iterable[Entry], targets: list[str]) -> Files:
    texts = ["\n".join([entry[0], *(f"    {line}" for line in entry[1:])]) for entry in entries if entry]
    return {targets[0]: "\n\n".join(texts) + "\n"}


def _decided(edit: str, transaction: Record) -> str:
    return families.decide(__file__, SLUG, edit, f"{transaction['date']} {transaction['payee']}")


# postings as a table ------------------------------------------------------------------------------------------------

_ENTRY = ["kind", "date", "aux_date", "state", "code", "payee", "note"]
_COLUMNS = ["entry", *_ENTRY, "entry_comments", "account", "virtual", "posting_state", "amount", "lot", "price",
            "assertion", "comments"]  # fmt: skip


def to_csv(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    made: list[Record] = []
    for place, each in enumerate(document.collections["transactions"], 1):
        head = {"entry": place, **{name: each.get(name) for name in _ENTRY}}
        head["entry_comments"] = JOIN.join(each["comments"])
        for posting in each["postings"] or [{}]:
            cells = {name: posting.get(name) for name in ("account", "virtual", "lot")}
            cells["posting_state"] = posting.get("state")
            cells["amount"] = posting.get("expression") or domain.shown(posting, "quantity", "commodity")
            for name, column in (("price", "price"), ("balance", "assertion")):
                cells[column] = domain.marked(posting, name)
            made.append({**head, **cells, "comments": JOIN.join(posting.get("comments", ()))})
    rest = Document({**document.collections, "transactions": []}, document.problems)
    return {"postings.csv": families.table(_COLUMNS, made), "rest.txt": _written(rest)}


def from_csv(files: Files, targets: list[str]) -> Files:
    entries: dict[int, Entry] = {}
    for row in families.rows(families.named(files, "postings.csv")):
        get = {name: row.get(name, "") for name in _COLUMNS}
        place = families.number(get["entry"])
        if place not in entries:
            entries[place] = [_head(get), *_comment_lines(get["entry_comments"])]
        if get["account"]:
            left, right = (get["virtual"] + "  ")[0].strip(), (get["virtual"] + "  ")[1].strip()
            state = f"{get['posting_state']} " if get["posting_state"] else ""
            amounts = " ".join(filter(None, (get["amount"], get["lot"], get["price"], get["assertion"])))
            entries[place].append(f"{state}{left}{get['account']}{right}  {amounts}".rstrip())
            entries[place] += _comment_lines(get["comments"])
    rest = families.named(files, "rest.txt").rstrip("\n")
    journal = _journal((entries[place] for place in sorted(entries)), targets)[targets[0]]
    return {targets[0]: f"{rest}\n\n{journal}" if rest else journal}


def _head(row: dict[str, str]) -> str:
    if row["kind"]:
        return f"{row['kind']} {row['payee']}"
    dates = "=".join(filter(None, (row["date"], row["aux_date"])))
    payee = f"{row['payee']} | {row['note']}" if row["note"] else row["payee"]
    code = f"({row['code']})" if row["code"] or payee.startswith("(") else ""
    return " ".join(filter(None, (dates, row["state"], code, payee)))


def _comment_lines(cell: str) -> list[str]:
    return [f"; {text}" for text in cell.split(JOIN) if text]


# by purpose ---------------------------------------------------------------------------------------------------------


def by_purpose(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    made: Files = {}
    for transaction, entry in sorted(_dated(document), key=lambda pair: pair[0]["date"]):
        name = f"purpose-{_decided('by-purpose', transaction)}.txt"
        made[name] = made.get(name, "") + " :: ".join(entry) + "\n"
    return {**made, "standing.txt": "".join(" :: ".join(entry) + "\n" for entry in _standing(document))}


def from_purposes(files: Files, targets: list[str]) -> Files:
    standing = [line.split(" :: ") for line in families.named(files, "standing.txt").splitlines() if line.strip()]
    dated = [
        line.split(" :: ")
        for name, text in sorted(files.items()) if name.startswith("purpose-")
        for line in text.splitlines() if line.strip()
    ]  # fmt: skip
    return _journal([*standing, *sorted(dated, key=lambda entry: entry[0][:10])], targets)


# crowns -------------------------------------------------------------------------------------------------------------

_NOTE = "converted at 7.50 DKK per EUR"


def house_crowns(files: Files, targets: list[str]) -> Files:
    document = _converted(_read(files), "EUR", "DKK", lambda number: number * RATE)
    document.collections["comments"].insert(0, {"text": _NOTE})
    return {"club-dkk.ledger": _written(document)}


def from_crowns(files: Files, targets: list[str]) -> Files:
    document = _converted(_read(files), "DKK", "EUR", lambda number: number / RATE)
    comments = document.collections["comments"]
    if {"text": _NOTE} in comments:
        comments.remove({"text": _NOTE})
    return {targets[0]: _written(document)}


def _converted(document: Document, old: str, new: str, change: Callable[[Decimal], Decimal]) -> Document:
    document = copy.deepcopy(document)
    holders: list[Record] = [*document.collections["directives"]]
    holders += [posting for each in document.collections["transactions"] for posting in each["postings"]]
    for holder in holders:
        for prefix in ("", "price_", "balance_"):
            if holder.get(f"{prefix}commodity") == old and f"{prefix}quantity" in holder:
                holder[f"{prefix}commodity"] = new
                holder[f"{prefix}quantity"] = change(holder[f"{prefix}quantity"])
        if holder.get("keyword") == "commodity" and holder.get("text") == old:
            holder["text"] = new
    return document


# grant report -------------------------------------------------------------------------------------------------------


def funds_report(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    sources: dict[str, list[dict[str, Any]]] = {}
    for place, (transaction, entry) in enumerate(_dated(document), 1):
        date, _, head = entry[0].partition(" ")
        row = {"id": f"T{place:03d}", "date": date, "head": head, "lines": entry[1:]}
        sources.setdefault(_decided("funds-report", transaction), []).append(row)
    text = json.dumps({"sources": sources, "standing": _standing(document)}, indent=1, ensure_ascii=False)
    return {"report.json": text + "\n"}


def from_report(files: Files, targets: list[str]) -> Files:
    try:
        data = json.loads(families.named(files, "report.json"))
        found = [row for rows in data["sources"].values() for row in rows]
        entries = [(str(row["id"]), row["date"], row["head"], row["lines"]) for row in found]
        dated = [[f"{date} {head}".strip(), *map(str, lines)] for _, date, head, lines in sorted(entries)]
        standing = [[str(line) for line in entry] for entry in data["standing"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {targets[0]: ""}
    return _journal([*standing, *dated], targets)


# audit sheet --------------------------------------------------------------------------------------------------------

_RISKS = ["high", "medium", "low"]


def audit_sheet(files: Files, targets: list[str]) -> Files:
    document = _read(files)
    ranked = []
    for place, (transaction, _) in enumerate(_dated(document), 1):
        risk = _decided("audit-sheet", transaction)
        ranked.append((risk if risk in _RISKS else "medium", place, transaction))
    lines = []
    for _, place, transaction in sorted(ranked, key=lambda row: (_RISKS.index(row[0]), row[2]["date"], row[1])):
        bare = {**transaction, "postings": [], "comments": []}
        lines.append(f"[{place}] {_entry(transactions=[bare])[0]}")
        lines += [f"; {text}" for text in transaction["comments"]]
        for posting in transaction["postings"]:
            lines += _sides(posting)
    other = ["", "OTHER", *("\n".join([e[0], *(f"    {line}" for line in e[1:])]) for e in _standing(document))]
    ranks = [{"entry": place, "risk": risk} for risk, place, _ in ranked]
    return {"audit.csv": families.table(["entry", "risk"], ranks), "sheet.txt": "\n".join([*lines, *other, ""])}


def _sides(posting: Record) -> list[str]:
    virtual = posting["virtual"] or "  "
    account = f"{virtual[0]}{posting['account']}{virtual[1]}".strip()
    state = f"{posting['state']} " if posting["state"] else ""
    quantity = posting.get("quantity")
    side = "N" if quantity is None else "C" if quantity < 0 else "D"
    positive = {**posting, "quantity": None if quantity is None else abs(quantity)}
    amount = domain.shown(positive, "quantity", "commodity")
    rest = " ".join(filter(None, (posting.get("expression"), posting.get("lot"), domain.marked(posting, "price"),
                                  domain.marked(posting, "balance"))))  # fmt: skip
    return [f"{side} {state}{account} | {amount} | {rest}", *(f"; {text}" for text in posting["comments"])]


def from_audit(files: Files, targets: list[str]) -> Files:
    listed, _, other = families.named(files, "sheet.txt").partition("\nOTHER")
    entries: dict[int, Entry] = {}
    entry: Entry = []
    for line in listed.splitlines():
        if head := re.match(r"\[(\d{1,6})\] (.*)", line):
            entry = entries.setdefault(int(head.group(1)), [])
            entry.append(head.group(2))
        elif side := re.match(r"([DCN]) (.*?) \| (.*?) \|(.*)$", line):
            kind, account, amount, rest = side.groups()
            amount = f"-{amount}" if kind == "C" and amount else amount
            entry.append(f"{account}  {amount} {rest.strip()}".rstrip())
        elif line.startswith(";"):
            entry.append(line)
    journal = _journal((entries[place] for place in sorted(entries)), targets)[targets[0]]
    return {targets[0]: f"{other.strip(chr(10))}\n\n{journal}"}


# contacts -----------------------------------------------------------------------------------------------------------


def contacts(files: Files, targets: list[str]) -> Files:
    document = copy.deepcopy(_read(files))
    numbers: dict[str, str] = {}
    for transaction in document.collections["transactions"]:
        if not transaction["kind"] and transaction["payee"]:
            transaction["payee"] = numbers.setdefault(transaction["payee"], f"K{len(numbers) + 1:02d}")
    _each_account(document, lambda name: ".".join(reversed(name.split(":"))))
    listed = [
        {"contact": mark, "name": name, "kind": families.decide(__file__, SLUG, "contacts", name)}
        for name, mark in numbers.items()
    ]
    return {"contacts.csv": families.table(["contact", "name", "kind"], listed), "journal.txt": _written(document)}


def from_contacts(files: Files, targets: list[str]) -> Files:
    listed = families.rows(families.named(files, "contacts.csv"))
    names = {row.get("contact", ""): row.get("name", "") for row in listed}
    document = _read({name: text for name, text in files.items() if not name.endswith("contacts.csv")})
    for transaction in document.collections["transactions"]:
        if not transaction["kind"]:
            transaction["payee"] = names.get(transaction["payee"], transaction["payee"])
    _each_account(document, lambda name: ":".join(reversed(name.split("."))))
    return {targets[0]: _written(document)}


def _each_account(document: Document, change: Callable[[str], str]) -> None:
    for directive in document.collections["directives"]:
        if directive["keyword"] == "account":
            directive["text"] = change(directive["text"])
    for transaction in document.collections["transactions"]:
        for posting in transaction["postings"]:
            posting["account"] = change(posting["account"])


Edit = Callable[[Files, list[str]], Files]
EDITS: dict[str, tuple[Edit, Edit]] = {
    f"{SLUG}/to-csv": (to_csv, from_csv),
    f"{SLUG}/by-purpose": (by_purpose, from_purposes),
    f"{SLUG}/house-crowns": (house_crowns, from_crowns),
    f"{SLUG}/funds-report": (funds_report, from_report),
    f"{SLUG}/audit-sheet": (audit_sheet, from_audit),
    f"{SLUG}/contacts": (contacts, from_contacts),
}
