"""pytest-xdist: one worker a relay, in order; the same record with any number of workers; workers that are killed."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_delegate52.records import RunFolder

Delegate = Callable[..., pytest.RunResult]
RUN = ("--delegate52-model=reference?fault_rate=0.05&seed=7", "--delegate52-model=noop", "--delegate52-repeats=3",
       "--delegate52-round-trips=4")  # fmt: skip


def events(path: Path) -> list[dict[str, Any]]:
    return list(RunFolder(path).events())


def comparable(path: Path) -> list[str]:
    """The events sorted by key, without times and process names."""
    kept = [
        {name: value for name, value in event.items() if name not in ("at", "process", "seconds")}
        for event in events(path)
    ]
    return sorted(json.dumps(event, sort_keys=True) for event in kept)


def test_the_record_does_not_depend_on_the_number_of_workers(delegate: Delegate, pytester: pytest.Pytester) -> None:
    ways = {
        "0": [],
        "1": ["-n1"],
        "4": ["-n4"],
        "4 loadfile": ["-n4", "--dist=loadfile"],
        "2 each": ["-n2", "--dist=worksteal"],
    }
    outcomes, records = [], []
    for name, way in ways.items():
        done = delegate(*RUN, f"--delegate52-output={name}", *way)
        outcomes.append({key: value for key, value in done.parseoutcomes().items() if key in ("passed", "failed")})
        records.append(comparable(pytester.path / name))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert sum(outcomes[0].values()) == 24
    assert all(record == records[0] for record in records)


def test_one_worker_a_relay_in_order(delegate: Delegate, pytester: pytest.Pytester) -> None:
    delegate(*RUN, "-n4", "--delegate52-output=run")
    workers, order = defaultdict(set), defaultdict(list)
    for event in events(pytester.path / "run"):
        if event["event"] == "answer":
            workers[event["relay"]].add(event["process"])
            order[event["relay"]].append(event["k"])
    assert len(workers) == 6
    assert all(len(names) == 1 for names in workers.values())
    assert all(steps == list(range(1, 9)) for steps in order.values())
    assert len(set().union(*workers.values())) == 4


@pytest.mark.parametrize("step", [1, 2, 5, 8])
def test_a_killed_worker_is_an_error_and_its_replacement_goes_on(
    delegate: Delegate, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The killed item is an ERROR, once; no answered call is paid for again; all other items pass."""
    monkeypatch.setenv("TRAM_KILL_AT", f"{step}:{pytester.path / 'killed'}")
    done = delegate("--delegate52-model=reference", "--delegate52-repeats=4", "--delegate52-round-trips=4", "-n2",
                    "--delegate52-output=run")  # fmt: skip
    assert (pytester.path / "killed").exists()
    counts = done.parseoutcomes()
    assert counts.get("errors", 0) <= 1  # none when the worker died before it was given its first item
    assert counts["passed"] == 16 - counts.get("errors", 0)
    answers = [(e["relay"], e["k"]) for e in events(pytester.path / "run") if e["event"] == "answer"]
    assert len(answers) == len(set(answers)) == 32
    assert os.path.exists(pytester.path / "run" / "results.json")
