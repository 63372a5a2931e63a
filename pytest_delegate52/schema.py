"""What a domain says about its documents, as data: collections of records and the kinds of their fields.

A domain module parses text into a :class:`Document` and describes that document by a :class:`Schema`.
The scoring engine (`scoring.py`) reads both; nothing here knows any format.

Values are plain: ``str``, ``int``, ``Decimal``, ``bool``, tuples and lists of them, dicts, and lists of records
where a field is :class:`Nested`. A field whose value is ``None``, ``""`` or an empty container is absent.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

Files = dict[str, str]
"""A document as text: relative POSIX file name to content."""

Record = dict[str, Any]

#: Wide enough for any number that a document states; never raises on what a text may hold.
_WIDE = Context(prec=60, Emax=999999, Emin=-999999, traps=[])


@dataclass
class Document:
    """The meaning of a document.

    `collections` maps a collection's name to its records in document order. `problems` holds, in document
    order, each piece of text that could not be understood; the engine treats them as content of their own.
    """

    collections: dict[str, list[Record]]
    problems: list[str] = field(default_factory=list)


def absent(value: Any) -> bool:
    """True for a field that is not there: ``None``, ``""`` or an empty container (0 and False are there)."""
    return value is None or (not value and isinstance(value, (str, tuple, list, dict, set, frozenset)))


def squeeze(text: str) -> str:
    """`text` in Unicode NFC with every run of white space as one blank and none at the ends."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


