"""The command line, as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_delegate52 import environment
from pytest_delegate52.cli import main

Delegate = Callable[..., pytest.RunResult]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    found = next(each for each in environment.bundled() if each.domain == "accounting")
    text = found.seed["club.ledger"]
    before, after = tmp_path / "before.ledger", tmp_path / "after.ledger"
    before.write_text(text, "utf-8")
    after.write_text(text.replace("182.40 EUR\n", "128.40 EUR\n", 1), "utf-8")
    return before, after


def test_score_shows_components_and_differences(pair: tuple[Path, Path], snapshot: Any) -> None:
    done = run("score", "accounting", *pair)
    assert done.exit_code == 1
    assert max(map(len, done.output.splitlines())) <= 80
    assert done.output == snapshot


def test_score_as_json(pair: tuple[Path, Path]) -> None:
    told = json.loads(run("score", "accounting", *pair, "--json").output)
    assert {"score", "components", "counts", "differences", "problems"} <= told.keys()
    assert told["differences"][0]["candidate"] == "128.40"
    same = run("score", "accounting", pair[0], pair[0], "--json")
    assert same.exit_code == 0
    assert json.loads(same.output)["score"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "acounting", ".", "."], "did you mean accounting"),
        (["score", "json", "nowhere", "."], "does not exist"),
        (["summary", "."], "is no run folder"),
        (["show", ".", "x"], "is no run folder"),
        (["environments", "/nonexistent"], "does not exist"),
    ],
)
def test_a_users_mistake_gets_a_sentence(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


def test_binary_and_empty_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00{")
    (tmp_path / "b.json").write_text("{}")
    assert run("score", "json", tmp_path / "b.json", tmp_path / "a.json").exit_code == 1


def test_lists(snapshot: Any) -> None:
    assert run("domains").output == snapshot
    listed = run("environments").output
    for each in environment.bundled():
        assert each.key in listed
        assert all(edit.id in listed for edit in each.edits)


def test_help_fits_the_terminal() -> None:
    for name in ("score", "domains", "environments", "summary", "show"):
        done = run(name, "--help")
        assert done.exit_code == 0
        assert max(map(len, done.output.splitlines())) <= 80


def test_summary_and_show_read_the_record(delegate: Delegate, pytester: pytest.Pytester, snapshot: Any) -> None:
    done = delegate("--delegate52-model=reference?fault_rate=0.08&seed=3", "--delegate52-round-trips=10",
                    "--delegate52-output=run")  # fmt: skip
    folder = pytester.path / "run"
    summary = run("summary", folder)
    assert summary.exit_code == 0
    assert max(map(len, summary.output.splitlines())) <= 80
    assert summary.output == snapshot(name="summary")
    failing = next(line.split(" - ")[0].removeprefix("FAILED ") for line in done.outlines if line.startswith("FAILED"))
    shown = run("show", folder, failing)
    assert shown.exit_code == 0
    assert "RS@" in shown.output
    assert "forward edit: tried" in shown.output
    text = done.stdout.str()
    start = text.index("  RS@")
    assert text[start : text.index("delegate52 show", start)] == snapshot(name="failure")
    wrong = run("show", folder, failing.replace("[", "[9"))
    assert wrong.exit_code == 2
    assert failing in wrong.output


def test_the_shape_of_results_json(delegate: Delegate, pytester: pytest.Pytester, snapshot: Any) -> None:
    delegate("--delegate52-model=reference", "--delegate52-round-trips=2", "--delegate52-output=run")

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(part) for key, part in value.items()}
        return [shape(value[0])] if isinstance(value, list) and value else type(value).__name__

    assert shape(json.loads((pytester.path / "run" / "results.json").read_text())) == snapshot
