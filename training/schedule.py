"""What both trainings share: a schedule by time, averaged weights, steps from other processes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from network import DEVICE, Network
from pairs import Pair

WARM_UP = 0.03
# Weights are averaged over about as many steps as this.
AVERAGED = 300
# Large sources count for less than their size, conversations for more.
DAMPED = 0.75
FAVOURED = {"persona": 1.5, "friendsqa": 1.5, "irc": 1.2, "taskmaster": 1.5}


class Schedule:
    """Ends when the time does: the learning rate depends on the time that is left."""

    def __init__(self, network: Network, rate: float, seconds: float) -> None:
        matrices = [one for one in network.parameters() if one.ndim > 1]
        vectors = [one for one in network.parameters() if one.ndim == 1]
        groups = [{"params": matrices, "weight_decay": 0.01},
                  {"params": vectors, "weight_decay": 0.0}]  # fmt: skip
        fused = DEVICE == "cuda"
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=fused)
        self.network = network
        self.steps = 0
        self._rate, self._seconds = rate, seconds
        self._start = time.perf_counter()
        self.average = copy.deepcopy({name: one.detach() for name, one in
                                      network.state_dict().items()})  # fmt: skip

    @property
    def share(self) -> float:
        """How much of the time is over."""
        return (time.perf_counter() - self._start) / self._seconds

    def step(self, loss: torch.Tensor) -> None:
        share = min(self.share, 1.0)
        rate = self._rate * min(share / WARM_UP, (1 - share) / (1 - WARM_UP))
        for group in self.optimiser.param_groups:
            group["lr"] = max(rate, 0.0)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.steps += 1
        kept = max(1 / AVERAGED, 1 / self.steps)
        for name, one in self.network.state_dict().items():
            self.average[name].lerp_(one, kept)

    def between(self, begun_as: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
        """Weights so far between those that training began with and the averaged ones."""
        return {name: torch.lerp(begun_as[name], one, share) for name, one in self.average.items()}


def source_weights(pairs: list[Pair]) -> list[float]:
    """How often each pair is drawn."""
    sizes: dict[str, int] = {}
    for pair in pairs:
        sizes[pair.source] = sizes.get(pair.source, 0) + 1
    return [sizes[pair.source] ** (DAMPED - 1) * FAVOURED.get(pair.source, 1.0) for pair in pairs]


class Steps(IterableDataset[Any]):
    """Steps without end, each made from its number alone, whichever process makes it."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number, every = (worker.id, worker.num_workers) if worker else (0, 1)
        while True:
            yield self._make(number)
            number += every


def steps(make: Callable[[int], Any], processes: int) -> Iterator[Any]:
    several = {"prefetch_factor": 4} if processes else {}
    return iter(DataLoader(Steps(make), batch_size=None, num_workers=processes, **several))
