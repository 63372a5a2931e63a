"""The laws that every domain keeps, as tests. One line makes them a third party's own:

    from pytest_delegate52.conformance import laws
    TestLaws = laws("my-domain", seeds=[{"a.txt": "..."}])

Each law is a function named for it that takes a `Subject` and raises `AssertionError`; `laws` makes a test of each.
Documents come from the domain's seeds: whole, cut, recombined by Hypothesis (records copied, fields exchanged with
values seen elsewhere or invented), and from the domain's own strategy where it has one.
"""

from __future__ import annotations

import copy
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pytest_delegate52 import domains
from pytest_delegate52.domains import Domain
from pytest_delegate52.mutants import another, changed_value, corrupt_field, mutants, record_mutants, some
from pytest_delegate52.schema import (
    Document,
    Files,
    Kind,
    Number,
    Record,
    Text,
    Tree,
    absent,
)
from pytest_delegate52.scoring import Score, score

CPU_SECONDS = 10  # law 1 allows 2 s for 1 MB; a test on a busy machine only calls out what is of another order
MUTANTS = 160  # in the raw text, per seed
EXAMPLES = 25


@dataclass
class Subject:
    """A domain with seed documents to try it on."""

    domain: Domain
    seeds: Sequence[Files]
    parsed: list[Document] = field(init=False)

    def __post_init__(self) -> None:
        self.parsed = [self.domain.parse(seed) for seed in self.seeds]

    def score(self, reference: Document, candidate: Document) -> Score:
        """The score, with what must hold for any score checked on the way."""
        found = score(self.domain.schema, reference, candidate)
        assert 0 <= found.value <= 1, f"score {found.value} is outside [0, 1]"
        assert (found.value == 1) == (not found.differences), (
            f"score {found.value!r} with {len(found.differences)} differences; it is 1 if and only if there are none"
        )
        return found

    def same(self, one: Files, other: Files, what: str) -> None:
        found = self.score(self.domain.parse(one), self.domain.parse(other))
        assert found.value == 1, f"{what}: expected 1, found {found.value}: {_told(found)}"

    def reread(self, document: Document) -> Document:
        return self.domain.parse(self.domain.emit(document))

    def documents(self) -> st.SearchStrategy[Document]:
        """Documents that the domain itself has read: from its own strategy, or recombined from the seeds."""
        if self.domain.documents is not None:
            return self.domain.documents().map(self.domain.parse)
        return st.builds(partial(_recombined, self), st.randoms(use_true_random=False))


def laws(name: str | Domain, seeds: Sequence[Files] | None = None) -> type:
    """A test class with one test for each law, for the domain called `name`.

    `seeds`: documents to try it on; by default those of the domain's bundled environments.
    """
    domain = domains.get(name) if isinstance(name, str) else name
    if seeds is None:
        from pytest_delegate52 import environment

        seeds = [each.seed for each in environment.bundled() if each.domain == domain.name]
    if not seeds:
        raise ValueError(f"domain {domain.name!r} has no seed documents: give laws(..., seeds=[...]) one or more")
    subject = Subject(domain, seeds)

    def test_of(law: Callable[[Subject], None]) -> Callable[[Any], None]:
        def test(self: Any) -> None:
            law(subject)

        test.__doc__ = law.__doc__
        return test

    return type(f"TestLaws{domain.name.title()}", (), {f"test_{law.__name__}": test_of(law) for law in LAWS})


# ----------------------------------------------------------------------------------------------------- the laws


def law_1_any_text_in_a_finite_score_out(subject: Subject) -> None:
    """Any text in, no exception out; the score is in [0, 1]; 1 MB of hostile text is read in bounded time."""
    names = sorted(subject.seeds[0])
    reference = subject.parsed[0]

    def attempt(text: str, what: str) -> None:
        with _no_longer_than(CPU_SECONDS, what):
            subject.score(reference, subject.domain.parse({names[0]: text}))

    _check(st.text(st.characters(exclude_categories=[])), lambda text: attempt(text, repr(text)))
    _check(st.builds(damaged, st.just(subject.seeds[0][names[0]]), st.randoms(use_true_random=False)),
           lambda text: attempt(text, "a damaged seed"))  # fmt: skip
    for what, text in hostile_texts(subject.seeds[0][names[0]]):
        attempt(text, what)
    subject.score(reference, subject.domain.parse({}))


