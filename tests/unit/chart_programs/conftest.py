"""A small API server on this machine, and the chart's programs run against it as in a pod."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).resolve().parents[3] / "charts" / "tf-cluster" / "files"
PYTHON = os.environ.get("CHART_PROGRAMS_PYTHON", sys.executable)
"""The programs run in images with any Python from 3.8 on; name another one to try it."""

PATIENCE = 20.0
"""Seconds after which what should happen will not."""


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
def job_file(tmp_path: Path) -> Path:
    """Give a file that names the deciding Job."""
    path = tmp_path / "job"
    path.write_text("my-chief\n")
    return path


class Markers:
    """The folder of the markers on a shared volume, which is not there before the first one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.flag = f"--marker-folder={folder}"

    def path(self, name: str = "my-chief", index: int = 0) -> Path:
        """Return where the marker of a Job's task is."""
        return self.folder / f"{name}-{index}"

    def write(self, result: str, code: int, name: str = "my-chief", index: int = 0) -> None:
        """Leave a marker, in one step as mark_end.py does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / ".draft"
        draft.write_text(json.dumps({"result": result, "exit_code": code}))
        draft.replace(self.path(name, index))


@pytest.fixture
def markers(tmp_path: Path) -> Markers:
    """Give the folder of the markers."""
    return Markers(tmp_path / "shared" / "ends")


class Program:
    """A running program of the chart, and all that it has said so far."""

    def __init__(self, program: str, *arguments: str, **environment: str) -> None:
        self.words = ""
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [PYTHON, "-u", str(FILES / program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            with self._changed:
                self.words += line
                self._changed.notify_all()

    def says(self, words: str, count: int = 1) -> None:
        """Wait until the program has said this so many times."""
        with self._changed:
            said = self._changed.wait_for(lambda: self.words.count(words) >= count, PATIENCE)
        assert said, f"never said {words!r}, but: {self.words}"

    def runs(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def send(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def end(self, seconds: float = PATIENCE) -> int:
        """Wait for its end, and return the exit code."""
        code = self.process.wait(seconds)
        self._listener.join(seconds)
        return code

    def close(self) -> None:
        """End it, however it is."""
        self.process.kill()
        self.process.wait()
        self._listener.join(PATIENCE)
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def launch() -> Iterator[Callable[..., Program]]:
    """`launch(program, *arguments)`: run a program of the chart."""
    running: list[Program] = []

    def run(program: str, *arguments: str, **environment: str) -> Program:
        running.append(Program(program, *arguments, **environment))
        return running[-1]

    yield run
    for each in running:
        each.close()


@pytest.fixture
def start(
    server: ApiServer, account: Path, launch: Callable[..., Program]
) -> Callable[..., Program]:
    """`start(program, *arguments)`: run a program of the chart beside the server."""

    def run(program: str, *arguments: str, **environment: str) -> Program:
        options = ("--server", server.url, "--account", str(account))
        return launch(program, *options, *arguments, **environment)

    return run


@pytest.fixture
def finish(start: Callable[..., Program]) -> Callable[..., tuple[int, str]]:
    """`finish(program, *arguments)`: run a program to its end; its exit code and its words."""

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        program = start(*arguments, **environment)
        return program.end(), program.words

    return run


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """`until(condition)`: wait until it holds."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.01)

    return wait


class Tasks:
    """Tasks of a cluster on this machine, and the file that names them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sockets: dict[str, socket.socket] = {}

    def silent(self, host: str = "127.0.0.1") -> str:
        """Give an address at which nothing listens."""
        with socket.create_server((host, 0)) as taken:
            return f"{host}:{taken.getsockname()[1]}"

    def listening(self, host: str = "127.0.0.1") -> str:
        """Give an address at which a task listens."""
        return self.listen(self.silent(host))

    def listen(self, address: str) -> str:
        """Let a task listen at an address."""
        host, _, port = address.rpartition(":")
        self.sockets[address] = socket.create_server((host, int(port)))
        return address

    def end(self, address: str) -> None:
        """Let it listen no longer."""
        self.sockets.pop(address).close()

    def write(self, spec: object) -> Path:
        """Write the cluster file, in one step as the kubelet does."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(spec))
        return draft.replace(self.path)


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[Tasks]:
    """Give tasks on this machine."""
    it = Tasks(tmp_path / "cluster")
    yield it
    for address in list(it.sockets):
        it.end(address)


RESOLVER = """
import json, os, socket
real = socket.getaddrinfo
def fake(host, port, *rest, **named):
    with open(os.environ["FAKE_HOSTS"]) as file:
        hosts = json.load(file)
    if host[:1].isdigit() or ":" in host:
        return real(host, port, *rest, **named)
    numbers = hosts.get(host, ())
    found = [entry for number in numbers for entry in real(number, port, *rest, **named)]
    if not found:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return found
socket.getaddrinfo = fake
"""

HANGING = """
import socket, time
def fake(*given, **named):
    open({asked!r}, "w").close()
    time.sleep(60)
socket.getaddrinfo = fake
"""


class Names:
    """The name server of a program that is started with `environment`."""

    def __init__(self, folder: Path) -> None:
        self.hosts: dict[str, list[str]] = {}
        self.path = folder / "hosts.json"
        (folder / "sitecustomize.py").write_text(RESOLVER)
        self.asked = folder / "asked"
        self.environment = {"PYTHONPATH": str(folder), "FAKE_HOSTS": str(self.path)}
        self.set()

    def hang(self) -> None:
        """Give no answers any more; `asked` is there once somebody has asked."""
        program = HANGING.format(asked=str(self.asked))
        (self.path.parent / "sitecustomize.py").write_text(program)

    def set(self, **hosts: list[str]) -> None:
        """Give these hosts these numbers, for - in a name write _."""
        self.hosts.update({name.replace("_", "-"): numbers for name, numbers in hosts.items()})
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.hosts))
        draft.replace(self.path)


@pytest.fixture
def names(tmp_path: Path) -> Names:
    """Give a name server."""
    folder = tmp_path / "names"
    folder.mkdir()
    return Names(folder)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Give an import of the chart's modules that leaves nothing behind in this process."""
    own = {path.stem for path in FILES.glob("*.py")}
    before = {name: sys.modules.pop(name) for name in own & sys.modules.keys()}
    monkeypatch.syspath_prepend(str(FILES))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module
    for name in own:
        sys.modules.pop(name, None)
    sys.modules.update(before)
