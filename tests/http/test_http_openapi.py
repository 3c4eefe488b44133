"""`/openapi.json` says what the server does, and the server does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server import API, NOW, Server, environment, problem, serving
from jsonschema import Draft202012Validator

from examples import examples
from recollect.interfaces.http.api import OPERATIONS
from recollect.present.response import VIEWS
from recollect.recipes.registry import BUILT_IN

METHODS = {"get", "post", "patch", "delete", "put", "head", "options"}
ST = str(Path(sys.executable).with_name("st"))
# What is seen without telling the server what comes: that nothing crashes, and that status, type,
# headers and body are those of the document. `positive_data_acceptance` is left out because times
# and cursors have forms that a schema cannot say, and a memory needs a title or a text.
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "unsupported_method",
)  # fmt: skip
# Beside its own list: an address that is too long is refused before anything else is looked at.
REFUSALS = (400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 421)
# However slow the machine is.
CONFIG = f"""
request-timeout = 120
suppress-health-check = ["too_slow"]
[checks]
negative_data_rejection.expected-statuses = {[*REFUSALS]}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), RECOLLECT_NOW=NOW) as started:
        told = [
            {
                "id": f"seed-{n}", "title": f"Seed {n}", "text": "Tokens and tides.",
                "tags": ["auth"], "project": "harbor", "severity": "warning",
            }
            for n in range(5)
        ]  # fmt: skip
        assert started.post(f"{API}/memories", told).status_code == 200
        yield started


@pytest.fixture(scope="module")
def document(server: Server) -> Any:
    answer = server.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def everywhere(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from everywhere(inner)


def test_the_document_has_the_parts_that_openapi_3_1_wants(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    assert {"title", "version"} <= set(document["info"])
    for path, methods in document["paths"].items():
        assert path.startswith("/")
        assert set(methods) <= METHODS
        for operation in methods.values():
            assert operation["summary"]
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path)), path
            for parameter in operation["parameters"]:
                assert parameter["in"] in ("path", "query", "header")
                assert "schema" in parameter
            for status, told in operation["responses"].items():
                assert re.fullmatch(r"[2-5]\d\d", status)
                assert told["description"]


def test_each_operation_has_a_name_of_its_own(document: Any) -> None:
    names = [
        one["operationId"] for methods in document["paths"].values() for one in methods.values()
    ]
    assert len(set(names)) == len(names)


def test_every_reference_leads_somewhere_and_every_schema_is_one(document: Any) -> None:
    schemas = document["components"]["schemas"]
    parts = [*everywhere(document)]
    named = {part["$ref"].removeprefix("#/components/schemas/") for part in parts if "$ref" in part}
    assert named
    assert named <= schemas.keys()
    shown = [part["schema"] for part in parts if "schema" in part]
    assert shown
    for schema in (*shown, *schemas.values()):
        Draft202012Validator.check_schema(schema)


def test_every_route_of_the_api_is_in_the_document_and_the_other_way_round(document: Any) -> None:
    told = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    assert told == {(one.method, re.sub(r":\w+}", "}", one.path)) for one in OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
def test_every_operation_is_answered_and_refuses_parameters_it_does_not_have(
    server: Server, operation: Any
) -> None:
    path = operation.path.replace("{id:path}", "seed-4").replace("{recipe}", "blend")
    answer = server.client.request(operation.method, path, params={"colour": "red"})
    assert problem(answer, 400)


def test_examples_in_the_document_are_accepted(server: Server, document: Any) -> None:
    for id, title in (("auth-jwt-001", "Switched to JWT"), ("auth-jwt-002", "JWT it is")):
        server.post(f"{API}/memories", {"id": id, "title": title})
    for saved in (server.home / "recipes").glob("*.toml"):
        saved.unlink()  # by the tool that tries the examples, too
    for id in ("twin-1", "twin-2"):
        server.post(f"{API}/memories", {"id": id, "text": "The twins say the very same words"})
    [item] = server.client.get(f"{API}/review", params={"kind": "duplicate", "limit": 1}).json()[
        "items"
    ]
    tried = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "requestBody" not in operation:
                continue
            for media, content in operation["requestBody"]["content"].items():
                if "{recipe}" in path:  # the one before has another name by now
                    for saved in (server.home / "recipes").glob("*.toml"):
                        saved.unlink()
                    server.post(f"{API}/recipes", {"name": "mine", "extends": "blend", "set": {}})
                named = path.replace("{id}", item["id"] if "/review/" in path else "seed-4")
                answer = server.client.request(
                    method,
                    named.replace("{recipe}", "mine"),
                    json=content["example"],
                    headers={"Content-Type": media},
                )
                assert 200 <= answer.status_code < 300, answer.text
                tried += 1
    assert tried >= 6


def check_answer(document: Any, path: str, answer: Any) -> None:
    """Check a response against the document."""
    held = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    schema = held["schema"] | {"components": document["components"]}
    Draft202012Validator(schema).validate(answer)


@pytest.mark.parametrize("recipe", BUILT_IN)
@pytest.mark.parametrize("view", VIEWS)
def test_what_a_search_answers_is_what_the_document_says(
    server: Server, document: Any, recipe: str, view: str
) -> None:
    told = {"recipe": recipe, "view": view, "explain": True, "facets": True}
    answer = server.search("auth tokens", **told)
    assert answer["results"]
    check_answer(document, f"{API}/search", answer)


def test_a_view_shows_no_field_that_the_document_does_not_know(
    server: Server, document: Any
) -> None:
    known = set(document["components"]["schemas"]["ResultJson"]["properties"])
    for view in VIEWS:
        found = server.search("auth tokens", view=view, explain=True)["results"]
        assert found, view
        for result in found:
            assert set(result) <= known


def test_the_server_keeps_to_its_document_whatever_it_is_asked(
    server: Server, tmp_path: Path
) -> None:
    """Requests made from the document, right and wrong ones, by a tool that knows only it."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG, encoding="utf-8")
    command = [
        ST, "--config-file", str(config), "run", f"{server.url}/openapi.json", "--no-color",
        "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
        "--max-examples", str(examples(9)), "--seed", "7", "--workers", "2",
        "--generation-database", "none",
    ]  # fmt: skip
    here = Path(__file__).parent
    hooks = {
        "SCHEMATHESIS_HOOKS": "http_fuzzing",
        "PYTHONPATH": os.pathsep.join(map(str, (here, here.parent))),
        "EXAMPLES": os.environ.get("EXAMPLES", ""),
    }
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(tmp_path, **hooks),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Tested: {len(OPERATIONS)}\n" in done.stdout
    assert server.get("/healthz").status_code == 200
    assert not [line for line in server.log() if line["level"] == "error"]
