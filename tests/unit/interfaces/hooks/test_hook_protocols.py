"""The protocols of the clients, as data: whole, and as their documentation has them."""

from __future__ import annotations

import pytest

from recollect.interfaces.cli.hook_process import HURRIED, STARTS
from recollect.interfaces.hooks.protocols import (
    PROTOCOLS,
    HookProtocol,
    find_client,
    hook_output,
    recorded_event,
)
from recollect.interfaces.setup.clients import CLIENTS

ALL = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
# What a hook prints so that the agent sees "x", by client and event: as documented.
PRINTED = {
    ("claude-code", "SessionStart"): {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}
    },
    ("claude-code", "UserPromptSubmit"): {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}
    },
    ("claude-code", "PreCompact"): "x",
    ("claude-code", "Stop"): {"decision": "block", "reason": "x"},
    ("claude-code", "SessionEnd"): "",
    ("codex", "PreCompact"): "",
    ("codex", "Stop"): {"decision": "block", "reason": "x"},
    ("gemini-cli", "BeforeAgent"): {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "x"}
    },
    ("gemini-cli", "PreCompress"): "",
    ("cursor", "sessionStart"): {"additional_context": "x"},
    ("cursor", "stop"): {"followup_message": "x"},
    ("cursor", "preCompact"): "",
    ("copilot-cli", "sessionStart"): {"additionalContext": "x"},
    ("copilot-cli", "agentStop"): {"decision": "block", "reason": "x"},
}


@ALL
def test_each_protocol_is_of_a_known_client_and_has_recorded_events(
    protocol: HookProtocol,
) -> None:
    assert protocol.client in CLIENTS
    for event in protocol.events:
        values = recorded_event(protocol.client, event.name)
        assert protocol.value(values, "session") == "recorded"
        assert values.get("hook_event_name", event.name) == event.name
        if event.moment == "prompt":
            assert protocol.value(values, "prompt")


@ALL
def test_the_user_waits_for_the_hook_of_a_prompt_alone(protocol: HookProtocol) -> None:
    prompts = {event.name for event in protocol.events if event.moment == "prompt"}
    assert prompts == HURRIED & {event.name for event in protocol.events}


@ALL
def test_a_session_starts_with_an_event_that_tells_of_failures(protocol: HookProtocol) -> None:
    starts = {event.name for event in protocol.events if event.moment == "start"}
    assert starts == STARTS & {event.name for event in protocol.events}


@pytest.mark.parametrize(("place", "printed"), PRINTED.items())
def test_a_hook_prints_what_the_client_reads(place: tuple[str, str], printed: object) -> None:
    client, name = place
    event = PROTOCOLS[client].event(name)
    assert event is not None
    assert hook_output(event, "x") == printed
    assert hook_output(event, "") == ""


def test_an_event_without_a_client_is_of_the_first_that_has_it() -> None:
    assert find_client("SessionStart") == "claude-code"
    assert find_client("BeforeAgent") == "gemini-cli"
    assert find_client("sessionStart") == "cursor"
    assert find_client("agentStop") == "copilot-cli"
    assert find_client("PostToolUse") == ""
