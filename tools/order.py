"""Check that the choices behind every result page came before its results.

A page names the file of its registered choices (`lab/ssdlab_lab/reproduce/registered`), the SHA-256
of that file, and the commit at which its runs were started. The check refuses a page

- that does not name them,
- whose commit has uncommitted changes ("-dirty") or is not an ancestor of HEAD,
- whose digest is not that of the file, or not that of the file at the commit of the runs: then the
  choices entered later, perhaps with the page itself,
- whose `NAME.json`, from which its scores are recomputed, names another commit or digest.

A checkout without the history, shallow or without .git, has digests checked alone. `KNOWN` lists
the pages that are refused today, with the reason, and must not list others.
"""

import json
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REGISTERED = "lab/ssdlab_lab/reproduce/registered"
NOT_RESULTS = ("presets",)
"""Pages of docs/papers without results."""
ELSEWHERE = {"separations": "docs/separation.md"}
"""Pages of results in other folders, by the name of the study."""
STATED = re.compile(
    r"Choices: `registered/([\w-]+)\.json`, SHA-256 ([0-9a-f]{64})\."
    r"(?: Its runs were started at commit ([0-9a-f]{7,40}(?:-dirty)?)\.)?"
)
KNOWN: dict[str, str] = {
    "combined": "its runs are of 45d1d7e82794-dirty, and its choices entered with its page",
    "deferred-gc-raid": "merged updates were registered as a reading after its runs",
}
"""Pages that are refused, by name, with the reason. It is emptied by running them again."""


class Stated(NamedTuple):
    """What a page or its JSON says."""

    name: str
    digest: str
    commit: str | None


def pages(root: Path) -> dict[str, Path]:
    """The result pages of a checkout, by the name of their paper or study."""
    found = {file.stem: file for file in sorted((root / "docs/papers").glob("*.md"))}
    found = {name: file for name, file in found.items() if name not in NOT_RESULTS}
    elsewhere = {name: root / page for name, page in ELSEWHERE.items()}
    return {**found, **{name: file for name, file in elsewhere.items() if file.exists()}}


def stated(text: str) -> Stated | None:
    """What a page says; None if it names no choices."""
    match = STATED.search(text)
    return None if match is None else Stated(*match.groups())


def git(root: Path, *arguments: str) -> bytes | None:
    """The output of a git command; None if it fails."""
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def lacking(root: Path) -> str | None:
    """Why a checkout has no history; None if it has."""
    if not (root / ".git").exists() or git(root, "rev-parse", "HEAD") is None:
        return "this is no git checkout"
    if git(root, "rev-parse", "--is-shallow-repository") != b"false\n":
        return "this checkout is shallow"
    return None


def refused(root: Path, name: str, page: Path, *, history: bool) -> str | None:
    """Why the page of `name` is refused; None if it is not."""
    said = stated(page.read_text(encoding="utf-8"))
    if said is None:
        return "it names no registered choices"
    if said.name != name:
        return f"it names the choices of {said.name}"
    if said.commit is None:
        return "it names no commit of its runs"
    if said.commit.endswith("-dirty"):
        return f"its runs were started at {said.commit}, with changes that nobody can see"
    file = root / REGISTERED / f"{name}.json"
    if not file.exists():
        return f"there is no {file.relative_to(root)}"
    if sha256(file.read_bytes()).hexdigest() != said.digest:
        return f"the digest that it names is not that of {file.relative_to(root)}"
    return _json_differs(page.with_name(f"{page.stem}.json"), said) or (
        _entered_later(root, file, page, said) if history else None
    )


def _json_differs(file: Path, said: Stated) -> str | None:
    if not file.exists():
        return None
    values = json.loads(file.read_text(encoding="utf-8"))
    if (values["registered"], values["commit"]) != (said.digest, said.commit):
        return f"{file.name} is of other runs"
    return None


def _entered_later(root: Path, file: Path, page: Path, said: Stated) -> str | None:
    """Whether the choices entered after the runs were started."""
    assert said.commit is not None, "checked before"
    if git(root, "merge-base", "--is-ancestor", said.commit, "HEAD") is None:
        return f"commit {said.commit} of its runs is no ancestor of HEAD"
    path = file.relative_to(root).as_posix()
    before = git(root, "show", f"{said.commit}:{path}")
    if before is not None and sha256(before).hexdigest() == said.digest:
        return None
    entered = (git(root, "log", "-1", "--format=%h", "--", path) or b"").decode().strip()
    brought = git(root, "log", "-1", "--format=%h", f"-S{said.digest}", "--", str(page)) or b""
    same = ", which brings the page" if entered and entered == brought.decode().strip() else ""
    where = f"in {entered}{same}" if entered else "and are not committed"
    return f"its choices entered after its runs were started at {said.commit}, {where}"


def problems(root: Path, known: dict[str, str]) -> tuple[list[str], list[str]]:
    """What is wrong, and remarks that are no errors."""
    found = pages(root)
    reason = lacking(root)
    wrong, remarks = [], []
    if reason:
        remarks.append(f"{reason}: digests are checked, the order of commits is not")
    for name, page in found.items():
        why = refused(root, name, page, history=reason is None)
        if why and name in known:
            remarks.append(f"known: {page.relative_to(root)}: {why} ({known[name]})")
        elif why:
            wrong.append(f"{page.relative_to(root)}: {why}")
        elif name in known and reason is None:
            wrong.append(f"{page.relative_to(root)} is in order: remove it from KNOWN")
    wrong += [f"KNOWN lists {name}, which has no page" for name in known if name not in found]
    return wrong, remarks


def main() -> None:
    """Check the pages of the project."""
    wrong, remarks = problems(ROOT, KNOWN)
    for text in remarks:
        print(f"order: {text}")
    if wrong:
        sys.exit("\n".join(f"order: {text}" for text in wrong))


if __name__ == "__main__":
    main()