def law_2_a_document_is_like_itself(subject: Subject) -> None:
    """score(d, d) == 1 exactly."""
    for seed in subject.seeds:
        subject.same(seed, dict(seed), "the seed against itself")
    _check(subject.documents(), lambda document: _is_one(subject.score(document, copy.deepcopy(document)), "itself"))


def law_3_codec(subject: Subject) -> None:
    """parse(emit(parse(x))) == parse(x), for seeds, damaged seeds, generated documents and any text."""

    def holds(document: Document) -> None:
        again = subject.reread(document)
        assert again == document, f"parse(emit(d)) differs from d: {_first_unlike(document, again)}"

    for document in subject.parsed:
        assert not document.problems, f"a seed with problems: {document.problems[:3]}"
        holds(document)
    _check(subject.documents(), holds)
    name = sorted(subject.seeds[0])[0]
    broken = st.builds(damaged, st.just(subject.seeds[0][name]), st.randoms(use_true_random=False))
    _check(broken, lambda text: holds(subject.domain.parse({name: text})), examples=100)
    _check(st.text(), lambda text: holds(subject.domain.parse({name: text})))


def law_4_surface_does_not_matter(subject: Subject) -> None:
    """Line ends, BOM, blanks, file names, the domain's own rewritings and the order of unordered collections."""
    for seed, document in zip(subject.seeds, subject.parsed, strict=True):
        for what, rewrite in {**surfaces(subject.domain), **subject.domain.surface}.items():
            subject.same(seed, rewrite(seed), what)
        for name, records in subject.domain.schema.collections.items():
            if records.ordered or isinstance(records, Tree):
                continue
            shuffled = copy.deepcopy(document)
            random.Random(4).shuffle(shuffled.collections.get(name, []))
            _is_one(subject.score(document, shuffled), f"{name} in another order")
            _is_one(subject.score(document, subject.reread(shuffled)), f"{name} written in another order")


def law_5_meaning_matters(subject: Subject) -> None:
    """Any change of meaning scores below 1: changed, lost, doubled, swapped records, and changes in the raw text."""
    missed = []
    for seed, document in zip(subject.seeds, subject.parsed, strict=True):
        for what, mutant in record_mutants(subject.domain.schema, document, random.Random(5)):
            if subject.score(document, mutant).value == 1:
                missed.append(f"in the records: {what}")
        for each in mutants(seed, subject.domain.derived, seed=5, count=MUTANTS):
            if subject.score(document, subject.domain.parse(each.files)).value == 1:
                missed.append(f"in the text: {each.change}: {each.before!r} -> {each.after!r}")
    assert not missed, f"{len(missed)} changes of meaning score 1:\n" + "\n".join(missed[:20])


def law_6_proportion(subject: Subject) -> None:
    """The score falls as records go; a tenth lost or corrupted costs neither nothing nor everything."""
    for document in subject.parsed:
        _never_rises(subject, document)
        for what, loss, low, high in proportions(subject, document):
            assert low <= loss <= high, f"{what} costs {loss:.4f}; expected {low} to {high}"


def law_7_invented_records_cost(subject: Subject) -> None:
    """An invented record costs at least half of what a lost one costs; a doubled one is an invented one."""
    for document in subject.parsed:
        for name, records in document.collections.items():
            for index in some(range(len(records)), 5):
                lost, doubled = copy.deepcopy(document), copy.deepcopy(document)
                del lost.collections[name][index]
                doubled.collections[name].insert(index, copy.deepcopy(records[index]))
                if isinstance(subject.domain.schema.collections[name], Tree):
                    path = doubled.collections[name][index]["path"]
                    doubled.collections[name][index]["path"] = (*path[:-1], another(path[-1]))
                cost, price = (1 - subject.score(document, each).value for each in (lost, doubled))
                assert price >= 0.5 * cost, (
                    f"{name}[{index}]: a doubled record costs {price:.5f}, a lost one {cost:.5f}"
                )


