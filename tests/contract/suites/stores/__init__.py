"""The contract of every store: subclass `StoreContract` under pytest to check yours."""

from suites.stores.concurrency import ConcurrencyContract
from suites.stores.history import HistoryContract
from suites.stores.keyword import KeywordContract
from suites.stores.memories import MemoriesContract
from suites.stores.subwords import SubwordsContract
from suites.stores.topics import TopicContract, VocabularyContract
from suites.stores.transactions import TransactionContract
from suites.stores.vectors import VectorContract
from suites.stores.waiting import WaitingContract


class StoreContract(
    TransactionContract,
    KeywordContract,
    SubwordsContract,
    TopicContract,
    VocabularyContract,
    VectorContract,
    WaitingContract,
    ConcurrencyContract,
    MemoriesContract,
    HistoryContract,
):
    """The laws of `Store`, one test each.

    `store` opens the vault under test, which is empty when a test begins; called again in the same
    test, it gives another object on the same vault.
    """
