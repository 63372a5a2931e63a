"""Measures how much of a document a language model corrupts when editing work is delegated to it."""

__version__ = "0.1.0"
