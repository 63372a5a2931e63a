"""`pytest environments/` without a model: one item for each environment, one for each edit task."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_delegate52 import compliance, domains, environment, tokens
from pytest_delegate52.environment import BUNDLED, Edit, Environment, ManifestError
from pytest_delegate52.schema import Files
from pytest_delegate52.scoring import score

SEED_TOKENS = (2_000, 5_000)
DISTRACTOR_TOKENS = (8_000, 12_000)
ECHO = 0.9  # the forward result handed back as it is must score below this


def collect(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A collector for a manifest that lies at or below a path on the command line."""
    if parent.config.args_source is not pytest.Config.ArgsSource.ARGS:
        return None
    return EnvironmentFile.from_parent(parent, path=file_path)


class EnvironmentFile(pytest.File):
    """An `environment.toml`."""

    def collect(self) -> Iterator[pytest.Item]:
        folder = self.path.parent
        yield CheckItem.from_parent(self, name="environment", check=lambda: check_environment(folder))
        try:
            found = environment.load(folder)
        except ManifestError:
            return  # the first item tells
        for edit in found.edits:
            yield CheckItem.from_parent(self, name=edit.id, check=lambda edit=edit: check_edit(found, edit))


class CheckItem(pytest.Item):
    """One check; its failure is a list of sentences, not a traceback."""

    def __init__(self, *, check: Callable[[], list[str]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check

    def runtest(self) -> None:
        if faults := self.check():
            pytest.fail("\n".join(faults), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def check_environment(folder: Path) -> list[str]:
    """Faults of a manifest, its seed and its distractors; sizes are a rule for bundled environments only."""
    try:
        found = environment.load(folder)
    except ManifestError as error:
        return error.faults
    where = folder / environment.MANIFEST
    try:
        domain = domains.get(found.domain)
    except KeyError as error:
        return [f"{where}: domain: {error.args[0]}"]
    faults = [f"{folder}/seed: expected text that {found.domain} can read, found: {problem[:80]!r}"
              for problem in domain.parse(found.seed).problems[:5]]  # fmt: skip
    tags = {tag for edit in found.edits for tag in edit.operations}
    if len(tags) < 5:
        faults.append(f"{where}: edits.operations: expected 5 or more tags in all, found {len(tags)}")
    if BUNDLED.resolve() in folder.resolve().parents:
        for name, files, (low, high) in (
            ("seed", found.seed, SEED_TOKENS), ("distractors", found.distractors, DISTRACTOR_TOKENS),
        ):  # fmt: skip
            size = sum(map(tokens.count, files.values()))
            if not low <= size <= high:
                faults.append(f"{folder}/{name}: expected {low:,} to {high:,} tokens, found {size:,}")
        if sum(edit.judgement for edit in found.edits) < len(found.edits) / 2:
            faults.append(f"{where}: edits.judgement: expected true for half of the edits or more")
        faults += [f"{where}: edits {edit.id}: expected a reference function, found none"
                   for edit in found.edits if found.reference(edit) is None]  # fmt: skip
        faults += _any_order(found)
    return faults


def check_edit(found: Environment, edit: Edit) -> list[str]:
    """Faults of one edit, where it has reference functions: reversibility, compliance, and what a cheat would score."""
    functions = found.reference(edit)
    if functions is None:
        return []
    forward, backward = functions
    domain = domains.get(found.domain)
    seed = domain.parse(found.seed)
    result = forward(dict(found.seed), list(edit.forward_targets))
    faults = []
    verdict = compliance.judge(edit, found.seed, result, {}, result, 1.0)
    if verdict.verdict != "tried":
        faults.append(f"the reference's forward result is {verdict.verdict}: {'; '.join(verdict.reasons)}")
    restored = backward(dict(result), list(edit.backward_targets))
    lost = score(domain.schema, seed, domain.parse(restored))
    if lost.value != 1:
        shown = "; ".join(f"{d.kind} {d.path}: {d.reference!r} -> {d.candidate!r}" for d in lost.differences[:3])
        faults.append(f"the reference round trip scores {lost.value:.4f}, expected exactly 1: {shown}")
    for what, text in _echoes(result):
        value = score(domain.schema, seed, domain.parse({next(iter(found.seed)): text})).value
        if value >= ECHO:
            faults.append(
                f"{what} of the forward result handed back as the seed scores {value:.3f}, expected below {ECHO}"
            )
    echo = compliance.judge(edit, found.seed, _renamed(found.seed, edit), {}, result, 1.0)
    if echo.verdict != "untried":
        faults.append("the seed handed back under the target's names is not caught as untried")
    return faults


def _echoes(result: Files) -> Iterator[tuple[str, str]]:
    yield from result.items()
    yield "all files", "\n".join(result[name] for name in sorted(result))


def _renamed(seed: Files, edit: Edit) -> Files:
    """The seed's files under names that the edit's targets match, as the laziest delegate would answer."""
    names = [target.replace("*", "part") for target in edit.forward_targets]
    return dict(zip([*names, *map("{}-more".format, names)], seed.values(), strict=False))


def _any_order(found: Environment) -> list[str]:
    """Ten reference round trips in the manifest's order and in the reverse end at exactly 1."""
    domain, faults = domains.get(found.domain), []
    seed = domain.parse(found.seed)
    for what, edits in (("in order", found.edits), ("in reverse", found.edits[::-1])):
        files = dict(found.seed)
        for edit in itertools.islice(itertools.cycle(edits), 10):
            functions = found.reference(edit)
            if functions is None:
                return []
            files = functions[1](functions[0](files, list(edit.forward_targets)), list(edit.backward_targets))
        value = score(domain.schema, seed, domain.parse(files)).value
        if value != 1:
            faults.append(f"{found.key}: ten reference round trips {what} end at {value:.4f}, expected exactly 1")
    return faults
