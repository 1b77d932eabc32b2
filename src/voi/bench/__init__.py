"""Experiments of the paper that one command repeats."""
