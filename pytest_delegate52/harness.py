"""How a model is let at the files: one method, files, instruction and targets in, an `Edited` out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pytest_delegate52 import prompts
from pytest_delegate52.files import Answer, is_glob, matches, missing, read_answer
from pytest_delegate52.models import Completion, Model, Request
from pytest_delegate52.schema import Files


@dataclass(frozen=True)
class Folder:
    """What lies before the model: the document, clutter that earlier answers left, distractors."""

    document: Files
    clutter: Files = field(default_factory=dict)
    distractors: Files = field(default_factory=dict)


@dataclass(frozen=True)
class Edited:
    """An answer sorted out: the document, clutter, and what is to be said about it.

    `failure` is why there is no usable file (refused, truncated, empty, malformed, window), or None.
    """

    document: Files
    clutter: Files
    notes: list[str]
    failure: str | None = None


class Harness(Protocol):
    """A way to work on files. `edit` makes the call; `read` sorts an answer out and calls nothing."""

    name: str

    def prompt(self, folder: Folder, instruction: str, targets: tuple[str, ...], shuffle: random.Random) -> str: ...

    async def edit(self, request: Request, model: Model) -> Completion: ...

    def read(self, folder: Folder, targets: tuple[str, ...], completion: Completion) -> Edited: ...


class Direct:
    """The model prints whole files."""

    name = "direct"

    def __init__(self, template: str) -> None:
        self.template = template

    def prompt(self, folder: Folder, instruction: str, targets: tuple[str, ...], shuffle: random.Random) -> str:
        names = sorted({**folder.distractors, **folder.clutter, **folder.document})
        shuffle.shuffle(names)
        everything = {**folder.distractors, **folder.clutter, **folder.document}
        return prompts.fill(self.template, {name: everything[name] for name in names}, instruction, targets)

    async def edit(self, request: Request, model: Model) -> Completion:
        return await model.complete(request)

    def read(self, folder: Folder, targets: tuple[str, ...], completion: Completion) -> Edited:
        return sort_out(read_answer(completion.text, targets), folder, targets, completion)


HARNESSES: dict[str, Callable[[str], Harness]] = {"direct": Direct}


def sort_out(answer: Answer, folder: Folder, targets: tuple[str, ...], completion: Completion) -> Edited:
    """Tell the document from clutter and from distractors that were handed back."""
    notes = [f"malformed: {fault}" for fault in answer.faults]
    document = {name: text for name, text in answer.files.items() if matches(name, targets)}
    others: Files = {}
    for name, text in answer.files.items():
        if name in document:
            continue
        if name in folder.distractors:
            if text.split() != folder.distractors[name].split():
                notes.append(f"altered distractor: {name}")
        else:
            others[name] = text
    if not document and len(targets) == 1 and not is_glob(targets[0]):
        given = [*others.items(), *(("(no name)", text) for text in answer.unnamed)]
        if len(given) == 1:  # one file wanted, one file given
            name, text = given[0]
            notes.append(f"misnamed: {name} for {targets[0]}")
            document, others = {targets[0]: text}, {}
    elif answer.unnamed:
        notes.append(f"malformed: {len(answer.unnamed)} blocks without a file name")
    if completion.finish == "length":
        notes.append("truncated: the answer was cut by the token limit")
    if document:
        lacking = missing(document, targets)
        notes += [f"incomplete: {target} is missing" for target in lacking]
        return Edited(document, others, notes)
    return Edited({}, others, notes, _failure(answer, completion))


def _failure(answer: Answer, completion: Completion) -> str:
    if completion.finish in ("refusal", "content_filter"):
        return "refused: " + " ".join(completion.text.split())[:200]
    if completion.finish == "window":
        return f"the folder has outgrown the model's context window: {completion.text}"
    if completion.finish == "length":
        return "truncated: the answer was cut by the token limit before any usable file"
    if not completion.text.strip():
        return "empty answer"
    return "malformed: the answer holds no usable file: " + repr(" ".join(completion.text.split())[:120])
