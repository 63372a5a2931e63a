"""JSON and YAML documents.

Follows RFC 8259 for JSON; comments, trailing commas, unquoted keys and JSON lines are read as well. What is no strict
JSON is read as YAML 1.2 by libyaml's parser: `yes` and `on` are strings, `<<` is an ordinary key, anchors and aliases
are a way of writing (expanded up to a limit), tags such as `!Ref` are meaning, a plain scalar or prose alone is no
document.

Records: `leaves`, every scalar, empty object and empty array with the way to it (the first step numbers the
documents), its type, its text or number, its tag; `comments` in order. The order of object members means nothing, that
of array elements does; 1 and 1.0 are one number, 1 and "1" are not; white space inside strings counts. A JSON and a
YAML file of the same tree are the same document. An earlier value of a key that is given twice is a problem, and so is
the rest of a file from a syntax error on.

Published formula: 0.3 key coverage + 0.7 value. Departure: comments, where there are any, take a tenth of the whole.
A strict JSON text of 50,000 tokens takes about 0.1 s to read; as YAML it takes about five times as long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

from pytest_delegate52 import unreadable
from pytest_delegate52.schema import (
    Document,
    Exact,
    Files,
    Number,
    Path,
    Record,
    Records,
    Schema,
    Text,
    Tree,
    Verbatim,
    squeeze,
    weighted,
)
from pytest_delegate52.unreadable import sound

DEEPEST = 200  # levels of nesting; deeper ones are a problem
MOST_LINES = 10_000  # documents in a file of JSON lines
EXPANDED = 20_000  # leaves that the aliases of one file may expand to
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,6})?")
_NULLS, _BOOLEANS = {"", "~", "null", "Null", "NULL"}, {"true", "True", "TRUE", "false", "False", "FALSE"}

Node = Any  # a dict, a list, or a leaf as a Record without its path


def parse(files: Files) -> Document:
    """Read every file as JSON where it is strict JSON, else as YAML."""
    roots: list[Node] = []
    comments: list[str] = []
    others, problems = unreadable.take(files)
    for text in others.values():
        try:
            found = _strict(text, problems)
        except (ValueError, RecursionError, ArithmeticError):
            found = _yaml(text, comments, problems)
        for root in found:
            (roots if _depth(root) <= DEEPEST else problems).append(root if _depth(root) <= DEEPEST else squeeze(text))
    leaves = [leaf for number, root in enumerate(roots) for leaf in _leaves((number,), root)]
    return Document({"leaves": leaves, "comments": [{"text": text} for text in comments]}, problems)


# -------------------------------------------------------------------------------------------------------------- JSON


def _strict(text: str, problems: list[str]) -> list[Node]:
    """The documents of a JSON text or of JSON lines; `ValueError` where it is neither."""
    twice: list[str] = []

    def members(pairs: list[tuple[str, Node]]) -> Node:
        found: dict[str, Node] = {}
        for key, value in pairs:
            key = sound(key)
            if key in found:
                twice.append(f"key given twice: {key}: {_shown(found[key])}")
            found[key] = value
        return found

    decoder = json.JSONDecoder(
        object_pairs_hook=members, parse_int=Decimal, parse_float=Decimal, parse_constant=Decimal, strict=False
    )
    try:
        found = [decoder.decode(text)]
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()]
        if not 2 <= len(lines) <= MOST_LINES or any(line.lstrip()[0] not in "{[" for line in lines):
            raise
        twice.clear()
        found = [decoder.decode(line) for line in lines]
    problems += twice
    return found


def _leaf(value: Any) -> Record:
    if isinstance(value, str):
        return {"type": "string", "text": sound(value)}
    if value is None or isinstance(value, bool):
        return {"type": {None: "null", True: "true", False: "false"}[value]}
    if isinstance(value, Decimal) and value.is_finite():
        return {"type": "number", "number": value}
    return {"type": "number", "text": str(value)}


def _shown(node: Node) -> str:
    """A value as one line of text, for a problem."""
    return squeeze(" ".join(f"{'.'.join(map(str, leaf['path']))}={_literal(leaf)}" for leaf in _leaves((), node)))


def _leaves(path: tuple[str | int, ...], node: Node) -> Iterator[Record]:
    """The leaves below a node, in document order; iterative, so that no nesting can exhaust the stack."""
    stack = [(path, node)]
    while stack:
        here, at = stack.pop()
        if isinstance(at, _Scalar):
            yield {"path": here, **at.leaf}
        elif isinstance(at, dict) and at:
            stack += reversed([((*here, key), child) for key, child in at.items()])
        elif isinstance(at, list) and at:
            stack += reversed([((*here, place), child) for place, child in enumerate(at)])
        elif isinstance(at, (dict, list)):
            yield {"path": here, "type": "object" if isinstance(at, dict) else "array"}
        else:
            yield {"path": here, **_leaf(at)}


def _depth(node: Node) -> int:
    """Levels of nesting, at most one more than DEEPEST."""
    level, deep = [node], 0
    while level and deep <= DEEPEST:
        deep += 1
        level = [
            child for at in level if isinstance(at, (dict, list))
            for child in (at.values() if isinstance(at, dict) else at) if isinstance(child, (dict, list))
        ]  # fmt: skip
    return deep


# -------------------------------------------------------------------------------------------------------------- YAML


class _Scalar:
    """A leaf that YAML gave a tag or a type of its own."""

    def __init__(self, leaf: Record) -> None:
        self.leaf = leaf


def _yaml(text: str, comments: list[str], problems: list[str]) -> list[Node]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    flow = text.lstrip()[:1] in ("{", "[", "/", "#")
    if flow:
        text = _JSON_ASIDES.sub(_as_yaml, text)
    roots: list[Node] = []
    build = _Builder(problems, flow)
    spans: list[tuple[int, int]] = []
    ended = len(text)
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.ScalarEvent):
                spans.append((event.start_mark.index, event.end_mark.index))
            build.take(event, yaml)
            if isinstance(event, yaml.DocumentEndEvent):
                roots += build.document()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        ended = build.last if mark is None else min(mark.index, len(text))
        roots += build.document()
        problems += filter(None, [squeeze(text[ended:])] if ended < len(text) else [squeeze(str(error))[:200]])
    comments += _comments(text[:ended], spans)
    kept = []
    for root in roots:
        if isinstance(root, (dict, list)):
            kept.append(root)
        elif not (isinstance(root, _Scalar) and root.leaf["type"] == "null"):
            problems.append(squeeze(_literal(root.leaf)))
    return kept


_JSON_ASIDES = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|(?<!\S)#[^\n]*|//([^\n]*)|/\*(.*?)\*/|\t', re.DOTALL)


def _as_yaml(match: re.Match[str]) -> str:
    """JSON's way of commenting as YAML's, and tabs between tokens as blanks; strings as they are."""
    if match.group(1) is not None:
        return f" # {match.group(1)}"
    if match.group(2) is not None:
        return "\n".join(f" # {line}" for line in match.group(2).split("\n")) + "\n"
    return " " if match.group() == "\t" else match.group()


def _comments(text: str, spans: list[tuple[int, int]]) -> Iterator[str]:
    """Comments: from a `#` at the start of a line or after a blank to the line's end, outside every scalar."""
    at = 0
    for match in re.finditer(r"(?:^|(?<=\s))#([^\n]*)", text, re.MULTILINE):
        while at < len(spans) and spans[at][1] <= match.start():
            at += 1
        inside = at < len(spans) and spans[at][0] <= match.start() < spans[at][1]
        said = squeeze(match.group(1))
        if said and not inside:
            yield said


