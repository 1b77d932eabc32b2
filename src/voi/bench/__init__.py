"""Experiments that one command measures: the paper's, and our own."""
