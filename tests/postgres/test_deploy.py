"""Everything that `postgres/deploy/` names exists: commands, settings, metrics, its own files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs_blocks import DOCS, ROOT
from http_server import API, Server, serving

from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import every_command, resolve
from recollect.settings_reading import load_settings, setting_keys, variable_of
from recollect_postgres.migration import migrations

DEPLOY = ROOT / "postgres" / "deploy"
FILES = sorted(file for file in DEPLOY.rglob("*") if file.is_file())
PAGE = DOCS / "how-to" / "use-postgresql.md"
SHOWN = [*FILES, PAGE, DOCS / "how-to" / "run-a-team-server.md"]
VARIABLES = {"RECOLLECT_HOME", "RECOLLECT_TOKEN", "RECOLLECT_AGENT_TOKEN"}
# In a shell, in a list of YAML or JSON, in a unit.
COMMAND = re.compile(r'(?:\$ |\[|\["|/bin/|: |&& |`)recollect(?P<rest>[", ]+[^\n`\]]*)')
KINDS = {
    "Kustomization", "Namespace", "StatefulSet", "Service", "PodDisruptionBudget",
}  # fmt: skip


def load_yaml(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_file_is_what_its_name_says(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if file.suffix in (".yaml", ".yml"):
        assert all(isinstance(one, dict) for one in yaml.safe_load_all(text))
    elif file.suffix == ".json":
        assert json.loads(text)
    elif file.suffix in (".service", ".conf") and file.name != "nginx.conf":
        parsed = RawConfigParser(strict=False, allow_no_value=True)
        parsed.read_string(text)
        assert parsed.sections()
    elif file.name == "nginx.conf":
        assert text.count("{") == text.count("}") > 0
    else:
        assert file.name == "Containerfile"
        assert {"FROM", "COPY", "RUN", "USER", "CMD"} <= set(re.findall(r"(?m)^[A-Z]+", text))


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: file.name)
def test_every_variable_is_a_setting_and_every_command_is_there(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    known = VARIABLES | {variable_of(key) for key in setting_keys()}
    assert set(re.findall(r"\bRECOLLECT_[A-Z_]*[A-Z]\b", text)) <= known
    for found in COMMAND.finditer(text):
        words = shlex.split(re.sub(r"[\",]", " ", found["rest"]).partition(" #")[0])
        name, rest = resolve(words or [""])
        if name not in every_command():
            assert not words or not words[0].isalpha() or words[0] == "serves", found[0]
            continue
        if found[0].startswith("`") and not rest:
            continue  # a sentence that names the command
        parser_of(name).parse_args([word for word in rest if word != "|"])


def test_the_commands_of_servers_are_found_by_that(tmp_path: Path) -> None:
    """Else the test above would check nothing."""
    found = [m["rest"] for file in FILES for m in COMMAND.finditer(file.read_text("utf-8"))]
    assert sum("serve" in rest for rest in found) >= 3
    assert sum("migrate" in rest for rest in found) >= 3


def test_the_manifests_refer_to_each_other() -> None:
    kustomization = load_yaml("kubernetes/kustomization.yaml")
    files = ["kustomization.yaml", *kustomization["resources"]]
    assert sorted(files) == sorted(file.name for file in (DEPLOY / "kubernetes").iterdir())
    texts = [(DEPLOY / "kubernetes" / name).read_text("utf-8") for name in files]
    documents = [one for text in texts for one in yaml.safe_load_all(text)]
    assert {one["kind"] for one in documents} == KINDS
    assert all(one["apiVersion"] and ("metadata" in one or "resources" in one) for one in documents)
    servers = next(one for one in documents if one["kind"] == "StatefulSet")
    services = {one["metadata"]["name"]: one for one in documents if one["kind"] == "Service"}
    assert services[servers["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    pod = servers["spec"]["template"]
    for one in documents:
        selector = one.get("spec", {}).get("selector", {})
        assert selector.get("matchLabels", selector).items() <= pod["metadata"]["labels"].items()
    [container] = pod["spec"]["containers"]
    maps = {one["name"] for one in kustomization["configMapGenerator"]}
    assert {each["configMapRef"]["name"] for each in container["envFrom"][:1]} == maps
    volumes = {each["name"] for each in pod["spec"]["volumes"]}
    volumes |= {each["metadata"]["name"] for each in servers["spec"]["volumeClaimTemplates"]}
    assert {each["name"] for each in container["volumeMounts"]} == volumes
    literals = dict(
        each.split("=", 1) for each in kustomization["configMapGenerator"][0]["literals"]
    )
    assert load_settings(Path("/nowhere"), literals).store.url.startswith("postgresql://")
    names = [f"recollect-{n}.servers" for n in range(servers["spec"]["replicas"])]
    assert set(names) <= set(literals["RECOLLECT_SERVE__HOSTS"].split(", "))


def test_compose_starts_servers_that_know_their_names_after_the_migration() -> None:
    compose = load_yaml("compose.yaml")
    services = compose["services"]
    servers = {name: one for name, one in services.items() if name.startswith("recollect-")}
    assert len(servers) == 2
    for name, one in servers.items():
        assert one["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
        settings = load_settings(Path("/nowhere"), one["environment"])
        assert name in settings.serve.hosts.split(", ")
        assert settings.store.url == "postgresql://recollect@database/recollect"
    assert services["migrate"]["command"] == ["recollect", "store", "migrate"]
    for one in services.values():
        for needed in one.get("depends_on", ()):
            assert needed in services
    named = {volume.split(":")[0] for one in services.values() for volume in one.get("volumes", ())}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])
    targets = load_yaml("prometheus.yml")["scrape_configs"][0]["static_configs"][0]["targets"]
    assert targets == [f"{name}:7117" for name in servers]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("watched") / "home") as server:
        server.save(title="Deploys need a ticket")
        server.search("ticket")
        yield server


def queries() -> Iterator[str]:
    for panel in json.loads((DEPLOY / "grafana.json").read_text("utf-8"))["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for group in load_yaml("alerts.yml")["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def test_dashboard_and_alerts_ask_for_what_the_server_counts(server: Server) -> None:
    text = server.get("/metrics").text
    types = dict(re.findall(r"(?m)^# TYPE (\w+) (\w+)$", text))
    assert server.get(f"{API}/memories").status_code == 200
    for query in queries():
        names = set(re.findall(r"\brecollect_\w+", query))
        assert names or query.startswith("up")
        for name in names:
            plain = name.removesuffix("_bucket")
            assert plain in types, query
            assert (types[plain] == "histogram") == (name != plain), query
        for label in re.findall(r"by \(([^)]*)\)", query):
            wanted = set(label.split(", ")) - {"le"}
            assert wanted <= set(re.findall(r"[{,](\w+)=", text)) | {"part"}, query
    assert 'stage="total"' in text


def test_the_page_about_postgresql_lists_the_migrations_that_there_are() -> None:
    listed = re.findall(r"^(\d{4}) (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [(int(number), name) for number, name in listed] == [
        (one.number, one.name) for one in migrations()
    ]
