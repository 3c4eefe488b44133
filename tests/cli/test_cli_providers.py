"""Model providers from end to end: up, down, slow, wrong, and refusing a text."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from commandline import LONGEST_S, NOW, RECOLLECT, Home, check_error, recompute_node
from planned_search import OverAt

from model_server import Fault, ModelServer, Recorded, Reply
from patience import until


class Held(ModelServer):
    """Holds an answer back, where `holding` says so, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.holding: Callable[[], bool] = lambda: False
        self.held, self.let_go = threading.Event(), threading.Event()

    def answer(self, request: Recorded) -> Reply:
        reply = super().answer(request)
        if self.holding():
            self.held.set()
            self.let_go.wait(LONGEST_S)
        return reply


@pytest.fixture
def server() -> Iterator[Held]:
    with Held() as running:
        assert isinstance(running, Held)
        yield running
        running.let_go.set()


@pytest.fixture
def home(tmp_path: Path, server: ModelServer) -> Home:
    """A home that embeds through the server, as `openai`."""
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW, **openai(server.openai_url))


def openai(url: str, model: str = "toy") -> dict[str, str]:
    return {
        "RECOLLECT_EMBEDDING__PROVIDER": "openai",
        "RECOLLECT_EMBEDDING__MODEL": model,
        "RECOLLECT_EMBEDDING__BASE_URL": url,
        "RECOLLECT_EMBEDDING__TIMEOUT_S": "30",
    }


NOBODY = "http://127.0.0.1:9/v1"  # where nothing listens


def embedded_texts(server: ModelServer) -> list[str]:
    """Every text the server was asked to embed, in order."""
    return [
        text
        for request in server.requests
        if request.path in ("/v1/embeddings", "/api/embed")
        for text in request.body["input"]
    ]


def notes(count: int) -> list[dict[str, Any]]:
    return [{"id": f"n{number:03}", "title": f"Note {number}"} for number in range(count)]


def reasons(answer: Any, channel: str = "vector") -> str:
    return " ".join(one["reason"] for one in answer["degraded"] if one["channel"] == channel)


def waiting(home: Home) -> int:
    count: int = home.json("stats")["waiting"]
    return count


def blobs(home: Home) -> list[int]:
    """Return the number of bytes of each stored vector."""
    file = apsw.Connection(str(home.vault))
    sizes = [int(str(size)) for (size,) in file.execute("SELECT length(vector) FROM vectors")]
    file.close()
    return sizes


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_what_is_saved_is_embedded_and_found_by_meaning(
    tmp_path: Path, server: ModelServer, provider: str
) -> None:
    """The whole way through the installed command, whose process ends after each save."""
    url = server.openai_url if provider == "openai" else server.url
    home = Home(tmp_path / "home", **openai(url) | {"RECOLLECT_EMBEDDING__PROVIDER": provider})
    saved = home.run("save", "--title", "Car repair", "--id", "car")
    assert (saved.code, saved.err) == (0, "")
    home.run("save", "--title", "Cooking pasta", "--id", "pasta")
    stats = home.run("stats", "--json").json()
    assert (stats["vectors"], stats["waiting"]) == (2, 0)
    assert stats["embedding"] == f"{provider}:toy"
    answer = home.run("search", "automobile", "--recipe", "vault", "--json", "--explain").json()
    assert answer["degraded"] == []
    assert answer["results"][0]["id"] == "car", "No word is shared."
    assert answer["counts"]["vector"] == 2
    assert {"embed", "vector", "total"} <= set(answer["timings_ms"])
    for result in answer["results"]:
        recompute_node(result["explain"])
    assert embedded_texts(server) == ["Car repair", "Cooking pasta", "automobile"]


