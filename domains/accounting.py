"""Plain-text accounts: Ledger, hledger and Beancount journals.

Follows the manuals of Ledger 3, hledger 1 and Beancount 3; all three syntaxes are read, in any mixture. Nothing is
included or evaluated.

Records: `transactions`, dated, automated (`=`) and periodic (`~`), with state, code, payee, note, comments and tags,
and their postings (account, amount, lot, price, balance assertion, comments) in no order; `directives` (accounts,
commodities, prices, balances, options ...) with their sub-directives; `comments` outside transactions. The order of
entries in a journal means nothing, `apply account` and a default year are carried out, and an amount that is left out
is derived where the other postings tell it. Quantities are decimals, compared exactly; `$10`, `10 $` and `10.00 $` are
equal.

Published formula: coverage^2 * posting * amount * (0.5 + 0.5 sqrt(comments)). Departures: posting, amount and the
comments of a transaction act inside each transaction (the mean over pairs of the product of their similarities), so
that a damaged transaction is never worth less than a lost one; directives and comments outside transactions, each by
its number, take the place of comments in the last factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from pytest_delegate52 import unreadable
from pytest_delegate52.schema import (
    Document,
    Exact,
    Files,
    Nested,
    Number,
    Record,
    Records,
    Schema,
    Several,
    Text,
    product,
    squeeze,
    weighted,
)

_DATE = r"(?:\d{4}[-/.])?\d{1,2}[-/.]\d{1,2}"
_HEADER = re.compile(rf"({_DATE})(?:=({_DATE}))?(?:\s+(.*))?$")
_ACCOUNT = r"[A-Z][\w-]*(?::[\w-]+)+"
_DATED = re.compile(
    rf"(open|close|balance|pad|note|document|event|query|custom|commodity|price)\s+(?=\"|{_ACCOUNT}|[A-Z][A-Z0-9'._-]*(?:\s|$))(.*)"
)
_WORDS = frozenset(
    "account commodity payee tag include alias year apply end bucket capture check assert define def eval expr python "
    "option plugin pushtag poptag pushmeta popmeta decimal-mark import value test A C D I N O b B h H i o".split()
)
_QUOTED = re.compile(r'"([^"]*)"')
_SYMBOL = r"\"[^\"]*\"|[^\s\d.,;:?!\-+*/^&|=<>\[\](){}@\"]+"
_AMOUNT = re.compile(rf"([-+]?)\s*({_SYMBOL})?\s*([-+]?)\s*(\d[\d.,' ]*\d|\d|\.\d+|\d[\d,.]*)\s*({_SYMBOL})?")
_META = re.compile(r"[a-z][\w-]*:\s+\S")


def parse(files: Files) -> Document:
    """Read every file; entries of all files make one journal."""
    others, problems = unreadable.take(files)
    found: dict[str, list[Record]] = {"transactions": [], "directives": [], "comments": []}
    for text in others.values():
        _Journal(found, problems).read(text)
    for transaction in found["transactions"]:
        _derive(transaction["postings"])
    return Document(found, problems)


class _Journal:
    """One file: what stands open while its lines are read."""

    def __init__(self, found: dict[str, list[Record]], problems: list[str]) -> None:
        self.found = found
        self.problems = problems
        self.open: Record | None = None  # transaction or directive that indented lines belong to
        self.prefix: list[str] = []  # of `apply account`
        self.year = ""
        self.block = ""  # `comment` or `test`, until its end

    def read(self, text: str) -> None:
        for line in text.split("\n"):
            line = line.rstrip()
            if self.block:
                self.block = "" if re.match(rf"end\s+{self.block}\b", line) else self.block
                if self.block and line.strip():
                    self.found["comments"].append({"text": squeeze(line)})
            elif not line.strip():
                self.open = None
            elif line[0].isspace():
                self.indented(line.strip())
            elif line in ("comment", "test"):
                self.block = line
            else:
                self.entry(line)

    def entry(self, line: str) -> None:
        self.open = None
        if line[0] in ";#%|" or (line[0] == "*" and line[1:2] in ("*", " ")):
            if text := squeeze(line.lstrip(";#%|*")):
                self.found["comments"].append({"text": text})
        elif header := _HEADER.match(line):
            self.dated(*header.groups())
        elif line[0] in "=~":
            body, comments = _comment(line[1:])
            self.open = {"kind": line[0], "payee": squeeze(body), "comments": comments, "postings": []}
            self.found["transactions"].append(self.open)
        elif price := re.match(rf"P\s+({_DATE})(?:\s+\d\d:\d\d(?::\d\d)?)?\s+(\S+)\s+(.*)$", line):
            self.directive("P", price.group(2), price.group(3), _iso(price.group(1), self.year))
        else:
            word, _, rest = line.lstrip("!@").partition(" ")
            if year := re.fullmatch(r"(?:Y|year)\s*(\d{4})", line):
                self.year = year.group(1)
            elif applied := re.match(r"apply\s+account\s+(\S.*)", line):
                self.prefix.append(squeeze(applied.group(1)))
            elif self.prefix and re.fullmatch(r"end\s+apply(?:\s+account)?|end", squeeze(line)):
                self.prefix.pop()
            elif word in _WORDS:
                self.directive(word, squeeze(rest), "", "")
            else:
                self.problems.append(squeeze(line))

    def dated(self, when: str, other: str | None, rest: str | None) -> None:
        rest = rest or ""
        day = _iso(when, self.year)
        if other is None and (directive := _DATED.match(rest)):
            word, body = directive.groups()
            subject, _, amount = squeeze(body).partition(" ")
            if word == "price":
                self.directive("P", subject, amount, day)
            elif word == "balance":
                self.directive(word, subject, amount, day)
            else:
                self.directive(word, squeeze(body), "", day)
            return
        self.open = {
            "date": day,
            **({"aux_date": _iso(other, self.year)} if other else {}),
            **_payee(rest),
            "postings": [],
        }
        self.found["transactions"].append(self.open)

    def directive(self, word: str, text: str, amount: str, day: str) -> None:
        body, comments = _comment(amount) if amount else ("", [])
        if not amount:
            text, comments = _comment(text)
        made: Record = {"keyword": word, "date": day, "text": squeeze(text), "body": comments}
        if body:
            made |= _amount(body, "quantity", "commodity") or {"text": squeeze(f"{text} {body}")}
        self.open = made
        self.found["directives"].append(made)

    def indented(self, line: str) -> None:
        if self.open is None:
            self.problems.append(squeeze(line))
        elif "keyword" in self.open:
            self.open["body"].append(squeeze(line))
        elif line[0] in ";#" or _META.match(line):
            holder = self.open["postings"][-1] if self.open["postings"] else self.open
            if text := squeeze(line.lstrip(";#") if line[0] == ";" else line):
                holder["comments"].append(text)
        else:
            self.open["postings"].append(_posting(line, self.prefix))


def _iso(text: str, year: str) -> str:
    """The date as YYYY-MM-DD; as it stands where it is none."""
    parts = re.split(r"[-/.]", text)
    try:
        return date(*map(int, parts if len(parts) == 3 else [year, *parts])).isoformat()
    except ValueError:
        return text


def _comment(text: str) -> tuple[str, list[str]]:
    """What stands before `;`, and the comment behind it; quoted semicolons are text."""
    for match in re.finditer(r'"[^"]*"|(?:^|(?<=\s));', text):
        if match.group() == ";":
            said = squeeze(text[match.end() :].lstrip(";"))
            return text[: match.start()].rstrip(), [said] if said else []
    return text.rstrip(), []


def _payee(text: str) -> Record:
    """State, code, payee, note and comments of a transaction's first line; Beancount's strings, tags and links too."""
    body, comments = _comment(text)
    state = re.match(r"(?:([*!])|txn(?=\s+\"))\s*", body)
    body = body[state.end() :] if state else body
    strings = _QUOTED.findall(body)
    if strings and re.fullmatch(r'\s*(?:"[^"]*"\s*){1,2}(?:[#^][\w/.-]+\s*)*', body):
        comments = re.findall(r"[#^][\w/.-]+", _QUOTED.sub("", body)) + comments
        payee, note = strings if len(strings) == 2 else (strings[0], "")
        code = None
    else:
        code = re.match(r"\(([^()]*)\)\s*", body)
        payee, _, note = body[code.end() if code else 0 :].partition("|")
    return {
        "kind": "", "state": (state.group(1) or "*") if state else "", "code": squeeze(code.group(1)) if code else "",
        "payee": squeeze(payee), "note": squeeze(note), "comments": comments,
    }  # fmt: skip


def _posting(line: str, prefix: list[str]) -> Record:
    body, comments = _comment(line)
    state = re.match(r"([*!])\s+", body)
    body = body[state.end() :] if state else body
    parts = re.match(rf"({_ACCOUNT})\s+(?=[-+\d.=@{{])(.*)$|(.*?)(?:\s{{2,}}|\t|$)(.*)$", body, re.DOTALL)
    account, rest = (parts.group(1) or parts.group(3), parts.group(2) or parts.group(4) or "") if parts else (body, "")
    account = squeeze(account)
    virtual = account[:1] + account[-1:] if account[:1] + account[-1:] in ("()", "[]") and len(account) > 2 else ""
    account = ":".join([*prefix, account[1:-1] if virtual else account])
    made: Record = {
        "account": account,
        "virtual": virtual,
        "state": state.group(1) if state else "",
        "comments": comments,
    }
    rest = squeeze(rest)
    if balance := re.search(r"(?:^|\s|(?<=[\w$€£]))(==?\*?)\s*([^=]+)$", rest):
        made |= {"balance_kind": balance.group(1), **_either(balance.group(2), "balance")}
        rest = rest[: balance.start()]
    if price := re.search(r"(\(?@@?\)?)\s*([^@]+)$", rest):
        made |= {"price_kind": price.group(1).strip("()"), **_either(price.group(2), "price")}
        rest = rest[: price.start()]
    if lots := re.findall(r"\{\{?[^{}]*\}?\}|\[[^\]]*\]", rest):
        made["lot"] = " ".join(lots)
        rest = re.sub(r"\{\{?[^{}]*\}?\}|\[[^\]]*\]", " ", rest)
    if rest.strip():
        made |= _amount(rest, "quantity", "commodity") or {"expression": squeeze(rest)}
    return made


def _either(text: str, name: str) -> Record:
    return _amount(text, f"{name}_quantity", f"{name}_commodity") or {f"{name}_expression": squeeze(text)}


def _amount(text: str, quantity: str, commodity: str) -> Record | None:
    """`-$1,000.00`, `$-1000`, `-1.000,00 EUR`: one amount, or None."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match.group(2) and match.group(5)):
        return None
    sign, before, inner, digits, after = match.groups()
    number = _number(digits.replace("'", "").replace(" ", ""))
    if number is None:
        return None
    symbol = (before or after or "").strip('"')
    negative = (sign == "-") != (inner == "-")
    return {quantity: -number if negative and number else number, **({commodity: symbol} if symbol else {})}


