"""Models that need no model: the perfect delegate, the perfect delegate with known faults, and the laziest cheat."""

from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import dataclass
from typing import Any

from pytest_delegate52 import domains, tokens
from pytest_delegate52.files import fenced, is_glob
from pytest_delegate52.models import Completion, Model, ModelError, Request, UnusableModel
from pytest_delegate52.mutants import another, changed_value
from pytest_delegate52.schema import Document, Files, Record, Tree, absent
from pytest_delegate52.settings import rng


def create(name: str, base: str, options: dict[str, str]) -> Model:
    if base == "noop" and not options:
        return Noop()
    if base == "noop" or options.keys() - {"fault_rate", "seed"}:
        known = "no options" if base == "noop" else "the options fault_rate and seed"
        raise UnusableModel(f"model {name!r}: {base!r} takes {known}, e.g. 'reference?fault_rate=0.1&seed=7'")
    try:
        rate, seed = float(options.get("fault_rate", 0)), int(options.get("seed", 0))
    except ValueError as error:
        raise UnusableModel(f"model {name!r}: {error}") from None
    if not 0 <= rate <= 1:
        raise UnusableModel(f"model {name!r}: fault_rate is a probability in [0, 1]")
    return Reference(name=name, fault_rate=rate, fault_seed=seed)


@dataclass
class _Builtin:
    name: str = ""
    window: int | None = None
    small: bool = False

    def check(self) -> None:
        pass

    def count(self, text: str) -> int:
        return tokens.count(text)

    def answer(self, request: Request) -> tuple[Files, list[dict[str, Any]]]:
        raise NotImplementedError

    async def complete(self, request: Request) -> Completion:
        # The functions are CPU-bound: off the loop, so that calls in flight elsewhere go on.
        files, truth = await asyncio.to_thread(self.answer, request)
        text = "\n".join(fenced(name, body) for name, body in files.items())
        return Completion(text=text, cost=0.0, truth=truth)


@dataclass
class Noop(_Builtin):
    """Returns its input renamed to the target names."""

    name: str = "noop"

    def answer(self, request: Request) -> tuple[Files, list[dict[str, Any]]]:
        targets = list(request.targets)
        renamed = {}
        for index, body in enumerate(request.files.values()):
            target = targets[min(index, len(targets) - 1)]
            if is_glob(target) or target in renamed:
                target = target.replace("**", "*").replace("*", f"part{index + 1}").replace("?", "x")
            renamed[target] = body
        return renamed, []


@dataclass
class Reference(_Builtin):
    """Carries out each edit with the environment's reference functions.

    With a `fault_rate`, each record of a backward answer suffers, with that probability, one fault of known kind:
    lost, changed, invented (doubled with a change), swapped with its neighbour, or truncation (the records from there
    on are lost). What was done goes into the completion's `truth`.
    """

    fault_rate: float = 0.0
    fault_seed: int = 0

    def answer(self, request: Request) -> tuple[Files, list[dict[str, Any]]]:
        functions = request.environment.reference(request.edit)
        if functions is None:
            raise ModelError(f"{request.environment.key} has no reference functions for the edit {request.edit.id!r}")
        function = functions[0 if request.direction == "forward" else 1]
        files = function(dict(request.files), list(request.targets))
        if not self.fault_rate or request.direction == "forward":
            return files, []
        domain = domains.get(request.environment.domain)
        source = rng(self.fault_seed, "faults", request.environment.key, request.repeat, request.k)
        faulty, truth = inject(domain, domain.parse(files), self.fault_rate, source)
        return (emit_as(domain, faulty, list(files)), truth) if truth else (files, truth)


FAULTS = {"lost": 0.35, "changed": 0.35, "invented": 0.15, "swapped": 0.12, "truncated": 0.03}


def inject(
    domain: domains.Domain, document: Document, rate: float, source: random.Random
) -> tuple[Document, list[dict[str, Any]]]:
    """A copy of `document` with faults, and the list of them: kind, collection, the record's title."""
    hurt, truth = copy.deepcopy(document), []
    for name, records in hurt.collections.items():
        schema = domain.schema.collections[name]
        kept: list[Record] = []
        for index, record in enumerate(records):
            # Drawn for every record, faulty or not, so that one rate's faults are a subset of a higher rate's.
            chance, kind = source.random(), source.choices(list(FAULTS), list(FAULTS.values()))[0]
            inner = random.Random(source.random())
            if chance >= rate:
                kept.append(record)
                continue
            if kind == "swapped" and (not schema.ordered or not kept):
                kind = "changed"
            if kind == "truncated" and index < len(records) * 0.8:
                kind = "lost"
            fault: dict[str, Any] = {"kind": kind, "collection": name, "record": schema.title(record)}
            truth.append(fault)
            if kind == "truncated":
                fault["records"] = len(records) - index
                break
            if kind == "changed":
                kept.append(_changed(schema, record, inner))
            elif kind == "swapped":
                kept.insert(len(kept) - 1, record)
            elif kind == "invented":
                kept += [record, _changed(schema, record, inner, double=True)]
        hurt.collections[name] = kept
    return hurt, truth


def _changed(schema: Any, record: Record, source: random.Random, double: bool = False) -> Record:
    """The record with one field changed; `double`: as a second record, so at a leaf of its own in a tree."""
    copied = copy.deepcopy(record)
    if isinstance(schema, Tree) and double:
        path = record[schema.path] or ("",)
        copied[schema.path] = (*path[:-1], another(path[-1]))
        return copied
    keys = [key for key in schema.fields if not absent(record.get(key)) and key != getattr(schema, "path", None)]
    if keys:
        key = source.choice(keys)
        copied[key] = changed_value(schema.fields[key], record[key], source)
    return copied


def emit_as(domain: domains.Domain, document: Document, names: list[str]) -> Files:
    """The document as text, under the names it had where `emit` can't know them."""
    files = domain.emit(document)
    if set(files) <= set(names):
        return files
    if len(files) == len(names):
        return dict(zip(sorted(names), (files[name] for name in sorted(files)), strict=True))
    return {names[0]: "\n".join(files.values())} if len(names) == 1 else files