def law_8_differences_are_named(subject: Subject) -> None:
    """A lost, a foreign and a changed record are each named as such, by what a person would call them."""
    for document in subject.parsed:
        for name, records in document.collections.items():
            schema = subject.domain.schema.collections[name]
            for index in some(range(len(records)), 5):
                mutant = copy.deepcopy(document)
                lost = mutant.collections[name].pop(index)
                found = subject.score(document, mutant)
                assert any(d.kind in ("missing", "changed", "moved") for d in found.differences), (
                    f"{name}[{index}] was lost, the differences say: {_told(found)}"
                )
                assert any(schema.title(lost) in d.path or d.kind != "missing" for d in found.differences), (
                    f"nothing names the lost {schema.title(lost)!r}: {_told(found)}"
                )
                reverse = subject.score(mutant, document)
                assert any(d.kind in ("extra", "changed", "moved") for d in reverse.differences), _told(reverse)
                total = sum(d.loss for d in found.differences)
                assert abs(total - (1 - found.value)) < 1e-6, f"losses add up to {total}, not {1 - found.value}"


LAWS: tuple[Callable[[Subject], None], ...] = (
    law_1_any_text_in_a_finite_score_out,
    law_2_a_document_is_like_itself,
    law_3_codec,
    law_4_surface_does_not_matter,
    law_5_meaning_matters,
    law_6_proportion,
    law_7_invented_records_cost,
    law_8_differences_are_named,
)


# ------------------------------------------------------------------------------------- law 4: indifferent surface


def surfaces(domain: Domain) -> dict[str, Callable[[Files], Files]]:
    """Rewritings that no text format minds, but for those that the domain declares as meaning."""
    every: dict[str, Callable[[Files], Files]] = {
        "crlf": partial(_each, lambda text: text.replace("\n", "\r\n")),
        "bom": partial(_each, lambda text: "\ufeff" + text),
        "trailing-blanks": partial(_each, lambda text: text.replace("\n", "  \n")),
        "blank-lines": partial(_each, lambda text: "\n" + text.replace("\n\n", "\n\n\n") + "\n\n"),
        "file-name": lambda files: {f"renamed-{name}": text for name, text in files.items()},
    }
    return {name: rewrite for name, rewrite in every.items() if name not in domain.meaning}


def _each(rewrite: Callable[[str], str], files: Files) -> Files:
    return {name: rewrite(text) for name, text in files.items()}


# ----------------------------------------------------------------------------------------------- law 6: proportion


def proportions(subject: Subject, document: Document) -> Iterator[tuple[str, float, float, float]]:
    """The table of law 6: what was done, the loss, and the bounds the law sets for it."""
    domain = subject.domain
    for seed in range(3):
        rng = random.Random(seed)
        dropped = _without(document, 0.1, rng)
        tenth = _touched(document) / 0.1  # of small collections a little more or less than a tenth is touched
        yield "dropping a tenth of every collection", _loss(subject, document, dropped), 0.05 * tenth, 0.30 * tenth
        corrupted = _corrupt(domain, document, rng)
        yield "corrupting a tenth of every collection", _loss(subject, document, corrupted), 0.05 * tenth, 0.35 * tenth
    yield "the empty document", _loss(subject, document, Document({})), 0.95, 1.0
    size = sum(map(len, document.collections.values()))
    for name, schema in domain.schema.collections.items():
        records = document.collections.get(name, [])
        for key, kind in schema.fields.items():
            having = [record for record in records if not absent(record.get(key))]
            if having and len(having) >= 0.1 * size:
                corrupted = copy.deepcopy(document)
                rng = random.Random(6)
                for record in corrupted.collections[name]:
                    corrupt_field(record, key, kind, rng)
                yield f"corrupting {name}.{key} everywhere", _loss(subject, document, corrupted), 0.02, 1.0


