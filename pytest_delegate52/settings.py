"""What a run is made of: plain values that go into the run's record and to every worker."""

from __future__ import annotations

import hashlib
import random
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Settings:
    """The settled options of one run (see `options.py` for what each means to a user)."""

    models: tuple[str, ...] = ()
    mode: str = "relay"
    harness: str = "direct"
    prompt: str = "plain"
    round_trips: int = 10
    repeats: int = 1
    seed: int = 52
    domains: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()
    distractors: bool = True
    seed_tokens: int | None = None
    threshold: float = 0.98
    gate: str = "kept"
    temperature: float = 1.0
    max_output_tokens: int = 20_000
    timeout: float = 600.0
    concurrency: int = 16
    output: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Settings:
        known = {each.name for each in fields(cls)}
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
        return cls(**values)


def rng(seed: int, *names: object) -> random.Random:
    """The random source for one purpose: hangs on the run's seed and the names of what it is for, on nothing else."""
    text = "\x1f".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