def test_prefixes_and_dimensions_are_the_settings(home: Home, server: ModelServer) -> None:
    environment = {
        "RECOLLECT_EMBEDDING__QUERY_PREFIX": "search_query: ",
        "RECOLLECT_EMBEDDING__DOCUMENT_PREFIX": "search_document: ",
        "RECOLLECT_EMBEDDING__DIMENSIONS": "16",
    }
    home.save("--title", "Note", using=environment)
    home.search("note", "--recipe", "vault", using=environment)
    assert embedded_texts(server) == ["search_document: Note", "search_query: note"]
    assert blobs(home) == [4 * 16]


def test_the_key_travels_and_is_never_shown(home: Home, server: ModelServer) -> None:
    server.key = "sk-secret"
    home.save("--title", "Note")
    assert waiting(home) == 1
    wrong, right = ({"OPENAI_API_KEY": key} for key in ("sk-wrong", "sk-secret"))
    assert "sk-wrong" not in check_error(home.call("reindex", using=wrong), "401", "OPENAI_API_KEY")
    assert home.call("reindex", using=right).code == 0
    assert waiting(home) == 0


def test_with_the_server_down_saving_goes_on_and_is_made_up_for(
    home: Home, server: ModelServer
) -> None:
    down = openai(NOBODY)
    patient = down | {"RECOLLECT_EMBEDDING__TIMEOUT_S": "3600"}  # it is not waited for
    saved = home.run("save", "--title", "Written offline", "--id", "offline", using=patient)
    assert (saved.code, saved.out, saved.err) == (0, "offline\n", "")
    stats = home.json("stats", using=down)
    assert (stats["memories"], stats["vectors"], stats["waiting"]) == (1, 0, 1)
    answer = home.search("offline", "--recipe", "vault", using=down)
    assert [result["id"] for result in answer["results"]] == ["offline"]
    assert "cannot be reached" in reasons(answer)
    assert "embedding.base_url" in reasons(answer)
    check_error(home.call("reindex", using=down), "cannot be reached")

    # The server is back, but the vector is still missing: the response says so, too.
    late = home.search("offline", "--recipe", "vault")
    assert "1 of 1 memories have no vector yet" in reasons(late)
    assert "recollect reindex" in reasons(late)
    assert home.run("reindex").out == "Indexes rebuilt; 1 vector computed.\n"
    assert waiting(home) == 0
    assert home.search("offline", "--recipe", "vault")["degraded"] == []


def test_a_save_embeds_its_own_text_and_nothing_that_others_left(
    home: Home, server: ModelServer
) -> None:
    home.call("import", "-", "--no-embed", stdin=b'{"title": "Earlier"}')
    home.save("--title", "Later")
    home.search("earlier", "--recipe", "vault")
    sent = [text for request in server.requests for text in request.body["input"]]
    assert sent == ["Later", "earlier"]
    assert waiting(home) == 1
    long = home.run("save", "--title", "Long", "--text", "word " * 1000, "--id", "long")
    assert (long.code, long.out) == (0, "long\n")
    assert "by a running server or `recollect reindex`" in long.err
    assert waiting(home) == 2


def test_an_import_embeds_in_batches_of_a_hundred(home: Home, server: ModelServer) -> None:
    done = home.import_memories(*notes(250))
    assert (done.code, done.err) == (0, "")
    assert done.out == "250 added, 0 updated, 0 unchanged.\n"
    assert [len(request.body["input"]) for request in server.requests] == [100, 100, 50]
    assert home.import_memories(*notes(250)).out == "0 added, 0 updated, 250 unchanged.\n"
    assert len(server.requests) == 3, "What has a vector is skipped."
    assert waiting(home) == 0


def test_an_import_with_the_server_down_says_what_waits_and_why(home: Home) -> None:
    home.environment |= openai(NOBODY)
    done = home.import_memories(*notes(3))
    assert done.code == 0
    added, missing = done.out.splitlines()
    assert added == "3 added, 0 updated, 0 unchanged."
    assert missing.startswith("3 memories have no vector yet (The embedding provider openai at ")
    assert "recollect reindex" in missing


