"""The words a model is given, in named variants. `{files}`, `{targets}` and `{instruction}` are filled in.

A user's own variant is a text file with the same three fields: `--delegate52-prompt=path/to/prompt.txt`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_delegate52.files import fenced, is_glob
from pytest_delegate52.schema import Files

_GIVEN = "You are given the files of a folder and one piece of work to do on them."
_FORM = """
Answer with the complete content of each file of the result, each one in a fenced block whose opening fence carries
the file's name and nothing else, like this:

```name-of-file.txt
first line
last line
```

If a file itself contains a run of backticks, use a longer fence around it. {targets} Only the files in your answer are
kept: what you leave out is gone, so write every file out in full, without placeholders for unchanged parts.
"""

VARIANTS = {
    "plain": f"""{_GIVEN}

{{files}}
The work:

{{instruction}}
{_FORM}""",
    "preserve": f"""{_GIVEN} Everything that the work does
not ask you to change must come out exactly as it went in: every entry, figure, name and remark, to the letter.

{{files}}
The work:

{{instruction}}
{_FORM}
Before you answer, check that nothing was dropped, shortened, rounded or reworded.
""",
}
FIELDS = ("{files}", "{targets}", "{instruction}")


def template(name: str) -> str:
    """The text of a variant, or of a file; `ValueError` says what is known and what the file lacks."""
    if name in VARIANTS:
        return VARIANTS[name]
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"no prompt {name!r}: expected {', '.join(VARIANTS)} or a file with {', '.join(FIELDS)}")
    text = path.read_text("utf-8")
    if lacking := [field for field in FIELDS if field not in text]:
        raise ValueError(f"the prompt file {name} lacks {', '.join(lacking)}")
    return text


def fill(template: str, files: Files, instruction: str, targets: Sequence[str]) -> str:
    """The prompt. `files` come in the order given; their content is never taken for a field of the template."""
    values = {
        "{files}": "\n".join(fenced(name, text) for name, text in files.items()),
        "{instruction}": instruction,
        "{targets}": _wanted(targets),
    }
    parts, rest = [], template
    while found := min(((rest.find(field), field) for field in FIELDS if field in rest), default=None):
        at, field = found
        parts += [rest[:at], values[field]]
        rest = rest[at + len(field) :]
    return "".join([*parts, rest])


def _wanted(targets: Sequence[str]) -> str:
    named = [target for target in targets if not is_glob(target)]
    open_names = [target for target in targets if is_glob(target)]
    said = []
    if named:
        said.append(f"The result must contain {' and '.join(named)}.")
    if open_names:
        also = "also " if named else ""
        said.append(f"The result must {also}contain one or more files named {' and '.join(open_names)}.")
    return " ".join(said)
