"""The files of a run folder. Imports no torch."""

from __future__ import annotations

from pathlib import Path

CONFIG, REPORT, CURVE, MODEL, DONE = "config.toml", "report.json", "curve.csv", "model.safetensors", "DONE"
CHECKPOINT = Path("checkpoint") / "latest.safetensors"
