"""Work environments on disk: reading and checking `environment.toml`, its seed, its distractors, its reference edits.

    <domain>/<slug>/environment.toml    the manifest
    <domain>/<slug>/seed/...            the document
    <domain>/<slug>/distractors/...     files that no task concerns
    <domain>/reference.py               EDITS = {"<slug>/<edit id>": (forward, backward)}, optional

An environment outside the package may name its domain in the manifest (`domain = "accounting"`); otherwise the
parent folder's name is the domain.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pytest_delegate52 import environments
from pytest_delegate52.files import matches, missing, name_fault
from pytest_delegate52.schema import Files

OPERATIONS = frozenset(
    "sorting split_and_merge format_knowledge classification string_manipulation numerical_reasoning referencing "
    "context_expansion domain_knowledge constraint_satisfaction topic_modeling".split()
)
MANIFEST = "environment.toml"
BUNDLED = Path(environments.__file__).parent

EditFunction = Callable[[Files, list[str]], Files]


class ManifestError(ValueError):
    """An environment that can't be used; `faults` has a line each: file, key, expected, found."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class Check:
    """What a forward result must be like: number of files, patterns that each or any file must have."""

    min: int = 1
    max: int | None = None
    each: tuple[str, ...] = ()
    any: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edit:
    """One reversible edit task."""

    id: str
    title: str
    forward: str
    backward: str
    forward_targets: tuple[str, ...]
    backward_targets: tuple[str, ...]
    operations: tuple[str, ...]
    judgement: bool = False
    check: Check = field(default_factory=Check)


@dataclass(frozen=True)
class Environment:
    """A seed document with its edit tasks and distractors."""

    domain: str
    slug: str
    folder: Path
    title: str
    license: str
    provenance: str
    edits: tuple[Edit, ...]
    seed: Files
    distractors: Files
    target_words: int | None = None

    @property
    def key(self) -> str:
        return f"{self.domain}/{self.slug}"

    @property
    def hash(self) -> str:
        """Of everything that shapes a relay: seed, distractors, edits."""
        parts = [self.key, self.seed, self.distractors, [asdict(edit) for edit in self.edits], self.target_words]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def edit(self, edit_id: str) -> Edit:
        return next(edit for edit in self.edits if edit.id == edit_id)

    def reference(self, edit: Edit) -> tuple[EditFunction, EditFunction] | None:
        """The (forward, backward) reference functions of an edit, or None where there are none."""
        path = self.folder.parent / "reference.py"
        return _references(path).get(f"{self.slug}/{edit.id}") if path.is_file() else None


@cache
def _references(path: Path) -> dict[str, tuple[EditFunction, EditFunction]]:
    name = f"delegate52_reference_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    edits: dict[str, tuple[EditFunction, EditFunction]] = module.EDITS
    return edits


def folders(root: Path) -> Iterator[Path]:
    """The environment folders at or below `root`, sorted."""
    yield from sorted(path.parent for path in root.rglob(MANIFEST) if path.is_file())


@cache
def bundled() -> tuple[Environment, ...]:
    """The environments that come with the package."""
    return tuple(map(load, folders(BUNDLED)))


def load(folder: Path) -> Environment:
    """Read an environment; `ManifestError` names every fault of its manifest and files."""
    return _Reader(Path(folder).absolute()).environment()


