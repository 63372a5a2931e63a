"""Figures for each domain: size, share of mutants detected, the sizes of loss, time per score.

    python benchmarks/domains.py [DOMAIN ...]

Times are medians of CPU time over several runs; on a noisy machine compare ratios within one run.
"""

from __future__ import annotations

import copy
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pytest_delegate52 import domains, environment, tokens
from pytest_delegate52.conformance import Subject, proportions, surfaces
from pytest_delegate52.mutants import corrupt_field, mutants, record_mutants
from pytest_delegate52.schema import Document, Tree
from pytest_delegate52.scoring import score

MUTANTS = 1_600


def main() -> None:
    names = sys.argv[1:] or domains.names()
    for name in names:
        report(Subject(domains.get(name), [each.seed for each in environment.bundled() if each.domain == name]))


def report(subject: Subject) -> None:
    domain, seed, document = subject.domain, subject.seeds[0], subject.parsed[0]
    lines = len(Path(sys.modules[domain.parse.__module__].__file__ or "").read_text().splitlines())
    print(f"\n{domain.name}: {lines} lines, {sum(map(len, document.collections.values()))} records in the seed")

    found = [
        (m.change, m.before, m.after, subject.domain.parse(m.files)) for m in mutants(seed, domain.derived, 11, MUTANTS)
    ]
    inner = [
        ("record", what, "", mutant) for what, mutant in record_mutants(domain.schema, document, random.Random(11))
    ]
    for kind, rows in (("in the text", found), ("in the records", inner)):
        missed = [row for row in rows if score(domain.schema, document, row[3]).value == 1]
        print(f"  meaning mutants {kind}: {len(rows) - len(missed)} of {len(rows)} detected")
        for change, before, after, _ in missed[:10]:
            print(f"    missed: {change}: {before!r} -> {after!r}")
    variants = {**surfaces(domain), **domain.surface}
    wrong = [what for what, rewrite in variants.items()
             if score(domain.schema, document, domain.parse(rewrite(seed))).value != 1]  # fmt: skip
    print(f"  equivalent variants below 1: {len(wrong)} of {len(variants)} {wrong or ''}")

    print("  sizes of loss")
    for what, loss, _, _ in proportions(subject, document):
        print(f"    {loss:.4f}  {what}")

    print("  CPU time of parse and score, reference parsed once")
    for size in (5_000, 50_000):
        reference = grown(document, size, domain)
        for what, candidate in (("unchanged", reference), ("wholly rewritten", rewritten(reference, domain))):
            files = domain.emit(candidate)
            count = sum(map(tokens.count, files.values()))
            parsed = domain.parse(domain.emit(reference))
            spent = median(lambda files=files, parsed=parsed: score(domain.schema, parsed, domain.parse(files)))
            print(f"    {1000 * spent:7.1f} ms  {count:6,} tokens, {what}")


def grown(document: Document, size: int, domain: domains.Domain) -> Document:
    """The document repeated with small changes until it has about `size` tokens."""
    base = sum(map(tokens.count, domain.emit(document).values()))
    made = Document({name: [] for name in document.collections})
    source = random.Random(1)
    for turn in range(max(1, round(size / base))):
        for name, records in document.collections.items():
            schema = domain.schema.collections[name]
            for record in copy.deepcopy(records):
                if isinstance(schema, Tree):
                    record[schema.path] = (turn, *record[schema.path][1:])
                elif turn:
                    for key in schema.identity[:1]:
                        corrupt_field(record, key, schema.fields[key], source)
                made.collections[name].append(record)
    return domain.parse(domain.emit(made))


def rewritten(document: Document, domain: domains.Domain) -> Document:
    """Every field of every record replaced, but for the ways to leaves of trees."""
    made, source = copy.deepcopy(document), random.Random(2)
    for name, records in made.collections.items():
        schema = domain.schema.collections[name]
        for record in records:
            for key, kind in schema.fields.items():
                if not (isinstance(schema, Tree) and key == schema.path):
                    corrupt_field(record, key, kind, source)
    return made


def median(run: Callable[[], object], times: int = 5) -> float:
    spent = []
    run()
    for _ in range(times):
        start = time.process_time()
        run()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
