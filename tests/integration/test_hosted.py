"""Hosted models through the real litellm, against a loopback server: what is retried, an error, a score."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Reply, files_in

from pytest_delegate52 import environment, models, prompts
from pytest_delegate52.harness import Direct
from pytest_delegate52.models import hosted as hosted_models
from pytest_delegate52.records import Record, RunFolder
from pytest_delegate52.relay import Context, Relay, RoundTrip, sequence
from pytest_delegate52.settings import Settings

Delegate = Callable[..., pytest.RunResult]
MODEL = "--delegate52-model=openai/scripted"


@pytest.fixture
def hosted(
    delegate: Delegate, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[pytest.RunResult, ChatServer, Record]]:
    """Run two round trips on the small environment against a scripted server."""

    def run(script: Callable[[int, str], Reply | str], *arguments: str) -> tuple[pytest.RunResult, ChatServer, Record]:
        with ChatServer(script) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            monkeypatch.setenv("OPENAI_API_BASE", server.address)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            done = delegate(MODEL, "--delegate52-round-trips=2", "--delegate52-output=run", *arguments)
        folder = RunFolder(pytester.path / "run")
        return done, server, Record.read(folder)

    return run


def test_a_perfect_hosted_model(hosted: Callable, perfect: Callable[[int, str], str]) -> None:
    done, server, record = hosted(perfect)
    done.assert_outcomes(passed=2)
    assert server.calls == 4
    assert len(record.answers) == 4
    answer = record.answers["tram/night-line::openai/scripted", 1]
    assert answer["prompt_tokens"] > 100
    assert answer["cost"] is None
    done.stdout.fnmatch_lines(["*4 calls of unknown price*"])
    assert "notice.txt" in server.prompts[0]


def test_each_prompt_stands_alone_and_carries_the_folder(hosted: Callable, perfect: Callable[[int, str], str]) -> None:
    _, server, _ = hosted(perfect, "--delegate52-no-distractors")
    assert set(files_in(server.prompts[0])) == {"line.txt"}
    assert "line.txt" not in files_in(server.prompts[1])
    assert set(files_in(server.prompts[2])) == {"line.txt"}


Relayed = tuple[list[RoundTrip], ChatServer, Record]


@pytest.fixture
def relayed(environments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Relayed]:
    """Two round trips in this process, so that litellm is imported once for all of these tests."""

    def run(script: Callable[[int, str], Reply | str], **changed: Any) -> Relayed:
        found = environment.load(environments / "tram" / "night-line")
        settings = Settings(models=("openai/scripted",), round_trips=2, **changed)
        folder = RunFolder(tmp_path / "run")
        folder.create({})
        with ChatServer(script) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "none")
            monkeypatch.setenv("OPENAI_API_BASE", server.address)
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            harness = Direct(prompts.template("plain"))
            model = models.create("openai/scripted", settings)
            relay = Relay(found, model, harness, settings, sequence(found, settings, 1))

            async def both() -> list[RoundTrip]:
                with ThreadPoolExecutor(2) as workers:
                    context = Context(folder, Record.read(folder), workers, asyncio.Semaphore(1))
                    return [await relay.advance(context) for _ in range(2)]

            trips = asyncio.run(both())
        folder.close()
        return trips, server, Record.read(folder)

    return run


@pytest.mark.parametrize(
    "trouble",
    [
        Reply(status=429, headers={"Retry-After": "0.2"}),
        Reply(status=500),
        Reply(status=503),
        Reply(drop=True),
    ],
    ids=["429", "500", "503", "dropped"],
)
def test_passing_trouble_is_retried(relayed: Callable, perfect: Callable[[int, str], str], trouble: Reply) -> None:
    trips, server, record = relayed(lambda number, prompt: trouble if number == 2 else perfect(number, prompt))
    assert [trip.value for trip in trips] == [1.0, 1.0]
    assert server.calls == 5
    assert len(record.answers) == 4


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (Reply(status=401), "AuthenticationError"),
        (Reply(status=400), "BadRequestError"),
        (Reply(raw=b"<html>not json</html>"), "openai/scripted"),
        (Reply(raw=b""), "openai/scripted"),
        (Reply(raw=b"{}"), "openai/scripted"),
        (Reply(raw=json.dumps({"choices": []}).encode()), "openai/scripted"),
    ],
    ids=["401", "400", "html", "empty body", "empty object", "no choices"],
)
def test_broken_infrastructure_is_an_error_not_a_score(
    relayed: Callable, perfect: Callable[[int, str], str], monkeypatch: pytest.MonkeyPatch, trouble: Reply, said: str
) -> None:
    monkeypatch.setattr(hosted_models, "ATTEMPTS", 2)
    trips, _, record = relayed(lambda number, prompt: trouble if number >= 2 else perfect(number, prompt))
    assert all(trip.error and said in trip.error for trip in trips)
    assert not record.results.get(("tram/night-line::openai/scripted", 2))
    assert len(record.answers) == 1
    assert len(record.errors) == 1


def test_an_error_is_reported_as_one(hosted: Callable, perfect: Callable[[int, str], str]) -> None:
    done, _, _ = hosted(lambda number, prompt: Reply(status=401) if number >= 2 else perfect(number, prompt))
    done.assert_outcomes(errors=2)
    assert "AuthenticationError" in done.stdout.str()
    done.stdout.fnmatch_lines(["*1 relays with infrastructure errors are left out*"])


def test_a_model_that_hangs_is_timed_out(relayed: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_models, "ATTEMPTS", 2)
    trips, server, _ = relayed(lambda number, prompt: Reply("late", delay=20), timeout=1.0)
    assert "Timeout" in str(trips[0].error)
    assert server.calls == 2


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(""), "empty answer"),
        (Reply("I can't help with that."), "holds no usable file"),
        (Reply("No.", finish="content_filter"), "refused"),
        (Reply("", refusal="Not for me."), "refused: Not for me."),
        (Reply("```line.txt\n23.40 Harbour", finish="length"), "cut by the token limit"),
        (Reply("```../../etc/passwd\nx\n```"), "holds no usable file"),
        (Reply("```C:\\line.txt\nx\n```\n```a\x07b.txt\nx\n```"), "holds no usable file"),
        (Reply("x" * 20_000_000), "holds no usable file"),
    ],
    ids=["empty", "prose", "filtered", "refused", "cut", "climbing", "control characters", "20 MB"],
)
def test_what_a_model_does_wrong_is_a_score_with_a_reason(relayed: Callable, reply: Reply, said: str) -> None:
    trips, _, record = relayed(lambda number, prompt: reply)
    assert trips[0].failed(0.98)
    assert said in f"{trips[0].failure} {trips[0].notes}"
    assert record.results["tram/night-line::openai/scripted", 4]["score"] < 0.1


def test_what_is_lost_stays_lost(hosted: Callable, perfect: Callable[[int, str], str]) -> None:
    """A file that the answer leaves out is gone; the relay goes on with what there is."""

    def script(number: int, prompt: str) -> str:
        answer = perfect(number, prompt)
        return answer.replace("23.47 Old Mint | closed on Sundays | zone 1\n", "") if number == 2 else answer

    done, _, record = hosted(script)
    relay = "tram/night-line::openai/scripted"
    assert record.results[relay, 2]["score"] == record.results[relay, 4]["score"] < 0.98
    assert done.parseoutcomes() == {"failed": 1, "passed": 1}  # the second round trip lost nothing more
    done.stdout.fnmatch_lines(["  missing  Old Mint*"])
