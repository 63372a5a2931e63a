"""Models: what carries out an instruction.

A model is an object with `name`, `window`, `slow` and `async complete(request) -> Completion`. Built-in ones need no
network; every other name is litellm's. Broken infrastructure raises `ModelError`; what a model answers, however bad,
is a `Completion`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl

from pytest_delegate52.environment import Edit, Environment
from pytest_delegate52.schema import Files
from pytest_delegate52.settings import Settings


class ModelError(Exception):
    """The infrastructure failed (authentication, network, rate limit after all retries, time-out): no score."""


class UnusableModel(Exception):
    """A model that can't be run at all; the message says what to do. Raised before the first call."""


@dataclass(frozen=True)
class Request:
    """One instruction for a model. Hosted and local models read `prompt`; built-in ones the plain values."""

    prompt: str
    files: Files
    targets: Sequence[str]
    environment: Environment
    edit: Edit
    direction: str  # "forward" or "backward"
    k: int
    repeat: int
    seed: int


@dataclass(frozen=True)
class Completion:
    """A model's answer. `finish` is "stop", "length" (cut by the token limit), "refusal" or the provider's own word."""

    text: str
    finish: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # USD; None where the price is unknown
    seconds: float = 0.0
    truth: list[dict[str, Any]] = field(default_factory=list)  # faults that a built-in model put in on purpose


class Model(Protocol):
    """`window` is the context window in tokens (None: unknown). `small` models run cut seeds unless told otherwise."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None: ...

    @property
    def small(self) -> bool: ...

    def check(self) -> None:
        """Raise `UnusableModel` where a first call could not work: an unknown name, a missing key or package."""

    def count(self, text: str) -> int:
        """Tokens in `text` as this model counts them (or a close estimate)."""

    async def complete(self, request: Request) -> Completion:
        """Carry out one request."""


def create(name: str, settings: Settings) -> Model:
    """The model called `name`; `UnusableModel` for a built-in name with options it does not have."""
    base, _, query = name.partition("?")
    if base in ("reference", "noop"):
        from pytest_delegate52.models import builtin

        options = dict(parse_qsl(query, keep_blank_values=True))
        return builtin.create(name, base, options)
    if name.startswith("local/"):
        from pytest_delegate52.models import local

        return local.create(name, settings)
    from pytest_delegate52.models import hosted

    return hosted.Hosted(name, settings)
