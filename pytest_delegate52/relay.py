"""A relay: round trips in a row on one environment, each starting from what the last one left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pytest_delegate52 import compliance, domains
from pytest_delegate52.environment import Edit, Environment
from pytest_delegate52.harness import Edited, Folder, Harness
from pytest_delegate52.models import Completion, Model, ModelError, Request
from pytest_delegate52.records import Event, Record, RunFolder
from pytest_delegate52.schema import Document
from pytest_delegate52.scoring import Score, score
from pytest_delegate52.settings import Settings, rng

T = TypeVar("T")
CRITICAL = 0.10 - 1e-9  # a round trip that loses this much is a critical failure
MOST_DIFFERENCES = 200  # kept in the record, the dearest first
ROOM = 64  # tokens that must be left for an answer


def sequence(environment: Environment, settings: Settings, repeat: int) -> list[Edit]:
    """The edits of a relay: blocks, each a permutation of all edits; shorter relays are prefixes of longer ones.

    Hangs on the seed, the environment and the repeat only: every model gets the same. Where a block would open with the
    edit just done, its first two change places.
    """
    edits: list[Edit] = []
    block = 0
    while len(edits) < settings.round_trips:
        order = list(environment.edits)
        rng(settings.seed, environment.key, repeat, "sequence", block).shuffle(order)
        if edits and order[0] == edits[-1] and len(order) > 1:
            order[0], order[1] = order[1], order[0]
        edits += order
        block += 1
    return edits[: settings.round_trips]


@dataclass(frozen=True)
class Context:
    """What advancing needs beside the relay: the record to write, the one to go on from, threads, a gate for calls."""

    run: RunFolder
    record: Record
    workers: Executor
    gate: asyncio.Semaphore

    async def off_loop(self, function: Callable[..., T], *args: Any) -> T:
        """Run CPU-bound work in a thread, so that the loop goes on with other relays' calls."""
        return await asyncio.get_running_loop().run_in_executor(self.workers, function, *args)


@dataclass(frozen=True)
class RoundTrip:
    """What one round trip came to: `before` and `value` are RS before and after it.

    `failure`: the model gave no usable answer. `untried`: why its forward step counts as not tried. `error`: broken
    infrastructure, so no score at all. `differences`: those that this round trip made; their losses add up to `lost`.
    """

    number: int
    edit: str
    before: float
    value: float
    failure: str | None = None
    untried: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None
    not_applicable: str | None = None
    seconds: float = 0.0

    @property
    def lost(self) -> float:
        return max(0.0, self.before - self.value)

    def failed(self, threshold: float) -> bool:
        """Whether its item fails: it lost content and the relay is below the threshold, untried, or no answer."""
        return (self.lost > 0 and self.value < threshold) or bool(self.untried) or self.failure is not None


