"""Transcripts as each client writes them, with what is around the turns of a real session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CLIENTS = ("claude-code", "codex", "gemini-cli", "copilot-cli")
# Where a client keeps a session below its folder.
FILES = {
    "claude-code": "-home-ada-harbor/5f1c0a52-7d2e-4b0a-9d0e-1f2a3b4c5d6e.jsonl",
    "codex": "2026/10/12/rollout-2026-10-12T09-00-00-5f1c0a52-7d2e-4b0a-9d0e-1f2a3b4c5d6e.jsonl",
    "gemini-cli": "harbor/chats/session-2026-10-12T09-00-5f1c0a52.jsonl",
    "copilot-cli": "5f1c0a52-7d2e-4b0a-9d0e-1f2a3b4c5d6e/events.jsonl",
}
SESSION = "5f1c0a52-7d2e-4b0a-9d0e-1f2a3b4c5d6e"
FOLDER = "/home/ada/harbor"
QUESTION = "Why does the pool run out of connections?"
LOOKING = "I look at the settings of the pool."
ANSWER = "The pool has 5 connections, and a worker holds one for each of its 8 threads."
CORRECTION = "No, leave the threads alone and raise the pool to 20."
DONE = "The pool has 20 connections now."
# What every session here says: the lines in between differ from client to client.
SAID = [
    ("user", QUESTION),
    ("agent", LOOKING),
    ("agent", ANSWER),
    ("user", CORRECTION),
    ("agent", DONE),
]


def write(path: Path, lines: list[dict[str, Any]], folder: str = FOLDER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(line, lines)), "utf-8")
    if path.parent.name == "chats":
        (path.parent.parent / ".project_root").write_text(folder, "utf-8")
    return path


def line(record: dict[str, Any]) -> str:
    return json.dumps(record) + "\n"


def session(client: str, folder: str = FOLDER) -> list[dict[str, Any]]:
    return {
        "claude-code": claude_code, "codex": codex, "gemini-cli": gemini_cli,
        "copilot-cli": copilot_cli,
    }[client](folder)  # fmt: skip


def turn(client: str, role: str, text: str, minute: int = 30) -> dict[str, Any]:
    """One more line of that client's session."""
    at = f"2026-10-12T09:{minute:02}:00.000Z"
    if client == "claude-code":
        return claude(role, text, at)
    if client == "codex":
        return event("user_message" if role == "user" else "agent_message", message=text, at=at)
    if client == "gemini-cli":
        return gemini("user" if role == "user" else "gemini", text, f"m{minute}", at)
    return copilot("user.message" if role == "user" else "assistant.message", at, content=text)


def claude(
    role: str, content: object, at: str, folder: str = FOLDER, **more: Any
) -> dict[str, Any]:
    type = "user" if role == "user" else "assistant"
    return {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": folder,
        "sessionId": SESSION, "version": "2.1.251", "type": type,
        "message": {"role": type, "content": content if type == "user" else blocks(content)},
        "uuid": f"{type}-{at}", "timestamp": at, **more,
    }  # fmt: skip


def blocks(content: object) -> object:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def claude_code(folder: str = FOLDER) -> list[dict[str, Any]]:
    def said(role: str, content: object, at: str, **more: Any) -> dict[str, Any]:
        return claude(role, content, f"2026-10-12T09:{at}.000Z", folder, **more)

    reminder = "<system-reminder>\nThe todo list is empty.\n</system-reminder>"
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "pool_size = 5"}]
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": CORRECTION}
    return [
        {"type": "permission-mode", "permissionMode": "default", "sessionId": SESSION},
        said("user", "<local-command-caveat>…</local-command-caveat>", "00:00", isMeta=True),
        said("user", "<command-name>/clear</command-name>\n<command-args></command-args>", "00:01"),
        said("user", [{"type": "text", "text": f"{QUESTION}\n{reminder}"}], "00:02"),
        said("agent", [{"type": "thinking", "thinking": "Hm.", "signature": "x"}], "00:03"),
        said("agent", LOOKING, "00:04"),
        said("agent", [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}], "00:05"),
        said("user", result, "00:06", toolUseResult={"type": "text"}),
        said("user", "Look at the pool.", "00:07", isSidechain=True),
        said("agent", ANSWER, "00:08"),
        said("user", "Stop hook feedback: say more.", "00:09", isMeta=True),
        said("agent", "API Error: 529", "00:10", isApiErrorMessage=True),
        {"type": "attachment", "attachment": queued, "cwd": folder, "sessionId": SESSION,
         "timestamp": "2026-10-12T09:05:00.000Z", "isSidechain": False},
        {"type": "attachment", "attachment": {"type": "task_reminder"}, "isSidechain": False},
        said("agent", DONE, "06:00"),
        said("user", "[Request interrupted by user]", "06:01"),
        said("user", "Summary: the pool was small.", "06:02", isCompactSummary=True),
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    ]  # fmt: skip


def event(type: str, at: str = "2026-10-12T09:00:00.000Z", **payload: Any) -> dict[str, Any]:
    return {"timestamp": at, "type": "event_msg", "payload": {"type": type, **payload}}