# ---------------------------------------------------------------------------------------------- kinds of field


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of field value.

    `weight` in (0, 1] is the share of a record's worth that goes when this field is wholly wrong; the fields of
    one record multiply: product of (1 - weight * (1 - similarity)). `group` names the component the field counts
    towards; by default a field is a component of its own.
    """

    weight: float = 0.6
    group: str | None = None

    def canonical(self, value: Any) -> Hashable:
        """The value as something hashable that is equal exactly for values of equal meaning."""
        raise NotImplementedError

    def similarity(self, reference: Any, candidate: Any) -> float:
        """In [0, 1]; 1 only for values of equal meaning. Both values are present."""
        raise NotImplementedError

    def show(self, value: Any) -> str:
        """The value for a person, on one line."""
        return squeeze(str(value))


@dataclass(frozen=True, kw_only=True)
class Exact(Kind):
    """A value that is either the same or wrong. `fold` maps spellings of one meaning to one value."""

    fold: Callable[[Any], Hashable] | None = None

    def canonical(self, value: Any) -> Hashable:
        return _hashable(self.fold(value) if self.fold else value)

    def similarity(self, reference: Any, candidate: Any) -> float:
        return float(self.canonical(reference) == self.canonical(candidate))


#: Words whose coming or going turns the sense of a sentence round.
NEGATIONS = frozenset(
    "no not never none nor neither nothing nobody nowhere without cannot can't don't doesn't didn't won't wouldn't "
    "shouldn't isn't aren't wasn't weren't hasn't haven't hadn't couldn't mustn't needn't ain't kein nicht pas "
    "non".split()
)
_WORD = re.compile(r"\w+(?:[.,'’]\w+)*|[^\w\s]")


@dataclass(frozen=True, kw_only=True)
class Path(Exact):
    """The way to a leaf in a tree: a tuple of keys (``str``) and array positions (``int``)."""

    def canonical(self, value: Any) -> Hashable:
        return tuple(value)

    def show(self, value: Any) -> str:
        return ".".join(squeeze(str(part)) for part in value)


@dataclass(frozen=True, kw_only=True)
class Text(Kind):
    """Running text. White space does not matter, except line breaks where `lines` is set.

    A change costs a tenth at once and then the share of words it touches (Indel ratio over words); changed figures
    or negations halve what is left, because they turn the sense of a passage that otherwise reads the same.
    """

    lines: bool = False

    def canonical(self, value: Any) -> str:
        return "\n".join(filter(None, map(squeeze, str(value).split("\n")))) if self.lines else squeeze(str(value))

    def similarity(self, reference: Any, candidate: Any) -> float:
        ours, theirs = self.canonical(reference), self.canonical(candidate)
        return 1.0 if ours == theirs else text_similarity(ours, theirs)


@dataclass(frozen=True, kw_only=True)
class Verbatim(Text):
    """Text in which every character counts, white space included; compared as :class:`Text` is where it differs."""

    def canonical(self, value: Any) -> str:
        return str(value)

    def show(self, value: Any) -> str:
        return repr(str(value))[1:-1]


def text_similarity(reference: str, candidate: str) -> float:
    """Similarity of two different texts, in [0, 0.9]; see :class:`Text`."""
    from rapidfuzz.distance import Indel

    ours, theirs = _WORD.findall(reference), _WORD.findall(candidate)
    if len(ours) * len(theirs) > 100_000_000:  # linear from here on: hostile sizes only
        ratio = 2 * (Counter(ours) & Counter(theirs)).total() / (len(ours) + len(theirs))
    else:
        ratio = Indel.normalized_similarity(ours, theirs)
        if len(ours) + len(theirs) <= 40:  # short texts: a misspelt word is still recognisable
            ratio = max(ratio, Indel.normalized_similarity(reference, candidate) - 0.05)
    return 0.9 * max(0.0, ratio) * (1.0 if _turning(ours) == _turning(theirs) else 0.5)


def _turning(words: list[str]) -> Counter[str]:
    return Counter(w for w in words if w[0].isdigit() or w.casefold().replace("’", "'") in NEGATIONS)


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    """A ``Decimal`` or ``int``. Equal within `tolerance` (absolute) or `relative` of the reference value.

    Beyond that a number is wrong: with `scale` (a distance in the value's own unit at which nothing is left) it keeps
    0.9 * (1 - distance / scale); without, at most half, by the ratio of the two values.
    """

    tolerance: Decimal = Decimal(0)
    relative: Decimal = Decimal(0)
    scale: Decimal | None = None
    unit: str = ""

    def canonical(self, value: Any) -> Hashable:
        number = _decimal(value)
        if number is None or not number.is_finite():
            return squeeze(str(value))
        if not number:
            return Decimal(0)
        digits = len(number.as_tuple().digits)
        return number.normalize(
            _WIDE if digits <= _WIDE.prec else Context(prec=digits, Emax=999999, Emin=-999999, traps=[])
        )

    def similarity(self, reference: Any, candidate: Any) -> float:
        ours, theirs = self.canonical(reference), self.canonical(candidate)
        if ours == theirs:
            return 1.0
        if not isinstance(ours, Decimal) or not isinstance(theirs, Decimal):
            return 0.0
        distance = _WIDE.subtract(ours, theirs).copy_abs()
        if distance <= max(self.tolerance, _WIDE.multiply(self.relative, abs(ours))):
            return 1.0
        if self.scale is not None:
            return 0.9 * max(0.0, 1.0 - float(_WIDE.divide(distance, self.scale)))
        return 0.5 * max(0.0, 1.0 - float(_WIDE.divide(distance, max(abs(ours), abs(theirs)))))

    def show(self, value: Any) -> str:
        return f"{squeeze(str(value))[:40]}{self.unit}"


@dataclass(frozen=True, kw_only=True)
class Several(Kind):
    """Several values of one kind: a list (`ordered`) or a multiset."""

    of: Kind = field(default_factory=Exact)
    ordered: bool = True

    def canonical(self, value: Any) -> Hashable:
        parts = [self.of.canonical(part) for part in value]
        return tuple(parts) if self.ordered else frozenset(Counter(parts).items())

    def similarity(self, reference: Any, candidate: Any) -> float:
        ours, theirs = [[self.of.canonical(part) for part in side] for side in (reference, candidate)]
        if self.ordered:
            from rapidfuzz.distance import LCSseq

            same = LCSseq.similarity(ours, theirs)
        else:
            same = (Counter(ours) & Counter(theirs)).total()
        longest = max(len(ours), len(theirs))
        kept = same / longest
        if len(ours) == len(theirs) and longest <= 50:  # partial credit for values changed in place
            in_place = sum(
                1.0 if a == b else self.of.similarity(x, y)
                for x, y, a, b in zip(reference, candidate, ours, theirs, strict=True)
            )
            kept = max(kept, in_place / longest)
        return min(kept, 1 - 1e-9) if self.canonical(reference) != self.canonical(candidate) and kept == 1 else kept

    def show(self, value: Any) -> str:
        return ", ".join(self.of.show(part) for part in list(value)[:20])


@dataclass(frozen=True, kw_only=True)
class Table(Kind):
    """A mapping of names to values of one kind; the order of names means nothing."""

    of: Kind = field(default_factory=Exact)

    def canonical(self, value: Any) -> Hashable:
        return frozenset((key, self.of.canonical(part)) for key, part in value.items())

    def similarity(self, reference: Any, candidate: Any) -> float:
        kept = sum(
            1.0 if self.of.canonical(reference[key]) == self.of.canonical(candidate[key])
            else self.of.similarity(reference[key], candidate[key])
            for key in reference.keys() & candidate.keys()
        )  # fmt: skip
        return kept / max(len(reference), len(candidate))

    def show(self, value: Any) -> str:
        return ", ".join(f"{key}={self.of.show(part)}" for key, part in sorted(value.items())[:20])


# ------------------------------------------------------------------------------------------ collections, schema


@dataclass(frozen=True, kw_only=True)
class Records:
    """A collection of records.

    `identity`: field names that together tell which record is which; records of equal identity are paired before
    anything is compared. `label`: the fields that name a record to a person (default: the identity). `name`: what one
    record is called. `ordered`: whether the order of the records means something. `counted`: whether the records are
    the document's elements for deletion and corruption figures.
    """

    fields: Mapping[str, Kind]
    identity: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    name: str = "record"
    ordered: bool = False
    counted: bool = True

    def canonical(self, record: Record) -> tuple[Hashable, ...]:
        """The record's meaning: the canonical value of each field in order, None where it is absent."""
        get = record.get
        return tuple(
            [None if absent(value := get(key)) else kind.canonical(value) for key, kind in self.fields.items()]
        )

    def title(self, record: Record) -> str:
        """What a person would call this record, at most 60 characters."""
        shown = [
            self.fields[key].show(record[key])
            for key in self.label or self.identity or tuple(self.fields)[:2]
            if not absent(record.get(key))
        ]
        return " ".join(shown)[:60] or self.name


@dataclass(frozen=True, kw_only=True)
class Tree(Records):
    """The leaves of a tree: each record has a field `path`, a tuple of keys (``str``) and array positions (``int``).

    Before pairing, the elements of arrays are aligned, so that an element that came or went does not shift the others;
    an element that changed its place within its array is `moved`, and its leaves keep half their worth.
    """

    path: str = "path"


@dataclass(frozen=True, kw_only=True)
class Nested(Kind):
    """Records inside a record, such as the postings of a transaction; compared as a collection is."""

    records: Records = field(default_factory=lambda: Records(fields={}))

    def canonical(self, value: Any) -> Hashable:
        parts = [self.records.canonical(part) for part in value]
        return tuple(parts) if self.records.ordered else frozenset(Counter(parts).items())

    def show(self, value: Any) -> str:
        return f"{len(value)} {self.records.name}{'s' if len(value) != 1 else ''}"


class Schema:
    """The collections of a domain's documents and the formula that makes one score of their components.

    `combine` gets a namespace with one entry per collection; each has `size` (the larger of both counts), `coverage`
    (matched / size), `accuracy` (all fields together), one value per group of fields, `order` where the collection is
    ordered (else NaN), and `matched` with the same names. Plain values count unmatched records of either side as 0: use
    them in weighted sums. Values of `matched` are taken over matched pairs: use them in products led by a power of
    coverage, two of them at most for coverage squared, so that a damaged record is never worth less than a lost one.
    A component that is empty on both sides is NaN; `weighted`, `mean` and `product` leave it out.
    """

    def __init__(self, *, combine: Callable[[Any], float], **collections: Records) -> None:
        self.collections: dict[str, Records] = collections
        self.combine = combine


def weighted(*terms: tuple[float, float]) -> float:
    """Weighted mean of (weight, component) pairs; a NaN component leaves and its weight is shared out."""
    present = [(weight, value) for weight, value in terms if not math.isnan(value)]
    total = sum(weight for weight, _ in present)
    return sum(weight * value for weight, value in present) / total if total else math.nan


def mean(*values: float) -> float:
    """Mean of the components that are not NaN."""
    return weighted(*((1.0, value) for value in values))


def product(*values: float) -> float:
    """Product of the components that are not NaN."""
    present = [value for value in values if not math.isnan(value)]
    return math.prod(present) if present else math.nan


# ------------------------------------------------------------------------------------------------------ helpers


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, Decimal):
        return value
    try:
        return Decimal(str(value))
    except (ArithmeticError, ValueError):
        return None


def _hashable(value: Any) -> Hashable:
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(part)) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_hashable, value))
    return (type(value).__name__, value) if isinstance(value, bool) else value


__all__: Sequence[str] = (
    "Document", "Exact", "Files", "Kind", "Nested", "Number", "Path", "Record", "Records", "Schema", "Several", "Table",
    "Text", "Tree", "Verbatim", "absent", "mean", "product", "squeeze", "text_similarity", "weighted",
)  # fmt: skip
