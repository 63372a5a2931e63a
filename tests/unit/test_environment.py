"""Manifests: what is wrong is named by file, key and expectation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_delegate52 import environment
from pytest_delegate52.environment import ManifestError


@pytest.fixture
def folder(environments: Path) -> Path:
    return environments / "tram" / "night-line"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Night tram, stop list"', "", "title: expected a value (str), found nothing"),
        ('title = "Night', 'colour = 1\ntitle = "Night', "colour: expected one of title"),
        ('"sorting"', '"sort"', "edits[3].operations: expected tags among"),
        ('forward_targets = ["index.txt"]', 'forward_targets = "index.txt"', "edits[3].forward_targets: expected list"),
        ('["line.txt"]', '["tram.txt"]', "expected targets that a seed file matches"),
        ('["stops.csv"]', '["../stops.csv"]', "which climbs out"),
        ('["zone-*.txt", "order.txt"]', '["*.txt"]', "targets that no distractor matches, found distractors/notice"),
        ('id = "minutes"', 'id = "to-csv"', "edits.id: expected each id once, found 'to-csv' 2 times"),
        ('id = "minutes"', 'id = "Minutes!"', "edits[4].id: expected lower-case letters"),
        ("(?i)^order,", "(?i^order,", "edits[1].check.each: expected regular expressions"),
        ("files = { min = 2 }", "files = { least = 2 }", "edits[2].check.files: expected { min = N, max = N }"),
        ("judgement = true", 'judgement = "yes"', "edits[2].judgement: expected bool, found str"),
        ('license = "CC0-1.0"', "license = ", "expected a TOML file"),
    ],
)  # fmt: skip
def test_faults_name_file_key_and_expectation(folder: Path, old: str, new: str, said: str) -> None:
    manifest = folder / "environment.toml"
    text = manifest.read_text("utf-8")
    assert old in text
    manifest.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ManifestError) as caught:
        environment.load(folder)
    assert any(said in fault and str(manifest) in fault for fault in caught.value.faults), caught.value.faults


def test_missing_seed_and_too_few_edits(folder: Path) -> None:
    (folder / "seed" / "line.txt").unlink()
    manifest = folder / "environment.toml"
    manifest.write_text(manifest.read_text("utf-8").rpartition("[[edits]]")[0], "utf-8")
    with pytest.raises(ManifestError, match=r"(?s)at least one file.*5 to 10 edit tasks"):
        environment.load(folder)


def test_a_manifest_may_name_its_domain(folder: Path) -> None:
    manifest = folder / "environment.toml"
    manifest.write_text('domain = "subtitles"\n' + manifest.read_text("utf-8"), "utf-8")
    assert environment.load(folder).key == "subtitles/night-line"


def test_the_hash_covers_what_shapes_a_relay(folder: Path) -> None:
    before = environment.load(folder).hash
    (folder / "distractors" / "notice.txt").write_text("changed", "utf-8")
    assert environment.load(folder).hash != before


def test_reference_functions_work_on_cut_damaged_and_empty_documents() -> None:
    """On any document of the kind: the round trip restores it, and nothing raises."""
    from pytest_delegate52 import domains
    from pytest_delegate52.conformance import damaged
    from pytest_delegate52.models.builtin import emit_as
    from pytest_delegate52.schema import Document
    from pytest_delegate52.scoring import score
    from pytest_delegate52.settings import rng

    for each in environment.bundled():
        domain, names = domains.get(each.domain), list(each.seed)
        whole = domain.parse(each.seed)
        for edit in each.edits:
            functions = each.reference(edit)
            assert functions
            forward, backward = functions
            for count in (0, 1, 3, 10):
                cut = Document({name: records[:count] for name, records in whole.collections.items()})
                files = emit_as(domain, cut, names) or {names[0]: ""}
                restored = backward(forward(dict(files), list(edit.forward_targets)), list(edit.backward_targets))
                if not count:
                    continue  # nothing at all need not come back as nothing: an empty object, say
                found = score(domain.schema, domain.parse(files), domain.parse(restored))
                assert found.value == 1, (each.key, edit.id, count, found.differences[:3])
            for seed in range(20):
                hurt = {names[0]: damaged(each.seed[names[0]], rng(seed, "damage"))}
                made = forward(hurt, list(edit.forward_targets))
                backward(made, list(edit.backward_targets))
                mangled = {name: damaged(text + "\n", rng(seed, "mangle", name)) for name, text in made.items()}
                backward(mangled, list(edit.backward_targets))
