"""The files of a run folder, of an ``auto`` folder, and the record of a saved classifier. Imports no torch.

An ``auto`` folder holds ``auto.toml`` (what was asked for), ``members/<name>/split-<i>/``, each a run folder with one
more file, ``probabilities.npy`` (what the trained model says of every node, nodes x classes, float32),
``ensemble.json``, which is written anew after every member, and at the end ``DONE``.

``refit/`` of a run folder holds what was trained on all labels after the splits, and its record ``refit.json``.
"""

from __future__ import annotations

from pathlib import Path

CONFIG, REPORT, CURVE, MODEL, DONE = "config.toml", "report.json", "curve.csv", "model.safetensors", "DONE"
CLASSIFIER = "estimator.json"
AUTO, ENSEMBLE, MEMBERS, PROBABILITIES = "auto.toml", "ensemble.json", "members", "probabilities.npy"
REFIT, REFIT_RECORD = "refit", "refit.json"
CHECKPOINT = Path("checkpoint") / "latest.safetensors"
