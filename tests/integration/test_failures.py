"""What can go wrong under a run: Ctrl-C, a full disk, a torn record, a domain that raises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chat_server import ChatServer, Reply

from pytest_delegate52.records import Record, RunFolder

Delegate = Callable[..., pytest.RunResult]


def started(pytester: pytest.Pytester, *arguments: str, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "environments", "-p", "no:cacheprovider", *arguments]
    path = os.pathsep.join([str(Path(__file__).parents[1] / "thirdparty"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80", **env}, start_new_session=True,
    )  # fmt: skip


@pytest.mark.usefixtures("delegate")
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "two workers"])
def test_ctrl_c_keeps_the_record_and_prints_the_summary(
    pytester: pytest.Pytester, perfect: Callable[[int, str], str], workers: list[str]
) -> None:
    asked: list[float] = []

    def script(number: int, prompt: str) -> Reply:
        asked.append(time.monotonic())
        return Reply(perfect(number, prompt), delay=0.3)

    with ChatServer(script) as server:
        options = ("--delegate52-model=openai/scripted", "--delegate52-repeats=8", "--delegate52-output=run")
        hosted = {"OPENAI_API_KEY": "none", "OPENAI_API_BASE": server.address, "NO_PROXY": "127.0.0.1"}
        process = started(pytester, *options, *workers, **hosted)
        until = time.monotonic() + 60
        while len(asked) < 24 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        stopped = time.monotonic()
        out, _ = process.communicate(timeout=60)
        late = [moment for moment in asked if moment > stopped + 3]
    assert not late, f"{len(late)} calls were made after Ctrl-C"
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out[-2_000:]
    assert "delegate52: openai/scripted" in out
    assert "planned round trips were not run" in out
    record = Record.read(RunFolder(pytester.path / "run"))
    assert 8 <= len(record.answers) <= len(asked)
    assert all("text" in event for event in record.answers.values())


def test_a_disk_that_fills_stops_the_run_and_loses_nothing(
    delegate: Delegate, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(
        """
        import errno
        from pytest_delegate52 import records
        append, written = records.RunFolder.append, []
        def full(self, event):
            written.append(event)
            if len(written) > 9:
                raise OSError(errno.ENOSPC, "No space left on device")
            append(self, event)
        records.RunFolder.append = full
        """
    )
    done = delegate("--delegate52-model=reference", "--delegate52-output=run")
    assert done.ret != 0
    assert "No space left on device" in done.stdout.str()
    assert "Traceback" not in done.stdout.str()
    assert len(list(RunFolder(pytester.path / "run").events())) == 9


def test_a_torn_line_is_passed_over_and_left_alone(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.create({})
    folder.append({"event": "answer", "relay": "a", "k": 1})
    folder.close()
    with (tmp_path / "interactions-main.jsonl").open("ab") as file:
        file.write(b'{"event": "answer", "rel')
    again = RunFolder(tmp_path)
    again.append({"event": "answer", "relay": "a", "k": 2})
    again.close()
    assert [event["k"] for event in RunFolder(tmp_path).events()] == [1, 2]


def test_a_fault_of_a_reference_function_ends_its_relay_only(
    delegate: Delegate, pytester: pytest.Pytester, environments: Path
) -> None:
    path = environments / "tram" / "reference.py"
    head = "def minutes(files: Files, targets: list[str]) -> Files:\n"
    path.write_text(path.read_text("utf-8").replace(head, head + "    raise KeyError('boom')\n"), "utf-8")
    done = delegate("--delegate52-model=reference", "--delegate52-mode=isolated")
    counts = done.parseoutcomes()
    assert counts["passed"] == 4
    assert counts.get("errors", 0) + counts.get("failed", 0) == 1
    assert "boom" in done.stdout.str()
