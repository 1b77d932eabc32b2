"""p(y, z | x): source encoder, insertion decoder, token and slot heads."""

from voi.decoder.insertion import InsertionDecoder, StepLogProbs
from voi.decoder.source import SourceEncoder, SourceStates

__all__ = ["InsertionDecoder", "SourceEncoder", "SourceStates", "StepLogProbs"]