def _loss(subject: Subject, reference: Document, candidate: Document) -> float:
    return 1 - subject.score(reference, candidate).value


def _never_rises(subject: Subject, document: Document) -> None:
    rng = random.Random(60)
    left, last = copy.deepcopy(document), 1.0
    for step in range(8):
        left = _without(left, 0.2, rng)
        value = subject.score(document, left).value
        assert value <= last + 1e-12, f"the score rises from {last} to {value} in step {step} of dropping records"
        last = value
    for name, records in document.collections.items():
        for index in some(range(len(records)), 5):
            damaged = copy.deepcopy(document)
            for key, kind in subject.domain.schema.collections[name].fields.items():
                corrupt_field(damaged.collections[name][index], key, kind, rng)
            dropped = copy.deepcopy(document)
            del dropped.collections[name][index]
            before, after = (subject.score(document, each).value for each in (damaged, dropped))
            assert after <= before + 1e-12, (
                f"dropping a damaged record raises the score: {name}[{index}]: {before} to {after}"
            )


def _without(document: Document, share: float, rng: random.Random) -> Document:
    kept = copy.deepcopy(document)
    for records in kept.collections.values():
        for index in sorted(rng.sample(range(len(records)), _share(len(records), share)), reverse=True):
            del records[index]
    return kept


def _touched(document: Document) -> float:
    """The share of all records that a tenth of every collection comes to."""
    sizes = [len(records) for records in document.collections.values()]
    return sum(_share(size, 0.1) for size in sizes) / max(1, sum(sizes))


def _share(count: int, share: float) -> int:
    """A share of a collection: at least one record of three or more, none of fewer."""
    return max(round(count * share), 1 if count >= 3 else 0)


def _corrupt(domain: Domain, document: Document, rng: random.Random) -> Document:
    corrupted = copy.deepcopy(document)
    for name, records in corrupted.collections.items():
        for index in rng.sample(range(len(records)), _share(len(records), 0.1)):
            for key, kind in domain.schema.collections[name].fields.items():
                corrupt_field(records[index], key, kind, rng)
    return corrupted


# ------------------------------------------------------------------------------------------ documents and hostility


def _recombined(subject: Subject, rng: random.Random) -> Document:
    """A document of records from the seeds, some with fields exchanged or invented, as the domain reads it back."""
    source = rng.choice(subject.parsed)
    made: dict[str, list[Record]] = {}
    for name, schema in subject.domain.schema.collections.items():
        pool = source.collections.get(name, [])
        chosen = [pool[i] for i in sorted(rng.sample(range(len(pool)), min(len(pool), rng.randrange(0, 12))))]
        made[name] = [copy.deepcopy(record) for record in chosen]
        if isinstance(schema, Tree):
            keep = {schema.path}
        else:
            keep = set()
            if made[name] and rng.random() < 0.3:
                made[name].append(copy.deepcopy(rng.choice(made[name])))
        for record in made[name]:
            for key, kind in schema.fields.items():
                if key not in keep and rng.random() < 0.15 and not absent(record.get(key)):
                    record[key] = copy.deepcopy(_another_like(kind, key, pool, record[key], rng))
    return subject.reread(Document(made))


def _another_like(kind: Kind, key: str, pool: Sequence[Record], value: Any, rng: random.Random) -> Any:
    others = [record[key] for record in pool if not absent(record.get(key))]
    if rng.random() < 0.5 and isinstance(kind, (Text, Number)):
        return changed_value(kind, value, rng)
    return rng.choice(others)