class _Builder:
    """Builds trees from YAML events, with a stack of its own."""

    def __init__(self, problems: list[str], flow: bool) -> None:
        self.problems = problems
        self.flow = flow
        self.stack: list[tuple[Node, list[Node], str | None, str | None]] = []
        self.roots: list[Node] = []
        self.anchors: dict[str, Node] = {}
        self.budget = EXPANDED
        self.last = 0

    def take(self, event: Any, yaml: Any) -> None:
        self.last = event.end_mark.index
        if isinstance(event, yaml.ScalarEvent):
            leaf = _resolved(event)
            if self.flow and not event.value and event.implicit[0] and not event.tag:
                leaf = {"type": "missing"}  # `"key": ,` says null in YAML, but nothing in what was meant to be JSON
            self.put(_Scalar(leaf), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self.put(self.expanded(event.anchor), None)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            if len(self.stack) > DEEPEST:
                raise ValueError("nested too deeply")
            kind: Node = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.stack.append((kind, [], event.anchor, event.tag))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.close()

    def put(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        if not self.stack:
            self.roots.append(node)
            return
        kind, pending, _, _ = self.stack[-1]
        if isinstance(kind, list):
            kind.append(node)
            return
        pending.append(node)
        if len(pending) == 2:
            key = _key(pending[0])
            if key in kind:
                self.problems.append(f"key given twice: {key}: {_shown(kind[key])}")
            kind[key] = pending[1]
            pending.clear()

    def close(self) -> None:
        kind, pending, anchor, tag = self.stack.pop()
        if pending:
            self.problems.append(_key(pending[0]))
        if tag and not tag.startswith("tag:yaml.org,2002:"):
            kind = {f"{tag}": kind}
        self.put(kind, anchor)

    def expanded(self, anchor: str) -> Node:
        node = self.anchors.get(anchor)
        size = 0 if node is None else len(list(islice(_leaves((), node), self.budget + 1)))
        if node is None or size > self.budget:
            return _Scalar({"type": "alias", "text": anchor})
        self.budget -= size
        return node

    def document(self) -> list[Node]:
        """The finished document; what a syntax error left open is closed."""
        while self.stack:
            self.close()
        roots, self.roots, self.anchors = self.roots, [], {}
        return roots


def _key(node: Node) -> str:
    if isinstance(node, _Scalar):
        leaf = node.leaf
        return str(leaf.get("text", leaf.get("number", "" if leaf["type"] == "null" else leaf["type"])))
    return f"? {_shown(node)}"


def _resolved(event: Any) -> Record:
    """A scalar by YAML 1.2's core schema; a tag that is not YAML's own is kept."""
    tag, text = event.tag, event.value
    if tag and not tag.startswith("tag:yaml.org,2002:"):
        return {"type": "string", "text": text, "tag": tag}
    kind = tag.rpartition(":")[2] if tag else "plain" if event.implicit[0] else "str"
    if kind in ("plain", "null") and text in _NULLS:
        return {"type": "null"}
    if kind in ("plain", "bool") and text in _BOOLEANS:
        return {"type": text.lower()}
    if kind in ("plain", "int", "float") and _NUMBER.fullmatch(text):
        return {"type": "number", "number": Decimal(text)}
    return {"type": "string", "text": text}


# -------------------------------------------------------------------------------------------------------------- emit


def emit(document: Document) -> Files:
    """JSON, a file for each document; with comments or tags in YAML's flow style, which is JSON with both."""
    root: dict[Any, Any] = {}
    for leaf in document.collections.get("leaves", []):
        node = root
        for step in leaf["path"]:
            node = node.setdefault(step, {})
        node.setdefault(None, leaf)
    comments = "".join(f"# {comment['text']}\n" for comment in document.collections.get("comments", []))
    texts = ["".join(_written(node, "")) + "\n" for _, node in sorted(root.items(), key=_place)]
    if comments:
        texts[:1] = [comments + (texts[0] if texts else "")]
    files = {f"document-{number:05d}.json": text for number, text in enumerate(texts, 1)}
    if len(files) == 1:
        files = {"document.json": texts[0]}
    return {**files, **unreadable.write(document.problems)}


def _place(pair: tuple[Any, Any]) -> tuple[int, int, str]:
    step = pair[0]
    return (0, step, "") if isinstance(step, int) else (1, 0, str(step))


def _written(node: dict[Any, Any], indent: str) -> Iterator[str]:
    children = {step: child for step, child in node.items() if step is not None}
    if not children:
        yield _literal(node[None])
        return
    array = all(isinstance(step, int) for step in children)
    inner = indent + "  "
    yield "[" if array else "{"
    ordered = sorted(children.items(), key=_place) if array else children.items()
    for number, (step, child) in enumerate(ordered):
        yield f"{',' if number else ''}\n{inner}" + ("" if array else f"{_quoted(str(step))}: ")
        yield from _written(child, inner)
    yield f"\n{indent}" + ("]" if array else "}")


def _literal(leaf: Record) -> str:
    kind = leaf.get("type")
    if kind in ("null", "true", "false"):
        return str(kind)
    if kind == "missing":
        return ""
    if kind in ("object", "array"):
        return "{}" if kind == "object" else "[]"
    if kind == "number":
        return str(leaf.get("number", leaf.get("text", "")))
    tag = f"{leaf['tag']} " if leaf.get("tag") else ""
    return tag + _quoted(str(leaf.get("text", "")))


def _quoted(text: str) -> str:
    """A JSON string that YAML reads alike: what YAML calls unprintable is escaped."""
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m.group()):04x}",
                  json.dumps(text, ensure_ascii=False))  # fmt: skip