def _number(digits: str) -> Decimal | None:
    """A decimal; with both marks the last one is the decimal mark, a comma alone is one unless three digits follow."""
    comma, dot = digits.rfind(","), digits.rfind(".")
    if comma > dot >= 0 or (
        dot < 0 <= comma and digits.count(",") == 1 and not re.fullmatch(r"[1-9]\d*,\d{3}", digits)
    ):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    digits = digits.replace(",", "")
    return Decimal(digits) if re.fullmatch(r"\d*\.?\d*", digits) and digits.strip(".") else None


def _derive(postings: list[Record]) -> None:
    """Fill in the one amount that was left out, where the other postings leave one commodity out of balance."""
    real = [posting for posting in postings if posting["virtual"] != "()"]
    bare = [posting for posting in real if not posting.keys() & {"quantity", "expression", "balance_kind", "lot"}]
    if len(bare) != 1 or any(
        "quantity" not in posting or "lot" in posting for posting in real if posting is not bare[0]
    ):
        return
    totals: dict[str, Decimal] = {}
    for posting in real:
        if posting is bare[0]:
            continue
        quantity, symbol = posting["quantity"], posting.get("commodity", "")
        if "price_kind" in posting:
            if "price_quantity" not in posting:
                return
            symbol, price = posting.get("price_commodity", ""), posting["price_quantity"]
            quantity = quantity * price if posting["price_kind"] == "@" else price.copy_sign(quantity)
        totals[symbol] = totals.get(symbol, Decimal(0)) + quantity
    open_ones = [(symbol, total) for symbol, total in totals.items() if total]
    if len(open_ones) == 1:
        symbol, total = open_ones[0]
        bare[0] |= {"quantity": -total, **({"commodity": symbol} if symbol else {})}


