"""The settings of training. Imports no torch."""

from __future__ import annotations

from glognn.settings import Settings, choice, integer, real, text

ENGINE_NAMES = ("eager", "stacked", "captured", "native", "boosted")
METRIC_NAMES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "f1",
    "precision",
    "recall",
    "macro_precision",
    "mcc",
    "precision_at_k",
    "recall_at_k",
    "neg_log_loss",
    "neg_brier",
)
"""In all of them larger is better; losses have a minus."""
OF_ONE_CLASS = ("f1", "precision", "recall", "precision_at_k", "recall_at_k")
"""Metrics of the positive class."""
RANKINGS = ("roc_auc", "average_precision")
"""Metrics of the positive class against the rest where there is one, else the mean over classes."""


class TrainingConfig(Settings):
    """How a model is trained, stopped and selected."""

    title = "training"

    epochs: int = integer(1000, "The most epochs (full-graph steps) to train.", low=1)
    optimizer: str = choice(
        "adam", "'adam' adds weight decay to the gradient (L2), 'adamw' decouples it.", ("adam", "adamw")
    )
    learning_rate: float = real(0.01, "Step size of the optimiser.", low=0, low_open=True)
    weight_decay: float = real(5e-5, "Weight decay, on every parameter.", low=0)
    early_stopping: str = choice(
        "patience",
        "'patience': stop when the validation score has not improved for that many epochs. 'paper': stop when "
        "the validation loss exceeds its mean over that many epochs before. 'none': train all epochs.",
        ("patience", "paper", "none"),
    )
    patience: int = integer(100, "Number of epochs early stopping looks back.", low=1)
    selection: str = choice(
        "best",
        "Which epoch's model is kept: 'best' validation score (ties: lower validation loss), or the 'last'.",
        ("best", "last"),
    )
    metric: str = choice(
        "accuracy", "The score to select by and to report; larger is better, losses have a minus.", METRIC_NAMES
    )
    positive_class: str = text(
        "",
        "The class, as it is written in your labels, that average precision, F1, recall, a threshold and the like are "
        "about. Empty: the rarer of two classes.",
        before="",
    )
    top_k: int = integer(
        100,
        "How many nodes the metrics precision_at_k and recall_at_k look at, those most likely of the positive class.",
        low=1,
        before=100,
    )
    class_weight: str = choice(
        "none",
        "'balanced' lets every class weigh the same in the training loss, however many nodes it has.",
        ("none", "balanced"),
        before="none",
    )
    threshold: str = choice(
        "none",
        "With two classes: 'validation' takes the positive one from the probability on that serves the metric best on "
        "validation nodes (macro-F1, where the metric needs no threshold) instead of from 0.5 on.",
        ("none", "validation"),
        before="none",
    )
    seed: int = integer(0, "Seed of the initial weights and of dropout.", low=0, high=2**32 - 1)
    dtype: str = choice("float32", "Precision of weights and activations.", ("float32", "float64"))
    device: str = choice("auto", "Where to train; 'auto' takes a CUDA GPU when there is one.", ("auto", "cpu", "cuda"))
    threads: int = integer(
        0, "CPU threads; 0 leaves it to torch. Equal bits need an equal number of threads.", low=0, high=1024
    )
    engine: str = choice(
        "auto",
        "What computes an epoch: 'native' (compiled code on a CPU), 'captured' (CUDA graphs), 'stacked' (many models "
        "as one), 'eager' (plain PyTorch, one model), 'boosted' (trees, on a CPU); 'auto' takes the fastest that can.",
        ("auto", *ENGINE_NAMES),
    )
    checkpoint_interval: float = real(
        30.0, "Seconds between checkpoints of a run folder; 0 writes one after every epoch.", low=0
    )
