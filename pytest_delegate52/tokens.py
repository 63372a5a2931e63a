"""Token counts by tiktoken's cl100k_base, without a network."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _encoding() -> Any:
    # tiktoken fetches its encodings; litellm's package carries this one. Finding the package does not import it.
    found = importlib.util.find_spec("litellm")
    if found and found.origin and "TIKTOKEN_CACHE_DIR" not in os.environ:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(found.origin).parent / "litellm_core_utils" / "tokenizers")
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def count(text: str) -> int:
    """Number of cl100k_base tokens in `text`; special tokens count as the text they are."""
    # A lone surrogate can't be encoded; tiktoken is quadratic on a run without breaks, so long texts go in pieces.
    text = text.encode("utf-8", "replace").decode("utf-8")
    pieces = (text[at : at + 100_000] for at in range(0, len(text), 100_000))
    return sum(len(_encoding().encode(piece, disallowed_special=())) for piece in pieces)
