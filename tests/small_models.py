"""Tiny networks, batches and laws for the tests; all weights come from a fixed seed."""

import torch
from torch import Tensor, nn

from voi.batch import Batch
from voi.config import DecoderConfig, OrderConfig
from voi.decoder import InsertionDecoder
from voi.orders import OrderGenerator
from voi.tokens import END, PAD, START

TINY = {"width": 8, "hidden": 16, "heads": 2, "source_layers": 1}


def roughen(module: nn.Module, scale: float = 0.4) -> nn.Module:
    """Return the module in evaluation mode, all parameters drawn afresh: none is zero or alike."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * scale)
    return module.eval()


def tiny_decoder(
    vocabulary_size: int = 7, layers: int = 2, region_size: int = 0, seed: int = 0, **options
) -> InsertionDecoder:
    torch.manual_seed(seed)
    config = DecoderConfig(**{**TINY, "layers": layers, **options})
    return roughen(InsertionDecoder(config, vocabulary_size, region_size))


def tiny_generator(
    vocabulary_size: int = 7, region_size: int = 0, seed: int = 1, **options
) -> OrderGenerator:
    torch.manual_seed(seed)
    config = OrderConfig(**{**TINY, "layers": 2, **options})
    return roughen(OrderGenerator(config, vocabulary_size, region_size))


def padded(rows: list[list[int]], width: int = 0) -> tuple[Tensor, Tensor]:
    """Return rows of ids as a tensor with PAD at the tail, and their lengths."""
    width = max(width, *map(len, rows))
    ids = [row + [PAD] * (width - len(row)) for row in rows]
    shaped = torch.tensor(ids, dtype=torch.long).reshape(len(rows), width)
    return shaped, torch.tensor([len(row) for row in rows])


def text_batch(
    targets: list[list[int]],
    sources: list[list[int]] | None = None,
    target_width: int = 0,
    source_width: int = 0,
) -> Batch:
    """Return a batch of ids, padded to the longest row or to the widths given."""
    target, lengths = padded(targets, target_width)
    if sources is None:
        return Batch(target, lengths)
    source, source_lengths = padded(sources, source_width)
    return Batch(target, lengths, source=source, source_lengths=source_lengths)


def region_batch(
    targets: list[list[int]], num_regions: list[int], region_size: int = 3, seed: int = 0
) -> Batch:
    """Return a batch of images with some number of random regions each."""
    generator = torch.Generator().manual_seed(seed)
    target, lengths = padded(targets)
    shape = (len(targets), max(num_regions))
    return Batch(
        target,
        lengths,
        features=torch.randn(*shape, region_size, generator=generator),
        boxes=torch.rand(*shape, 4, generator=generator),
        source_lengths=torch.tensor(num_regions),
    )


def orders_of(rows: list[list[int]], width: int = 0) -> Tensor:
    """Return one order per row, [1, batch, n], continued by the identity on padding."""
    width = max(width, *map(len, rows))
    return torch.tensor([row + list(range(len(row), width)) for row in rows]).unsqueeze(0)


def producible(vocabulary_size: int) -> list[int]:
    """Return the ids that a decoder can write, END aside."""
    return [word for word in range(vocabulary_size) if word not in (PAD, START, END)]
