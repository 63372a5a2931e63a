"""Names, globs, fences, and the forms of answers that models produce."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_delegate52.files import fenced, matches, missing, name_fault, read_answer


@pytest.mark.parametrize("name", ["a.txt", "dir/a.txt", "Makefile", "größe.md", "a b.txt", "..a", "a..b"])
def test_good_names(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "C:\\x", "c:x", "a\\b", "a\x00b", "a\nb", "a\u202eb",
     "x" * 300, " a", "a/ b"],
)  # fmt: skip
def test_bad_names(name: str) -> None:
    assert name_fault(name)


@pytest.mark.parametrize(
    ("name", "targets", "found"),
    [
        ("a.ledger", ["*.ledger"], True),
        ("sub/a.ledger", ["*.ledger"], False),
        ("sub/a.ledger", ["sub/*.ledger"], True),
        ("A.ledger", ["a.ledger"], False),
        ("topic-1.txt", ["topic-?.txt"], True),
    ],
)
def test_globs_do_not_cross_folders(name: str, targets: list[str], found: bool) -> None:
    assert matches(name, targets) is found


def test_missing_targets() -> None:
    assert missing(["a.txt"], ["a.txt", "b.txt", "*.csv"]) == ["b.txt", "*.csv"]


BODY = "first line\n\n  second: ``x``\n"

FORMS = {
    "name alone": "```club.ledger\n{}```\n",
    "language, then name": "```ledger club.ledger\n{}```",
    "name=": '```text name="club.ledger"\n{}```',
    "title:": "```ini title: club.ledger\n{}```",
    "angle brackets": "```<club.ledger>\n{}```",
    "prose and heading": "Sure! Here it is.\n\n### club.ledger\n\n```\n{}```\n\nAnything else?",
    "bold name before": "**club.ledger**\n```text\n{}```",
    "backticked name before": "`club.ledger`:\n\n```\n{}```",
    "File: before": "File: club.ledger\n```\n{}```",
    "name as first line": "```\nclub.ledger\n{}```",
    "name as first line in brackets": "```text\n<club.ledger>\n{}```",
    "tilde fence": "~~~club.ledger\n{}~~~",
    "longer fence": "`````club.ledger\n{}`````",
    "missing last fence": "```club.ledger\n{}",
    "tags": '<file name="club.ledger">\n{}</file>',
    "tags around a fence": '<file path="club.ledger">\n```\n{}```\n</file>',
    "indented fence": "  ```club.ledger\n{}  ```",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_that_models_produce(form: str) -> None:
    found = read_answer(FORMS[form].replace("{}", BODY), ["club.ledger"])
    assert found.files == {"club.ledger": BODY}
    assert not found.faults


@pytest.mark.parametrize("form", [form for form in FORMS if form != "missing last fence"])
def test_two_files_in_each_form(form: str) -> None:
    text = FORMS[form].replace("{}", BODY)
    both = text + "\n\n" + text.replace("club.ledger", "map.csv")
    assert read_answer(both, ["club.ledger", "map.csv"]).files == {"club.ledger": BODY, "map.csv": BODY}


def test_crlf_answers_keep_their_content() -> None:
    found = read_answer("```a.txt\r\none\r\ntwo\r\n```\r\n", ["a.txt"])
    assert found.files == {"a.txt": "one\r\ntwo\r\n"}


def test_a_fence_inside_a_longer_one_is_content() -> None:
    inner = "# Notes\n```sh\nls\n```\nend\n"
    assert read_answer(fenced("a.md", inner), ["a.md"]).files == {"a.md": inner}


def test_a_forgotten_fence_before_the_next_file() -> None:
    found = read_answer("```a.txt\none\n```b.txt\ntwo\n```\n", ["a.txt", "b.txt"])
    assert found.files == {"a.txt": "one\n", "b.txt": "two\n"}


def test_nested_code_in_a_fence_of_the_same_length() -> None:
    found = read_answer("```a.md\ntext\n```python\nx = 1\n```\nmore\n```\n", ["a.md"])
    assert found.files == {"a.md": "text\n```python\nx = 1\n```\nmore\n"}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("```../../etc/passwd.txt\nx\n```", "climbs out"),
        ("```/etc/passwd.txt\nx\n```", "not a relative"),
        ("```a.txt\nx\n```\n```A.TXT\ny\n```", "differ only by case"),
        ("```a.txt\nx\n```\n```a.txt\ny\n```", "given twice"),
        ("x" * 6_000_000, "at most"),
        ("".join(f"```f{n}.txt\nx\n```\n" for n in range(300)), "more than 200 files"),
    ],
)
def test_what_is_wrong_is_said(answer: str, fault: str) -> None:
    found = read_answer(answer, ["a.txt"])
    assert any(fault in each for each in found.faults)
    assert "../../etc/passwd.txt" not in found.files
    assert "/etc/passwd.txt" not in found.files


def test_unnamed_blocks_are_kept_apart() -> None:
    found = read_answer("Two ways to do it:\n```python\nx = 1\n```\n", ["a.txt"])
    assert found.files == {}
    assert found.unnamed == ["x = 1\n"]


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), st.sampled_from(["a.txt", "d/x y.md"])
)
def test_any_text_survives_a_fence(text: str, name: str) -> None:
    kept = read_answer("Some prose.\n" + fenced(name, text) + "More.\n", [name]).files[name]
    assert kept == (text if text.endswith("\n") or not text else text + "\n")


@given(st.text())
def test_no_answer_raises(text: str) -> None:
    found = read_answer(text, ["a.txt", "*.md"])
    assert all(name_fault(name) is None for name in found.files)
