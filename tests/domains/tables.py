"""Hand-made cases of judgement: damaged versions of a seed with the loss a professional would find fair, equal ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_delegate52 import domains, environment
from pytest_delegate52.scoring import Score, score

Change = Callable[[str], str]


@dataclass
class Table:
    """One domain's cases, on its first bundled seed (one file)."""

    domain: str
    damaged: dict[str, tuple[Change, float, float, str]] = field(default_factory=dict)
    equal: dict[str, Change] = field(default_factory=dict)

    @property
    def seed(self) -> str:
        found = next(each for each in environment.bundled() if each.domain == self.domain)
        return next(iter(found.seed.values()))

    def score(self, text: str, name: str = "candidate") -> Score:
        domain = domains.get(self.domain)
        return score(domain.schema, domain.parse({"seed": self.seed}), domain.parse({name: text}))

    def check_damaged(self, case: str) -> None:
        change, low, high, named = self.damaged[case]
        changed = change(self.seed)
        assert changed != self.seed, "the change touches nothing"
        found = self.score(changed)
        told = [f"{d.kind} {d.path}: {d.reference} -> {d.candidate}" for d in found.differences]
        assert low <= 1 - found.value <= high, f"loss {1 - found.value:.4f}, expected {low} to {high}: {told[:4]}"
        assert any(named in line for line in told), f"nothing names {named!r}: {told[:6]}"

    def check_equal(self, case: str) -> None:
        changed = self.equal[case](self.seed)
        assert changed != self.seed, "the change touches nothing"
        found = self.score(changed)
        assert found.value == 1, [f"{d.kind} {d.path}: {d.reference} -> {d.candidate}" for d in found.differences[:5]]


def put(old: str, new: str, count: int = 1) -> Change:
    """Replace `old`, which must be there."""

    def change(text: str) -> str:
        assert old in text, f"{old!r} is not in the seed"
        return text.replace(old, new, count)

    return change


def sub(pattern: str, new: str | Callable[[re.Match[str]], str], count: int = 0) -> Change:
    """Replace every match of a pattern, line by line."""
    return lambda text: re.sub(pattern, new, text, count=count, flags=re.MULTILINE)