class Relay:
    """One environment, one model, one harness, one prompt, one repeat: the state and the way to the next round trip."""

    def __init__(
        self,
        environment: Environment,
        model: Model,
        harness: Harness,
        settings: Settings,
        edits: Sequence[Edit],
        repeat: int = 1,
        only: str | None = None,
    ) -> None:
        self.environment = environment
        self.model = model
        self.harness = harness
        self.settings = settings
        self.edits = list(edits)
        self.repeat = repeat
        self.only = only
        self.id = relay_id(environment, model.name, settings, repeat, only)
        self.domain = domains.get(environment.domain)
        self.trips: list[RoundTrip] = []
        self._folder = Folder(dict(environment.seed), {}, environment.distractors if settings.distractors else {})
        self._seed: Document | None = None

    @property
    def identity(self) -> Event:
        """What tells this relay from every other, for its events."""
        return {
            "relay": self.id,
            "model": self.model.name,
            "harness": self.harness.name,
            "prompt": self.settings.prompt,
            "environment": self.environment.key,
            "environment_hash": self.environment.hash,
            "repeat": self.repeat,
        }

    @property
    def critical(self) -> int:
        """Critical failures so far."""
        return sum(trip.lost >= CRITICAL for trip in self.trips)

    async def advance(self, context: Context) -> RoundTrip:
        """Carry out the next round trip; answers that the record already holds are not asked for again."""
        number = len(self.trips) + 1
        edit = self.edits[number - 1]
        last = self.trips[-1] if self.trips else RoundTrip(0, "", 1.0, 1.0)
        fresh = RoundTrip(number, edit.id, last.value, last.value)
        if last.error or last.not_applicable:
            trip = replace(fresh, error=last.error, not_applicable=last.not_applicable)
        elif last.failure:  # the relay has ended
            self._note_ended(context, 2 * number - 1, edit, lost=0.0)
            trip = replace(fresh, failure=last.failure)
        else:
            trip = await self._round_trip(context, fresh, edit)
        self.trips.append(trip)
        return trip

    async def _round_trip(self, context: Context, fresh: RoundTrip, edit: Edit) -> RoundTrip:
        entered, seconds, notes = self._folder.document, 0.0, []
        verdict = compliance.Verdict("undetermined")
        for step, direction in enumerate(("forward", "backward")):
            k = 2 * fresh.number - 1 + step
            event = self._event(k, edit, direction)
            try:
                completion = await self._complete(context, event)
            except ModelError as error:
                context.run.append({**event, "event": "error", "error": str(error)})
                return replace(fresh, error=f"round trip {fresh.number}, {direction}: {error}")
            except _TooLarge as error:
                context.run.append({**event, "event": "not-applicable", "reason": str(error)})
                return replace(fresh, not_applicable=str(error))
            edited = await context.off_loop(self.harness.read, self._folder, _targets(edit, direction), completion)
            seconds += completion.seconds
            notes += [f"{direction}: {note}" for note in edited.notes]
            if edited.failure:
                if direction == "forward":
                    self._note(context, event, edited)
                    self._note_ended(context, k + 1, edit, lost=fresh.before)
                else:
                    self._note(context, event, edited, score=0.0, lost=fresh.before)
                failure = f"round trip {fresh.number}, {direction}: {edited.failure}"
                return replace(fresh, value=0.0, failure=failure, notes=notes, seconds=seconds)
            if direction == "forward":
                verdict = await context.off_loop(self._judge, edit, edited, fresh.before)
                self._note(context, event, edited, compliance=verdict.to_json())
            self._folder = Folder(edited.document, edited.clutter, self._folder.distractors)
        found = await context.off_loop(self._score)
        self._note(context, event, edited, **_scored(found), lost=max(0.0, fresh.before - found.value))
        trip = replace(fresh, value=found.value, untried=verdict.reasons, notes=notes, seconds=seconds)
        return replace(trip, differences=await context.off_loop(self._made, entered, trip.lost)) if trip.lost else trip

    async def _complete(self, context: Context, event: Event) -> Completion:
        """The answer to one instruction, from the record or from the model; on disk before anyone reads it."""
        k, direction, edit = event["k"], event["direction"], self.environment.edit(event["edit"])
        if known := context.record.answers.get((self.id, k)):
            return Completion(**{name: known[name] for name in _COMPLETION})
        targets = _targets(edit, direction)
        shuffle = rng(self.settings.seed, self.environment.key, self.repeat, "shuffle", k)
        instruction = edit.forward if direction == "forward" else edit.backward
        prompt = self.harness.prompt(self._folder, instruction, targets, shuffle)
        before = {**self._folder.document, **self._folder.clutter}
        request = Request(
            prompt=prompt, files=before, targets=targets, environment=self.environment, edit=edit, direction=direction,
            k=k, repeat=self.repeat,
            seed=rng(self.settings.seed, self.environment.key, self.repeat, "sampling", k).getrandbits(31),
        )  # fmt: skip
        if said := await context.off_loop(self._too_large, prompt):
            if k == 1:
                raise _TooLarge(said)
            completion = Completion(said, finish="window", cost=0.0)
        else:
            async with context.gate:
                completion = await self.harness.edit(request, self.model)
        given = context.run.store(before)
        context.run.append({**event, "event": "answer", "targets": list(targets), "given": given, **asdict(completion)})
        return completion

    def _too_large(self, prompt: str) -> str | None:
        window = self.model.window
        if window is None or (needed := self.model.count(prompt) + ROOM) <= window:
            return None
        return f"the prompt needs about {needed:,} tokens, the context window of {self.model.name} holds {window:,}"

    def _judge(self, edit: Edit, edited: Edited, before: float) -> compliance.Verdict:
        functions, given = self.environment.reference(edit), self._folder.document
        expected = functions[0](dict(given), list(edit.forward_targets)) if functions else None
        return compliance.judge(edit, given, edited.document, edited.clutter, expected, before)

    def _score(self) -> Score:
        if self._seed is None:
            self._seed = self.domain.parse(self.environment.seed)
        return score(self.domain.schema, self._seed, self.domain.parse(self._folder.document))

    def _made(self, entered: dict[str, str], lost: float) -> list[dict[str, Any]]:
        """The differences between the document that entered this round trip and the one that left it."""
        made = score(self.domain.schema, self.domain.parse(entered), self.domain.parse(self._folder.document))
        total = sum(difference.loss for difference in made.differences) or 1.0
        return [{**d._asdict(), "loss": d.loss / total * lost} for d in made.differences[:MOST_DIFFERENCES]]

    def _note(self, context: Context, event: Event, edited: Edited, **more: Any) -> None:
        files, clutter = context.run.store(edited.document), context.run.store(edited.clutter)
        outcome = "failed" if edited.failure else "done"
        context.run.append({
            **event, "event": "result", "files": files, "clutter": clutter, "notes": edited.notes,
            "failure": edited.failure, "outcome": outcome, **more,
        })  # fmt: skip

    def _note_ended(self, context: Context, k: int, edit: Edit, lost: float) -> None:
        """Note that a step was not made, because the relay has ended; its round trip scores 0."""
        steps = [(k, "forward"), (k + 1, "backward")] if k % 2 else [(k, "backward")]
        for at, direction in steps:
            scored = {"score": 0.0, "lost": lost} if direction == "backward" else {}
            context.run.append({
                **self._event(at, edit, direction), "event": "result", "files": {}, "clutter": {}, "notes": [],
                "failure": None, "outcome": "ended", **scored,
            })  # fmt: skip

    def _event(self, k: int, edit: Edit, direction: str) -> Event:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return {**self.identity, "k": k, "edit": edit.id, "direction": direction, "at": now}