def emit(document: Document) -> Files:
    """A Ledger journal: comments, directives, transactions."""
    lines = [f"; {comment['text']}" for comment in document.collections.get("comments", [])]
    for directive in document.collections.get("directives", []):
        lines += ["", _directive_line(directive), *(f"    {line}" for line in directive.get("body", ()))]
    for transaction in document.collections.get("transactions", []):
        lines += ["", _header_line(transaction)]
        lines += (f"    ; {text}" for text in transaction.get("comments", ()))
        for posting in transaction.get("postings", ()):
            lines += _posting_lines(posting)
    text = "\n".join(lines).lstrip("\n")
    return {**({"journal.ledger": text + "\n"} if text else {}), **unreadable.write(document.problems)}


def _directive_line(directive: Record) -> str:
    amount = shown(directive, "quantity", "commodity")
    parts = [directive.get("date", ""), directive["keyword"], directive.get("text", ""), amount]
    if directive["keyword"] == "P":
        parts[:2] = ["P", directive.get("date", "")]
    return " ".join(filter(None, parts))


def _header_line(transaction: Record) -> str:
    payee, code = transaction.get("payee") or "", transaction.get("code") or ""
    if transaction.get("kind"):
        return f"{transaction['kind']} {payee}".rstrip()
    dates = "=".join(filter(None, (transaction.get("date"), transaction.get("aux_date"))))
    told = f"{payee} | {transaction['note']}" if transaction.get("note") else payee
    marked = f"({code})" if code or told.startswith("(") else ""
    return " ".join(filter(None, (dates, transaction.get("state"), marked, told)))


