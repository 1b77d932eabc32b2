"""Adam for one network, its gradient clipped, its state as named tensors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from voi.world import World, part, whole


class Optimiser:
    """Moves a network's parameters; a network without any is left alone."""

    def __init__(
        self,
        network: nn.Module,
        betas: tuple[float, float],
        clip: float,
        world: World = World(),
        share: float = 1.0,
    ):
        """`share` is the weight of each process in the sum of their gradients."""
        self.parameters = [p for p in network.parameters() if p.requires_grad]
        self.clip, self.world, self.share = clip, world, share
        self.adam = torch.optim.Adam(self.parameters or [torch.zeros(0)], betas=betas, fused=True)

    def step(self, rate: float) -> float:
        """Apply the gradients at a learning rate, clear them, and return their norm."""
        self.adam.param_groups[0]["lr"] = rate
        self.world.add_gradients(self.parameters, self.share)
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        norm = whole(nn.utils.get_total_norm(gradients))
        if torch.isfinite(norm):
            self.adam.grad_scale = self._excess(norm)  # type: ignore[attr-defined]  # divides them
            self.adam.step()
        self.clear()
        return norm.item()

    def _excess(self, norm: Tensor) -> Tensor:
        """Return how many times the norm is larger than it may be, at least 1."""
        return (norm / (self.clip or float("inf"))).clamp(min=1.0).float()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Put the gradients away, and give them back at the end in place of what was added."""
        gradients = [p.grad for p in self.parameters]
        self.clear()
        yield
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient

    def clear(self) -> None:
        """Forget the gradients."""
        self.adam.zero_grad(set_to_none=True)

    def forget(self) -> None:
        """Start anew, without steps and moments."""
        self.adam.state.clear()

    def tensors(self) -> dict[str, Tensor]:
        """Return step counts and moments by parameter number and name."""
        states = self.adam.state_dict()["state"]
        return {f"{i}.{name}": x for i, state in states.items() for name, x in state.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        states: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            number, _, name = key.partition(".")
            own = part(tensor, self.parameters[int(number)])
            states.setdefault(int(number), {})[name] = own
        self.adam.load_state_dict({**self.adam.state_dict(), "state": states})
