"""The record of a run: one append-only JSON line per event, in a file per process, and the texts they name by hash.

    run.json                      settings, versions, environments with their hashes
    interactions-<process>.jsonl  events
    blobs/<hash>                  texts

Events share a key (`relay`, `k`); readers merge by it, later events of a kind replacing earlier ones. An `answer` is
written and synced before it is parsed, so that whatever happens afterwards, no paid call is lost. From the folder
alone a run can be summed up again, and a relay goes on where its record ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_delegate52.schema import Files

VERSION = 1

Event = dict[str, Any]
Key = tuple[str, int]

#: What an event may be, and its own fields; all have v, event, k, edit, direction, at, process and `Relay.identity`.
EVENTS = {
    "answer": "targets given text finish prompt_tokens completion_tokens cost seconds truth",
    "result": "files clutter notes failure outcome compliance score lost components counts differences problems",
    "error": "error",
    "not-applicable": "reason",
}


class RunFolder:
    """A run on disk. Any number of processes may append, each to its own file."""

    def __init__(self, path: Path, process: str = "main") -> None:
        self.path = path
        self.process = process
        self._lock = threading.Lock()
        self._file: Any = None

    @property
    def name(self) -> str:
        return self.path.name

    def create(self, header: dict[str, Any]) -> None:
        """Make the folder and write `run.json`; `OSError` where that can't be done."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "blobs").mkdir(exist_ok=True)
        text = json.dumps({"version": VERSION, **header}, indent=1, ensure_ascii=False)
        _write_whole(self.path / "run.json", text + "\n")

    @property
    def over(self) -> bool:
        """Whether the run has ended or was interrupted, in whichever process."""
        return (self.path / "over").exists()

    def end(self) -> None:
        """Tell every process that no more calls are wanted."""
        if self.path.is_dir():
            (self.path / "over").touch()

    def header(self) -> dict[str, Any]:
        data = json.loads((self.path / "run.json").read_text("utf-8"))
        if data.get("version") != VERSION:
            raise ValueError(f"{self.path}: a record of version {data.get('version')}; this reads version {VERSION}")
        return dict(data)

    def append(self, event: Event) -> None:
        """Write one event and sync it to disk before returning."""
        line = json.dumps({"v": VERSION, **event, "process": self.process}, ensure_ascii=True, sort_keys=True)
        with self._lock:
            if self._file is None:
                path = self.path / f"interactions-{self.process}.jsonl"
                torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
                self._file = path.open("ab")
                if torn:  # a process that was killed left half a line; it stays alone
                    self._file.write(b"\n")
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def store(self, files: Files) -> dict[str, str]:
        """Keep the texts of `files`; returns name to hash."""
        hashes = {}
        for name, text in files.items():
            data = text.encode("utf-8", "surrogatepass")
            digest = hashlib.sha256(data).hexdigest()[:32]
            path = self.path / "blobs" / digest
            if not path.exists():
                _write_whole(path, data)
            hashes[name] = digest
        return hashes

    def texts(self, hashes: dict[str, str]) -> Files:
        """The files whose hashes these are."""
        return {
            name: (self.path / "blobs" / digest).read_bytes().decode("utf-8", "surrogatepass")
            for name, digest in hashes.items()
        }

    def events(self) -> Iterator[Event]:
        """All events of all processes; a torn line is passed over."""
        for path in sorted(self.path.glob("interactions-*.jsonl")):
            with path.open("rb") as lines:
                for line in lines:
                    try:
                        yield json.loads(line)
                    except ValueError:
                        continue

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


@dataclass
class Record:
    """The merged events of one run."""

    answers: dict[Key, Event]
    results: dict[Key, Event]
    errors: dict[Key, Event]
    not_applicable: dict[str, Event]

    @classmethod
    def read(cls, folder: RunFolder) -> Record:
        merged: dict[str, dict[Key, Event]] = {kind: {} for kind in EVENTS}
        for event in folder.events():
            if event.get("event") in merged:
                merged[event["event"]][event["relay"], event["k"]] = event
        errors = {key: event for key, event in merged["error"].items() if key not in merged["answer"]}
        aside = {relay: event for (relay, _), event in merged["not-applicable"].items()}
        return cls(merged["answer"], merged["result"], errors, aside)


def _write_whole(path: Path, data: str | bytes) -> None:
    """Write a file so that it is there as a whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with part.open("wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
