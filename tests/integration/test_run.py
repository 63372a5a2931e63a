"""A run as a user sees it: outcomes, selection, exit status, interplay with pytest's own options."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_delegate52.records import Record, RunFolder

Delegate = Callable[..., pytest.RunResult]
FAULTY = "--delegate52-model=reference?fault_rate=0.05&seed=7"


def record(pytester: pytest.Pytester, number: int = 1) -> Record:
    return Record.read(RunFolder(pytester.path / ".delegate52" / "runs" / f"{number:04d}"))


def figures(pytester: pytest.Pytester, number: int = 1) -> dict:
    return json.loads((pytester.path / ".delegate52" / "runs" / f"{number:04d}" / "results.json").read_text())


def test_the_perfect_delegate_keeps_every_relay(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate("--delegate52-model=reference")
    done.assert_outcomes(passed=10)
    assert done.ret == 0
    group = figures(pytester)["models"][0]
    assert group["overall"]["rs"]["20"] == 1.0
    assert group["domains"]["tram"]["ready"] == "yes"
    done.stdout.re_match_lines([r"overall +100\.0 +100\.0 +100\.0  lossless: 1/1  ready: 1 of 1"])


def test_the_laziest_cheat_passes_no_item_though_nothing_is_lost(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate("--delegate52-model=noop")
    done.assert_outcomes(failed=10)
    assert done.ret == 1
    overall = figures(pytester)["models"][0]["overall"]
    assert overall["compliance"]["untried"] == 10
    assert overall["rs_strict"]["20"] == 0.0
    assert figures(pytester)["models"][0]["domains"]["tram"]["ready"] == "untried"


def test_losses_are_named_and_add_up(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate(FAULTY)
    assert done.ret == 1
    done.stdout.re_match_lines_random([r"  RS@2 = 0\.\d+, this round trip lost 0\.\d+ .*", r"  missing +\w+.* -0\.\d+"])
    relay = figures(pytester)["relays"][0]
    assert sum(drop["lost"] for drop in relay["drops"]) == pytest.approx(1 - min(relay["scores"].values()), abs=0.02)


def test_an_item_alone_gives_the_result_of_the_full_run(delegate: Delegate, pytester: pytest.Pytester) -> None:
    delegate(FAULTY)
    trip = "tram/night-line::reference?fault_rate=0.05&seed=7[04-to-csv]"
    shown = delegate(FAULTY, "-v").stdout.str()
    assert re.search(r"^tram/night-line::reference\?fault_rate=0.05&seed=7\[04-", shown, re.MULTILINE)
    trip = re.search(r"^(tram/night-line::\S+\[04-[a-z-]+\])", shown, re.MULTILINE).group(1)  # type: ignore[union-attr]
    alone = delegate(FAULTY, trip, "-v")
    assert sum(alone.parseoutcomes().get(name, 0) for name in ("passed", "failed")) == 1
    full, single = record(pytester, 1), record(pytester, 3)
    relay = trip.partition("[")[0]
    assert single.results[relay, 8]["score"] == full.results[relay, 8]["score"]
    assert (relay, 10) not in single.results


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["-k", "to-csv"], 2),
        (["-m", "sorting"], 2),
        (["-m", "everyday and not tram"], 0),
        (["-k", "to-csv or minutes"], 4),
        (["--deselect", "tram/night-line::reference[01-alphabetical]"], 9),
        (["--delegate52-mode=isolated"], 5),
        (["--delegate52-mode=isolated", "tram/night-line::reference[minutes]"], 1),
        (["--delegate52-round-trips=3", "--delegate52-repeats=2"], 6),
        (["tram/night-line::reference"], 10),
        (["tram/night-line"], 10),
        (["--delegate52-model=noop", "-k", "reference"], 10),
    ],
)
def test_selection(delegate: Delegate, arguments: list[str], count: int) -> None:
    done = delegate("--delegate52-model=reference", *arguments)
    assert done.parseoutcomes().get("passed", 0) == count
    assert "failed" not in done.parseoutcomes()


def test_last_failed_and_first_failure(delegate: Delegate, pytester: pytest.Pytester, environments: Path) -> None:
    common = ("environments", FAULTY)
    first = pytester.runpytest_subprocess(*common)
    failed = first.parseoutcomes()["failed"]
    again = pytester.runpytest_subprocess(*common, "--lf")
    assert again.parseoutcomes()["failed"] == failed
    assert "passed" not in again.parseoutcomes()
    stopped = pytester.runpytest_subprocess(*common, "-x")
    assert stopped.parseoutcomes() == {"failed": 1}


def test_collect_only_calls_and_writes_nothing(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate("--delegate52-model=openai/never-called", "--collect-only", "-q")
    assert done.ret == 0
    assert len([line for line in done.outlines if line.startswith("tram/night-line::openai/never-called[")]) == 10
    assert not (pytester.path / ".delegate52").exists()


def test_setup_plan_calls_nothing(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate("--delegate52-model=openai/never-called", "--setup-plan")
    assert done.ret == 0
    assert not (pytester.path / ".delegate52").exists()


def test_junit_and_durations(delegate: Delegate, pytester: pytest.Pytester) -> None:
    delegate("--delegate52-model=reference", "--delegate52-round-trips=2", "--junitxml=out.xml", "--durations=3")
    cases = list(ElementTree.parse(pytester.path / "out.xml").iter("testcase"))
    assert {case.get("classname") for case in cases} == {"tram.night-line"}
    values = [each.get("value") for case in cases for each in case.iter("property")]
    assert all("'score': 1.0" in str(value) for value in values)
    assert len(values) == 2


def test_other_tests_run_only_when_paths_are_given(delegate: Delegate, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own="def test_own(): pass")
    bundled = ["--delegate52-model=reference", "--delegate52-round-trips=1"]
    with_path = delegate(*bundled, "test_own.py")
    assert with_path.parseoutcomes()["passed"] == 2
    assert "test_own" not in delegate(*bundled, "-v").stdout.str()


@pytest.mark.parametrize(
    ("model", "gate", "status"),
    [
        ("noop", "kept", 1), ("noop", "none", 0), ("noop", "ready", 1),
        ("reference", "ready", 0), ("reference", "kept", 0),
        ("reference?fault_rate=0.2", "none", 0), ("reference?fault_rate=0.2", "ready", 1),
    ],
)  # fmt: skip
def test_gates(delegate: Delegate, model: str, gate: str, status: int) -> None:
    assert delegate(f"--delegate52-model={model}", f"--delegate52-gate={gate}").ret == status


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--delegate52-model=no-such-provider-model"], "litellm does not know its provider"),
        (["--delegate52-model=gpt-5.4"], "set the environment variable OPENAI_API_KEY"),
        (["--delegate52-model=reference?fault=1"], "takes the options fault_rate and seed"),
        (["--delegate52-model=local/other"], "there is local/smollm2-135m"),
        (["--delegate52-model=reference", "--delegate52-domain=trams"], "did you mean tram?"),
        (["--delegate52-model=reference", "--delegate52-environment=tram/day*"], "did you mean tram/night-line?"),
        (["--delegate52-model=reference", "tram/night-line::reference[04-to-cvs]"], "did you mean"),
        (["--delegate52-model=reference", "--delegate52-prompt=polite"], "expected plain, preserve or a file"),
        (["--delegate52-model=reference", "--delegate52-gate=all"], "expected kept, ready, none"),
        (["--delegate52-model=reference", "--delegate52-round-trips=0"], "expected a number of 1 or more"),
        (["--delegate52-model=reference", "--delegate52-threshold=98"], "expected a number from 0 to 1"),
        (["--delegate52-model=reference", "--delegate52-output=/dev/null/run"], "can't write to /dev/null/run"),
    ],
)
def test_wrong_options_say_what_to_type(
    delegate: Delegate, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = delegate(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    text = done.stderr.str() + done.stdout.str()
    assert said in text.replace("\n", " ")
    assert "Traceback" not in text


def test_ini_options_and_a_prompt_of_the_users_own(delegate: Delegate, pytester: pytest.Pytester) -> None:
    said = {"model": "reference", "round_trips": 2, "prompt": "mine.txt"}
    pytester.makeini("\n".join(["[pytest]", *(f"delegate52_{name} = {value}" for name, value in said.items())]))
    (pytester.path / "mine.txt").write_text("{files} {instruction} {targets}")
    done = delegate()
    done.assert_outcomes(passed=2)
    assert figures(pytester)["models"][0]["prompt"] == "mine.txt"


def test_a_cut_run_says_so(delegate: Delegate, pytester: pytest.Pytester) -> None:
    done = delegate("--delegate52-model=reference", "--delegate52-seed-tokens=80", "--delegate52-no-distractors")
    done.assert_outcomes(passed=10)
    done.stdout.fnmatch_lines(["a cut run: not to be compared with full ones"])
    assert figures(pytester)["cut"] is True


def test_the_bundled_environments_are_collected_from_an_empty_folder(delegate: Delegate) -> None:
    done = delegate("--delegate52-model=reference", "--collect-only", "-q", bundled=True)
    for domain in ("accounting", "json", "recipe", "subtitles"):
        assert any(line.startswith(f"{domain}/") for line in done.outlines)


def test_without_a_model_nothing_acts_unless_environments_are_given(
    delegate: Delegate, pytester: pytest.Pytester, environments: Path
) -> None:
    assert pytester.runpytest_subprocess("-p", "no:cacheprovider").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    done = delegate()
    done.assert_outcomes(passed=6)
    assert not (pytester.path / ".delegate52").exists()