def test_an_edit_makes_the_vector_anew_and_a_pin_does_not(home: Home, server: ModelServer) -> None:
    home.save("--title", "Old words", "--id", "m")
    for args in (
        ("pin", "m"),
        ("edit", "m", "--add-tag", "t"),
        ("edit", "m", "--title", "New words"),
    ):
        assert home.call(*args).code == 0
    assert embedded_texts(server) == ["Old words", "New words"]
    assert waiting(home) == 0
    home.call("forget", "m")
    assert (waiting(home), blobs(home)) == (0, [])
    home.call("forget", "--undo", "m")
    assert (waiting(home), len(blobs(home))) == (0, 1)


def test_another_dimension_is_refused_and_reindex_is_the_cure(
    home: Home, server: ModelServer
) -> None:
    home.import_memories(*notes(3))
    server.dimensions = 32
    done = home.import_memories({"id": "later", "title": "Later"})
    assert done.code == 0, "The memory is kept."
    for part in ("64 dimensions", "32", "recollect reindex"):
        assert part in done.out
    assert "later" in home.list_ids()
    assert blobs(home) == [4 * 64] * 3
    answer = home.search("note", "--recipe", "vault")
    assert len(answer["results"]) == 3
    assert "64" in reasons(answer)
    assert "32" in reasons(answer)
    assert home.json("reindex") == {"vectors": 4, "waiting": 0}
    assert blobs(home) == [4 * 32] * 4
    assert home.search("note", "--recipe", "vault")["degraded"] == []
    assert home.is_sound()


def test_another_model_of_another_dimension_is_cured_by_reindex_alone(
    home: Home, server: ModelServer
) -> None:
    home.import_memories(*notes(3))
    server.dimensions = 32
    home.environment |= openai(server.openai_url, model="other")
    home.save("--title", "Later", "--id", "later")
    assert waiting(home) == 4
    assert "have no vector yet" in reasons(home.search("note", "--recipe", "vault"))
    assert home.json("reindex") == {"vectors": 4, "waiting": 0}
    assert blobs(home) == [4 * 32] * 4, "The other model's vectors are gone."
    assert home.search("note", "--recipe", "vault")["degraded"] == []