def _posting_lines(posting: Record) -> Iterator[str]:
    left, right = (posting.get("virtual") or "  ")[0].strip(), (posting.get("virtual") or "  ")[1].strip()
    account = f"{left}{posting['account']}{right}"
    parts = [posting.get("expression") or shown(posting, "quantity", "commodity"), posting.get("lot", "")]
    parts += [marked(posting, "price"), marked(posting, "balance")]
    state = f"{posting['state']} " if posting.get("state") else ""
    yield f"    {state}{account}  {' '.join(filter(None, parts))}".rstrip()
    yield from (f"    ; {text}" for text in posting.get("comments", ()))


def marked(posting: Record, name: str) -> str:
    """The price (`@ 1.13 EUR`) or the balance (`= 500 EUR`) of a posting as text; empty where there is none."""
    if not (kind := posting.get(f"{name}_kind")):
        return ""
    amount = posting.get(f"{name}_expression") or shown(posting, f"{name}_quantity", f"{name}_commodity")
    return f"{kind} {amount}"


def shown(record: Record, quantity: str, commodity: str) -> str:
    """An amount as text, `-1200.00 EUR`; empty where there is none."""
    if record.get(quantity) is None:
        return ""
    symbol = record.get(commodity) or ""
    symbol = symbol if not symbol or re.fullmatch(_SYMBOL, symbol) else f'"{symbol}"'
    return f"{Decimal(record[quantity]):f} {symbol}".rstrip()


def _written_out(files: Files) -> Files:
    """The same journal with every derived amount written out and one blank between the parts of a line."""
    return emit(parse(files))


def _slashes(files: Files) -> Files:
    return {name: re.sub(r"(?m)^(\d{4})-(\d\d)-(\d\d)", r"\1/\2/\3", text) for name, text in files.items()}


def _thousands(files: Files) -> Files:
    return {
        name: re.sub(r"(?m)(?<=  )(-?)(\d{1,3})(\d{3}\.\d\d)(?= )", r"\1\2,\3", text) for name, text in files.items()
    }


SURFACE: dict[str, Any] = {"amounts written out": _written_out, "dates with slashes": _slashes, "1,000.00": _thousands}

_COMMENTS = Several(of=Text())
_MONEY = {"quantity": Number(weight=0.8), "commodity": Exact(weight=0.8)}
SCHEMA = Schema(
    transactions=Records(
        name="transaction",
        identity=("date", "payee", "code"),
        label=("date", "payee"),
        fields={
            "kind": Exact(), "date": Exact(), "aux_date": Exact(), "state": Exact(), "code": Exact(), "payee": Text(),
            "note": Text(), "comments": _COMMENTS,
            "postings": Nested(
                weight=1.0,
                records=Records(
                    name="posting",
                    identity=("account", "virtual"),
                    label=("account",),
                    fields={
                        "account": Text(weight=0.8), "virtual": Exact(), **_MONEY, "expression": Exact(weight=0.8),
                        "lot": Exact(), "price_kind": Exact(), "price_quantity": Number(), "price_commodity": Exact(),
                        "price_expression": Exact(), "balance_kind": Exact(), "balance_quantity": Number(),
                        "balance_commodity": Exact(), "balance_expression": Exact(), "state": Exact(),
                        "comments": _COMMENTS,
                    },
                ),
            ),
        },
    ),
    directives=Records(
        name="directive",
        identity=("keyword", "date", "text"),
        label=("keyword", "date", "text"),
        counted=False,
        fields={
            "keyword": Exact(), "date": Exact(), "text": Text(weight=0.8), **_MONEY,
            "body": Several(of=Text(), ordered=False),
        },
    ),
    comments=Records(name="comment", identity=("text",), counted=False, fields={"text": Text(weight=1.0)}),
    combine=lambda c: product(
        c.transactions.coverage**2,
        c.transactions.matched.accuracy,
        0.5 + 0.5 * weighted((c.directives.size, c.directives.accuracy), (c.comments.size, c.comments.accuracy)) ** 0.5,
    ),
)  # fmt: skip