def codex(folder: str = FOLDER) -> list[dict[str, Any]]:
    meta = {"id": SESSION, "timestamp": "2026-10-12T09:00:00Z", "cwd": folder, "source": "cli",
            "originator": "codex_cli_rs", "cli_version": "0.130.0"}  # fmt: skip
    at = "2026-10-12T09:00:01.000Z"
    context = f"<environment_context>\n<cwd>{folder}</cwd>\n</environment_context>"
    item = {"type": "AgentMessage", "id": "i", "content": [{"type": "Text", "text": DONE}]}
    return [
        {"timestamp": "2026-10-12T09:00:00.000Z", "type": "session_meta", "payload": meta},
        response("user", context),
        {"timestamp": at, "type": "turn_context", "payload": {"cwd": folder}},
        response("user", QUESTION),
        event("user_message", message=f"# Open files\n\n## My request for Codex:\n{QUESTION}"),
        event("agent_reasoning", text="Hm."),
        event("agent_message", message=LOOKING),
        {"timestamp": "2026-10-12T09:00:02.000Z", "type": "response_item",
         "payload": {"type": "function_call_output", "output": "pool_size = 5"}},
        event("agent_message", message=ANSWER),
        response("assistant", ANSWER),
        event("token_count", info=None),
        {"timestamp": "2026-10-12T09:04:00.000Z", "type": "compacted", "payload": {"message": "…"}},
        event("item_completed", "2026-10-12T09:05:00.000Z", item={
            "type": "UserMessage", "id": "u", "content": [{"type": "text", "text": CORRECTION}]}),
        event("item_completed", "2026-10-12T09:06:00.000Z", item=item),
    ]  # fmt: skip


def response(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    payload = {"type": "message", "role": role, "content": content}
    return {"timestamp": "2026-10-12T09:00:01.000Z", "type": "response_item", "payload": payload}


def gemini(type: str, content: object, id: str, at: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": at, "type": type, "content": content, **more}


def gemini_cli(folder: str = FOLDER) -> list[dict[str, Any]]:
    at = "2026-10-12T09:00:00.000Z"
    hook = {"text": "<hook_context>core memories</hook_context>"}
    looking = gemini("gemini", LOOKING, "m3", at)
    call = [{"id": "c", "name": "read_file", "args": {}, "status": "success", "timestamp": at}]
    return [
        {"sessionId": SESSION, "projectHash": "ab12", "startTime": at, "lastUpdated": at},
        gemini("user", "<session_context>\nThis is the Gemini CLI.\n</session_context>", "m0", at),
        gemini("user", "/clear", "m1", at),
        gemini("user", [{"text": QUESTION}, hook], "m2", at),
        {"$set": {"lastUpdated": at}},
        looking,
        looking | {"tokens": {"input": 1, "output": 2, "cached": 0, "total": 3}},
        gemini("gemini", "", "m4", at, toolCalls=call),
        gemini("user", [{"functionResponse": {"name": "read_file", "response": {}}}], "m5", at),
        gemini("info", "A new version is there.", "m6", at),
        gemini("gemini", [{"text": "Hm.", "thought": True}, {"text": ANSWER}], "m7", at),
        gemini("user", "expanded @file", "m8", "2026-10-12T09:05:00.000Z",
               displayContent=[{"text": CORRECTION}]),
        gemini("gemini", DONE, "m9", "2026-10-12T09:06:00.000Z"),
        {"$set": {"summary": "A small pool."}},
    ]  # fmt: skip


def copilot(type: str, at: str, agent: str = "", **data: Any) -> dict[str, Any]:
    about = {"agentId": agent} if agent else {}
    return {"type": type, "data": data, "id": "e", "timestamp": at, "parentId": None, **about}


def copilot_cli(folder: str = FOLDER) -> list[dict[str, Any]]:
    at = "2026-10-12T09:00:00.000Z"
    return [
        copilot("session.start", at, sessionId=SESSION, version=1, context={"cwd": folder}),
        copilot("system.message", at, role="system", content="You are …"),
        copilot("user.message", at, content=QUESTION, transformedContent=f"<t>{at}</t> {QUESTION}"),
        copilot("assistant.turn_start", at, turnId="0"),
        copilot("assistant.message", at, content=LOOKING, messageId="a"),
        copilot("assistant.message", at, content="", messageId="b", toolRequests=[{}]),
        copilot("tool.execution_complete", at, result={"content": "pool_size = 5"}),
        copilot("user.message", at, content="Read the PDF.", source="skill-pdf"),
        copilot("assistant.message", at, "sub-1", content="I search.", messageId="c"),
        copilot("assistant.message", at, content=ANSWER, messageId="d"),
        copilot("user.message", at, content="Go on.", isAutopilotContinuation=True),
        copilot("user.message", "2026-10-12T09:05:00.000Z", content=CORRECTION),
        copilot("assistant.message", "2026-10-12T09:06:00.000Z", content=DONE, messageId="f"),
        copilot("session.shutdown", at),
    ]  # fmt: skip
