"""Networks that processes hold in parts, for those that do not fit one device (torch's FSDP2).

Every process holds its rows of each parameter, gradient and moment. A pass through `Networks`
gathers embeddings, norms and heads; every block gathers itself before it computes, and again in
the backward pass, where gradients are added up and divided. Outside of a pass all is in parts.
"""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from voi.config import Experiment
from voi.errors import ConfigError
from voi.layers import Block
from voi.networks import Networks
from voi.world import World, is_divided, whole


def placed(networks: Networks, experiment: Experiment, world: World) -> Networks:
    """Return the networks on the device of this process: all of them or, if sharded, its part."""
    config, device = experiment.training, torch.device(world.own_device(experiment.training.device))
    if not config.shard or world.size == 1:
        return networks.to(device)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    if device.type == "cuda":
        torch.cuda.set_device(device)
    mesh = init_device_mesh(device.type, (world.size,))
    for unit in [*_units(networks, experiment), networks]:
        sharded = fully_shard(unit, mesh=mesh)
        if not hasattr(sharded, "set_gradient_divide_factor"):
            raise ConfigError(
                f"training.shard needs a newer torch than {torch.__version__}: install one, or "
                f"train without it"
            )
        sharded.set_gradient_divide_factor(1.0 if config.split == "batches" else world.size)
        sharded.set_force_sum_reduction_for_comms(True)  # gloo knows no other
    return networks


def _units(networks: Networks, experiment: Experiment) -> Iterator[nn.Module]:
    """Yield the modules that gather their parameters when they are called, inner ones first.

    Keys and values of the source are computed outside of their block. A search for orders computes
    with parts of blocks: there, the networks are gathered as one.
    """
    if "sao" in (experiment.order.kind, *(phase.order for phase in experiment.training.phases)):
        return
    for module in networks.modules():
        if isinstance(module, Block):
            if module.cross is not None:
                yield module.cross.key_value
            yield module


def undivided(networks: Networks, make: Callable[[], Networks], world: World) -> Networks | None:
    """Return whole networks to the main process, None to the others.

    All processes must call this. Parts are gathered one after the other; `make` returns networks
    to put them into, which take no memory themselves.
    """
    if not any(map(is_divided, networks.parameters())):
        return networks
    weights = {}
    for name, x in networks.weights().items():
        gathered = whole(x)
        if world.is_main:
            weights[name] = gathered
    if not world.is_main:
        return None
    with torch.device("meta"):
        result = make()
    result.load_state_dict(weights, assign=True)
    return result
