"""Compiled code for training on a CPU and reading tables: optional, and checked against what it replaces."""
