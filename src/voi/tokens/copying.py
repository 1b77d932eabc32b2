"""Copying: source words outside the vocabulary get reserved tokens that the target can name.

The i-th different unknown word of a source is the token <copy:i>, in the source and in its
target alike, so a model learns to write it as it learns any other word.
"""

from collections.abc import Iterable, Sequence

from voi.tokens.vocabulary import UNK, Vocabulary


def unknown_words(source_tokens: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Return the source's different words outside the vocabulary that can be copied, in order.

    Those beyond the number of reserved tokens stay unknown.
    """
    if not vocabulary.num_copies:
        return []
    unknown = dict.fromkeys(word for word in source_tokens if word not in vocabulary.index)
    return list(unknown)[: vocabulary.num_copies]


def ids_with_copies(
    tokens: Iterable[str], copied: Sequence[str], vocabulary: Vocabulary
) -> list[int]:
    """Return the id of each token, with reserved ids for the words that are copied.

    >>> vocabulary = Vocabulary.build({}, {"call": 1}, num_copies=2)
    >>> copied = unknown_words("call foo and bar".split(), vocabulary)
    >>> copied, ids_with_copies("call and foo baz".split(), copied, vocabulary)
    (['foo', 'and'], [6, 5, 4, 1])
    """
    reserved = dict(zip(copied, vocabulary.copies, strict=False))
    index = vocabulary.index
    return [index.get(token) or reserved.get(token, UNK) for token in tokens]


def tokens_with_copies(
    ids: Iterable[int], copied: Sequence[str], vocabulary: Vocabulary
) -> list[str]:
    """Return the token of each id, with copied words restored.

    A reserved id that names no word of the source is as unknown as UNK.
    """
    texts = dict(zip(vocabulary.copies, copied, strict=False))
    words = vocabulary.words
    return [
        texts.get(number, words[UNK]) if number in vocabulary.copies else words[number]
        for number in ids
    ]
