"""Probabilities that mean what they say: of nodes given 0.7, seven in ten should be of the class.

A temperature T makes p^(1/T), normalised, of probabilities p (Guo et al., "On Calibration of Modern Neural Networks",
ICML 2017). Weights of classes in the training loss shift the odds of every node alike, which no temperature undoes, and
so may an epoch that is chosen for the order of nodes alone: then each class has a shift s_c besides, p^(1/T) e^(s_c)
(Alexandari et al., "Maximum Likelihood with Bias-Corrected Calibration is Hard-To-Beat at Label Shift Adaptation", ICML
2020), any T, and n nodes of a class count as right but for 1 / (n + 2), so that perfect order stays in bounds (Platt,
"Probabilistic Outputs for Support Vector Machines", 1999). For two classes that keeps the order of nodes. Isotonic
regression takes any rising curve (Zadrozny and Elkan, KDD 2002): of the positive one of two classes, or of each of
several against the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glognn.metrics import Floats, Integers
from glognn.records import NUMBER, Form, misfit

COLDEST, HOTTEST = 0.25, 4.0
"""The temperatures that are tried: on few nodes, all of them right, none would be cold enough."""
COLDEST_SHIFTED, LARGEST_SHIFT = 1e-4, 1000.0
"""With shifts: what says nearly the same of all nodes may still have them in good order."""
_SMALLEST = 1e-12
_STEPS = 60
_FORMS: dict[str, Form] = {
    "temperature": {"temperature": NUMBER, "shifts": [NUMBER]},
    "isotonic": {"curves": [{"said": [NUMBER], "true": [NUMBER]}], "positive": (int, type(None))},
}


@dataclass(frozen=True)
class Curve:
    """What probabilities turned out to be: ``true`` at ``said``, both rising, and straight lines in between."""

    said: tuple[float, ...]
    true: tuple[float, ...]

    def apply(self, probabilities: Floats) -> Floats:
        return np.interp(probabilities, self.said, self.true)


@dataclass(frozen=True)
class Calibration:
    """How probabilities are corrected: by a temperature and perhaps shifts, or by curves.

    Attributes:
        kind: ``temperature`` or ``isotonic``.
        temperature: Above 1 makes probabilities less sure.
        shifts: Of the logarithm of each class's probability; empty: none.
        curves: Of the positive class, or of each class.
        positive: Of two classes, the one that the curve is of.
    """

    kind: str
    temperature: float = 1.0
    shifts: tuple[float, ...] = ()
    curves: tuple[Curve, ...] = ()
    positive: int | None = None

    @classmethod
    def fit(cls, kind: str, found: Floats, y: Integers, *, shifted: bool = False, positive: int | None = None) -> Self:
        """Learn it on nodes that did not train.

        Args:
            kind: ``temperature`` or ``isotonic``.
            found: Their probabilities, nodes x classes.
            y: Their classes.
            shifted: The odds of all nodes may be wrong alike: a temperature comes with shifts.
            positive: Of two classes, the one that is looked for.
        """
        if kind == "temperature":
            return cls(kind, *_temperature_and_shifts(found, y)) if shifted else cls(kind, temperature(found, y))
        if found.shape[1] == 2:
            chosen = 1 if positive is None else positive
            return cls(kind, curves=(_rising(found[:, chosen], y == chosen),), positive=chosen)
        return cls(kind, curves=tuple(_rising(found[:, label], y == label) for label in range(found.shape[1])))

    def apply(self, found: Floats) -> Floats:
        """Calibrated probabilities, nodes x classes."""
        if self.kind == "temperature":
            return calibrated(found, self.temperature, self.shifts)
        if self.positive is not None:
            chance = self.curves[0].apply(found[:, self.positive])
            return np.stack([1 - chance, chance] if self.positive == 1 else [chance, 1 - chance], axis=1)
        each = np.stack([curve.apply(column) for curve, column in zip(self.curves, found.T, strict=True)], axis=1)
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1.0), 1 / found.shape[1])

    def describe(self) -> str:
        """``temperature 1.42``, in words for a user."""
        if self.kind == "isotonic":
            return f"isotonic, {sum(len(curve.said) for curve in self.curves)} points"
        shifts = f", shifts {', '.join(f'{shift:+.2f}' for shift in self.shifts)}" if self.shifts else ""
        return f"temperature {self.temperature:.2f}{shifts}"

    def as_dict(self) -> dict[str, Any]:
        if self.kind == "temperature":
            return {"kind": self.kind, "temperature": self.temperature, "shifts": list(self.shifts)}
        curves = [{"said": list(curve.said), "true": list(curve.true)} for curve in self.curves]
        return {"kind": self.kind, "curves": curves, "positive": self.positive}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], num_classes: int) -> Self:
        """What :meth:`as_dict` gave; a ``ValueError`` where it is something else."""
        if wrong := misfit(content, {"kind": set(_FORMS)}, "calibration"):
            raise ValueError(wrong)
        if wrong := misfit(content, _FORMS[content["kind"]], "calibration"):
            raise ValueError(wrong)
        if content["kind"] == "temperature":
            if not content["temperature"] > 0 or len(content["shifts"]) not in (0, num_classes):
                raise ValueError("calibration must have a positive temperature, and a shift for each class or none")
            return cls("temperature", content["temperature"], tuple(content["shifts"]))
        curves, positive = tuple(Curve(tuple(each["said"]), tuple(each["true"])) for each in content["curves"]), None
        if num_classes == 2:
            positive = content["positive"]
            if positive not in (0, 1):
                raise ValueError("calibration.positive must be 0 or 1")
        if len(curves) != (1 if num_classes == 2 else num_classes) or not all(map(_is_curve, curves)):
            raise ValueError("calibration.curves must rise, from and to probabilities, one for each class")
        return cls("isotonic", curves=curves, positive=positive)


def _is_curve(curve: Curve) -> bool:
    said, true = np.array(curve.said), np.array(curve.true)
    if not len(said) or len(said) != len(true):
        return False
    inside = min(said.min(), true.min()) >= 0 and max(said.max(), true.max()) <= 1
    return bool(inside and (np.diff(said) >= 0).all() and (np.diff(true) >= 0).all())


def temperature(probabilities: Floats, y: Integers) -> float:
    """The T for which p^(1/T), normalised, has the smallest log loss.

    In b = 1/T the loss is convex: its slope, the mean over nodes of E[log p] - log p[true] at this T, has one zero,
    found by Newton's steps that stay between bounds.
    """
    logits = np.log(np.maximum(probabilities, _SMALLEST))
    logits -= logits.max(axis=1, keepdims=True)
    true = logits[np.arange(len(y)), y].mean()
    low, high = 1 / HOTTEST, 1 / COLDEST
    sharpness = 1.0
    for _ in range(_STEPS):
        powers = np.exp(sharpness * logits)
        total, first = powers.sum(axis=1), np.einsum("ij,ij->i", powers, logits)
        mean = first / total
        slope = mean.mean() - true
        curve = (np.einsum("ij,ij,ij->i", powers, logits, logits) / total - mean**2).mean()
        low, high = (low, sharpness) if slope > 0 else (sharpness, high)
        step = sharpness - slope / curve if curve > 0 else 0.0
        if not low < step < high:
            step = float(np.sqrt(low * high))
        if abs(step - sharpness) <= 1e-9 * sharpness:
            break
        sharpness = step
    return float(1 / sharpness)


def _temperature_and_shifts(probabilities: Floats, y: Integers) -> tuple[float, tuple[float, ...]]:
    """Those with the smallest log loss, which is convex in 1/T and the shifts; the first shift is 0."""
    from scipy.optimize import minimize

    logits, count = np.log(np.maximum(probabilities, _SMALLEST)), probabilities.shape[1]
    sure = 1 - 1 / (np.bincount(y, minlength=count) + 2.0)
    truth = np.where(np.eye(count, dtype=bool), sure[:, np.newaxis], (1 - sure[:, np.newaxis]) / max(count - 1, 1))[y]
    logits -= logits.mean(axis=1, keepdims=True)
    centre = logits.mean(axis=0)
    spread = float((logits - centre).std())
    width = spread if spread > _SMALLEST else 1.0  # where all nodes are told the same, T stays 1
    logits = (logits - centre) / width  # whatever the scale of what was said, steps are of the size of 1

    def loss(values: Floats) -> tuple[float, Floats]:
        chances = _softmax(values[0] * logits + np.append(0.0, values[1:]))
        slope = (chances - truth) / len(y)
        gradient = np.append((slope * logits).sum(), slope.sum(axis=0)[1:])
        return float(-(truth * np.log(np.maximum(chances, _SMALLEST))).sum(axis=1).mean()), gradient

    bounds = [(width / HOTTEST, width / COLDEST_SHIFTED), *[(-LARGEST_SHIFT, LARGEST_SHIFT)] * (count - 1)]
    begin = np.append(np.clip(1.0, *bounds[0]), np.zeros(count - 1))
    found = minimize(loss, begin, jac=True, bounds=bounds, method="L-BFGS-B").x
    sharpness = float(found[0]) / width
    shifts = np.append(0.0, found[1:]) - sharpness * centre
    return 1 / sharpness, tuple(float(shift) for shift in shifts - shifts[0])


def _rising(said: Floats, members: np.ndarray[Any, Any]) -> Curve:
    """The rising curve nearest to what came true; n nodes tell no probability from 0 or 1 by less than 1 / (n + 2)."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(said, members.astype(np.float64))
    least = 1 / (len(said) + 2)
    true = np.clip(fitted.y_thresholds_, least, 1 - least)
    return Curve(tuple(fitted.X_thresholds_.tolist()), tuple(true.tolist()))


def calibrated(probabilities: Floats, temperature: float, shifts: Sequence[float] = ()) -> Floats:
    """p^(1/T) e^s, normalised, n x classes."""
    logits = np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), _SMALLEST)) / temperature
    return _softmax(logits + np.array(shifts) if shifts else logits)


def log_loss(probabilities: Floats, y: Integers) -> float:
    """The mean negative logarithm of what the true class is given."""
    return float(-np.log(np.maximum(probabilities[np.arange(len(y)), y], _SMALLEST)).mean())


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalised: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return normalised