def hostile_texts(seed: str) -> Iterator[tuple[str, str]]:
    """Texts of up to 1 MB that have broken parsers before, with a name for each."""
    size = 1_000_000
    yield "a seed repeated to 1 MB", (seed * (size // max(1, len(seed)) + 1))[:size]
    lines = seed.split("\n")
    yield "its longest line repeated", (max(lines, key=len) + "\n") * (size // (len(max(lines, key=len)) + 1))
    rng = random.Random(1)
    yield "its lines shuffled", "\n".join(rng.choices(lines, k=size // (len(seed) // len(lines) + 1)))
    words = seed.split() or ["a"]
    yield "its words on one line", " ".join(rng.choices(words, k=size // 8))[:size]
    for what, unit in {
        "brackets": "[", "braces": "{", "nested objects": '{"a":', "closed brackets": "[]", "quotes": '"',
        "backticks": "`", "digits": "7", "spaces": " ", "line ends": "\n", "blank lines with tabs": "\t\n",
        "carriage returns": "\r", "NULs": "\0", "lone surrogates": "\ud800", "bidirectional marks": "\u202e",
        "combining marks": "e\u0301\u0301", "dashes": "- ", "colons": "a: ", "indents": " \n  ", "arrows": "1 --> 2\n",
        "angle brackets": "<a>", "entities": "&lol;", "anchors": "&a *a ", "backslashes": "\\", "commas": "1,",
        "numbers": "1\n", "minus signs": "-", "percent signs": "%", "semicolons": ";\n",
    }.items():  # fmt: skip
        yield f"1 MB of {what}", unit * (size // len(unit))
    yield "100,000 brackets, closed", "[" * 100_000 + "]" * 100_000
    yield "a number of 10,000 digits", seed.replace("1", "1" * 10_000, 1)
    yield "infinity", seed.replace("1", "1e999999999").replace("2", "NaN").replace("3", "Infinity")
    yield "far years", seed.replace("20", "99999").replace("19", "0000")
    yield (
        "an alias bomb",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)),
    )


_JUNK = ("", "\n", "\x00", "\t", "  ", "9", "-", ":", ";", "}", '"', "é", "\ud800", "#", "\r", "|", "¶")


def damaged(text: str, rng: random.Random) -> str:
    """`text` cut to a few thousand characters and hurt in a few places, as bytes go wrong."""
    start = rng.randrange(max(1, len(text) - 1_500)) if rng.random() < 0.7 else 0
    text = text[start : start + 3_000]
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(text) + 1)
        junk = rng.choice(
            ["", "\n", "\x00", "\t", "  ", "9", "-", ":", ";", "}", '"', "é", "\ud800", "#", "\r", "|", "¶"]
        )
        text = text[:at] + junk + text[at + rng.choice([0, 1, 1, 3, 40]) :]
    return text


@contextmanager
def _no_longer_than(seconds: float, what: str) -> Iterator[None]:
    """Raise in code that burns more than `seconds` of CPU time (main thread on POSIX; no limit elsewhere)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(signum: int, frame: Any) -> None:
        raise AssertionError(f"more than {seconds} s of CPU time for {what[:80]}")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _check(strategy: st.SearchStrategy[Any], holds: Callable[[Any], None], examples: int = EXAMPLES) -> None:
    """`holds` for `examples` values of the strategy; shrunk on failure, the same values on every run."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def property_holds(value: Any) -> None:
        holds(value)

    property_holds()


def _is_one(found: Score, what: str) -> None:
    assert found.value == 1, f"{what}: expected 1, found {found.value}: {_told(found)}"


def _told(found: Score) -> str:
    return "; ".join(f"{d.kind} {d.path}: {d.reference!r} -> {d.candidate!r}" for d in found.differences[:5])


def _first_unlike(one: Document, other: Document) -> str:
    if one.problems != other.problems:
        return f"problems {one.problems[:3]!r} became {other.problems[:3]!r}"
    for name in sorted({*one.collections, *other.collections}):
        ours, theirs = one.collections.get(name, []), other.collections.get(name, [])
        for index, (mine, yours) in enumerate(zip(ours, theirs, strict=False)):
            if mine != yours:
                return f"{name}[{index}]: {mine!r} became {yours!r}"
        if len(ours) != len(theirs):
            unpaired = (ours + theirs)[min(len(ours), len(theirs)) :][:1]
            return f"{name}: {len(ours)} records became {len(theirs)}: {unpaired}"
    return f"collections {sorted(one.collections)} became {sorted(other.collections)}"
