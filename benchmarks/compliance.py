"""Progress by each measure for cheats and legitimate answers, over all bundled edits: what the line is drawn by.

python benchmarks/compliance.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))

from test_compliance import CASES, CHEATS, LEGITIMATE, expected

from pytest_delegate52 import compliance


def main() -> None:
    print(f"{'answer':<34}{'environment and edit':<42}{'words':>7}{'places':>8}{'order':>7}  verdict")
    for each, edit in CASES:
        right = expected(each, edit)
        answers = [(cheat.__name__, *cheat(each.seed, edit, right)) for cheat in CHEATS]
        answers += [(layout.__name__, layout(edit, right), {}) for layout in LEGITIMATE]
        for name, answer, clutter in answers:
            found = compliance.measures(each.seed, answer, right)
            shown = "".join(f"{found[m]:{w}.2f}" if m in found else "-".rjust(w)
                            for m, w in (("words", 7), ("places", 8), ("order", 7)))  # fmt: skip
            verdict = compliance.judge(edit, each.seed, answer, clutter, right, 1.0)
            print(f"{name:<34}{each.key + ' ' + edit.id:<42}{shown}  {verdict.verdict}")


if __name__ == "__main__":
    main()
