"""A small API server on this machine, and the chart's programs run against it as in a pod."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).resolve().parents[3] / "charts" / "tf-cluster" / "files"


class ApiServer:
    """Answers each question with the next of its `answers`; the last one stays."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.paths: list[str] = []
        self.tokens: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.paths.append(self.path)
                outer.tokens.append(self.headers.get("Authorization"))
                code, text = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def say(self, *answers: int | str) -> None:
        """Set what to answer: a status code, "running", "Complete" or "Failed"."""
        self.answers = [self._answer(answer) for answer in answers]

    @staticmethod
    def _answer(answer: int | str) -> tuple[int, str]:
        if isinstance(answer, int):
            return answer, "{}"
        conditions: list[dict[str, str]] = [{"type": "Suspended", "status": "False"}]
        if answer in ("Complete", "Failed"):
            why = {"reason": "Because", "message": "of this"}
            conditions.append({"type": answer, "status": "True", **why})
        elif answer == "failing":
            conditions.append({"type": "FailureTarget", "status": "True"})
            conditions.append({"type": "Failed", "status": "False"})
        elif answer != "running":
            return 200, answer
        return 200, json.dumps({"kind": "Job", "status": {"conditions": conditions}})


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Give an API server."""
    it = ApiServer()
    yield it
    it.http.shutdown()
    it.http.server_close()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Give a folder as a pod's service account has it."""
    (tmp_path / "namespace").write_text("lab")
    (tmp_path / "token").write_text("secret-1\n")
    return tmp_path


@pytest.fixture
def start(server: ApiServer, account: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start(program, *arguments)`: run a program of the chart beside the server."""
    running: list[subprocess.Popen[str]] = []

    def run(program: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-u", str(FILES / program)),
                *("--server", server.url, "--account", str(account), *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.fixture
def finish(
    start: Callable[..., subprocess.Popen[str]],
) -> Callable[..., tuple[int, str]]:
    """`finish(program, *arguments)`: run a program to its end; its exit code and its words."""

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        process = start(*arguments, **environment)
        words, _ = process.communicate(timeout=30)
        return process.returncode, words

    return run
