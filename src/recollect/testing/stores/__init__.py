"""What every store must do: subclass `StoreContract` under pytest to check yours.

class TestMyStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _vault(self, tmp_path: Path) -> None:
        self.path = tmp_path / "vault.db"

    def store(self) -> Store:
        return MyStore(self.path)
"""

from recollect.testing.stores.concurrency import ConcurrencyContract
from recollect.testing.stores.history import HistoryContract
from recollect.testing.stores.keyword import KeywordContract
from recollect.testing.stores.memories import MemoriesContract
from recollect.testing.stores.subwords import SubwordsContract
from recollect.testing.stores.topics import TopicContract
from recollect.testing.stores.transactions import TransactionContract
from recollect.testing.stores.vectors import VectorContract
from recollect.testing.stores.vocabulary import VocabularyContract
from recollect.testing.stores.waiting import WaitingContract


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
