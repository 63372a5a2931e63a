"""Accounts: what an accountant would call damage, and what not."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pytest_delegate52.domains import accounting
from registry import registry_file
from tables import Table, put, sub

TABLE = Table(
    "accounting",
    damaged={
        "two digits of an amount exchanged": (put("182.40 EUR\n", "128.40 EUR\n"), 0.002, 0.06, "128.40"),
        "sign turned": (put("Expenses:Travel:Ferry     -38.00", "Expenses:Travel:Ferry      38.00"), 0.002, 0.06, "38.00"),
        "currency swapped": (put("Expenses:Youth            220.00 EUR", "Expenses:Youth            220.00 GBP"), 0.002, 0.06, "GBP"),
        "posted to another account": (put("Expenses:Travel:Fuel       74.91", "Expenses:Travel:Ferry      74.91"), 0.002, 0.05, "Fuel"),
        "a transaction lost": (sub(r"2023-05-27 \* Coxswain course\n(?: .*\n)+", ""), 0.02, 0.09, "missing 2023-05-27 Coxswain course"),
        "a transaction twice": (
            lambda text: text + "\n" + text[text.index("2023-05-27 * Coxswain") : text.index("2023-06-08")], 0.02, 0.09,
            "extra 2023-05-27 Coxswain course"),
        "a date off by a day": (put("2023-06-21", "2023-06-12"), 0.005, 0.04, "date"),
        "pending made cleared": (put("2023-08-19 !", "2023-08-19 *"), 0.005, 0.03, "state"),
        "a receipt number gone": (put("    ; receipt: 2023-041\n", ""), 0.003, 0.03, "comments"),
        "a code changed": (put("(4502)", "(4520)"), 0.005, 0.03, "4520"),
        "a price changed": (put("@ 1.1630 EUR", "@ 1.1360 EUR"), 0.002, 0.05, "price"),
        "an assertion dropped": (put(" = 3672.07 EUR", ""), 0.002, 0.03, "balance"),
        "virtual made real": (put("[Funds:New Four]", "Funds:New Four"), 0.001, 0.05, "virtual"),
        "payee misspelt": (put("Karen Lindegaard", "Karin Lindegaard"), 0.0005, 0.02, "Karin"),
        "remark turned round": (put("nobody wanted the rest", "everybody wanted the rest"), 0.001, 0.02, "comments"),
        "all comments of transactions gone": (sub(r"^    ;.*\n", ""), 0.1, 0.5, "comments"),
        "ten invented transactions": (
            lambda text: text + "".join(f"\n2023-11-{day:02d} * Bar takings {day}\n    Assets:Cash:Box  {day}.00 EUR\n"
                                        f"    Income:Bar\n" for day in range(1, 11)), 0.1, 0.6, "Bar takings"),
        "all amounts halved": (
            sub(r"(?<=  )(-?\d[\d,]*\.\d\d)", lambda m: str(Decimal(m.group(1).replace(",", "")) / 2)), 0.3, 0.9, "quantity"),
        "automated entry lost": (sub(r"^= .*\n(?: .*\n)+", ""), 0.02, 0.09, "Income:Dues"),
        "price directive changed": (put("P 2023-06-01 GBP 1.1630", "P 2023-06-01 GBP 1.1360"), 0.001, 0.05, "1.1360"),
        "account directive lost": (put("account Assets:Bank:Savings\n", ""), 0.005, 0.05, "Savings"),
    },
    equal={
        "derived amount written out": (put("Assets:Bank:Giro\n\n2023-01-31", "Assets:Bank:Giro  -930.00 EUR\n\n2023-01-31")),
        "thousands without comma": put("4,218.37", "4218.37"),
        "trailing zeros": put("60.00 EUR\n    Assets:Bank:Giro\n\n2023-07-03", "60 EUR\n    Assets:Bank:Giro\n\n2023-07-03"),
        "slashes in dates": sub(r"^(\d{4})-(\d\d)-(\d\d)", r"\1/\2/\3"),
        "currency in front": put("7.50 EUR", "EUR 7.50"),
        "postings turned round": put(
            "    Liabilities:Card          144.40 EUR\n    Assets:Bank:Giro         -144.40 EUR",
            "    Assets:Bank:Giro         -144.40 EUR\n    Liabilities:Card          144.40 EUR"),
        "entries in another order": lambda text: "\n\n".join(reversed(text.strip().split("\n\n"))) + "\n",
        "indented by two": sub(r"^    ", "  "),
        "tabs before amounts": sub(r"(?<=\w)  +(?=-?\d)", "\t"),
        "comment on its own line": put("-1,380.00 EUR  ; adults\n    Income:Dues              -200", "-1,380.00 EUR\n    ; adults\n    Income:Dues              -200"),
        "carriage returns": lambda text: text.replace("\n", "\r\n"),
    },
)  # fmt: skip


@pytest.mark.parametrize("case", TABLE.damaged)
def test_damage(case: str) -> None:
    TABLE.check_damaged(case)


@pytest.mark.parametrize("case", TABLE.equal)
def test_equal(case: str) -> None:
    TABLE.check_equal(case)


def parsed(text: str) -> accounting.Document:
    return accounting.parse({"x": text})


@pytest.mark.parametrize(
    ("digits", "number"),
    [("1,000.00", "1000"), ("1.000,00", "1000"), ("1,000", "1000"), ("0,500", "0.5"), ("12,5", "12.5"), ("1.000", "1"),
     ("1.234.567", "1234567"), ("1'000.50", "1000.5"), ("1 000,50", "1000.5")],
)  # fmt: skip
def test_numbers(digits: str, number: str) -> None:
    posting = parsed(f"2024-02-29 x\n    a:b  {digits} EUR\n    c:d\n").collections["transactions"][0]["postings"][0]
    assert posting["quantity"] == Decimal(number)
    assert posting["commodity"] == "EUR"


def test_accounts_and_years_of_directives_are_carried_out() -> None:
    long = parsed("2023-01-05 a\n    Club:Cash  1 EUR\n    Club:Dues\n")
    short = parsed("Y 2023\napply account Club\n01/05 a\n    Cash  1 EUR\n    Dues\nend apply account\n")
    assert short.collections["transactions"] == long.collections["transactions"]


def test_beancount_and_ledger_say_the_same() -> None:
    ledger = parsed(
        "P 2024-01-02 EUR 0.86 GBP\n2024-01-03 * Shop | bread\n    ; #food\n    Expenses:Food  3.20 EUR\n    Assets:Cash\n"
    )
    beancount = parsed(
        '2024-01-02 price EUR 0.86 GBP\n2024-01-03 * "Shop" "bread" #food\n  Expenses:Food 3.20 EUR\n  Assets:Cash\n'
    )
    assert beancount.collections == ledger.collections
    assert not beancount.problems


def test_an_elided_amount_of_several_commodities_is_not_guessed() -> None:
    postings = parsed("2024-01-03 x\n    a:a  1 EUR\n    b:b  1 GBP\n    c:c\n").collections["transactions"][0][
        "postings"
    ]
    assert "quantity" not in postings[2]


def test_nothing_is_included(tmp_path: object) -> None:
    found = parsed("include /etc/passwd\n")
    assert found.collections["directives"][0]["text"] == "/etc/passwd"


REAL = [
    ("debian", "ledger2beancount", "2.7-1", "ledger2beancount_2.7-1_all.deb",
     "usr/share/doc/ledger2beancount/examples/illustrated.ledger"),
    ("pypi", "beancount", "3.2.3", "beancount-3.2.3.tar.gz", "beancount-3.2.3/examples/simple/basic.beancount"),
    ("pypi", "beancount", "3.2.3", "beancount-3.2.3.tar.gz", "beancount-3.2.3/examples/simple/starter.beancount"),
    ("pypi", "fava", "1.30.16", "fava-1.30.16.tar.gz", "fava-1.30.16/tests/data/long-example.beancount"),
]  # fmt: skip


@pytest.mark.network
@pytest.mark.parametrize("place", REAL, ids=lambda place: place[-1].rpartition("/")[2])
def test_real_journals_are_read_whole(place: tuple[str, str, str, str, str]) -> None:
    document = parsed(registry_file(*place))
    assert not document.problems
    assert len(document.collections["transactions"]) >= 4
    assert accounting.parse(accounting.emit(document)) == document
