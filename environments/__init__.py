"""Bundled work environments: `<domain>/<slug>/` with manifest, seed and distractors; reference edits beside them."""
