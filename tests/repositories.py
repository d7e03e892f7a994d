"""git repositories that tests make with this machine's git."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as somebody, and give what it printed."""
    identity = ("user.name=t", "user.email=t@example.org", "init.defaultBranch=main")
    settings = [part for setting in identity for part in ("-c", setting)]
    argv = ["git", *settings, "-C", str(folder), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def with_commits(folder: Path, *texts: str) -> Path:
    """Make a repository whose train.py had each of the texts in turn; v1 is the first of them."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    for text in texts:
        (folder / "train.py").write_text(text)
        git(folder, "add", "train.py")
        git(folder, "commit", "--quiet", "-m", "Another program")
        if text == texts[0]:
            git(folder, "tag", "v1")
    return folder
