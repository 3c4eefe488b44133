"""A lifted result explains itself, for random questions over random vaults."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings

FILLING = ("purple", "elephants", "sing", "aloud", "often")
CODES = ("E4711", "v7.4.2", "FileSyncService", "kestrel", "dunlin", "/etc/okonkwo.conf", "--no-op")
# So what holds a code alone stands far down.
UNAIDED = {
    "fuse.alone.keyword": 0.001,
    "stages.bonus.signals.exact.weight": 0.0,
}
PLAIN = ("deploy", "release", "login", "alpha", "beta", "keep", "run", "show")


@pytest.fixture(scope="module", params=[1, 2, 3])
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recollect]:
    """Random texts; each code stands in one of them, among words that say nothing."""
    chance = random.Random(request.param)
    plain = [" ".join(chance.choices(PLAIN, k=chance.randint(3, 9))) for _ in range(40)]
    said = [{"text": text, "severity": "critical"} for text in plain]
    said += [{"text": f"{' '.join(chance.choices(FILLING, k=90))} {code}"} for code in CODES]
    said += [{"text": f"{word} of the day"} for word in ("keep", "run")]
    bare = Settings(embedding=Embedding("none"), rerank=Rerank("none"))
    with Recollect(home=tmp_path_factory.mktemp("vault"), settings=bare) as opened:
        opened.save_all([make_draft({"id": f"m{at}", **held}) for at, held in enumerate(said)])
        yield opened


@given(
    plain=st.lists(st.sampled_from(PLAIN), min_size=2, max_size=6),
    codes=st.lists(st.sampled_from(CODES), max_size=3),
    limit=st.integers(2, 12),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
@example(plain=["release", "run"], codes=["v7.4.2"], limit=2, share=0.1)  # the first two tie
@settings(max_examples=examples(45))
def test_the_parts_of_a_lifted_result_sum_to_its_score_and_name_what_it_holds(
    memory: Recollect, plain: list[str], codes: list[str], limit: int, share: float
) -> None:
    changes = {**UNAIDED, "stages.exact_floor.share": share}
    response = memory.search(" ".join([*plain, *codes]), limit=limit, changes=changes)
    assert response.results
    for place, result in enumerate(response):
        lifts = [part for part in result.explain.leaves() if part.name == "exact_floor"]
        if not lifts:
            continue
        assert result.explain.formula == "sum"
        assert sum((part.value for part in result.explain.parts), 0.0) == result.score
        [lift] = lifts
        if lift.formula == "stays above what is lifted":
            continue
        assert lift.value > 0
        assert place > 0
        held = [code for code in codes if code in lift.formula]
        assert held, "Only what is meant literally is lifted."
        assert all(code in result.memory.text for code in held)


def test_something_is_lifted_at_all(memory: Recollect) -> None:
    response = memory.search("deploy release login alpha beta E4711", limit=5, changes=UNAIDED)
    lifted = [r for r in response if any(p.name == "exact_floor" for p in r.explain.leaves())]
    assert [one.memory.text.split()[-1] for one in lifted] == ["E4711"]
