"""q(z | x, y): fixed and learned orders; each answers a batch with a distribution."""

import torch
from torch import nn

from voi.config import KINDS, OrderConfig, check_kind
from voi.decoder import InsertionDecoder
from voi.orders.fixed import (
    BalancedTree,
    ByFrequency,
    LeftToRight,
    RandomOrder,
    RightToLeft,
    UserOrder,
)
from voi.orders.learned import OrderGenerator
from voi.orders.searched import SearchedOrder, search_orders


def make_orders(
    kind: str,
    config: OrderConfig,
    counts: torch.Tensor,
    decoder: InsertionDecoder,
    region_size: int = 0,
) -> nn.Module:
    """Return what answers a batch with a law over orders: (Batch, SourceStates) -> OrderLaw.

    `counts [v]` are the frequencies of the training targets' tokens, `decoder` is what orders are
    searched under.
    """
    check_kind(kind)
    if ":" in kind:
        return UserOrder(kind)
    if kind in ("common", "rare"):
        return ByFrequency(counts, common_first=kind == "common")
    if kind == "sao":
        return SearchedOrder(decoder, config.beam, config.weighting)
    if kind == "voi":
        return OrderGenerator(config, len(counts), region_size)
    plain = {"l2r": LeftToRight, "r2l": RightToLeft, "random": RandomOrder, "tree": BalancedTree}
    return plain[kind]()


__all__ = ["KINDS", "OrderGenerator", "make_orders", "search_orders"]
