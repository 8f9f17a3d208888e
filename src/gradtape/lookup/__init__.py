"""The public namespace `gradtape.lookup`: tables from keys to values."""

from ..files.vocabulary import TextFileIndex, TextFileInitializer
from ..names.missing import closed
from ..ops.lookup.tables import KeyValueTensorInitializer, StaticHashTable, StaticVocabularyTable
from . import experimental

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]

closed(__name__)
