"""A loopback server that speaks the OpenAI chat-completions protocol, by script.

    with ChatServer(script) as server: ...

`script(number, prompt) -> Reply | str` says what call number `number` (from 1) gets; a string is the answer's text.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class Reply:
    """One HTTP answer: a status, a body (text of the answer, or raw bytes), and how slowly or badly it comes."""

    text: str = ""
    status: int = 200
    finish: str = "stop"
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False  # close the connection without an answer
    refusal: str | None = None


class ChatServer:
    def __init__(self, script: Callable[[int, str], Reply | str]) -> None:
        self.script = script
        self.calls = 0
        self.prompts: list[str] = []
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer._answer(self, asked)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        prompt = asked["messages"][-1]["content"]
        with self._lock:
            self.calls += 1
            number = self.calls
            self.prompts.append(prompt)
        reply = self.script(number, prompt)
        if isinstance(reply, str):
            reply = Reply(reply)
        time.sleep(reply.delay)
        if reply.drop:
            handler.close_connection = True
            handler.connection.close()
            return
        body = reply.raw if reply.raw is not None else json.dumps(_completion(reply, prompt, asked)).encode()
        try:
            handler.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            pass  # the client gave up


def _completion(reply: Reply, prompt: str, asked: dict[str, Any]) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": f"scripted status {reply.status}", "type": "scripted", "code": reply.status}}
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(reply.text) // 4}
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "finish_reason": reply.finish, "message": message}],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


_FILE = re.compile(r"(?m)^(`{3,})([^`\n]+)\n(.*?)^\1$", re.DOTALL)


def files_in(prompt: str) -> dict[str, str]:
    """The files that a prompt shows (the example in its instructions left out)."""
    found = {match.group(2): match.group(3) for match in _FILE.finditer(prompt)}
    found.pop("name-of-file.txt", None)
    return found
