"""Text -> ids and back: vocabulary, tokenizers, copying, and whole corpora of ids."""

from voi.tokens.codec import Codec, Encoded, build_codec
from voi.tokens.config import TokensConfig
from voi.tokens.corpus import Corpus, CorpusReport, Ragged, build_corpus
from voi.tokens.vocabulary import END, PAD, START, UNK, Vocabulary

__all__ = [
    "END",
    "PAD",
    "START",
    "UNK",
    "Codec",
    "Corpus",
    "CorpusReport",
    "Encoded",
    "Ragged",
    "TokensConfig",
    "Vocabulary",
    "build_codec",
    "build_corpus",
]