SCHEMA = Schema(
    leaves=Tree(
        name="value",
        identity=("path",),
        fields={
            "path": Path(group="value"),
            "type": Exact(group="value", weight=1.0),
            "text": Verbatim(group="value", weight=1.0),
            "number": Number(group="value", weight=1.0),
            "tag": Exact(group="value", weight=1.0),
        },
    ),
    comments=Records(
        name="comment", identity=("text",), ordered=True, counted=False, fields={"text": Text(weight=1.0)}
    ),
    combine=lambda c: weighted(
        (0.9, weighted((0.3, c.leaves.coverage), (0.7, c.leaves.value))),
        (0.1, weighted((0.8, c.comments.accuracy), (0.2, c.comments.order))),
    ),
)


def _reindented(files: Files) -> Files:
    return {name: re.sub(r"(?m)^( +)", r"\1\1", text) if text[:1] in "{[" else text for name, text in files.items()}


def _members_reversed(files: Files) -> Files:
    def turned(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: turned(node[key]) for key in reversed(node)}
        return [turned(each) for each in node] if isinstance(node, list) else node

    made = {}
    for name, text in files.items():
        try:
            made[name] = json.dumps(turned(json.loads(text, parse_float=lambda number: json.loads(number))), indent=1)
        except ValueError:
            made[name] = text
    return made


SURFACE = {"indented twice as far": _reindented, "members in reverse, characters escaped": _members_reversed}
