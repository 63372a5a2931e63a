"""Documents as text: file names that are safe to use, fenced blocks for prompts, and reading a model's answer.

A name that comes from a model is data. `name_fault` decides whether it may name a file; nothing else in the project
hands such a name to a file system.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from pytest_delegate52.schema import Files

MOST_FILES = 200
MOST_CHARACTERS = 5_000_000


def name_fault(name: str) -> str | None:
    """What is wrong with a relative POSIX file name, or None."""
    if not name or len(name) > 200:
        return "is empty or longer than 200 characters"
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in name):
        return "has control characters"
    if "\\" in name or name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "is not a relative POSIX name"
    if any(part in ("", ".", "..") or part != part.strip() for part in name.split("/")):
        return "climbs out of its folder or has an empty part"
    return None


def matches(name: str, targets: Iterable[str]) -> bool:
    """Whether `name` is one of `targets`: names or globs, where `*` does not cross a `/`."""
    parts = name.split("/")
    return any(
        len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))
        for wanted in (target.split("/") for target in targets)
    )


def is_glob(target: str) -> bool:
    return any(character in target for character in "*?[")


def missing(names: Iterable[str], targets: Iterable[str]) -> list[str]:
    """The targets that no name matches."""
    names = list(names)
    return [target for target in targets if not any(matches(name, [target]) for name in names)]


def fenced(name: str, text: str) -> str:
    """`text` as a block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{name}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"


@dataclass(frozen=True)
class Answer:
    """The files found in an answer, and why any were left out (`faults`, one sentence each)."""

    files: Files
    faults: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\r\n`]*?)[ \t]*\r?$")
_OPEN_TAG = re.compile(r"""^\s*<(?:file|document)\s+(?:name|path|filename)\s*=\s*["']?([^"'>]+)["']?\s*>\s*$""")
_CLOSE_TAG = re.compile(r"^\s*</(?:file|document)>\s*$")
_DECORATION = " \t\r*_`'\"#:<>()[]-=→"
_NAME = re.compile(r"^[^\s<>|:*?\"]+(?: [^\s<>|:*?\"]+)*$")


def read_answer(text: str, targets: Sequence[str]) -> Answer:
    """Find the files in a model's answer.

    Copes with the forms that models produce: the name in the fence line (alone, after a language tag, in angle
    brackets, as `name=`), on the line before the block or as its first line, tags instead of fences, a missing last
    fence, prose around the blocks, CRLF. Content is kept exactly, the final newline included.
    """
    if len(text) > MOST_CHARACTERS:
        return Answer({}, [f"the answer has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read"])
    found: list[tuple[str | None, str]] = []
    lines = text.split("\n")
    index, spoken = 0, ""  # `spoken`: the last line of prose before a block
    while index < len(lines):
        line = lines[index]
        fence, tag = _FENCE.match(line), _OPEN_TAG.match(line)
        index += 1
        if tag:
            end = next((i for i in range(index, len(lines)) if _CLOSE_TAG.match(lines[i])), len(lines))
            body, index = lines[index:end], end + 1
            if body and (inner := _FENCE.match(body[0])) and len(body) > 1 and _closes(body[-1], inner.group(1)):
                body = body[1:-1]
            found.append((tag.group(1).strip(), _join(body)))
        elif fence:
            body, index = _block(lines, index, fence.group(1), targets)
            name = _name_in(fence.group(2), targets, bare=False) or _name_in(spoken, targets, bare=True)
            if name is None and body and (first := _name_in(body[0], targets, bare=True)) and matches(first, targets):
                name, body = first, body[1:]
            found.append((name, _join(body)))
            spoken = ""
        elif line.strip():
            spoken = line
    return _sorted_out(found)


def _sorted_out(found: list[tuple[str | None, str]]) -> Answer:
    files: Files = {}
    faults: list[str] = []
    unnamed: list[str] = []
    folded: dict[str, str] = {}
    for name, body in found:
        if name is None:
            unnamed.append(body)
        elif fault := name_fault(name):
            faults.append(f"the name {name[:80]!r} {fault}")
        elif folded.setdefault(name.casefold(), name) != name:
            faults.append(f"the names {folded[name.casefold()]!r} and {name!r} differ only by case")
        elif len(files) >= MOST_FILES and name not in files:
            faults.append(f"more than {MOST_FILES} files")
            break
        else:
            if name in files and files[name] != body:
                faults.append(f"{name!r} was given twice; the last one counts")
            files[name] = body
    return Answer(files, faults, unnamed)


def _block(lines: list[str], start: int, fence: str, targets: Sequence[str]) -> tuple[list[str], int]:
    """The lines up to the closing fence, and the index after it. A fence that names a wanted file opens the next."""
    depth = 0
    for index in range(start, len(lines)):
        other = _FENCE.match(lines[index])
        if not other or other.group(1)[0] != fence[0] or len(other.group(1)) < len(fence):
            continue
        if other.group(2):
            name = _name_in(other.group(2), targets, bare=False)
            if name and matches(name, targets):
                return lines[start:index], index
            if len(other.group(1)) == len(fence):
                depth += 1
        elif depth and len(other.group(1)) == len(fence) and _closing_left(lines, index + 1, fence):
            depth -= 1
        else:
            return lines[start:index], index + 1
    return lines[start:], len(lines)


def _closing_left(lines: list[str], start: int, fence: str) -> bool:
    return any(_closes(line, fence) for line in lines[start : start + 5_000])


def _closes(line: str, fence: str) -> bool:
    other = _FENCE.match(line)
    return bool(other and other.group(1)[0] == fence[0] and len(other.group(1)) >= len(fence) and not other.group(2))


def _join(body: list[str]) -> str:
    return "\n".join(body) + "\n" if body and body[-1] else "\n".join(body)


def _name_in(text: str, targets: Sequence[str], *, bare: bool) -> str | None:
    """The file name in a fence's info string, or in a line of its own (`bare`); None where there is none."""
    text = text.strip()
    if not text or len(text) > 300:
        return None
    whole = _undecorated(text)
    if matches(whole, targets):
        return whole
    words = [_undecorated(re.sub(r"^(?:file|name|path|filename|title)\s*[=:]\s*", "", word)) for word in text.split()]
    wanted = [word for word in words if matches(word, targets)]
    if wanted:
        return wanted[-1]
    if bare and len(words) > 3:
        return None
    named = [word for word in words if "." in word.strip(".") or "/" in word]
    named = [word for word in named if _NAME.match(word) or name_fault(word)]
    return named[-1] if named else None


def _undecorated(text: str) -> str:
    text = text.strip(_DECORATION)
    return re.sub(r"^(?:file|filename|name|path)\s*[:=]\s*", "", text, flags=re.IGNORECASE).strip(_DECORATION)
