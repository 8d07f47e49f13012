"""Compiled code for training on a CPU: optional, and checked against what it replaces."""