class _TooLarge(Exception):
    """The first prompt does not fit the model's context window."""


_COMPLETION = ("text", "finish", "prompt_tokens", "completion_tokens", "cost", "seconds", "truth")


def _targets(edit: Edit, direction: str) -> tuple[str, ...]:
    return edit.forward_targets if direction == "forward" else edit.backward_targets


def _scored(found: Score) -> Event:
    return {
        "score": found.value,
        "components": found.components,
        "counts": found.counts,
        "differences": [each._asdict() for each in found.differences[:MOST_DIFFERENCES]],
        "problems": found.problems,
    }


def relay_id(environment: Environment, model: str, settings: Settings, repeat: int, only: str | None = None) -> str:
    """`domain/slug::model`, then harness, prompt and repeat where they are not the default; `only`: isolated mode."""
    name = model
    if settings.harness != "direct":
        name += f",{settings.harness}"
    if settings.prompt != "plain":
        name += f",{settings.prompt.rsplit('/', 1)[-1]}"
    if repeat != 1:
        name += f",repeat-{repeat}"
    return f"{environment.key}::{name}" + (f"[{only}]" if only else "")


def trip_id(relay: str, number: int, edit: str, isolated: bool) -> str:
    """The id of one round trip of a relay, as pytest prints it."""
    return relay if isolated else f"{relay}[{number:02d}-{edit}]"
