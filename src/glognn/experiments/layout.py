"""The files of a run folder, and the record of a saved classifier. Imports no torch."""

from __future__ import annotations

from pathlib import Path

CONFIG, REPORT, CURVE, MODEL, DONE = "config.toml", "report.json", "curve.csv", "model.safetensors", "DONE"
CLASSIFIER = "estimator.json"
CHECKPOINT = Path("checkpoint") / "latest.safetensors"
