"""Bundled work environments: `<domain>/<slug>/environment.toml` with its seed and distractors, and the reference edits."""
