"""Models that are fitted round by round without gradients, one member after the other, on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy

import torch
from torch import Tensor

from glognn.models.base import BoostedModel
from glognn.training.engines.base import Engine, Members
from glognn.training.evaluation import Evaluation, class_weights


class BoostedEngine(Engine):
    """One epoch is one round; when a model has all that its settings allow, further epochs change nothing.

    Class scores are kept and get each round's part added, so that an epoch costs the same late as early. The best epoch
    is remembered as a number of rounds, and so is all that a snapshot holds: going on grows the same trees again.
    """

    name = "boosted"

    def __init__(self, members: Members) -> None:
        graph, configs, splits = members.graph.to(device="cpu"), members.configs, members.splits
        copies = [deepcopy(model).cpu().eval() for model in members.models]
        self._models = [copy for copy in copies if isinstance(copy, BoostedModel)]
        self._models[0].reset_parameters()
        self._models[0].learn_inputs(graph)
        learned = self._models[0].first_rounds(0)
        for each in self._models[1:]:
            each.load_state_dict(learned)
        shared = self._models[0].shared(graph)
        self._evaluation = Evaluation(graph, splits, configs[0])
        self._inputs, self._boostings = [], []
        for each, config, split in zip(self._models, configs, splits, strict=True):
            nodes = graph.indices(split)["train"]
            labels = graph.y[nodes]
            weights = class_weights(labels, graph, config)
            of_nodes = None if weights is None else weights[labels]
            each.learn_labels(nodes, labels)
            self._inputs.append(each.completed(shared, graph))
            self._boostings.append(each.boosting(self._inputs[-1], nodes, labels, of_nodes, config.seed))
        self._scores = torch.stack([each.logits(own) for each, own in zip(self._models, self._inputs, strict=True)])
        self._rounds, self._best = 0, [0] * len(self._models)

    @classmethod
    def refusal(cls, members: Members) -> str:
        model = members.models[0]
        return "" if isinstance(model, BoostedModel) else f"{model.config.title} learns by gradients"

    def step(self) -> Tensor:
        losses = self._evaluation.train_losses(self._scores)
        before, wanted = self._rounds, self._rounds + 1
        for place, (model, boosting) in enumerate(zip(self._models, self._boostings, strict=True)):
            self._rounds = boosting.grow(wanted)
            known = self._scores[place] if before else None
            self._scores[place] = model.grown(self._inputs[place], known, before, self._rounds)
        return losses

    def evaluate(self) -> Tensor:
        return self._evaluation.measure(self._scores)

    def remember(self, members: Sequence[int]) -> None:
        for place in members:
            self._best[place] = self._rounds

    def keep(self, members: Sequence[int]) -> None:
        self._models = [self._models[place] for place in members]
        self._inputs = [self._inputs[place] for place in members]
        self._boostings = [self._boostings[place] for place in members]
        self._best = [self._best[place] for place in members]
        index = torch.tensor(list(members), dtype=torch.long)
        self._scores = self._scores[index]
        self._evaluation.keep(index)

    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        return self._models[member].first_rounds(self._best[member] if best else self._rounds)

    def snapshot(self) -> dict[str, Tensor]:
        return {"rounds": torch.tensor(self._rounds), "best": torch.tensor(self._best)}

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        self._rounds, self._best = int(snapshot["rounds"]), snapshot["best"].tolist()
        for place, (model, boosting) in enumerate(zip(self._models, self._boostings, strict=True)):
            boosting.grow(self._rounds)
            self._scores[place] = model.logits(self._inputs[place])