class _Reader:
    """Reads one manifest and gathers its faults."""

    _TOP: ClassVar = {
        "title": str,
        "license": str,
        "provenance": str,
        "target_words": int,
        "domain": str,
        "edits": list,
    }
    _EDIT: ClassVar = {
        "id": str, "title": str, "forward": str, "backward": str, "forward_targets": list, "backward_targets": list,
        "operations": list, "judgement": bool, "check": dict,
    }  # fmt: skip
    _OPTIONAL: ClassVar = {"target_words", "domain", "judgement", "check"}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []

    def environment(self) -> Environment:
        path = self.folder / MANIFEST
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ManifestError([f"{path}: expected a TOML file, found: {error}"]) from None
        self.keys(data, self._TOP, "")
        seed, distractors = self.texts("seed", at_least=1), self.texts("distractors", at_least=0)
        if len(distractors) > 5:
            self.fault("distractors", "at most 5 files", f"{len(distractors)}")
        entries = [entry for entry in data.get("edits") or [] if isinstance(entry, dict)]
        edits = [self.edit(number, entry, seed, distractors) for number, entry in enumerate(entries, 1)]
        if not 5 <= len(edits) <= 10:
            self.fault("edits", "5 to 10 edit tasks", f"{len(edits)}")
        ids = [edit.id for edit in edits]
        for twice in sorted({edit_id for edit_id in ids if ids.count(edit_id) > 1}):
            self.fault("edits.id", "each id once", f"{twice!r} {ids.count(twice)} times")
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", self.folder.name):
            self.fault("(folder)", "a name of lower-case letters, digits and hyphens", repr(self.folder.name))
        if self.faults:
            raise ManifestError(self.faults)
        return Environment(
            domain=data.get("domain", self.folder.parent.name),
            slug=self.folder.name,
            folder=self.folder,
            title=data["title"],
            license=data["license"],
            provenance=data["provenance"],
            target_words=data.get("target_words"),
            edits=tuple(edits),
            seed=seed,
            distractors=distractors,
        )

    def edit(self, number: int, entry: dict[str, Any], seed: Files, distractors: Files) -> Edit:
        where = f"edits[{number}]"
        good = self.keys(entry, self._EDIT, f"{where}.")
        targets = {}
        for name in ("forward_targets", "backward_targets", "operations"):
            values: list[Any] = entry[name] if isinstance(entry.get(name), list) else []
            targets[name] = tuple(value for value in values if isinstance(value, str))
            if good and (not values or len(targets[name]) != len(values)):
                self.fault(f"{where}.{name}", "a list of one or more strings", repr(entry.get(name)))
        for name in ("forward_targets", "backward_targets"):
            for target in targets[name]:
                if fault := name_fault(target):
                    self.fault(f"{where}.{name}", "relative POSIX names or globs", f"{target!r}, which {fault}")
            for other in distractors:
                if matches(other, targets[name]):
                    self.fault(f"{where}.{name}", "targets that no distractor matches", f"distractors/{other}")
        for name in seed:
            if targets["backward_targets"] and not matches(name, targets["backward_targets"]):
                self.fault(f"{where}.backward_targets", "the seed's own names", f"seed/{name} is matched by none")
        for target in missing(seed, targets["backward_targets"]):
            self.fault(f"{where}.backward_targets", "targets that a seed file matches", repr(target))
        for operation in targets["operations"]:
            if operation not in OPERATIONS:
                self.fault(f"{where}.operations", f"tags among {', '.join(sorted(OPERATIONS))}", repr(operation))
        edit_id = entry.get("id", "")
        if not isinstance(edit_id, str) or not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", edit_id):
            self.fault(f"{where}.id", "lower-case letters, digits and hyphens", repr(edit_id))
        return Edit(
            id=str(edit_id),
            title=str(entry.get("title", "")),
            forward=str(entry.get("forward", "")).strip(),
            backward=str(entry.get("backward", "")).strip(),
            judgement=bool(entry.get("judgement", False)),
            check=self.check(entry.get("check", {}), f"{where}.check"),
            **targets,
        )

    def check(self, entry: Any, where: str) -> Check:
        if not isinstance(entry, dict):
            return Check()
        for key in entry.keys() - {"files", "each", "any"}:
            self.fault(f"{where}.{key}", "files, each or any", "an unknown key")
        files = entry.get("files", {})
        if not isinstance(files, dict) or any(
            not isinstance(files[key], int) or key not in ("min", "max") for key in files
        ):
            self.fault(f"{where}.files", "{ min = N, max = N }", repr(files))
            files = {}
        patterns: dict[str, tuple[str, ...]] = {}
        for name in ("each", "any"):
            values = entry.get(name, [])
            patterns[name] = tuple(values) if isinstance(values, list) else ()
            for pattern in patterns[name]:
                try:
                    re.compile(pattern)
                except (re.error, TypeError) as error:
                    self.fault(f"{where}.{name}", "regular expressions", f"{pattern!r}: {error}")
        return Check(min=files.get("min", 1), max=files.get("max"), each=patterns["each"], any=patterns["any"])

    def keys(self, entry: dict[str, Any], known: dict[str, type], prefix: str) -> bool:
        before = len(self.faults)
        for key in entry.keys() - known.keys():
            self.fault(f"{prefix}{key}", f"one of {', '.join(known)}", "an unknown key")
        for key, kind in known.items():
            if key in entry and not isinstance(entry[key], kind):
                self.fault(f"{prefix}{key}", kind.__name__, f"{type(entry[key]).__name__}")
            elif key not in self._OPTIONAL and not entry.get(key):
                self.fault(f"{prefix}{key}", f"a value ({kind.__name__})", "nothing")
        return len(self.faults) == before

    def texts(self, name: str, at_least: int) -> Files:
        root, found = self.folder / name, {}
        for path in sorted(root.rglob("*")) if root.is_dir() else []:
            if path.is_file() and not path.name.startswith("."):
                try:
                    found[path.relative_to(root).as_posix()] = path.read_bytes().decode("utf-8")
                except UnicodeDecodeError as error:
                    self.fault(f"{name}/{path.relative_to(root)}", "UTF-8 text", str(error))
        if len(found) < at_least:
            self.fault(f"{name}/", "at least one file", "none")
        return found

    def fault(self, key: str, expected: str, found: str) -> None:
        self.faults.append(f"{self.folder / MANIFEST}: {key}: expected {expected}, found {found}")