def test_a_killed_reindex_goes_on_where_it_stopped(home: Home, server: Held) -> None:
    """SIGKILL after the second batch; every text is asked for once and no more."""
    home.import_memories(*notes(450), args=("--no-embed",))
    server.holding = lambda: len(server.requests) == 4  # the probe for the dimension, then batches
    process = subprocess.Popen([RECOLLECT, "reindex"], env=home.environment)
    until(lambda: len(server.requests) == 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.let_go.set()
    done = len(blobs(home))
    assert done == 200
    assert waiting(home) == 450 - done
    asked = len(embedded_texts(server))
    assert home.json("reindex") == {"vectors": 450 - done, "waiting": 0}
    again = [text for text in embedded_texts(server)[asked:] if text.startswith("Note")]
    assert len(again) == 450 - done
    assert len(blobs(home)) == 450
    assert home.is_sound()


@pytest.mark.parametrize(
    "fault", [Fault.COUNT, Fault.DIMENSION, Fault.NAN, Fault.NULL, Fault.NOT_JSON, Fault.DUPLICATE]
)
def test_a_wrong_answer_loses_no_memory_and_stores_no_vector(
    home: Home, server: ModelServer, fault: Fault
) -> None:
    server.fault = fault
    done = home.import_memories(*notes(5))
    assert done.code == 0
    assert "5 memories have no vector yet (The embedding provider openai" in done.out
    assert blobs(home) == []
    assert waiting(home) == 5
    check_error(home.call("reindex"), "The embedding provider openai")
    assert blobs(home) == []
    answer = home.search("note", "--recipe", "vault")
    assert len(answer["results"]) == 5
    if fault not in (Fault.DIMENSION, Fault.DUPLICATE):  # one vector has no neighbour
        assert "The embedding provider openai" in reasons(answer)
    server.fault = None
    assert home.json("reindex") == {"vectors": 5, "waiting": 0}
    assert home.is_sound()


@pytest.mark.parametrize("fault", [Fault.HANG_UP, Fault.TRICKLE])
def test_a_server_that_never_finishes_holds_nobody_up(
    home: Home, server: ModelServer, fault: Fault
) -> None:
    server.fault = fault
    server.dimensions = 4096  # to the end of such an answer it would take half an hour
    home.environment["RECOLLECT_EMBEDDING__TIMEOUT_S"] = "0.2"
    begun = time.monotonic()
    assert home.run("save", "--title", "Note", "--id", "n").out == "n\n"
    answer = home.search("note", "--recipe", "vault")
    assert time.monotonic() - begun < LONGEST_S
    assert [result["id"] for result in answer["results"]] == ["n"]
    assert reasons(answer)
    assert (waiting(home), blobs(home)) == (1, [])


def test_a_save_is_acknowledged_before_a_slow_server_answers(home: Home, server: Held) -> None:
    server.holding = lambda: True
    with home.start("save", "--title", "Note", "--id", "n", "--text", "x") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"n\n"
        assert waiting(home) == 1, "The id came before the vector was made."
        server.let_go.set()
        assert process.wait(LONGEST_S) == 0
    assert waiting(home) == 0


class Picky(ModelServer):
    """Answers 400 to a whole batch for one text in it that is too long, as OpenAI does."""

    longest = 100

    def answer(self, request: Recorded) -> Reply:
        reply = super().answer(request)
        texts = request.body["input"] if request.path == "/v1/embeddings" else []
        if any(len(text) > self.longest for text in texts):
            return Reply(400, {"error": "too long"})
        return reply


@pytest.fixture
def picky(tmp_path: Path) -> Iterator[tuple[Home, Picky]]:
    server = Picky()
    with server:
        yield Home(tmp_path / "home", RECOLLECT_NOW=NOW, **openai(server.openai_url)), server


def test_a_refused_text_holds_up_no_other(picky: tuple[Home, Picky]) -> None:
    """Two of 250 are too long: 248 vectors, few requests, and it is said how many were refused."""
    home, server = picky
    memories = notes(250)
    for place in (42, 137):
        memories[place]["text"] = "long " * 100
    done = home.import_memories(*memories)
    assert done.code == 0
    assert "2 memories have no vector yet (2 memories were refused" in done.out
    assert "400" in done.out
    assert "too long for the model" in done.out
    assert len(blobs(home)) == 248
    # Per refused text two at each halving of 100, and a probe; far from one for each text.
    assert len(server.requests) < 40

    sentence = check_error(home.call("reindex"), "2 memories were refused", "400")
    assert "long long" not in sentence
    answer = home.search("note", "--recipe", "vault")
    assert "2 of 250 memories have no vector yet" in reasons(answer)
    assert home.search_ids("long", "--recipe", "vault")[:2] == ["n042", "n137"], "By words."

    home.call("edit", "n042", "--text", "short")
    assert waiting(home) == 1
    server.longest = 1000
    assert home.json("reindex") == {"vectors": 1, "waiting": 0}
    assert home.is_sound()


def rerank(server: ModelServer, budget_ms: int = 20_000) -> dict[str, str]:
    return {
        "RECOLLECT_RERANK__PROVIDER": "http",
        "RECOLLECT_RERANK__MODEL": "toy",
        "RECOLLECT_RERANK__BASE_URL": server.url,
        "RECOLLECT_RERANK__BUDGET_MS": str(budget_ms),
    }


TAGGED = [
    {"id": f"t{number:02}", "title": f"token note {number}", "tags": ["token"]}
    for number in range(40)
]


def test_an_http_reranker_verifies(home: Home, server: ModelServer) -> None:
    home.import_memories(*TAGGED, {"id": "best", "title": "rotate the token", "tags": ["token"]})
    ask = ("rotate token", "--recipe", "gnosis", "--explain")
    answer = home.search(*ask, using=rerank(server))
    assert answer["degraded"] == []
    assert answer["counts"]["reranked"] == answer["counts"]["pool"] == 41
    assert answer["results"][0]["id"] == "best"
    assert answer["results"][0]["verified"] is True
    assert answer["results"][0]["score"] == 1.0
    for result in answer["results"]:
        assert recompute_node(result["explain"]) == result["score"]
    [first, *_] = [request for request in server.requests if request.path == "/rerank"]
    assert set(first.body) == {"model", "query", "documents"}


def test_a_small_budget_reranks_a_part_and_says_so(
    home: Home, server: Held, over_at: OverAt
) -> None:
    home.import_memories(*TAGGED)
    asked = len(server.requests)
    server.holding = lambda: len(server.requests) == asked + 3  # the query's vector, two batches
    waited = over_at(server.held)
    ask = ("token", "--recipe", "gnosis", "--limit", "32")
    answer = home.search(*ask, using=rerank(server, budget_ms=80))
    assert waited == [0.08]
    reranked = answer["counts"]["reranked"]
    assert 0 < reranked < 40
    assert f"reranked {reranked} of 40" in reasons(answer, "rerank")
    verified = [result["verified"] for result in answer["results"]]
    assert len(verified) == 32, "What was not reached keeps its place below."
    assert verified == sorted(verified, reverse=True)


@pytest.mark.parametrize("fault", [Fault.NAN, Fault.RANGE, Fault.COUNT, Fault.NOT_JSON])
def test_a_wrong_reranker_is_left_out_and_named(
    home: Home, server: ModelServer, fault: Fault
) -> None:
    home.import_memories(*TAGGED)
    server_up = home.search("token", "--recipe", "gnosis")
    server.fault = fault
    settings = rerank(server) | {"RECOLLECT_EMBEDDING__PROVIDER": "none"}
    answer = home.search("token", "--recipe", "gnosis", using=settings)
    assert answer["counts"]["reranked"] == 0
    assert "The rerank provider http" in reasons(answer, "rerank")
    assert not any(result["verified"] for result in answer["results"])
    assert len(answer["results"]) == len(server_up["results"]) == 32


def test_an_ollama_model_that_is_not_loaded_is_not_waited_for_in_a_context(
    tmp_path: Path, server: ModelServer
) -> None:
    """`auto` embeds only when the model is warm; `always` embeds anyway; `never` never."""
    home = Home(
        tmp_path / "home",
        **openai(server.url) | {"RECOLLECT_EMBEDDING__PROVIDER": "ollama"},
    )
    home.import_memories({"id": "car", "title": "Car"}, {"id": "pasta", "title": "Pasta"})
    asked = len(embedded_texts(server))
    server.loaded.clear()
    cold = home.json("context", "automobile", "--no-topup")
    assert cold["memories"] == []
    assert len(embedded_texts(server)) == asked
    assert home.json("context", "automobile", "--no-topup", "--semantic", "never")["matched"] == 0
    assert len(embedded_texts(server)) == asked
    always = home.json("context", "automobile", "--no-topup", "--semantic", "always")
    assert always["memories"][0]["id"] == "car"
    warm = home.json("context", "automobile", "--no-topup")
    assert warm["memories"][0]["id"] == "car", "The question before has loaded it."


def test_two_processes_may_save_at_once(home: Home) -> None:
    done: list[int] = []

    def save(number: int) -> None:
        done.append(home.run("save", "--title", f"Note {number}").code)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [0] * 4
    assert len(home.list_ids()) == 4
    assert home.call("reindex").code == 0
    assert (waiting(home), len(blobs(home))) == (0, 4)
    assert home.is_sound()
