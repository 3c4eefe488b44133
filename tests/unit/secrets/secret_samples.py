"""Made-up credentials and ordinary lines, to try the detectors on.

Every credential is put together from parts at run time, so that none stands in this file.
"""

from __future__ import annotations

import json
import random
import string
import sysconfig
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
LETTERS = string.ascii_letters + string.digits
WEB = LETTERS + "-_"
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
SIGNS = "!@#%^&*+?~"


class Positive(NamedTuple):
    """A text with a credential in it, and what must not be left of it."""

    group: str
    where: str
    text: str
    secret: str


def draw(chance: random.Random, letters: str, count: int) -> str:
    """Random characters, at least one of them a digit, as in all but the rarest keys."""
    made = [chance.choice(letters) for _ in range(count)]
    made[chance.randrange(count)] = chance.choice(string.digits)
    return "".join(made)


def web64(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def jwt(chance: random.Random) -> str:
    header = {"alg": chance.choice(["HS256", "RS256", "ES384"]), "typ": "JWT"}
    claims = {"sub": str(chance.randrange(10**9)), "exp": chance.randrange(10**9)}
    parts = [web64(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, web64(chance.randbytes(32))])


def block(chance: random.Random, label: str, *, ends: bool = True) -> str:
    whole = b64encode(chance.randbytes(300)).decode()
    lines = [whole[at : at + 64] for at in range(0, len(whole), 64)]
    end = [f"-----{'END'} {label}-----"] if ends else []
    return "\n".join([f"-----{'BEGIN'} {label}-----", *lines, *end])


# Kinds that say by themselves what they are → how one is made.
TOKENS: dict[str, Callable[[random.Random], str]] = {
    "aws access key id": lambda c: c.choice(["AKIA", "ASIA"]) + draw(c, UPPER, 16),
    "github token": lambda c: "gh" + c.choice("pousr") + "_" + draw(c, LETTERS, 36),
    "github fine-grained": lambda c: (
        "github" + "_pat_" + draw(c, LETTERS, 22) + "_" + draw(c, LETTERS, 59)
    ),
    "gitlab token": lambda c: "gl" + "pat-" + draw(c, WEB, 20),
    "slack token": lambda c: (
        "xox" + c.choice("abprs") + f"-{c.randrange(10**11, 10**12)}-" + draw(c, LETTERS, 24)
    ),
    "stripe key": lambda c: c.choice("sr") + "k_" + "live_" + draw(c, LETTERS, 24),
    "stripe webhook": lambda c: "wh" + "sec_" + draw(c, LETTERS, 32),
    "openai key": lambda c: "sk" + "-" + draw(c, LETTERS, 48),
    "openai project key": lambda c: "sk" + "-proj-" + draw(c, WEB, 74),
    "anthropic key": lambda c: "sk" + "-ant-" + "api03-" + draw(c, WEB, 93),
    "google key": lambda c: "AI" + "za" + draw(c, WEB, 35),
    "npm token": lambda c: "np" + "m_" + draw(c, LETTERS, 36),
    "pypi token": lambda c: "py" + "pi-" + "AgEIcHlwaS5vcmc" + draw(c, WEB, 90),
    "hugging face token": lambda c: "h" + "f_" + draw(c, LETTERS, 34),
    "sendgrid key": lambda c: "S" + "G." + draw(c, WEB, 22) + "." + draw(c, WEB, 43),
    "twilio key": lambda c: "S" + "K" + draw(c, HEX, 32),
    "telegram token": lambda c: f"{c.randrange(10**9, 10**10)}:" + "AA" + draw(c, WEB, 33),
    "jwt": jwt,
}
# Where a token may turn up, with names around it that do not say secret.
AROUND: dict[str, str] = {
    "prose": "Use {} for the nightly job, Ada said so on Friday.",
    "code": 'client = connect(region="eu", auth=("svc", "{}"))',
    "yaml": "deploy:\n  with: {}\n  region: eu-west-1",
    "json": '{{"name": "ci", "value": "{}", "on": true}}',
    "env": "CI_VALUE={}",
    "log": "2026-03-01T12:00:00Z WARN request refused value={} status=401",
    "url": "GET https://api.example.org/v1/items?auth={}&page=2",
    "shell": "curl -H 'X-Auth: {}' https://api.example.org",
}


def password(chance: random.Random) -> str:
    """As people choose them: a word or two, digits, mostly a sign."""
    words = ["Anchor", "winter", "Lighthouse", "tulip", "Maple", "orbit", "Quartz", "ginger"]
    signs = "".join(chance.choice(SIGNS) for _ in range(chance.randrange(0, 3)))
    return f"{chance.choice(words)}{signs}{chance.randrange(10, 9999)}"


def key(chance: random.Random) -> str:
    kinds: tuple[Callable[[], str], ...] = (
        lambda: draw(chance, LETTERS, 32),
        lambda: draw(chance, HEX, 40),
        lambda: draw(chance, WEB, 43),
        lambda: str(uuid.UUID(int=chance.getrandbits(128))),
    )
    return chance.choice(kinds)()


# Names that say secret, where they occur.
PASSWORDS = (
    'password = "{}"',
    "password: {}",
    '"password": "{}",',
    "DB_PASSWORD={}",
    "export PGPASSWORD='{}'",
    "spring.datasource.password={}",
    "The staging password is {} until Monday.",
    "mysql --password={} --host db",
    "login --user ada --password {} --quiet",
    "const dbPassword: string = '{}';",
    "<password>{}</password>",
    '{{\\"user\\": \\"ada\\", \\"passwd\\": \\"{}\\"}}',
    "redis_pass: '{}'",
    "smtp:\n  user: ada\n  passphrase: {}",
    'ENV ADMIN_PWD="{}"',
    "Server=db;User Id=ada;Password={};Encrypt=yes",
)
URLS = (
    "postgres://ada:{}@db.example.org:5432/harbor",
    'broker = "amqps://svc:{}@queue.internal/%2f"',
    "redis://:{}@cache:6379/0",
    "git clone https://ada:{}@git.example.org/harbor.git",
    "mongodb+srv://root:{}@cluster0.example.net/?retryWrites=true",
    "HTTP_PROXY=http://ada:{}@proxy:3128",
)
KEYS = (
    'api_key = "{}"',
    "API_KEY={}",
    "apiKey: '{}',",
    '"client_secret": "{}"',
    "secret_key_base: {}",
    "export ACCESS_TOKEN={}",
    "TWILIO_AUTH_TOKEN={}",
    "Authorization: Bearer {}",
    'headers = {{"Authorization": "Bearer {}"}}',
    "X-Api-Key: {}",
    "https://api.example.org/items?access_token={}&page=2",
    "app.config['SECRET_KEY'] = '{}'",
    "deploy --token {} --yes",
    "token: {}",
    "encryption_key => '{}'",
    'signingKey := "{}"',
    "The API key is {} for now.",
    "//registry.example.org/:_authToken={}",
)


def _tokens(chance: random.Random) -> Iterator[Positive]:
    for name, make in TOKENS.items():
        for where, around in AROUND.items():
            made = make(chance)
            yield Positive(name, where, around.format(made), made)


def _others(chance: random.Random) -> Iterator[Positive]:
    for label in ("RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY",
                  "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"):  # fmt: skip
        for ends in (True, False):
            made = block(chance, label, ends=ends)
            inside = made.splitlines()[2]
            yield Positive("private key", "file", f"The key:\n{made}\n", inside)
            account = json.dumps({"type": "service_account", "private_key": made})
            yield Positive("private key", "json", account, inside)
    for _ in range(6):
        made = draw(chance, LETTERS + "/+", 40)
        yield Positive("aws secret key", "env", f"AWS_SECRET_ACCESS_KEY={made}", made)
        yield Positive("aws secret key", "json", json.dumps({"SecretAccessKey": made}), made)
        made = b64encode(chance.randbytes(64)).decode()
        text = f"AccountName=harbor;AccountKey={made};EndpointSuffix=core.windows.net"
        yield Positive("azure key", "code", f'connect("{text}")', made)
        path = f"T{draw(chance, UPPER, 10)}/B{draw(chance, UPPER, 10)}/{draw(chance, LETTERS, 24)}"
        yield Positive("slack webhook", "prose", f"Post to https://hooks.slack.com/services/{path}.",
                       path)  # fmt: skip
        made = b64encode(f"ada:{password(chance)}".encode()).decode()
        yield Positive("basic auth", "header", f"Authorization: Basic {made}", made.rstrip("="))
        made = password(chance)
        yield Positive("password", "shell", f"curl -s -u ada:{made} https://example.org", made)


def _named_samples(chance: random.Random) -> Iterator[Positive]:
    for around in PASSWORDS:
        for _ in range(3):
            made = password(chance)
            yield Positive("password", "named", around.format(made), made)
    for around in URLS:
        for _ in range(3):
            made = password(chance).translate(dict.fromkeys(map(ord, "#?@%"), "+"))
            yield Positive("password in a url", "url", around.format(made), made)
    for around in KEYS:
        for _ in range(3):
            made = key(chance)
            yield Positive("secret", "named", around.format(made), made)


def positives(seed: int = 20260301) -> list[Positive]:
    """Credentials of every kind in every place."""
    chance = random.Random(seed)
    return [*_tokens(chance), *_others(chance), *_named_samples(chance)]


# Written when the detectors were done. 13 of the 30 were found then; the commonest of the others
# are found since.
LATER = (
    ("password", "jdbc:postgresql://db:5432/harbor?user=ada&password={}&ssl=true"),
    ("password", "[mail]\nhost = smtp.example.org\npassword = {}\n"),
    ("password", "sshpass -p '{}' ssh ada@bastion"),
    ("password", "| host | db1 |\n| password | {} |"),
    ("password", "credentials: ada / {}"),
    ("password", "ansible_become_pass: {}"),
    ("password", "kubectl create secret generic db --from-literal=password={}"),
    ("password", "docker login -u ada -p {} registry.example.org"),
    ("password", "- name: POSTGRES_PASSWORD\n  value: {}"),
    ("password", "PASSWORD:{}"),
    ("password", "$config['db_password'] = '{}';"),
    ("password", "Password (staging): {}"),
    ("password", "machine git.example.org login ada password {}"),
    ("password", "identified by '{}'"),
    ("password", "var pw = \"{}\";"),
    ("password", "We changed the admin password to {} yesterday."),
    ("key", "os.environ['API_KEY'] = '{}'"),
    ("key", "headers.set(\"X-Auth-Token\", \"{}\")"),
    ("key", "session.headers.update({{'Authorization': f'Token {}'}})"),
    ("key", "terraform: variable \"api_key\" {{ default = \"{}\" }}"),
    ("key", "apikey={} host=example.org"),
    ("key", "the webhook secret (ask first): {}"),
    ("key", "- API_TOKEN={}"),
    ("key", "consumerSecret = \"{}\""),
    ("key", "datadog:\n  apiKey: {}\n  appKey: none"),
    ("key", "{{'refresh_token': '{}', 'expires_in': 3600}}"),
    ("key", "SECRET_KEY = b'{}'"),
    ("key", "npm config set //registry.example.org/:_authToken {}"),
    ("key", "Api-Key {}"),
    ("key", "?key={}&alt=json"),
)  # fmt: skip


def later(seed: int = 20260303) -> list[Positive]:
    """Names and places that the detectors were not written for."""
    chance = random.Random(seed)
    made: list[Positive] = []
    for kind, around in LATER:
        value = password(chance) if kind == "password" else key(chance)
        made.append(Positive(kind, "later", around.format(value), value))
    return made


def hard(seed: int = 20260301) -> list[Positive]:
    """Credentials that only their owner recognises: the reason for marks."""
    chance = random.Random(seed)
    made = [
        ("passphrase", 'passphrase = "{}"', "correct horse battery staple"),
        ("only letters", "password: {}", "lighthouse"),
        ("no name", "Log in as ada with {} on the bastion.", password(chance)),
        ("other name", "the magic word for the vault door: {}", password(chance)),
        ("cookie", "Cookie: session={}", draw(chance, WEB, 40)),
        ("number", "The PIN of the alarm is {}.", str(chance.randrange(10**5, 10**6))),
        ("words in a row", "token = {}", "harbor-anchor-maple"),
    ]
    return [Positive("hard", name, around.format(value), value) for name, around, value in made]


def leaks(output: str, secret: str) -> bool:
    """Return whether the secret, or eight characters of it in a row, are still there."""
    piece = min(8, len(secret))
    return any(secret[at : at + piece] in output for at in range(len(secret) - piece + 1))


TRICKY = (
    "password: str",
    "password: string",
    "password: SecretStr | None = None",
    "token: str = field(default='')",
    "def login(user: str, password: str) -> Token:",
    "the password: ask Ada",
    "The password is required.",
    "password: required, at least 8 characters",
    'password = os.environ["DB_PASSWORD"]',
    "password = os.getenv('DB_PASSWORD2')",
    "const token = process.env.API_TOKEN_V2;",
    "api_key: ${API_KEY}",
    "api_key = <your-key>",
    'api_key = "your-api-key-1234"',
    'api_key: "{{ vault_api_key_1 }}"',
    "DB_PASSWORD=$(cat /run/secrets/db1)",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD_FILE=/run/secrets/db_password_1",
    "password: vault:secret/data/harbor#db1",
    'secret = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:harbor-1"',
    "token=xxxxxxxxxxxxxxxxxxxx",
    'password="********"',
    'password = "example123"',
    '"token": null,',
    '"password": "null1null1"[:0]',
    "secret_key = secrets.token_urlsafe(32)",
    "token = create_token(user, 3600)",
    "token = tokens[index1]",
    "max_tokens: 4096",
    "token_count=123456 tokens_per_second=88.5",
    "secretKeyRef: {name: harbor-db-1, key: password}",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased-v2')",
    "postgres://user:pass@localhost:5432/db",
    "postgres://user:password@localhost/db",
    "postgres://ada:${DB_PASSWORD}@db:5432/harbor",
    "postgres://ada:<password>@db:5432/harbor",
    "https://example.org:8443/path?x=1@2",
    "git@github.com:ada/harbor.git",
    "ssh://git@github.com:22/ada/harbor.git",
    "mail ada@example.org, or call +31 20 123 4567",
    "http://localhost:6006/?path=/story/button--primary",
    "The header begins with eyJ... and has three parts.",
    "eyJhbGciOi",
    "-----BEGIN PUBLIC KEY-----",
    "A file that begins with -----BEGIN RSA PRIVATE KEY----- is a private key.",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Bearer authentication is required for every call",
    "Basic authentication is off",
    "ghp_ is how GitHub's tokens begin; AKIA is how AWS's do.",
    "AK" "IAIOSFODNN7" "EXAMPLE",
    ".sk-fading-circle .sk-circle-before { animation-delay: -1.1s }",
    "task-list-item-checkbox-wrapper-inner-element-1",
    "commit 415492c8d8b7f6a2f0f5b6f0c1d2e3f4a5b6c7d8",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "    --hash=sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    '"integrity": "sha512-Kq5sNclPz7QV2+lfQIuc6R7oRu0pHY8m8gG6xDbd7RZ2RRn0hUc=="',
    "id: 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "key: 550e8400-e29b-41d4-a716-446655440000",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "!function(e,t){e.token=t.token,e.key=t.key||n.secret}(this,function(){return 0})",
    "--color-primary: #4f46e5; --space-12: 0.75rem;",
    "primary_key = Column(Integer, primary_key=True)",
    "keyboard shortcut: Ctrl+Shift+K2",
    "password_hash = pbkdf2_sha256",
    "password hashing: argon2id",
    "secret santa: 2026-12-24T18:00:00Z",
    "token: 2026-03-01",
    "next_page_token: string",
    "The token is refreshed every 15 minutes.",
    "His secret is simple: work.",
    "pass: 12, fail: 0",
    "x-api-key: str",
    "client_secret: Optional[str]",
    "private_key: Ed25519PrivateKey | None",
)  # fmt: skip


def made_lines(seed: int = 20260302, count: int = 60) -> list[str]:
    """Random things that are no secrets: hashes, ids, embedded pictures, lock files."""
    chance = random.Random(seed)
    lines: list[str] = []
    for _ in range(count):
        digest = sha256(chance.randbytes(8))
        lines += (
            f"commit {digest.hexdigest()[:40]}",
            f"sha256:{digest.hexdigest()}",
            f"integrity sha512-{b64encode(digest.digest() * 2).decode()}",
            f"request {uuid.UUID(int=chance.getrandbits(128))} done",
            f"memory {draw(chance, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 26)}",
            f"src='data:image/png;base64,{b64encode(chance.randbytes(90)).decode()}'",
            f"https://cdn.example.org/app.{draw(chance, HEX, 8)}.js?v={chance.randrange(999)}",
            f"http://10.0.0.{chance.randrange(255)}:{chance.randrange(1024, 65535)}/health",
        )
    return lines


def library_lines(files: int = 120) -> list[str]:
    """Lines of Python's own library, by people who did not know of this test."""
    folder = Path(sysconfig.get_path("stdlib"))
    chosen = sorted(file for file in folder.glob("*.py"))[:files]
    return [line for file in chosen for line in file.read_text("utf-8", "replace").splitlines()]


@cache
def project_lines() -> list[str]:
    """Lines of this project's source and pages, but for those that are about secrets."""
    source = (*ROOT.glob("src/recollect/**/*.py"), *ROOT.glob("*/src/recollect_*/**/*.py"))
    pages = [*source, *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    about = {"redaction.py", "formats.py", "assignments.py", "redact-secrets.md"}
    about |= {"lock-a-vault.md"}
    chosen = sorted(file for file in pages if file.name not in about)
    return [line for file in chosen for line in file.read_text("utf-8").splitlines()]


@cache
def ordinary() -> list[str]:
    """Every line without a secret that there is to try."""
    every = [*TRICKY, *made_lines(), *library_lines(), *project_lines()]
    return [line for line in every if line.strip()]
