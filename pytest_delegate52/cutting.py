"""Cutting a seed to a number of tokens, on record boundaries, for models with a small window."""

from __future__ import annotations

from pytest_delegate52 import tokens
from pytest_delegate52.domains import Domain
from pytest_delegate52.models.builtin import emit_as
from pytest_delegate52.schema import Document, Files


def cut(domain: Domain, files: Files, limit: int) -> Files:
    """The first records of each collection, the same share of each, so that the text has at most about `limit` tokens.

    A share too small for one record of each collection leaves the largest collection's first record. Documents that fit
    are returned as they are.
    """
    if sum(map(tokens.count, files.values())) <= limit:
        return files
    document = domain.parse(files)
    most = max(map(len, document.collections.values()), default=0)

    def first(count: int) -> Files:
        share = count / most
        kept = {name: records[: round(len(records) * share)] for name, records in document.collections.items()}
        return emit_as(domain, Document(kept), list(files))

    low, high = 1, max(1, most)
    while low < high:
        middle = (low + high + 1) // 2
        fits = sum(map(tokens.count, first(middle).values())) <= limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return first(low)
